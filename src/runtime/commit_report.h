// What NumPy would have warned about in commits that were interrupted: which of their operations raise which flags.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/plan.h"
#include "runtime/executable.h"
#include "runtime/raised_flags.h"
#include "runtime/sym_program.h"
#include "runtime/workspace.h"

namespace fw::runtime {

class CommitReporter {
 public:
  /// nullopt if the plan checks no commits in advance, or computes something in them that cannot be told from NumPy's
  /// calls.
  static std::optional<CommitReporter> make(const graph::Graph& graph, const graph::Plan& plan);

  /// Sizes, offsets and strides of one call.
  std::vector<int64_t> geometry(const int64_t* symbols) const;
  /// Bytes that CommitProgress::saved needs for the largest part.
  int64_t savedBytes(absl::Span<const DeferredCommit> deferred, const std::vector<int64_t>& geometry) const;
  /// What was found out, and memory for finding it out.
  struct Scratch {
    std::vector<RaisedFlags> raised;
    std::vector<int64_t> index;
    std::vector<int32_t> flags;
    std::optional<Workspace> columns;
  };
  /// Makes room for whatever may be found in these commits; false, or std::bad_alloc, if there is no memory.
  bool prepare(absl::Span<const DeferredCommit> deferred, Scratch& scratch) const;
  /// After an interruption: puts back what the part has overwritten, and adds what the operations of the commit raise
  /// from there on. Cannot fail.
  void inspect(const DeferredCommit& commit, const CommitProgress& progress, const std::vector<int64_t>& geometry,
               const Context& context, Scratch& scratch) const;
  /// What a commit that is `whole` has raised. Cannot fail.
  void report(const DeferredCommit& commit, int32_t status, Scratch& scratch) const;

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
  void restore(const Commit& commit, const DeferredCommit& deferred, const CommitProgress& progress,
               const std::vector<int64_t>& values, void* const* buffers) const;
  template <class T>
  void run(const Commit& commit, const graph::IntList& order, const std::vector<int64_t>& values,
           const Context& context, Scratch& scratch) const;
  friend class CommitReader;

  std::vector<Commit> commits_;  ///< by number in the plan; others are empty
  SymProgram program_;
};

}  // namespace fw::runtime
