// NumPy starts sums from +0, so a sum of one element is 0 + x, which turns -0.0 into 0.0. Products start from 1, and 1
// * x is x but for complex numbers, whose parts meet the zero of 1 + 0j; max and min start from the element.
#include "graph/passes/unit_reduction.h"

#include "graph/op_groups.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

Scalar number(DType dtype, int value) { return value == 0 ? Scalar::zero(dtype) : Scalar::one(dtype); }

}  // namespace

std::optional<ValueId> reduceUnitAxes(Graph& g, const Node& node, ValueId operand) {
  const ValueType& type = g.type(operand);
  const IntList& axes = node.attrs.ints(AttrKey::kAxes);
  for (int64_t axis : axes)
    if (!g.syms().isConst(type.shape[axis], 1)) return std::nullopt;
  ValueId value = operand;
  switch (*reductionOp(node.op)) {
    case ReductionOp::kSum:
      if (isInexact(type.dtype)) value = g.binary(Op::kAdd, operand, g.constant(number(type.dtype, 0)));
      break;
    case ReductionOp::kProd:
      if (isComplex(type.dtype)) value = g.binary(Op::kMultiply, g.constant(number(type.dtype, 1)), operand);
      break;
    case ReductionOp::kMax:
    case ReductionOp::kMin: break;
    case ReductionOp::kAny:
    case ReductionOp::kAll: value = g.cast(operand, DType::kBool); break;
    case ReductionOp::kArgmax:
    case ReductionOp::kArgmin: value = g.full(g.constant(Scalar::zero(DType::kI64)), type.shape); break;
    case ReductionOp::kMean:
    case ReductionOp::kVar:
    case ReductionOp::kStd:
    case ReductionOp::kCountNonzero:
    case ReductionOp::kPtp: return std::nullopt;  // composite: decomposed first
  }
  const bool keepdims = node.attrs.integerOr(AttrKey::kKeepdims, 0) != 0;
  if (!keepdims && !axes.empty()) value = g.squeeze(value, axes);
  // Results go by the order of their operands' axes: a stretched axis has none, the reduction's own array has one.
  const Layout& now = g.type(value).layout;
  if (now.order == node.type.layout.order && now.broadcastAxes == 0) return value;
  return g.addTyped(Op::kCopy, {value}, node.type);
}

}  // namespace fw::graph
