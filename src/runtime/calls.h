// The arrays of the library calls of a plan, as they are when a call is made, and arrays that are made on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/plan.h"
#include "runtime/context.h"
#include "runtime/sym_program.h"

namespace fw::runtime {

/// An array under concrete sizes.
struct CallArray {
  graph::DType dtype;
  int rank;
  const int64_t* shape;
  const int64_t* strides;  ///< bytes
  void* data;              ///< null for results of rank above 0: the host puts it into Context::buffers[buffer]
  int buffer;              ///< in the plan; -1: nobody reads this result
};

class Calls {
  enum class Where : uint8_t { kTable, kWorkspace, kGiven, kNowhere };
  struct Array {
    graph::DType dtype;
    int rank;
    int buffer;
    Where where;
    int words;               ///< its sizes, strides and byte offset among the results of `program`
    std::vector<int> binds;  ///< by axis: which of the sizes of the call it is, -1: its size is known; empty: all are
  };
  /// A symbol that a call binds.
  struct Size {
    size_t symbol;
    int64_t least, most;
  };
  struct Call {
    int site;
    std::vector<Array> operands, results;
    std::vector<Size> sizes;
    SymProgram program;
    std::vector<int64_t> known;  ///< its results, if they depend on nothing
  };
  class Builder;

 public:
  Calls() = default;
  Calls(const graph::Plan& plan, const graph::Graph& graph);

  bool empty() const { return calls_.empty(); }
  size_t count() const { return calls_.size(); }
  /// Number of the function, as the graph says.
  int site(int call) const { return calls_[static_cast<size_t>(call)].site; }

  /// The arrays of one call. Holds their sizes.
  class Frame {
   public:
    Frame(const Calls& calls, int call, const Context& context);
    /// Array number `made` of those that the plan makes on the way: the only result.
    static Frame ofMade(const Calls& calls, int made, const Context& context);
    Frame(const Frame&) = delete;
    size_t operandCount() const { return call_.operands.size(); }
    size_t resultCount() const { return call_.results.size(); }
    CallArray operand(size_t i) const { return array(call_.operands[i]); }
    CallArray result(size_t i) const { return array(call_.results[i]); }
    /// Whether the call binds sizes.
    bool binds() const { return !call_.sizes.empty(); }
    /// The result has these sizes: binds those that are to be bound. False if another is not what it should be.
    bool bind(size_t result, const int64_t* shape);
    /// All results have told their sizes: shapes and strides are what they say from here on.
    void settle();

   private:
    Frame(const Call& call, const Context& context);
    CallArray array(const Array& array) const;
    const Call& call_;
    const Context& context_;
    absl::InlinedVector<int64_t, 24> own_;  ///< empty: the call's, which are known
    const int64_t* words_;
    uint64_t bound_ = 0;  ///< bits of the sizes that are bound
  };

 private:
  std::vector<Call> calls_, made_;
};

}  // namespace fw::runtime
