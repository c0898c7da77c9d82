// Arithmetic: + - * /, divisions with remainder, extremes, signs, roundings. Formulas of NumPy's C loops, branches
// turned into selects in such a way that no lane raises a floating-point flag that NumPy would not raise.
#include "absl/status/status.h"
#include "graph/support/check.h"
#include "kernels/lower_ops.h"

namespace fw::kernels {
namespace {

using Values = absl::Span<const Value>;

Value real(Val v) { return {v.dtype, v, {}}; }

absl::Status unimplemented(const char* what) { return absl::UnimplementedError(what); }

/// The same operation on each part.
Value partwise(Lowering& l, ScalarOp op, Values v) {
  const auto apply = [&](Val Value::* part) {
    return v.size() == 1 ? l.b.op(op, v[0].*part) : l.b.op(op, v[0].*part, v[1].*part);
  };
  Value r{v[0].dtype, apply(&Value::re), {}};
  if (v[0].isComplex()) r.im = apply(&Value::im);
  return r;
}

Val one(Lowering& l, DType d) { return l.b.constant(d, 1); }
Val zero(Lowering& l, DType d) { return l.b.constantBits(d, 0); }
Val both(Lowering& l, Val a, Val b) { return l.b.op(ScalarOp::kAnd, a, b); }
Val differ(Lowering& l, Val a, Val b) { return l.b.op(ScalarOp::kNe, a, b); }

Val smallest(Lowering& l, DType d) { return l.b.constantBits(d, uint64_t{1} << (8 * graph::itemSize(d) - 1)); }

/// A divisor that is safe for Div and Rem, with what was wrong about the original.
struct SafeDivisor {
  Val divisor, byZero, overflows;
};
SafeDivisor safeDivisor(Lowering& l, Val a, Val b) {
  SafeDivisor s;
  s.byZero = isZero(l.b, b);
  s.overflows = l.b.constantInt(DType::kBool, 0);
  s.divisor = l.b.select(s.byZero, one(l, b.dtype), b);
  if (graph::isSigned(a.dtype)) {
    s.overflows =
        both(l, l.b.op(ScalarOp::kEq, a, smallest(l, a.dtype)), l.b.op(ScalarOp::kEq, b, l.b.constantInt(b.dtype, -1)));
    s.divisor = l.b.select(s.overflows, one(l, b.dtype), s.divisor);
  }
  return s;
}

/// True where the remainder `rem` of a C division has to move to the divisor's sign.
Val needsFloor(Lowering& l, Val rem, Val b) {
  const Val z = zero(l, b.dtype);
  return both(l, differ(l, rem, z), differ(l, l.b.op(ScalarOp::kLt, b, z), l.b.op(ScalarOp::kLt, rem, z)));
}

Val intFloorDivide(Lowering& l, Val a, Val b) {
  const SafeDivisor s = safeDivisor(l, a, b);
  l.b.raiseIf(s.byZero, kDivide);
  l.b.raiseIf(s.overflows, kOverflow);
  Val q = l.b.op(ScalarOp::kDiv, a, s.divisor);
  if (graph::isSigned(a.dtype)) {
    const Val rem = l.b.op(ScalarOp::kSub, a, l.b.op(ScalarOp::kMul, q, s.divisor));
    const Val lower = l.b.op(ScalarOp::kSub, q, one(l, a.dtype));
    q = l.b.select(needsFloor(l, rem, s.divisor), lower, q);
  }
  return l.b.select(s.byZero, zero(l, a.dtype), q);  // smallest / -1 is smallest / 1: NumPy's wrapped result
}

Val intRemainder(Lowering& l, Val a, Val b, bool floored) {
  const SafeDivisor s = safeDivisor(l, a, b);
  l.b.raiseIf(s.byZero, kDivide);
  Val rem = l.b.op(ScalarOp::kRem, a, s.divisor);
  if (floored && graph::isSigned(a.dtype))
    rem = l.b.select(needsFloor(l, rem, s.divisor), l.b.op(ScalarOp::kAdd, rem, s.divisor), rem);
  return l.b.select(s.byZero, zero(l, a.dtype), rem);
}

/// C's fmod without its loop. With q = trunc(round(|a| / |b|)) below 2^53, q is the quotient or one more; either way
/// |a| - q |b| is a multiple of b's last place not above |b|, so fma answers it exactly, and a negative one gets |b|
/// added, exactly. Greater quotients decline, as does a divisor of which the exponent does not tell the size.
Val fmod(Lowering& l, Val a, Val b) {
  KernelBuilder& k = l.b;
  if (a.dtype == DType::kF32) return k.cast(fmod(l, k.cast(a, DType::kF64), k.cast(b, DType::kF64)), DType::kF32);
  const DType d = DType::kF64;
  const auto either = [&](Val x, Val y) { return k.op(ScalarOp::kOr, x, y); };
  const auto exponent = [&](Val x) {
    return k.op(ScalarOp::kShrLogical, k.bitcast(x, DType::kI64), k.constantInt(DType::kI64, 52));
  };
  const Val absA = k.op(ScalarOp::kAbs, a), absB = k.op(ScalarOp::kAbs, b);
  const Val nan = either(k.op(ScalarOp::kIsNan, a), k.op(ScalarOp::kIsNan, b));
  const Val infinite = k.op(ScalarOp::kEq, absA, k.constantBits(d, 0x7ff0000000000000u));
  const Val invalid = both(l, k.op(ScalarOp::kNot, nan), either(infinite, isZero(k, b)));
  k.raiseIf(invalid, kInvalid);
  const Val none = either(nan, invalid), small = k.op(ScalarOp::kLt, absA, absB);
  const Val expA = exponent(absA), expB = exponent(absB);
  const Val near = both(l, k.op(ScalarOp::kGe, expB, k.constantInt(DType::kI64, 1)),
                        k.op(ScalarOp::kLe, k.op(ScalarOp::kSub, expA, expB), k.constantInt(DType::kI64, 51)));
  const Val done = either(none, small);
  k.raiseIf(k.op(ScalarOp::kNot, either(done, near)), kDecline);
  const Val use = both(l, near, k.op(ScalarOp::kNot, done));
  const Val num = k.select(use, absA, one(l, d)), den = k.select(use, absB, one(l, d));
  const Val quotient = k.op(ScalarOp::kTrunc, k.op(ScalarOp::kDiv, num, den));
  const Val rest = k.op(ScalarOp::kFma, k.op(ScalarOp::kNeg, quotient), den, num);
  const Val below = k.op(ScalarOp::kLt, rest, zero(l, d));
  const Val exact = k.select(below, k.op(ScalarOp::kAdd, rest, den), rest);
  const Val result = k.op(ScalarOp::kCopySign, k.select(use, exact, absA), a);
  return k.select(none, k.constantBits(d, 0x7ff8000000000000u), result);
}

Val floatRemainder(Lowering& l, Val a, Val b) {  // npy_remainder
  const Val mod = fmod(l, a, b);
  const Val z = zero(l, a.dtype);
  const Val moved = l.b.select(needsFloor(l, mod, b), l.b.op(ScalarOp::kAdd, mod, b), mod);
  return l.b.select(isZero(l.b, mod), l.b.op(ScalarOp::kCopySign, z, b), moved);
}

/// CuPy's // of floats.
Val cupyQuotient(Lowering& l, Val a, Val b) { return l.b.op(ScalarOp::kFloor, l.b.op(ScalarOp::kDiv, a, b)); }

Val floatFloorDivide(Lowering& l, Val a, Val b) {  // npy_floor_divide
  const DType d = a.dtype;
  const Val z = zero(l, d);
  const Val byZero = isZero(l.b, b);
  const Val mod = fmod(l, a, l.b.select(byZero, one(l, d), b));
  const Val quotient = l.b.op(ScalarOp::kDiv, l.b.select(byZero, a, l.b.op(ScalarOp::kSub, a, mod)), b);
  const Val exact = l.b.select(byZero, z, quotient);  // no inf - inf below
  const Val div = l.b.select(needsFloor(l, mod, b), l.b.op(ScalarOp::kSub, exact, one(l, d)), exact);
  const Val floor = l.b.op(ScalarOp::kFloor, div);
  const Val up = l.b.op(ScalarOp::kGt, l.b.op(ScalarOp::kSub, div, floor), l.b.constant(d, 0.5));
  const Val rounded = l.b.select(up, l.b.op(ScalarOp::kAdd, floor, one(l, d)), floor);
  // The sign of a quotient of 0 is that of a / b, which may underflow.
  const Val none = both(l, isZero(l.b, div), l.b.op(ScalarOp::kNot, byZero));
  const Val ratio = l.b.op(ScalarOp::kDiv, l.b.select(none, a, z), l.b.select(none, b, one(l, d)));
  const Val small = l.b.select(none, l.b.op(ScalarOp::kCopySign, z, ratio), rounded);
  return l.b.select(byZero, quotient, small);
}

}  // namespace

absl::StatusOr<Value> lowerAdd(Lowering& l, Values v) {
  return partwise(l, v[0].dtype == DType::kBool ? ScalarOp::kOr : ScalarOp::kAdd, v);
}

absl::StatusOr<Value> lowerSubtract(Lowering& l, Values v) { return partwise(l, ScalarOp::kSub, v); }

absl::StatusOr<Value> lowerMultiply(Lowering& l, Values v) {
  if (v[0].isComplex())
    return complexMultiply(l.b, v[0], v[1], l.cupy() || (!l.scalar && __builtin_cpu_supports("fma")));
  return partwise(l, v[0].dtype == DType::kBool ? ScalarOp::kAnd : ScalarOp::kMul, v);
}

absl::StatusOr<Value> lowerFma(Lowering& l, Values v) {
  if (v[0].dtype != DType::kF32 && v[0].dtype != DType::kF64) return absl::UnimplementedError("fma of this type");
  return Value{v[0].dtype, l.b.op(ScalarOp::kFma, v[0].re, v[1].re, v[2].re), {}};
}

absl::StatusOr<Value> lowerDivide(Lowering& l, Values v) {
  if (v[0].isComplex()) return complexDivide(l.b, v[0], v[1]);
  if (!graph::isFloat(v[0].dtype)) return unimplemented("true division of integers without a cast");
  return partwise(l, ScalarOp::kDiv, v);
}

absl::StatusOr<Value> lowerFloorDivide(Lowering& l, Values v) {
  if (v[0].isComplex()) return unimplemented("floor_divide of complex numbers");
  if (l.cupy() && graph::isFloat(v[0].dtype)) return real(cupyQuotient(l, v[0].re, v[1].re));
  return real(graph::isFloat(v[0].dtype) ? floatFloorDivide(l, v[0].re, v[1].re) : intFloorDivide(l, v[0].re, v[1].re));
}

absl::StatusOr<Value> lowerRemainder(Lowering& l, Values v) {
  if (v[0].isComplex()) return unimplemented("remainder of complex numbers");
  if (l.cupy() && graph::isFloat(v[0].dtype)) {
    const Val quotient = cupyQuotient(l, v[0].re, v[1].re);
    return real(l.b.op(ScalarOp::kFma, l.b.op(ScalarOp::kNeg, quotient), v[1].re, v[0].re));
  }
  return real(graph::isFloat(v[0].dtype) ? floatRemainder(l, v[0].re, v[1].re)
                                         : intRemainder(l, v[0].re, v[1].re, true));
}

absl::StatusOr<Value> lowerFmod(Lowering& l, Values v) {
  if (v[0].isComplex()) return unimplemented("fmod of complex numbers");
  if (l.cupy() && graph::isFloat(v[0].dtype)) return real(l.b.libm(Libm::kFmod, v[0].dtype, {v[0].re, v[1].re}));
  return real(graph::isFloat(v[0].dtype) ? fmod(l, v[0].re, v[1].re) : intRemainder(l, v[0].re, v[1].re, false));
}

absl::StatusOr<Value> lowerNegative(Lowering& l, Values v) { return partwise(l, ScalarOp::kNeg, v); }

absl::StatusOr<Value> lowerAbsolute(Lowering& l, Values v) {
  const DType d = v[0].dtype;
  if (v[0].isComplex()) return Value{graph::realOf(d), complexAbsolute(l.b, v[0], l.scalar), {}};
  if (d == DType::kBool || graph::kindOf(d) == graph::DTypeKind::kUnsigned) return v[0];
  return real(l.b.op(ScalarOp::kAbs, v[0].re));
}

absl::StatusOr<Value> lowerSign(Lowering& l, Values v) {
  if (v[0].isComplex()) return unimplemented("sign of complex numbers");
  const Val x = v[0].re;
  const DType d = x.dtype;
  const Val z = zero(l, d);
  const Val positive = l.b.op(ScalarOp::kGt, x, z);
  if (graph::kindOf(d) == graph::DTypeKind::kUnsigned) return real(l.b.select(positive, one(l, d), z));
  const Val negative = l.b.op(ScalarOp::kLt, x, z);
  const Val minusOne = graph::isFloat(d) ? l.b.constant(d, -1) : l.b.constantInt(d, -1);
  const Val rest = graph::isFloat(d) ? l.b.select(isZero(l.b, x), z, x) : z;  // NaN answers itself
  return real(l.b.select(positive, one(l, d), l.b.select(negative, minusOne, rest)));
}

namespace {

absl::StatusOr<Value> rounding(Lowering& l, ScalarOp op, Values v) {
  if (v[0].isComplex() && op != ScalarOp::kRint) return unimplemented("rounding of complex numbers");
  if (!graph::isInexact(v[0].dtype)) return v[0];
  return partwise(l, op, v);
}

}  // namespace

absl::StatusOr<Value> lowerFloor(Lowering& l, Values v) { return rounding(l, ScalarOp::kFloor, v); }
absl::StatusOr<Value> lowerCeil(Lowering& l, Values v) { return rounding(l, ScalarOp::kCeil, v); }
absl::StatusOr<Value> lowerTrunc(Lowering& l, Values v) { return rounding(l, ScalarOp::kTrunc, v); }
absl::StatusOr<Value> lowerRint(Lowering& l, Values v) { return rounding(l, ScalarOp::kRint, v); }

absl::StatusOr<Value> lowerSqrt(Lowering& l, Values v) {
  if (!graph::isFloat(v[0].dtype)) return unimplemented("sqrt of this type");
  return partwise(l, ScalarOp::kSqrt, v);
}

// --- extremes ------------------------------------------------------------------------------------------------------

namespace {

Val cupyExtreme(KernelBuilder& b, Libm extreme, Val x, Val y) {
  const Val nan = b.constantBits(x.dtype, x.dtype == DType::kF32 ? 0x7fffffffu : 0x7ff8000000000000u);
  const Val none = b.op(ScalarOp::kOr, b.op(ScalarOp::kIsNan, x), b.op(ScalarOp::kIsNan, y));
  return b.select(none, nan, b.libm(extreme, x.dtype, {x, y}));
}

}  // namespace

Val maximum(KernelBuilder& b, Val x, Val y, bool firstOfEqual) {
  if (x.dtype == DType::kBool) return b.op(ScalarOp::kOr, x, y);
  if (!graph::isFloat(x.dtype)) return b.op(ScalarOp::kMaxSecond, x, y);
  if (b.numbers() == Numbers::kCuPy) return cupyExtreme(b, Libm::kFmax, x, y);
  const Val first = firstOfEqual ? b.op(ScalarOp::kGe, x, y) : b.op(ScalarOp::kGt, x, y);
  const Val greater = firstOfEqual ? b.select(first, x, y) : b.op(ScalarOp::kMaxSecond, x, y);
  return b.select(b.op(ScalarOp::kIsNan, x), x, greater);
}

Val minimum(KernelBuilder& b, Val x, Val y, bool firstOfEqual) {
  if (x.dtype == DType::kBool) return b.op(ScalarOp::kAnd, x, y);
  if (!graph::isFloat(x.dtype)) return b.op(ScalarOp::kMinSecond, x, y);
  if (b.numbers() == Numbers::kCuPy) return cupyExtreme(b, Libm::kFmin, x, y);
  const Val first = firstOfEqual ? b.op(ScalarOp::kLe, x, y) : b.op(ScalarOp::kLt, x, y);
  const Val less = firstOfEqual ? b.select(first, x, y) : b.op(ScalarOp::kMinSecond, x, y);
  return b.select(b.op(ScalarOp::kIsNan, x), x, less);
}

namespace {

/// Complex extremes: x unless y is the more extreme one. `ge` is the order's Ge (maximum) or Le.
Value complexExtreme(KernelBuilder& b, ScalarOp ge, const Value& x, const Value& y, Val takeFirst) {
  const Val first = b.op(ScalarOp::kOr, takeFirst, complexCompare(b, ge, x, y));
  return {x.dtype, b.select(first, x.re, y.re), b.select(first, x.im, y.im)};
}

/// fmax and fmin: the operand that is no NaN. Which zero of two wins depends on the position within NumPy's SIMD
/// loop, so zeros of different signs decline.
absl::StatusOr<Value> extremeIgnoringNan(Lowering& l, bool max, Values v) {
  KernelBuilder& b = l.b;
  const Value &x = v[0], &y = v[1];
  if (x.isComplex()) return complexExtreme(b, max ? ScalarOp::kGe : ScalarOp::kLe, x, y, isNanValue(b, y));
  if (l.cupy() && graph::isFloat(x.dtype)) return real(b.libm(max ? Libm::kFmax : Libm::kFmin, x.dtype, {x.re, y.re}));
  if (!graph::isFloat(x.dtype)) return real(max ? maximum(b, x.re, y.re, false) : minimum(b, x.re, y.re, false));
  if (!l.half) {
    const DType bits = x.dtype == DType::kF32 ? DType::kU32 : DType::kU64;
    const Val zeros = both(l, isZero(b, x.re), isZero(b, y.re));
    b.raiseIf(both(l, zeros, differ(l, b.bitcast(x.re, bits), b.bitcast(y.re, bits))), kDecline);
  }
  const Val first = b.op(max ? ScalarOp::kGe : ScalarOp::kLe, x.re, y.re);
  const Val takeFirst = b.op(ScalarOp::kOr, first, b.op(ScalarOp::kIsNan, y.re));
  return real(b.select(takeFirst, x.re, y.re));
}

}  // namespace

absl::StatusOr<Value> lowerMaximum(Lowering& l, Values v) {
  if (v[0].isComplex()) return complexExtreme(l.b, ScalarOp::kGe, v[0], v[1], isNanValue(l.b, v[0]));
  return real(maximum(l.b, v[0].re, v[1].re, l.half));
}
absl::StatusOr<Value> lowerMinimum(Lowering& l, Values v) {
  if (v[0].isComplex()) return complexExtreme(l.b, ScalarOp::kLe, v[0], v[1], isNanValue(l.b, v[0]));
  return real(minimum(l.b, v[0].re, v[1].re, l.half));
}
absl::StatusOr<Value> lowerFmax(Lowering& l, Values v) { return extremeIgnoringNan(l, true, v); }
absl::StatusOr<Value> lowerFmin(Lowering& l, Values v) { return extremeIgnoringNan(l, false, v); }

absl::StatusOr<Value> lowerCopysign(Lowering& l, Values v) { return partwise(l, ScalarOp::kCopySign, v); }

absl::StatusOr<Value> lowerSignbit(Lowering& l, Values v) {
  const bool wide = v[0].dtype == DType::kF64;
  const Val bits = l.b.bitcast(v[0].re, wide ? DType::kI64 : DType::kI32);
  return real(l.b.op(ScalarOp::kLt, bits, l.b.constantInt(bits.dtype, 0)));
}

}  // namespace fw::kernels
