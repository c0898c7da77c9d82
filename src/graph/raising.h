// Which operations can be noticed by more than their results.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// Whether computing the value (of a pure operation) can be noticed by more than its result: floating-point flags, a
/// division of integers by zero, or a kernel that declines (fmax of zeros). Conservative.
bool mayRaise(const Graph& graph, ValueId id);

}  // namespace fw::graph
