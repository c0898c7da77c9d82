// Checks a graph against the op table; collects every violation, never aborts.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace fw::graph {

enum class Stage : uint8_t {
  kCaptured,    ///< any op
  kDecomposed,  ///< no op whose CPU lowering is Decompose
};

/// Violations, each "%7 = add: what is wrong"; empty if the graph is sound.
std::vector<std::string> verify(const Graph& graph, Stage stage = Stage::kCaptured);

}  // namespace fw::graph
