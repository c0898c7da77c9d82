// Library functions may go by how their operands lie in memory: BLAS adds along a vector with gaps, or a reversed one,
// in another order than along a packed one. Memory of ours is packed, also where NumPy's array at that point of the
// program is the caller's, with gaps.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// Whether `value` is in memory of ours that is more regular than the memory of NumPy's array.
bool liesOtherwise(const Graph& graph, ValueId value);

/// A copy with gaps along the innermost axis and negative strides where the layout of `value` has them: NumPy tells
/// apart unit strides, others and negative ones, and asks no more of them. `serial`: as AttrKey::kIndex of a copy.
ValueId copyWithGaps(Graph& graph, ValueId value, int64_t serial);

}  // namespace fw::graph
