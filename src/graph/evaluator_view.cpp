// Views of the reference evaluator: elements are copied, strides are what NumPy's view would have.
#include <algorithm>

#include "graph/evaluator_internal.h"
#include "graph/support/check.h"

namespace fw::graph::eval {
namespace {

/// Strides of a reshape that NumPy answers with a view: axes are matched from the outside in groups of equal size, and
/// a group's axes must follow each other in memory. Empty if some group does not.
std::vector<int64_t> reshapedStrides(const Value& in, const std::vector<int64_t>& shape) {
  std::vector<int64_t> sizes, strides;
  for (size_t i = 0; i < in.array.shape.size(); ++i) {
    if (in.array.shape[i] == 1) continue;
    sizes.push_back(in.array.shape[i]);
    strides.push_back(in.strides[i]);
  }
  std::vector<int64_t> result(shape.size(), 0);
  size_t i = 0, j = 0;
  while (i < sizes.size() && j < shape.size()) {
    size_t iEnd = i + 1, jEnd = j + 1;
    for (int64_t a = sizes[i], b = shape[j]; a != b;) {
      if (a < b ? iEnd == sizes.size() : jEnd == shape.size()) return {};
      if (a < b)
        a *= sizes[iEnd++];
      else
        b *= shape[jEnd++];
    }
    for (size_t k = i; k + 1 < iEnd; ++k)
      if (strides[k] != sizes[k + 1] * strides[k + 1]) return {};
    int64_t step = strides[iEnd - 1];
    for (size_t k = jEnd; k-- > j;) {
      result[k] = step;
      step *= shape[k];
    }
    i = iEnd;
    j = jEnd;
  }
  return result;
}

}  // namespace

Value applyView(const Node& node, const Value& in, const std::vector<int64_t>& shape, absl::Span<const int64_t> starts,
                absl::Span<const int64_t> steps) {
  Value out{HostArray::zeros(in.array.dtype, shape), std::vector<int64_t>(shape.size(), 0)};
  if (node.op == Op::kReshape) {
    out.array.data = in.array.data;
    const bool copies = node.attrs.integerOr(AttrKey::kCopy, 0) != 0 || in.array.elements() == 0;
    std::vector<int64_t> strides = copies ? std::vector<int64_t>() : reshapedStrides(in, shape);
    if (strides.empty())
      strides = packed(shape, copies ? node.type.layout : Layout::c(node.type.rank()), in.array.dtype);
    out.strides = std::move(strides);
    return out;
  }
  if (node.op == Op::kDiagonal) {
    out.strides = {in.strides[0] + in.strides[1]};
    for (int64_t i = 0; i < shape[0]; ++i) out.array.set(i, in.array.at(i * (in.array.shape[1] + 1)));
    return out;
  }
  if (node.op == Op::kWindows) {
    const auto axis = static_cast<size_t>(node.attrs.integer(AttrKey::kAxis));
    const std::vector<int64_t> weights = rowMajor(in.array.shape), own = rowMajor(shape);
    out.strides = in.strides;
    out.strides.push_back(in.strides[axis]);
    for (int64_t i = 0; i < out.array.elements(); ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < shape.size(); ++d) at += i / own[d] % shape[d] * weights[d < weights.size() ? d : axis];
      out.array.set(i, in.array.at(at));
    }
    return out;
  }
  // Every other view: axis `from` of the operand for every axis of the result, -1 for none.
  const std::vector<int64_t> weights = rowMajor(in.array.shape);
  std::vector<int64_t> from(shape.size(), -1);
  if (node.op == Op::kSlice) {
    for (size_t i = 0; i < shape.size(); ++i) from[i] = static_cast<int64_t>(i);
  } else if (node.op == Op::kTranspose) {
    const IntList& perm = node.attrs.ints(AttrKey::kPerm);
    for (size_t i = 0; i < shape.size(); ++i) from[i] = perm[i];
  } else if (node.op == Op::kBroadcast) {
    const size_t shift = shape.size() - in.array.shape.size();
    for (size_t i = 0; i < in.array.shape.size(); ++i)
      if (in.array.shape[i] == shape[i + shift]) from[i + shift] = static_cast<int64_t>(i);
  } else {
    FW_CHECK(node.op == Op::kExpand || node.op == Op::kSqueeze);
    const IntList& axes = node.attrs.ints(AttrKey::kAxes);
    const bool expands = node.op == Op::kExpand;
    size_t other = 0;
    for (size_t axis = 0; axis < (expands ? shape.size() : in.array.shape.size()); ++axis) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end()) continue;
      if (expands)
        from[axis] = static_cast<int64_t>(other);
      else
        from[other] = static_cast<int64_t>(axis);
      ++other;
    }
  }
  for (size_t i = 0; i < shape.size(); ++i)
    if (from[i] >= 0)
      out.strides[i] = in.strides[static_cast<size_t>(from[i])] * (node.op == Op::kSlice ? steps[i] : 1);
  int64_t flat = 0;
  forEachIndex(shape, [&](absl::Span<const int64_t> index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (from[i] < 0) continue;
      const size_t axis = static_cast<size_t>(from[i]);
      at += (node.op == Op::kSlice ? starts[axis] + index[i] * steps[axis] : index[i]) * weights[axis];
    }
    out.array.set(flat++, in.array.at(at));
  });
  return out;
}

}  // namespace fw::graph::eval
