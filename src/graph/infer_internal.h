// Layout rules shared by infer.cpp and its callers inside the room.
#pragma once

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

/// Layout of op(operands) {attrs} : dtype[shape] in NumPy. Shapes and attributes have been checked.
absl::StatusOr<Layout> inferLayout(SymContext& syms, Op op, absl::Span<const ValueType* const> operands,
                                   const Attrs& attrs, const SymShape& shape);

}  // namespace fw::graph
