// Shared by the steps of makePlan: prepare, fuse, plan memory.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"

namespace fw::graph {

inline OpClass classOf(const Graph& graph, ValueId id) { return info(graph.node(id).op).cls; }
inline bool isView(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kView; }
inline bool isSource(const Graph& graph, ValueId id) { return classOf(graph, id) == OpClass::kSource; }

/// How the axes of `base` lie in a value read through expand, squeeze, broadcast and reshapes that only add or drop
/// axes of size 1: base axis d is axis axes[d] of the value, or -1 where the base has size 1.
struct IndexMap {
  ValueId base;
  IntList axes;
};
/// Follows such views down from `value`; stops at the first node that is none. The identity for other values.
IndexMap followIndexMaps(const Graph& graph, ValueId value);

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
  bool readsWritten = false;  ///< reads through a view what commits write: the store's value needs a copy
};

/// What drafts of commits ask of a graph, found once for all of them. Nodes are looked at once as the graph grows.
class CommitFacts {
 public:
  /// Takes note of the nodes that are new since the last time.
  void extend(const Graph& graph);
  /// A store that is a commit; in the order of commits.
  void addStore(const Graph& graph, ValueId store);
  /// Of a graph that is complete: its outputs, and what is read by what is live.
  void addReaders(const Graph& graph);

  /// Memory that an update may take over once its other readers are through.
  bool isUpdated(ValueId memory) const { return updated_.contains(memory); }
  bool isOutput(ValueId memory) const { return outputs_.contains(memory); }
  /// A commit before `store` writes into this input.
  bool isWrittenBefore(ValueId input, ValueId store) const;
  /// Live values, none of them a view, that read `value`, perhaps through views.
  absl::Span<const ValueId> readers(ValueId value) const;

 private:
  size_t seen_ = 0;
  absl::flat_hash_set<ValueId> updated_, outputs_;
  absl::flat_hash_map<ValueId, ValueId> firstStore_;  ///< by input
  std::vector<std::vector<ValueId>> readers_;
};

absl::StatusOr<CommitDraft> draftCommit(const Graph& graph, ValueId store, const CommitFacts& facts);
/// All commits of the graph, in order. Neighbours become one where that saves a temporary.
absl::StatusOr<std::vector<CommitDraft>> draftCommits(const Graph& graph);

/// Inserts copies so that afterwards every reshape resolves to a view, no update writes into memory that is still
/// read (or the caller's), and every output is an input, a fresh value or a view of one.
absl::Status prepareForPlan(Graph& graph);

/// Partition into groups, in execution order, with axis maps and outputs, of what outputs and `kept` need.
absl::StatusOr<std::vector<Group>> fuse(const Graph& graph, absl::Span<const ValueId> kept);

/// Buffers, workspace and output bindings for the groups and commits of plan.
absl::Status planMemory(const Graph& graph, Plan& plan);

}  // namespace fw::graph
