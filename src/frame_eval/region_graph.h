// Branches and loops in the graph of a trace. While a trace goes on its graph is flat: the arms of a branch and the
// body of a loop add their nodes to it, one behind the other, and a control node stands behind them as the place where
// the results are projected from. Only when it is known what is needed do their nodes move into regions.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fw::capture {

/// Nodes [begin, middle) are of the arm taken where the predicate holds, [middle, end) of the other.
struct ArmNodes {
  size_t begin, middle, end;
};

class RegionGraph {
 public:
  using Pair = std::array<graph::ValueId, 2>;  ///< what the arms answer for one result, of one type

  /// What a loop hands from turn to turn, or only answers.
  struct Carried {
    graph::ValueId begin;   ///< in the first turn; also the result where there is none
    graph::ValueId given;   ///< what stands for it in the body, one of given(); invalid where no turn reads it
    graph::ValueId answer;  ///< at the end of a turn, of the type of `begin`
  };
  struct Loop {
    size_t begin, end;                    ///< nodes of the body
    graph::SymId symbol;                  ///< counts the turns
    std::optional<graph::SymId> trip;     ///< how many there are at most
    std::optional<graph::ValueId> again;  ///< of the body: whether there is another one
    std::vector<Carried> carried;
  };

  explicit RegionGraph(graph::Graph& graph) : graph_(graph) {}

  /// Nothing is to be settled: the graph is what it shows.
  /// Nodes that are wanted, as far as that is known.
  size_t size() const { return graph_.size() - droppedNodes_; }
  bool empty() const { return controls_.empty() && required_.empty() && dropped_.empty(); }
  /// The nodes from `begin` on are those of an arm or a body that has ended: no node made later is one of them.
  void endArm(size_t begin);
  /// Whether code that is traced now may read the node: it is of no arm and no body that has ended.
  bool isVisible(graph::ValueId node) const;
  /// Adds a branch and answers its results. Branches and loops inside of the arms come first.
  std::vector<graph::ValueId> add(graph::ValueId predicate, ArmNodes arms, const std::vector<Pair>& results);
  /// What stands in a body for values of these types that its loop carries.
  std::vector<graph::ValueId> given(const std::vector<graph::ValueType>& types);
  /// Adds a loop, whose body has just been traced, and answers its results.
  std::vector<graph::ValueId> add(const Loop& loop);
  /// The nodes from `begin` on are not wanted.
  void drop(size_t begin);
  /// Fails every call in which the bool is false, where the arm at hand is taken.
  void require(graph::ValueId condition);
  /// Once, when all outputs and commits are known: makes the regions. Values that nothing needs but that may raise
  /// become outputs, those of a region by a bool that it computes from them, if `reportsFlags`. Other nodes of regions
  /// are dropped.
  void settle(bool reportsFlags = true);

 private:
  struct Control {
    graph::ValueId node;
    graph::ValueId predicate;  ///< of a branch
    ArmNodes arms;             ///< a loop has one, its body
    std::vector<Pair> results;
    std::vector<graph::ValueId> projects;
    std::vector<Carried> carried;                            ///< of a loop, by result
    graph::ValueId no;                                       ///< of a loop: the bool false, in front of it
    std::optional<graph::ValueId> again;                     ///< of a loop
    std::vector<bool> used;                                  ///< by result
    std::array<std::vector<graph::ValueId>, 2> unread;       ///< values of the arm that are computed for their flags
    std::array<std::vector<graph::ValueId>, 2> fixed;        ///< definitions, and controls inside that have some
    std::array<std::vector<const Control*>, 2> unreadInner;  ///< branches and loops inside that have some
    int parent = -1, parentArm = 0;                          ///< the control around
    bool reports = false;                                    ///< a loop that nobody needs but for its flags
    bool witness = false;                                    ///< the last result is a bool that nobody reads
    bool isLoop() const { return !predicate.valid(); }
  };

  void endArm(size_t begin, size_t end);
  std::vector<graph::ValueId> addProjects(Control& control, const graph::ValueType& type);
  void makeRequired();
  void findParents();
  bool mayReport(const Control& loop) const;
  void findNeeded();
  void makeBranch(Control& branch);
  void makeLoop(Control& loop);
  void keepUsed(Control& control);

  graph::Graph& graph_;
  bool reportsFlags_ = true;
  std::vector<Control> controls_;
  std::vector<graph::ValueId> required_;            ///< bind nodes
  std::vector<std::pair<size_t, size_t>> dropped_;  ///< ranges of nodes, none in another
  size_t droppedNodes_ = 0;
  std::vector<std::pair<size_t, size_t>> ended_;  ///< ranges of nodes of arms and bodies, none in another
  std::vector<int> armOf_;                        ///< by node: 2 * control + arm of the innermost; kNone, kDropped
};

}  // namespace fw::capture
