// What kernels and executables say of a commit whose check happens while it runs.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// A commit whose floating-point flags are looked at while it runs, rather than before: part by part, or of all its
/// elements at once if they can only be those of one operation.
struct DeferredCommit {
  int commit;          ///< its number in Plan::commits
  IntList order;       ///< axes of its domain from the outermost loop to the innermost
  int outer = 0;       ///< how many of them make up the outermost loop
  bool whole = false;  ///< nothing stops it: its flags are left in CommitProgress::raised
};

}  // namespace fw::graph
