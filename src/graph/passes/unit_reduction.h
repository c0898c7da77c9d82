// Reductions that meet one element per result: over no axes, or over axes of size statically 1.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace fw::graph {

/// The reduction `node` of `operand` without the loop, or nullopt if it has a real axis or is a composite row. The
/// answer may be `operand` itself.
std::optional<ValueId> reduceUnitAxes(Graph& graph, const Node& node, ValueId operand);

}  // namespace fw::graph
