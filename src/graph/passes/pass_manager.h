// Runs passes by name and plans the result.
#pragma once

#include <algorithm>
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
#include "graph/target.h"

namespace fw::graph {

struct PassContext {
  bool verifyEach = true;                       ///< verify after every pass
  absl::Span<const std::string_view> disabled;  ///< names of passes and steps of planning that are switched off
  /// Called after every pass with the graph, and after every step of planning with graph or plan, if set.
  std::function<void(std::string_view name, const std::string& text)> dump;
  Deadline deadline;  ///< passes and planning are given up beyond it
  Target target;      ///< what it is all for

  bool isOff(std::string_view name) const {
    return std::find(disabled.begin(), disabled.end(), name) != disabled.end();
  }
};

struct PassInfo {
  std::string_view text;
  absl::Status (*run)(Graph&, const PassContext&);
};

/// Runs the default pipeline. An error names the pass and holds the graph before and after it.
absl::Status runPasses(Graph& graph, const PassContext& context);
/// Runs the named passes only (for goldens and tools).
absl::Status runPasses(Graph& graph, absl::Span<const std::string_view> names, const PassContext& context);

/// Runs the steps of plan_steps.def: groups values into kernels and assigns buffers. The graph must be at
/// Stage::kDecomposed; it may gain copy nodes where a value has to be materialised.
absl::StatusOr<Plan> makePlan(Graph& graph, const PassContext& context);

}  // namespace fw::graph
