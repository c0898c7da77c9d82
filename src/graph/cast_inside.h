// Conversions that NumPy makes on the way.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// `value` as ufuncs and reductions convert it, piece by piece: there is no converted array, so the order of the axes
/// is the one that NumPy's iterator gives `value` itself, in which a stretched axis has no say. In what astype makes it
/// has one (Graph::cast).
ValueId castInside(Graph& graph, ValueId value, DType to);

}  // namespace fw::graph
