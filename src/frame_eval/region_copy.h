// A part of a trace's graph as a graph of its own: the body of a loop, an arm of a branch.
#pragma once

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace fw::capture {

/// What a control node hands to its regions, in the order of their inputs.
class RegionArguments {
 public:
  /// `first`: number of the first of them; those before it are given otherwise.
  explicit RegionArguments(size_t first) : first_(first) {}
  int number(graph::ValueId id);
  const std::vector<graph::ValueId>& values() const { return values_; }

 private:
  size_t first_;
  std::vector<graph::ValueId> values_;
  absl::flat_hash_map<graph::ValueId, int> numbers_;
};

/// The attribute that keeps nodes of a region apart from equal ones elsewhere while the graph is flat.
inline constexpr graph::AttrKey kRegionMark = graph::AttrKey::kTrip;
graph::Attrs unmarked(const graph::Attrs& attrs);

class RegionCopy {
 public:
  /// Of nodes of `outer` from `begin` on. What they read of those before comes as arguments, but for views and
  /// constants, which are made again.
  RegionCopy(graph::Graph& outer, size_t begin, uint32_t line, RegionArguments& arguments);
  /// The value of `outer` is input number `index` of the region.
  void give(graph::ValueId id, size_t index);
  /// The values and all that they are computed from. Regions of their nodes move.
  void copy(const std::vector<graph::ValueId>& roots);
  graph::ValueId operator[](graph::ValueId id) const { return now_.at(id); }
  graph::Graph& graph() { return *region_; }
  /// A bool computed from values of the region that are computed for their flags only, and from the last results of
  /// control nodes.
  graph::ValueId witness(const std::vector<graph::ValueId>& unread, const std::vector<graph::ValueId>& controls);
  std::unique_ptr<graph::Graph> take() { return std::move(region_); }

 private:
  bool isArgument(graph::ValueId id) const;
  graph::ValueId copyNode(graph::ValueId id);

  graph::Graph& outer_;
  size_t begin_;
  std::unique_ptr<graph::Graph> region_;
  RegionArguments& arguments_;
  absl::flat_hash_map<graph::ValueId, graph::ValueId> now_;
};

/// The last result of a control node.
graph::ValueId lastResult(graph::Graph& graph, graph::ValueId control);

}  // namespace fw::capture
