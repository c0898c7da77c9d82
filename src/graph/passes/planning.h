// Shared by the steps of makePlan: prepare, fuse, plan memory.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"

namespace fw::graph {

inline OpClass classOf(const Graph& graph, ValueId id) { return info(graph.node(id).op).cls; }
inline bool isView(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kView; }
inline bool isSource(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kSource; }

/// How the axes of `base` lie in a value read through expand, squeeze, broadcast and reshapes that only add or drop axes
/// of size 1: base axis d is axis axes[d] of the value, or -1 where the base has size 1.
struct IndexMap {
  ValueId base;
  IntList axes;
};
/// Follows such views down from `value`; stops at the first node that is none. The identity for other values.
IndexMap followIndexMaps(const Graph& graph, ValueId value);

/// Strides of the memory a value is found in once it is materialised: symbols or packed for inputs, packed otherwise.
SymList materialisedStrides(const Graph& graph, ValueId value);

/// Inserts copies so that afterwards every reshape resolves to a view, no update writes into memory that is still
/// read (or the caller's), and every output is an input, a fresh value or a view of one.
absl::Status prepareForPlan(Graph& graph);

/// Partition into groups, in execution order, with axis maps and outputs.
absl::StatusOr<std::vector<Group>> fuse(const Graph& graph);

/// Buffers, workspace and output bindings for the groups of plan.
absl::Status planMemory(const Graph& graph, Plan& plan);

}  // namespace fw::graph
