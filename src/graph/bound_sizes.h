// Symbols that are bound on the way: sizes that library calls decide (attribute "sizes" of a call), and definitions.
// What mentions one comes behind the call, whether it reads a result of it or not.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/symint_facts.h"

namespace fw::graph {

/// Every symbolic integer of the node's type and attributes, and of what stands in its regions, but for the symbols
/// that it binds itself.
void forEachSym(const Node& node, absl::FunctionRef<void(SymId)> visit);

/// Adds the symbols that the node itself binds for what comes behind it.
void collectBound(const Node& node, absl::flat_hash_set<SymId>& symbols);

/// For every node, the calls and definitions whose symbols it mentions itself or through sources and views that it
/// reads.
class BoundSizes {
 public:
  explicit BoundSizes(const Graph& graph);
  /// Nothing of the graph binds a symbol like this.
  bool empty() const { return calls_.empty(); }
  absl::Span<const ValueId> needs(ValueId id) const;

 private:
  absl::flat_hash_map<SymId, ValueId> calls_;  ///< by symbol
  absl::flat_hash_map<ValueId, std::vector<ValueId>> needs_;
};

}  // namespace fw::graph
