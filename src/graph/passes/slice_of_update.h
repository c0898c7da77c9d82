// Reading a part of an array after a part of it was written, without the whole array.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace fw::graph {

/// The elements that a slice {starts, steps} with type `type` of `updated` reads, where some of them can be told from
/// what was stored: the stored value, or an older version, or a small mixture of both. nullopt if the slice should
/// stay. The elements are the same; the strides in memory need not be.
std::optional<ValueId> sliceOfUpdate(Graph& graph, ValueId updated, const SymList& starts, const SymList& steps,
                                     const ValueType& type);

}  // namespace fw::graph
