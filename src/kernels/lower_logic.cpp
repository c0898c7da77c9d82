// Comparisons, logic, bits, selection.
#include "graph/support/check.h"
#include "kernels/lower_ops.h"

namespace fw::kernels {
namespace {

using Values = absl::Span<const Value>;

Value boolean(Val v) { return {DType::kBool, v, {}}; }

/// NumPy's C comparisons of complex parts are signalling: a NaN raises the invalid flag wherever it is looked at.
void raiseForNans(KernelBuilder& b, const Value& x, const Value& y) {
  const auto nan = [&](Val p, Val q) {
    return b.op(ScalarOp::kOr, b.op(ScalarOp::kIsNan, p), b.op(ScalarOp::kIsNan, q));
  };
  const Val looked = b.op(ScalarOp::kAnd, b.op(ScalarOp::kEq, x.re, y.re), nan(x.im, y.im));
  b.raiseIf(b.op(ScalarOp::kOr, nan(x.re, y.re), looked), kInvalid);
}

absl::StatusOr<Value> compare(Lowering& l, ScalarOp op, Values v) {
  KernelBuilder& b = l.b;
  if (v[0].dtype != v[1].dtype) return absl::UnimplementedError("comparison of different types");
  if (!v[0].isComplex()) return boolean(b.op(op, v[0].re, v[1].re));
  if (op == ScalarOp::kEq || op == ScalarOp::kNe)
    return boolean(b.op(op == ScalarOp::kEq ? ScalarOp::kAnd : ScalarOp::kOr, b.op(op, v[0].re, v[1].re),
                        b.op(op, v[0].im, v[1].im)));
  raiseForNans(b, v[0], v[1]);
  return boolean(complexCompare(b, op, v[0], v[1]));
}

absl::StatusOr<Value> logical(Lowering& l, ScalarOp op, Values v) {
  return boolean(l.b.op(op, truth(l.b, v[0]), truth(l.b, v[1])));
}

absl::StatusOr<Value> bitwise(Lowering& l, ScalarOp op, Values v) {
  return Value{v[0].dtype, l.b.op(op, v[0].re, v[1].re), {}};
}

/// Shift count valid for the type, and whether the given one was.
struct Count {
  Val safe, valid;
};
Count shiftCount(KernelBuilder& b, Val n) {
  const int64_t bits = 8 * graph::itemSize(n.dtype);
  Val valid = b.op(ScalarOp::kLt, n, b.constantInt(n.dtype, bits));
  if (graph::isSigned(n.dtype)) valid = b.op(ScalarOp::kAnd, valid, b.op(ScalarOp::kGe, n, b.constantInt(n.dtype, 0)));
  return {b.select(valid, n, b.constantInt(n.dtype, 0)), valid};
}

}  // namespace

Val truth(KernelBuilder& b, const Value& v) {
  if (v.dtype == DType::kBool) return v.re;
  const auto nonzero = [&](Val x) {
    if (x.dtype == DType::kF16) x = b.cast(x, DType::kF32);
    return b.op(ScalarOp::kNe, x, b.constantBits(x.dtype, 0));
  };
  return v.isComplex() ? b.op(ScalarOp::kOr, nonzero(v.re), nonzero(v.im)) : nonzero(v.re);
}

absl::StatusOr<Value> lowerEqual(Lowering& l, Values v) { return compare(l, ScalarOp::kEq, v); }
absl::StatusOr<Value> lowerNotEqual(Lowering& l, Values v) { return compare(l, ScalarOp::kNe, v); }
absl::StatusOr<Value> lowerLess(Lowering& l, Values v) { return compare(l, ScalarOp::kLt, v); }
absl::StatusOr<Value> lowerLessEqual(Lowering& l, Values v) { return compare(l, ScalarOp::kLe, v); }
absl::StatusOr<Value> lowerGreater(Lowering& l, Values v) { return compare(l, ScalarOp::kGt, v); }
absl::StatusOr<Value> lowerGreaterEqual(Lowering& l, Values v) { return compare(l, ScalarOp::kGe, v); }

absl::StatusOr<Value> lowerLogicalAnd(Lowering& l, Values v) { return logical(l, ScalarOp::kAnd, v); }
absl::StatusOr<Value> lowerLogicalOr(Lowering& l, Values v) { return logical(l, ScalarOp::kOr, v); }
absl::StatusOr<Value> lowerLogicalXor(Lowering& l, Values v) { return logical(l, ScalarOp::kXor, v); }
absl::StatusOr<Value> lowerLogicalNot(Lowering& l, Values v) {
  return boolean(l.b.op(ScalarOp::kNot, truth(l.b, v[0])));
}

absl::StatusOr<Value> lowerBitwiseAnd(Lowering& l, Values v) { return bitwise(l, ScalarOp::kAnd, v); }
absl::StatusOr<Value> lowerBitwiseOr(Lowering& l, Values v) { return bitwise(l, ScalarOp::kOr, v); }
absl::StatusOr<Value> lowerBitwiseXor(Lowering& l, Values v) { return bitwise(l, ScalarOp::kXor, v); }
absl::StatusOr<Value> lowerInvert(Lowering& l, Values v) {
  return Value{v[0].dtype, l.b.op(ScalarOp::kNot, v[0].re), {}};
}

absl::StatusOr<Value> lowerLeftShift(Lowering& l, Values v) {
  const Count n = shiftCount(l.b, v[1].re);
  const DType d = v[0].dtype;
  return Value{d, l.b.select(n.valid, l.b.op(ScalarOp::kShl, v[0].re, n.safe), l.b.constantInt(d, 0)), {}};
}

absl::StatusOr<Value> lowerRightShift(Lowering& l, Values v) {
  const DType d = v[0].dtype;
  const Count n = shiftCount(l.b, v[1].re);
  if (!graph::isSigned(d))
    return Value{d, l.b.select(n.valid, l.b.op(ScalarOp::kShrLogical, v[0].re, n.safe), l.b.constantInt(d, 0)), {}};
  // Too far: what is left is the sign, which a shift by bits - 1 gives too.
  const Val count = l.b.select(n.valid, n.safe, l.b.constantInt(d, 8 * graph::itemSize(d) - 1));
  return Value{d, l.b.op(ScalarOp::kShrArith, v[0].re, count), {}};
}

absl::StatusOr<Value> lowerIsnan(Lowering& l, Values v) { return boolean(isNanValue(l.b, v[0])); }

namespace {

Val isInfinite(KernelBuilder& b, Val x) {
  const Val inf = b.constantBits(x.dtype, x.dtype == DType::kF32 ? 0x7f800000u : 0x7ff0000000000000u);
  return b.op(ScalarOp::kEq, b.op(ScalarOp::kAbs, x), inf);
}
Val isFiniteReal(KernelBuilder& b, Val x) {
  const Val inf = b.constantBits(x.dtype, x.dtype == DType::kF32 ? 0x7f800000u : 0x7ff0000000000000u);
  return b.op(ScalarOp::kLt, b.op(ScalarOp::kAbs, x), inf);
}

}  // namespace

absl::StatusOr<Value> lowerIsinf(Lowering& l, Values v) {
  if (!graph::isInexact(v[0].dtype)) return boolean(l.b.constantInt(DType::kBool, 0));
  const Val re = isInfinite(l.b, v[0].re);
  return boolean(v[0].isComplex() ? l.b.op(ScalarOp::kOr, re, isInfinite(l.b, v[0].im)) : re);
}

absl::StatusOr<Value> lowerIsfinite(Lowering& l, Values v) {
  if (!graph::isInexact(v[0].dtype)) return boolean(l.b.constantInt(DType::kBool, 1));
  const Val re = isFiniteReal(l.b, v[0].re);
  return boolean(v[0].isComplex() ? l.b.op(ScalarOp::kAnd, re, isFiniteReal(l.b, v[0].im)) : re);
}

absl::StatusOr<Value> lowerWhere(Lowering& l, Values v) {
  if (v[1].dtype != v[2].dtype) return absl::UnimplementedError("where of different types");
  const Val cond = truth(l.b, v[0]);
  Value r{v[1].dtype, l.b.select(cond, v[1].re, v[2].re), {}};
  if (r.isComplex()) r.im = l.b.select(cond, v[1].im, v[2].im);
  return r;
}

}  // namespace fw::kernels
