// Runs passes by name and plans the result.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/support/deadline.h"

namespace fw::graph {

struct PassContext {
  bool verifyEach = true;                                         ///< verify after every pass
  absl::Span<const std::string_view> disabled;                    ///< names of passes to skip
  std::function<void(std::string_view pass, const Graph&)> dump;  ///< called after every pass if set
  Deadline deadline;                                              ///< passes and planning are given up beyond it
};

struct PassInfo {
  std::string_view text;
  absl::Status (*run)(Graph&, const PassContext&);
};
absl::Span<const PassInfo> passTable();

/// Runs the default pipeline. An error names the pass and holds the graph before and after it.
absl::Status runPasses(Graph& graph, const PassContext& context);
/// Runs the named passes only (for goldens and tools).
absl::Status runPasses(Graph& graph, absl::Span<const std::string_view> names, const PassContext& context);

/// Groups values into kernels (fuse) and assigns buffers (plan_memory). The graph must be at Stage::kDecomposed; it may
/// gain copy nodes where a value has to be materialised.
absl::StatusOr<Plan> makePlan(Graph& graph, const PassContext& context);

}  // namespace fw::graph
