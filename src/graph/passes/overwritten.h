// What the stores of one loop nest overwrite, and what may still be read in it: commits and updates that are computed
// where they are stored ask this.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/alias.h"

namespace fw::graph {

class Overwritten {
 public:
  explicit Overwritten(const Graph& graph) : graph_(&graph) {}

  /// A store to `view`, the elements `footprint` of its base. Its axes run along these of the nest.
  void add(Footprint footprint, const AffineView& view, const IntList& axes, const SymShape& domain);
  /// The store of an update. The axes of its slice run along these of the nest.
  void addUpdate(ValueId update, const IntList& axes, const SymShape& domain);
  bool empty() const { return stores_.empty(); }
  void clear() { stores_.clear(); }
  bool writes(ValueId base) const;

  /// `value`, a view whose axes run along these of the nest, may be read there ahead of the stores of the same point:
  /// what it finds is what was there before the nest. Nothing of it is overwritten but, at most, the very element that
  /// is stored to at that point.
  absl::StatusOr<bool> undisturbed(ValueId value, const IntList& axes, const SymShape& domain) const;
  /// How many points along an axis of the nest every store has to come after its own, so that whoever reads `value`
  /// at any point still finds what was there before the nest. nullopt if no number says that.
  std::optional<int64_t> delay(ValueId value, const IntList& axes, int64_t along) const;

 private:
  struct Store {
    Footprint footprint;
    AffineView view;  ///< along the axes of the nest
    IntList axes;     ///< of the nest
  };
  const Graph* graph_;
  std::vector<Store> stores_;
};

}  // namespace fw::graph
