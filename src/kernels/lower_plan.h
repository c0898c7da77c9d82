// From a planned graph to its kernels: the last thing that looks at graphs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/support/deadline.h"
#include "kernels/program.h"

namespace fw::kernels {

struct LoweringOptions {
  bool deferChecks = false;           ///< commits may be interrupted: kCheck groups need not run before them
  bool refuseUnproved = false;        ///< accesses that are not proved to stay inside are an error, not a Reach
  bool plantOutside = false;          ///< for tests: makes the first access of the first kernel reach outside
  std::vector<graph::SymId> guarded;  ///< expressions that guards keep from falling below 0, for the proof
  Deadline deadline;                  ///< kDeadlineExceeded beyond it, between kernels
};

absl::StatusOr<KernelProgram> lowerPlan(const graph::Graph& graph, const graph::Plan& plan,
                                        const LoweringOptions& options);

}  // namespace fw::kernels
