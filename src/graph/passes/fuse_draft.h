// A group under construction, and the questions that decide whether two of them may become one. See fuse.cpp for the
// rules.
#pragma once

#include <optional>

#include "graph/passes/planning.h"

namespace fw::graph {

/// Axes of size statically 1 never belong to a domain; values have -1 in their axis map there.
struct Draft {
  Group::Kind kind = Group::Kind::kMap;
  SymShape domain;
  IntList reduced;              ///< sorted
  std::vector<ValueId> values;  ///< ascending ids
  absl::flat_hash_map<ValueId, IntList> axisMap;
  std::optional<Group::Held> held;   ///< axis and delay
  std::optional<ErrorRules> errors;  ///< that flags of the values go by; nullopt: they raise none
  bool sealed = false;               ///< takes no consumers: joins, argmax
  bool dead = false;                 ///< merged into another

  bool contains(ValueId id) const { return axisMap.contains(id); }
  bool isReduced(int64_t axis) const;
  /// Number of domain axes that are not reduced.
  size_t rowRank() const { return domain.size() - reduced.size(); }
};

/// Draft of one value.
absl::StatusOr<Draft> singleDraft(const Graph& graph, ValueId id);

/// Whether updates of the draft may be stored in its loops, beside everything else that these compute; sets `held`.
bool settleUpdates(const Graph& graph, const Target& target, Draft& draft);

/// Domain axis of every axis of operand number `index` of `user` (a member of `draft`), -1 along axes of size 1.
IntList operandAxes(const Graph& graph, const Draft& draft, ValueId user, size_t index);

/// Axis map of the value that `user` reads through index maps, in the draft's domain.
IntList axesThrough(const Graph& graph, const Draft& draft, ValueId user, size_t index, const IndexMap& map);

/// How much it costs to compute `id` once more.
int recomputeCost(const Graph& graph, ValueId id);
inline constexpr int kExpensive = 100;

/// Whether the two kinds and sizes allow a union at all; says nothing about geometry.
bool mayJoin(const Target& target, const Draft& a, const Draft& b);

/// The union of producer and consumer, joined along the edge from `value` (in producer) to operand `index` of `user`
/// (in consumer), or nullopt where the rules forbid it. `closed` says that nothing outside the two reads the producer.
std::optional<Draft> joinAlongEdge(const Graph& graph, const Target& target, const Draft& producer,
                                   const Draft& consumer, ValueId user, size_t index, const IndexMap& map, bool closed);

/// The union of two drafts over one domain that do not feed each other, or nullopt.
std::optional<Draft> joinSideBySide(const Graph& graph, const Target& target, const Draft& a, const Draft& b);

}  // namespace fw::graph
