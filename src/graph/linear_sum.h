// Sums that kernels run over a copy of the operand. NumPy adds some operands in stretches that cross rows (views with
// gaps, broadcast operands, casts inside of the reduction; pairwise_order.h, rule 5). makePlan copies such an operand
// into memory where the elements of one result lie one after the other in iteration order; the stretches are
// then ranges of one linear axis, whose bounds follow from the strides that the operand has in NumPy.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

/// On sum and prod of such a copy, or, where none is made (Target::listedSums), of any operand that would have needed
/// one: NumPy's byte strides of the leading reduced axes, innermost first.
inline constexpr AttrKey kRunStrides = AttrKey::kSteps;
/// On copy: stays in memory; its readers are not fused with it.
inline constexpr AttrKey kOwnMemory = AttrKey::kCopy;

inline bool ownsMemory(const Graph& graph, ValueId id) {
  return graph.node(id).op == Op::kCopy && graph.node(id).attrs.integerOr(kOwnMemory, 0) != 0;
}

/// Axes of `value` that are not statically 1, innermost first, in the order in which NumPy iterates (rule 1).
IntList iterationOrder(const Graph& graph, ValueId value);

/// The value whose layout decides how `reduction` adds: its operand, or what a buffered one casts from (rule 10).
ValueId orderingOperand(const Graph& graph, const Node& reduction);

/// Byte strides that NumPy's array for `value` has, as far as they are known.
std::optional<SymList> numpyStrides(const Graph& graph, ValueId value);

struct LinearSum {
  Layout layout;  ///< of the copy
  SymList runStrides;
};
/// How to copy the operand of `reduction`; nullopt if it can be added where it lies. kUnimplemented if NumPy's order of
/// addition is not known.
absl::StatusOr<std::optional<LinearSum>> linearise(const Graph& graph, const Node& reduction);

/// True if the kernel of a linear sum can make the copy itself, one stretch at a time: two separate runs, no cast.
bool mayStage(const Graph& graph, ValueId sum);
/// Rows of `rowSize` elements in one stretch of such a sum.
SymId rowsPerStretch(SymContext& syms, SymId rowSize);

}  // namespace fw::graph
