// Types of results: element type from the row's ResultType, shape from its OpClass, layout from NumPy's rules.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

/// Type of op(operands) {attrs}. Elementwise operands must already have the loop's element types and shapes that
/// broadcast *provably*: equal SymIds or a constant 1 (guards make sizes equal before they come here).
absl::StatusOr<ValueType> inferType(SymContext& syms, Op op, absl::Span<const ValueType* const> operands,
                                    const Attrs& attrs);

/// As inferType, for ops whose result needs something that is not in operands and attributes: `given` holds the shape
/// (slice, broadcast, reshape, full, iota, copy) or the dtype (cast, input). The layout follows from NumPy's rules in
/// every case.
absl::StatusOr<ValueType> completeType(SymContext& syms, Op op, absl::Span<const ValueType* const> operands,
                                       const Attrs& attrs, const ValueType& given);

/// True if the op has a loop for operands of this element type (all operands but a selection's condition have one
/// type).
bool loopAccepts(Op op, DType dtype);

/// True if completeType() is needed: inferType() answers such ops with an error.
bool needsGivenType(Op op);

/// np.broadcast_shapes of provably compatible shapes.
absl::StatusOr<SymShape> broadcastShapes(SymContext& syms, absl::Span<const SymShape* const> shapes);

}  // namespace fw::graph
