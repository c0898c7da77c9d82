// Branches on array data in the graph of a trace. While a trace goes on its graph is flat: both arms of a branch add
// their nodes to it, one behind the other, and a `cond` node stands behind them as the place where the results are
// projected from. Only when it is known what is needed do the nodes of the arms move into the regions of their cond.
#pragma once

#include <array>
#include <vector>

#include "graph/graph.h"

namespace fw::capture {

/// Nodes [begin, middle) are of the arm taken where the predicate holds, [middle, end) of the other.
struct ArmNodes {
  size_t begin, middle, end;
};

class BranchGraph {
 public:
  using Pair = std::array<graph::ValueId, 2>;  ///< what the arms answer for one result, of one type

  explicit BranchGraph(graph::Graph& graph) : graph_(graph) {}

  bool empty() const { return branches_.empty() && required_.empty(); }
  /// The nodes from `begin` on are those of an arm that has ended: no node made later is one of them.
  void endArm(size_t begin);
  /// Adds the branch and answers its results. Branches inside of the arms come first.
  std::vector<graph::ValueId> add(graph::ValueId predicate, ArmNodes arms, const std::vector<Pair>& results);
  /// The nodes from `begin` on are not wanted.
  void drop(size_t begin);
  /// Fails every call in which the bool is false, where the arm at hand is taken.
  void require(graph::ValueId condition);
  /// Once, when all outputs and commits are known: makes the regions. Values that nothing needs but that may raise
  /// become outputs, those of an arm by a bool that the arm computes from them. Other nodes of the arms are dropped.
  void settle();

 private:
  struct Branch {
    graph::ValueId node, predicate;
    ArmNodes arms;
    std::vector<Pair> results;
    std::vector<graph::ValueId> projects;
    std::vector<bool> used;                                 ///< by result
    std::array<std::vector<graph::ValueId>, 2> unread;      ///< values of the arm that are computed for their flags
    std::array<std::vector<const Branch*>, 2> unreadInner;  ///< branches inside that have some
    int parent = -1, parentArm = 0;                         ///< the branch around
    bool witness = false;                                   ///< the last result is a bool that nobody reads
  };
  class Region;
  struct Arguments;

  void makeRequired();
  void findParents();
  void findNeeded();
  void make(Branch& branch);

  graph::Graph& graph_;
  std::vector<Branch> branches_;
  std::vector<graph::ValueId> required_;            ///< bind nodes
  std::vector<std::pair<size_t, size_t>> dropped_;  ///< ranges of nodes
  std::vector<int> armOf_;                          ///< by node: 2 * branch + arm of the innermost; kNone, kDropped
};

}  // namespace fw::capture
