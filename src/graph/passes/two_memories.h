// Loops whose turns store what they compute from other elements of the same array get a second memory for it.
#pragma once

#include "absl/status/status.h"
#include "graph/graph.h"

namespace fw::graph {

absl::Status alternateMemories(Graph& graph);

}  // namespace fw::graph
