// The steps of makePlan (plan_steps.def), and what they share.
#pragma once

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/alias.h"
#include "graph/graph.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan.h"

namespace fw::graph {

inline OpClass classOf(const Graph& graph, ValueId id) { return info(graph.node(id).op).cls; }
inline bool isView(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kView; }
inline bool isSource(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kSource; }

/// The first operand that is read at the point of a loop nest which `user` is computed at: what an update continues,
/// and what a gather takes from, is memory.
inline size_t firstRead(const Graph& graph, ValueId user) {
  const OpClass cls = classOf(graph, user);
  return cls == OpClass::kUpdate || cls == OpClass::kGather ? 1 : 0;
}
/// Whether `user` reads all of its operand at every point.
inline bool readsAnywhere(const Graph& graph, ValueId user, size_t operand) {
  return classOf(graph, user) == OpClass::kGather && operand == 0;
}

/// Whatever the rank.
inline bool isOneElement(const Graph& graph, ValueId value) {
  const SymShape& shape = graph.type(value).shape;
  return std::all_of(shape.begin(), shape.end(), [&](SymId size) { return graph.syms().isConst(size, 1); });
}

/// How the axes of `base` lie in a value read through expand, squeeze, broadcast and reshapes that only add or drop
/// axes of size 1: base axis d is axis axes[d] of the value, or -1 where the base has size 1.
struct IndexMap {
  ValueId base;
  IntList axes;
};
/// Follows such views down from `value`; stops at the first node that is none. The identity for other values.
IndexMap followIndexMaps(const Graph& graph, ValueId value);

/// The input of the whole graph, not packed, in whose memory `value`, an input, is; nullopt for all other values.
std::optional<int64_t> lentInput(const Graph& graph, ValueId value);

/// A packed copy: `serial` keeps it from merging with another copy of the same value, whose memory may be written.
ValueId addCopy(Graph& graph, ValueId value, int64_t serial, Layout layout);

/// Strides of the memory a value is found in once it is materialised: symbols or packed for inputs, packed otherwise.
SymList materialisedStrides(const Graph& graph, ValueId value);

/// Group of a commit. Its values are computed in the commit itself, without memory of their own, if that reads no input
/// that this or an earlier commit writes, but for the very elements it stores to, and if it can neither raise a
/// floating-point flag nor decline, or is so cheap that a kCheck group computes it once more beforehand. Otherwise the
/// store reads memory.
struct CommitDraft {
  Group group;
  bool checked = false;       ///< needs a kCheck group of the same values
  bool fromMemory = false;    ///< some of it is computed into a temporary of full size
  std::vector<ValueId> kept;  ///< values below views that have to be in memory before commits run
  bool readsWritten = false;  ///< as readsWritten(), which prepareForPlan leaves none of
};
/// Whether the store's value is a view of an input that this store or an earlier one changes before it is read.
absl::StatusOr<bool> readsWritten(const Graph& graph, ValueId store, const Writes& earlier);
/// All commits of the graph, in order. Neighbours become one where that saves a temporary. If they are `plain`, they
/// store what is in memory.
absl::StatusOr<std::vector<CommitDraft>> draftCommits(const Graph& graph, const Target& target, bool plain);

/// Partition into groups, in execution order, with axis maps and outputs, of what outputs and `kept` need. Regions are
/// left alone. If it is `plain`, nothing is joined.
absl::StatusOr<std::vector<Group>> fuse(const Graph& graph, absl::Span<const ValueId> kept, const Target& target,
                                        bool plain);

/// A plan on its way from step to step.
struct PlanDraft {
  Graph& graph;
  Plan plan;
  std::vector<ValueId> kept;  ///< values that have to be in memory before commits run
  std::vector<Group> checks;  ///< run after all that computes, because they may read any of it
};

/// Marks loops that may store into inputs (rewriting.h).
absl::Status findRewrites(PlanDraft& draft, const PassContext& context);
/// Inserts copies so that afterwards every reshape resolves to a view, no update writes into memory that is still
/// read (or the caller's, but for rewriting loops), and every output is an input, a fresh value or a view of one.
absl::Status prepareForPlan(PlanDraft& draft, const PassContext& context);
/// Groups of the commits, and what they need.
absl::Status planCommits(PlanDraft& draft, const PassContext& context);
/// Groups of the graph and its regions, and the tree of steps.
absl::Status planSteps(PlanDraft& draft, const PassContext& context);
/// Buffers, workspace and output bindings for the steps of the plan, and what these say about buffers.
absl::Status planMemory(PlanDraft& draft, const PassContext& context);

}  // namespace fw::graph
