// The arrays of the library calls of a plan, as they are when a call is made.
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
    int words;  ///< its sizes, strides and byte offset among the results of `program`
  };
  struct Call {
    int site;
    std::vector<Array> operands, results;
    SymProgram program;
  };

 public:
  Calls() = default;
  Calls(const graph::Plan& plan, const graph::Graph& graph);

  bool empty() const { return calls_.empty(); }
  /// Number of the function, as the graph says.
  int site(int call) const { return calls_[static_cast<size_t>(call)].site; }

  /// The arrays of one call. Holds their sizes.
  class Frame {
   public:
    Frame(const Calls& calls, int call, const Context& context);
    Frame(const Frame&) = delete;
    size_t operandCount() const { return call_.operands.size(); }
    size_t resultCount() const { return call_.results.size(); }
    CallArray operand(size_t i) const { return array(call_.operands[i]); }
    CallArray result(size_t i) const { return array(call_.results[i]); }

   private:
    CallArray array(const Array& array) const;
    const Call& call_;
    const Context& context_;
    absl::InlinedVector<int64_t, 24> words_;
  };

 private:
  std::vector<Call> calls_;
};

}  // namespace fw::runtime
