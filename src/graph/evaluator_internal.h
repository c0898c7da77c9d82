// Pieces of the reference evaluator.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/evaluator.h"

namespace fw::graph::eval {

/// An array with the byte strides it would have in NumPy.
struct Value {
  HostArray array;
  std::vector<int64_t> strides;
};

/// Elements to step per axis in C order.
std::vector<int64_t> rowMajor(absl::Span<const int64_t> shape);
/// Calls `body` for every index in C order.
void forEachIndex(absl::Span<const int64_t> shape, absl::FunctionRef<void(absl::Span<const int64_t>)> body);
int64_t flatIndex(absl::Span<const int64_t> index, absl::Span<const int64_t> weights);
/// Byte strides of a packed array.
std::vector<int64_t> packed(absl::Span<const int64_t> shape, const Layout& layout, DType dtype);

/// The view `node` of `in`; starts and steps are used by slice only.
Value applyView(const Node& node, const Value& in, const std::vector<int64_t>& shape, absl::Span<const int64_t> starts,
                absl::Span<const int64_t> steps);

/// A reduction in NumPy's order for an operand with these strides (pairwise_order.h).
absl::StatusOr<HostArray> reduce(const Node& node, const HostArray& in, absl::Span<const int64_t> strides,
                                 bool buffered, const std::vector<int64_t>& shape);

}  // namespace fw::graph::eval
