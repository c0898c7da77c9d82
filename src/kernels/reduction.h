// How one reduction of a group runs: in which order it combines and over which axes.
#pragma once

#include "kernels/group_emitter.h"

namespace fw::kernels {

struct Reduction {
  enum class Method : uint8_t {
    kAny,         ///< exact in any order, or any will do (Target::numpySums)
    kSequential,  ///< NumPy adds or multiplies element by element
    kPairwise,    ///< sum over stretches along `run`, one after the other along the outer axes
    kListed,      ///< sum of a list, as `list` says (Target::listedSums)
    kArg,         ///< position of the extreme
  };
  ValueId id;
  graph::Op op;
  DType dtype;  ///< of the operand: the accumulator's
  Method method = Method::kAny;
  int level = 1;          ///< 1 + number of reductions below it, one after another
  IntList order;          ///< reduced domain axes, outermost first, in the order of combination
  size_t run = 0;         ///< kPairwise: that many of the innermost axes are one stretch
  bool buffered = false;  ///< kPairwise: stretches of 8192
  bool linear = false;    ///< the operand is a linear copy; its stretches are those of `runStrides`
  SymList runStrides;     ///< linear: see graph::kRunStrides
  ListedSum list;
  IntList notUnit;  ///< domain axes whose size must not be 1 for this order to be NumPy's

  /// Same loops: may share one Reduce statement.
  bool sameLoops(const Reduction& other) const {
    return method == other.method && order == other.order && run == other.run && buffered == other.buffered &&
           linear == other.linear && runStrides == other.runStrides && list == other.list &&
           (method != Method::kPairwise || graph::isComplex(dtype) == graph::isComplex(other.dtype));
  }
};

/// Decides method and order from the operand's layout (graph/pairwise_order.h). kUnimplemented for orders that
/// kernels do not reproduce; a target of listed sums adds those in any order. `order` is the group's loop order, used
/// where any will do.
absl::StatusOr<Reduction> analyseReduction(const graph::Graph& graph, const graph::Group& group,
                                           const GroupEmitter& emitter, ValueId id, const IntList& order);

/// The accumulators of one reduction.
struct Accumulation {
  std::vector<KernelBuilder::Acc> accumulators;  ///< inits are identities
  std::function<std::vector<Val>(const Value&)> elements;
  std::function<Value(absl::Span<const Val>)> finish;
};
/// For kAny, kSequential and kPairwise.
absl::StatusOr<Accumulation> accumulationOf(KernelBuilder& b, const Reduction& r);

/// One step of a reduction as values: combine(acc, element) as NumPy does it for one element after the other, and
/// what it starts from.
Value identityOf(KernelBuilder& b, const Reduction& r);
absl::StatusOr<Value> combine(KernelBuilder& b, const Reduction& r, const Value& acc, const Value& element);

}  // namespace fw::kernels
