// The memory model of the graph, and the one answer to "do these two views share memory?".
//
// What a graph says about memory:
//   1. Inputs are memory of the caller. Every other value that is no view is fresh and never changes: an update is a
//      new version. (That a plan may let it take over the older one's memory is proved in prepare_plan.cpp.)
//   2. Whatever reads an input, also through views, reads what the input held before the first commit.
//   3. When everything is computed and accepted, commits happen one after the other in the order of Graph::commits():
//      each replaces the elements of its target by those of its value.
//   4. Outputs that are views of inputs are handed out after the last commit and show what commits stored.
//   5. An input that is written has no two elements in one place, and shares no memory with another input: capture
//      guards it. Arrays of a call that do share memory are views of one input.
//
// What a pass may do:
//   - forward values (a slice of an update, a copy that is stored): always, they are no memory.
//   - drop a commit that stores what its target held before the call: if no earlier commit may alias the target. If
//     one does, the store restores what that has overwritten.
//   - drop a commit if the target of a later one is the same, or the whole input.
//   - compute a commit's value while commits run, rather than before: if earlier commits alias nothing that is read,
//     and this one itself nothing but the very element that it is about to store to (sameElements() along its loop).
#pragma once

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/views.h"

namespace fw::graph {

/// What is known for all values of the symbols within their ranges.
enum class Alias : uint8_t {
  kNone,  ///< no element of one is an element of the other
  kMay,
  kSame,  ///< the same elements in the same order
};

/// Indices start, start + step, ... along one axis; none if count is 0.
struct Progression {
  SymId start, step, count;
};
Alias alias(SymContext& syms, const Progression& a, const Progression& b);

/// The elements that two progressions have in common, which are next to each other in the first.
struct CommonPart {
  SymId inStored, inRead;   ///< the first of them, counted in each
  SymId count, storedStep;  ///< how many, and their distance in the second
  bool all = false;         ///< every element of the first
};
/// Those of `read` and `stored`, two progressions in an axis of `size` elements. nullopt if no formula says it.
std::optional<CommonPart> commonPart(SymContext& syms, const Progression& read, const Progression& stored, SymId size);

/// The elements of its base that a view reaches: the product of one progression per axis, or, behind a reshape that
/// cuts up axes, less than that.
class Footprint {
 public:
  Footprint(const Graph& graph, ValueId view);
  /// What an update overwrites of its base.
  static Footprint ofUpdate(const Graph& graph, ValueId update);
  /// The same elements of another array of that shape.
  static Footprint ofUpdate(const Graph& graph, ValueId update, ValueId base);
  ValueId base() const { return base_; }
  /// Of two views one of which is the target of a commit: other inputs are other memory.
  Alias with(const Footprint& other) const;

  /// The axis of the base that a view of one axis runs along; negative: it repeats one element. nullopt if a reshape
  /// hides it.
  std::optional<int> line() const;
  /// The axis of the base that an axis of the view runs along, if it runs along one and a reshape does not hide it.
  std::optional<int> baseAxis(size_t axis) const;
  /// Indices along an axis of the base.
  const Progression& along(int axis) const { return reached_[static_cast<size_t>(axis)]; }

 private:
  struct Axis {
    int of = kNone;  ///< axis of the base that this axis of the view runs along
    SymId size;
  };
  static constexpr int kNone = -1;
  void apply(const Node& node);
  void slice(const SymList& starts, const SymList& steps, const SymShape& shape);
  void reshape(const Node& node);
  void stretch(const SymShape& to);

  SymContext* syms_;
  ValueId view_, base_;
  std::vector<Progression> reached_;  ///< per axis of the base
  std::vector<Axis> axes_;            ///< per axis of the view
  bool exact_ = true;                 ///< reached_ and axes_ tell every element's place
};

/// Footprint(a).with(Footprint(b)).
Alias alias(const Graph& graph, ValueId a, ValueId b);

/// Whether two views of one shape have their elements at the same addresses, in the same order.
bool sameElements(SymContext& syms, const AffineView& a, const AffineView& b);

/// The oldest version of a value that updates have made: all of them live in its memory.
ValueId firstVersion(const Graph& graph, ValueId value);

/// The targets of commits so far.
class Writes {
 public:
  void add(const Graph& graph, ValueId store);
  /// Whether one of them may share memory with this view. Targets beyond kMaxCompared per input are not looked at one
  /// by one.
  bool mayAlias(const Graph& graph, ValueId view) const;

 private:
  static constexpr size_t kMaxCompared = 16;
  absl::flat_hash_map<ValueId, std::vector<Footprint>> targets_;  ///< by input
};

}  // namespace fw::graph
