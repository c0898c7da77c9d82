// Views as affine maps. A chain of view nodes over a materialised value is one map from the view's index space into the
// value's memory; kernels load through it and results that are views are returned through it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

struct AffineView {
  ValueId base;  ///< first value below that is not a view
  SymId offset;  ///< bytes
  SymShape shape;
  SymList strides;  ///< bytes per axis; 0 along broadcast axes
};

/// Strides in bytes of a packed array: product of the sizes of the axes inside, in the layout's order.
SymList packedStrides(SymContext& syms, const SymShape& shape, const Layout& layout, DType dtype);

/// Follows slice, transpose, expand, squeeze, broadcast and reshape down to the base, whose strides are given.
/// A reshape is a view only of an operand whose merged axes are contiguous among themselves, which must be provable
/// from the SymIds; otherwise the error says so and the caller materialises the operand first.
absl::StatusOr<AffineView> resolveView(const Graph& graph, ValueId value, const SymList& baseStrides);

/// Axes [from, fromEnd) of the operand and [to, toEnd) of the result of a reshape that hold the same elements.
struct AxisGroup {
  int from, fromEnd, to, toEnd;
};

/// Splits a reshape into the smallest groups whose sizes provably agree; what cannot be told apart is one group.
std::vector<AxisGroup> reshapeGroups(SymContext& syms, const SymShape& from, const SymShape& to);

/// First non-view value below `value`.
ValueId viewBase(const Graph& graph, ValueId value);

}  // namespace fw::graph
