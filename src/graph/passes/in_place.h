// What steps may overwrite: which memory goes on under a new version, for prepareForPlan.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace fw::graph {

/// The memory of a graph's values, by who reads them and when.
class Overwriting {
 public:
  /// `owned`: inputs of a region whose memory it may overwrite.
  Overwriting(const Graph& graph, absl::flat_hash_set<ValueId> owned);

  /// True if the base's memory is fresh and everything that reads it can run before `user`, an update, loop or branch
  /// that changes it. Readers of lower numbers do (fuse.cpp), whether it needs them or not.
  bool mayOverwrite(ValueId base, ValueId user) const;
  /// A view of one element that is read when its base has been overwritten: it is copied where it stands.
  bool isTaken(ValueId view) const { return taken_.contains(view); }
  /// Whether operand number `index` of a control node is memory of ours in the layout that its regions get, so that
  /// nothing need be copied for them to read it.
  bool isOurs(ValueId control, size_t index) const;
  /// Live values that read this one.
  const std::vector<ValueId>& users(ValueId value) const { return users_[value.index]; }
  /// The first versions of outputs.
  const absl::flat_hash_set<ValueId>& outputs() const { return outputs_; }

 private:
  const Graph& graph_;
  void findTaken(ValueId view);
  size_t lastRead(ValueId view) const;

  absl::flat_hash_set<ValueId> owned_;
  absl::flat_hash_set<ValueId> outputs_;
  absl::flat_hash_set<ValueId> taken_;
  std::vector<std::vector<ValueId>> users_;
};

/// By result of a branch or bind: the input of its regions in whose memory every one of them can leave it, where one of
/// them changes it; each input at most once. nullopt: in memory of its own. Regions as they are before prepareForPlan.
std::vector<std::optional<size_t>> answersInPlace(const Node& control);

}  // namespace fw::graph
