// Complex numbers as pairs of real expressions, after the formulas of NumPy's loops.
#include "graph/support/check.h"
#include "kernels/lower_ops.h"
#include "kernels/math_calls.h"

namespace fw::kernels {

using Values = absl::Span<const Value>;

Value complexMultiply(KernelBuilder& b, const Value& x, const Value& y, bool fused) {
  const auto mul = [&](Val p, Val q) { return b.op(ScalarOp::kMul, p, q); };
  if (fused)
    return {x.dtype, b.op(ScalarOp::kFma, x.re, y.re, b.op(ScalarOp::kNeg, mul(x.im, y.im))),
            b.op(ScalarOp::kFma, x.re, y.im, mul(x.im, y.re))};
  return {x.dtype, b.op(ScalarOp::kSub, mul(x.re, y.re), mul(x.im, y.im)),
          b.op(ScalarOp::kAdd, mul(x.re, y.im), mul(x.im, y.re))};
}

namespace {

/// CuPy scales by the sum of the divisor's parts; its compiler fuses the first product of each sum.
Value cupyDivide(KernelBuilder& b, const Value& x, const Value& y) {
  const auto mul = [&](Val p, Val q) { return b.op(ScalarOp::kMul, p, q); };
  const Val one = b.constant(x.re.dtype, 1);
  const Val size = b.op(ScalarOp::kAdd, b.op(ScalarOp::kAbs, y.re), b.op(ScalarOp::kAbs, y.im));
  const Val scale = b.op(ScalarOp::kDiv, one, size);
  const Val xre = mul(x.re, scale), xim = mul(x.im, scale), yre = mul(y.re, scale), yim = mul(y.im, scale);
  const Val over = b.op(ScalarOp::kDiv, one, b.op(ScalarOp::kFma, yre, yre, mul(yim, yim)));
  return {x.dtype, mul(b.op(ScalarOp::kFma, xre, yre, mul(xim, yim)), over),
          mul(b.op(ScalarOp::kFma, xim, yre, b.op(ScalarOp::kNeg, mul(xre, yim))), over)};
}

}  // namespace

/// Smith's algorithm: scale by the larger part of the divisor. Zero divisors divide each part by 0.
Value complexDivide(KernelBuilder& b, const Value& x, const Value& y) {
  if (b.numbers() == Numbers::kCuPy) return cupyDivide(b, x, y);
  const DType d = x.re.dtype;
  const auto op = [&](ScalarOp o, Val p, Val q) { return b.op(o, p, q); };
  const Val one = b.constant(d, 1);
  b.raiseIf(isNanValue(b, y), kInvalid);  // NumPy compares the parts of the divisor with signalling comparisons
  const Val absRe = b.op(ScalarOp::kAbs, y.re), absIm = b.op(ScalarOp::kAbs, y.im);
  const Val reLarger = op(ScalarOp::kGe, absRe, absIm);
  const Val byZero = op(ScalarOp::kAnd, isZero(b, absRe), isZero(b, absIm));
  const Val large = b.select(byZero, one, b.select(reLarger, y.re, y.im));
  const Val small = b.select(reLarger, y.im, y.re);
  const Val ratio = op(ScalarOp::kDiv, small, large);
  const Val scale = op(ScalarOp::kDiv, one, op(ScalarOp::kAdd, large, op(ScalarOp::kMul, small, ratio)));
  // |re| >= |im|: ((a + b*r) * s, (b - a*r) * s); otherwise ((a*r + b) * s, (b*r - a) * s).
  const Val p = b.select(reLarger, x.re, x.im), q = b.select(reLarger, x.im, x.re);
  const Val sum = op(ScalarOp::kAdd, p, op(ScalarOp::kMul, q, ratio));
  const Val pr = op(ScalarOp::kMul, p, ratio);
  const Val im = b.select(reLarger, op(ScalarOp::kSub, q, pr), op(ScalarOp::kSub, pr, q));
  const Val zeroOrOne = b.select(byZero, b.constantBits(d, 0), one);
  return {x.dtype, b.select(byZero, op(ScalarOp::kDiv, x.re, zeroOrOne), op(ScalarOp::kMul, sum, scale)),
          b.select(byZero, op(ScalarOp::kDiv, x.im, zeroOrOne), op(ScalarOp::kMul, im, scale))};
}

/// Nothing raises a flag that has not to: parts that are zero, infinite or NaN are not divided by each other.
Val complexAbsolute(KernelBuilder& b, const Value& x, bool scalar) {
  const DType d = x.re.dtype;
  if (scalar || b.numbers() == Numbers::kCuPy) return b.libm(Libm::kHypot, d, {x.re, x.im});
  const auto op = [&](ScalarOp o, Val p, Val q) { return b.op(o, p, q); };
  const Val zero = b.constantBits(d, 0), one = b.constant(d, 1);
  const Val inf = b.constantBits(d, d == DType::kF32 ? 0x7f800000u : 0x7ff0000000000000u);
  const Val nan = b.constantBits(d, d == DType::kF32 ? 0x7fc00000u : 0x7ff8000000000000u);
  Val re = b.op(ScalarOp::kAbs, x.re), im = b.op(ScalarOp::kAbs, x.im);
  const Val infinite = op(ScalarOp::kOr, op(ScalarOp::kEq, re, inf), op(ScalarOp::kEq, im, inf));
  const Val notNumber = isNanValue(b, x);
  re = b.select(infinite, inf, b.select(notNumber, nan, re));
  im = b.select(infinite, inf, b.select(notNumber, nan, im));
  const Val larger = op(ScalarOp::kMaxSecond, re, im), smaller = op(ScalarOp::kMinSecond, im, re);
  const Val divides = b.op(ScalarOp::kNot, op(ScalarOp::kOr, op(ScalarOp::kEq, larger, zero), infinite));
  const Val ratio = op(ScalarOp::kDiv, b.select(divides, smaller, zero), b.select(divides, larger, one));
  const Val sum = __builtin_cpu_supports("fma") ? b.op(ScalarOp::kFma, ratio, ratio, one)
                                                : op(ScalarOp::kAdd, op(ScalarOp::kMul, ratio, ratio), one);
  return op(ScalarOp::kMul, b.op(ScalarOp::kSqrt, sum), larger);
}

Val isNanValue(KernelBuilder& b, const Value& v) {
  if (!graph::isInexact(v.dtype)) return b.constantInt(DType::kBool, 0);
  const Val re = b.op(ScalarOp::kIsNan, v.re);
  return v.isComplex() ? b.op(ScalarOp::kOr, re, b.op(ScalarOp::kIsNan, v.im)) : re;
}

Val complexCompare(KernelBuilder& b, ScalarOp op, const Value& x, const Value& y) {
  const bool less = op == ScalarOp::kLt || op == ScalarOp::kLe;
  const Val strict = b.op(less ? ScalarOp::kLt : ScalarOp::kGt, x.re, y.re);
  const Val nan = b.op(ScalarOp::kOr, b.op(ScalarOp::kIsNan, x.im), b.op(ScalarOp::kIsNan, y.im));
  const Val byRe = b.op(ScalarOp::kAnd, strict, b.op(ScalarOp::kNot, nan));
  const Val byIm = b.op(ScalarOp::kAnd, b.op(ScalarOp::kEq, x.re, y.re), b.op(op, x.im, y.im));
  return b.op(ScalarOp::kOr, byRe, byIm);
}

absl::StatusOr<Value> lowerConjugate(Lowering& l, Values v) {
  if (!v[0].isComplex()) return v[0];
  return Value{v[0].dtype, v[0].re, l.b.op(ScalarOp::kNeg, v[0].im)};
}

absl::StatusOr<Value> lowerReal(Lowering&, Values v) { return Value{graph::realOf(v[0].dtype), v[0].re, {}}; }

absl::StatusOr<Value> lowerImag(Lowering& l, Values v) {
  const DType d = graph::realOf(v[0].dtype);
  return Value{d, v[0].isComplex() ? v[0].im : l.b.constantBits(d, 0), {}};
}

absl::StatusOr<Value> lowerComplex(Lowering&, Values v) {
  return Value{graph::complexOf(v[0].dtype), v[0].re, v[1].re};
}

absl::StatusOr<Value> lowerAngle(Lowering& l, Values v) {
  const DType d = graph::realOf(v[0].dtype);
  if (!graph::isFloat(d)) return absl::UnimplementedError("angle of integers");
  const Val im = v[0].isComplex() ? v[0].im : l.b.constantBits(d, 0);
  if (l.cupy()) return Value{d, l.b.libm(Libm::kAtan2, d, {im, v[0].re}), {}};
  return Value{d, math::apply(l.b, Libm::kAtan2, {im, v[0].re}), {}};
}

}  // namespace fw::kernels
