// Rebuilds a graph node by node in topological order. Passes never edit the arena in place: they copy the nodes they
// keep into a new graph, add what they need in front, and swap. Hash-consing then merges what became equal.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/graph.h"

namespace fw::graph {

class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  Graph& out() { return out_; }
  const Graph& in() const { return in_; }
  SymContext& syms() { return out_.syms(); }

  /// New id of an old value; FW_CHECKs that it was made already.
  ValueId map(ValueId old) const;
  bool mapped(ValueId old) const { return to_[old.index].valid(); }
  void set(ValueId old, ValueId now) { to_[old.index] = now; }

  /// The same node with its operands mapped; its regions move over. Also records the mapping.
  ValueId copyNode(ValueId old);
  /// As copyNode with other operands (new ids).
  ValueId copyNode(ValueId old, absl::Span<const ValueId> operands);

  /// Values that have lost their last reader, but may raise floating-point errors, will be further outputs.
  void keepRaising();
  /// Maps outputs and commits and puts the new graph in the old one's place. A commit mapped to anything but a store is
  /// dropped.
  void finish();

 private:
  Graph& in_;
  Graph out_;
  std::vector<ValueId> to_;
  std::vector<ValueId> raising_;
};

/// What becomes of values that nothing needs any more. A graph's own outputs may grow, a region's may not.
enum class Unneeded : uint8_t { kDrop, kKeepRaising };

/// Calls `visit` for every node that an output or commit needs and every input, operands first; `visit` must map the
/// node. Regions are the caller's business (see forEachRegion).
absl::Status rewrite(Graph& graph, absl::FunctionRef<absl::Status(Rewriter&, ValueId)> visit,
                     Unneeded unneeded = Unneeded::kDrop);

/// Runs `pass` on every region of the graph's own nodes.
absl::Status forEachRegion(Graph& graph, absl::FunctionRef<absl::Status(Graph&)> pass);

/// Bit per value: an output or commit needs it. Inputs always count, and so does what may fail the whole call.
std::vector<bool> liveValues(const Graph& graph);
/// The same for these roots.
std::vector<bool> liveValues(const Graph& graph, absl::Span<const ValueId> roots);

}  // namespace fw::graph
