// What NumPy would have warned about in commits that were interrupted: which of their operations raise which flags.
#pragma once

#include <optional>
#include <vector>

#include "bindings/error_state.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "runtime/executable.h"
#include "runtime/sym_program.h"

namespace fw::bindings {

class CommitReporter {
 public:
  /// nullopt if the plan checks no commits in advance, or computes something in them that cannot be told from NumPy's
  /// calls.
  static std::optional<CommitReporter> make(const graph::Graph& graph, const graph::Plan& plan);

  /// Sizes, offsets and strides of one call.
  std::vector<int64_t> geometry(const int64_t* symbols) const;
  /// Bytes that CommitProgress::saved needs for the largest part.
  int64_t savedBytes(absl::Span<const runtime::DeferredCommit> deferred, const std::vector<int64_t>& geometry) const;
  /// After an interruption: puts back what the part has overwritten, and adds what the operations of the commit raise
  /// from there on. Needs no GIL and cannot fail.
  void inspect(const runtime::DeferredCommit& commit, const runtime::CommitProgress& progress,
               const std::vector<int64_t>& geometry, void* const* buffers, void* workspace,
               std::vector<RaisedFlags>& raised) const;
  /// What a commit that is `whole` has raised.
  void report(const runtime::DeferredCommit& commit, int32_t status, std::vector<RaisedFlags>& raised) const;

 private:
  struct Leaf {
    int buffer = -1;  ///< -1: the constant
    bool inWorkspace = false;
    int offset = 0, strides = 0;  ///< indices of values of program_; strides per domain axis
    double constant = 0;
  };
  struct Operation {
    graph::Op op;
    int operands[2] = {-1, -1};  ///< leaves, then operations
    uint32_t line = 0;
    uint64_t order = 0;  ///< in the program
  };
  struct Commit {
    bool single = false;  ///< f32
    int rank = 0, sizes = 0;
    std::vector<Leaf> targets;
    std::vector<Leaf> leaves;
    std::vector<Operation> operations;
  };
  template <class T>
  void restore(const Commit& commit, const runtime::DeferredCommit& deferred, const runtime::CommitProgress& progress,
               const std::vector<int64_t>& values, void* const* buffers) const;
  template <class T>
  void run(const Commit& commit, const graph::IntList& order, std::vector<int64_t> index,
           const std::vector<int64_t>& values, void* const* buffers, void* workspace,
           std::vector<int32_t>& flags) const;
  friend class CommitReader;

  std::vector<Commit> commits_;  ///< by number in the plan; others are empty
  runtime::SymProgram program_;
};

}  // namespace fw::bindings
