// Internal to the vector mathematics: arithmetic notation over KernelBuilder, so that a method reads like its formula,
// and the bit-level helpers that several functions share.
//
// Flags: a function must not raise invalid, divide or overflow for arguments for which C does not. Two habits follow:
//  - comparisons and selects instead of MinSecond/MaxSecond on floats and of float-to-integer casts, because those
//    raise invalid for quiet NaNs (integer minima on the bits are free of flags and used instead);
//  - the flags of poles and domain errors are raised by raiseIf() and not by an artificial division, which would cost
//    more than the function, and would also fire in the idle lanes of a masked tail.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/builder.h"
#include "kernels/math.h"

namespace fw::kernels::math {

// Status bits as in runtime/context.h.
inline constexpr uint64_t kRaiseInvalid = 1;
inline constexpr uint64_t kRaiseDivide = 2;
inline constexpr uint64_t kRaiseOverflow = 4;
inline constexpr uint64_t kDecline = 16;

/// A value together with the builder that it grows in.
struct V {
  KernelBuilder* b;
  Val v;

  bool is32() const { return v.dtype == DType::kF32 || v.dtype == DType::kI32 || v.dtype == DType::kU32; }
  bool floating() const { return v.dtype == DType::kF32 || v.dtype == DType::kF64; }
  V wrap(Val r) const { return {b, r}; }
  template <class T>
  V lit(T c) const {  ///< constant of this value's type
    if (floating()) return wrap(b->constant(v.dtype, static_cast<double>(c)));
    return wrap(b->constantInt(v.dtype, static_cast<int64_t>(c)));
  }
};

template <class T>
concept Num = std::is_arithmetic_v<T>;

inline V un(ScalarOp o, V a) { return a.wrap(a.b->op(o, a.v)); }
inline V bin(ScalarOp o, V a, V c) { return a.wrap(a.b->op(o, a.v, c.v)); }

#define FW_MATH_BINARY(sym, Op)                                          \
  inline V operator sym(V a, V c) { return bin(ScalarOp::k##Op, a, c); } \
  template <Num T>                                                       \
  V operator sym(V a, T c) {                                             \
    return bin(ScalarOp::k##Op, a, a.lit(c));                            \
  }                                                                      \
  template <Num T>                                                       \
  V operator sym(T a, V c) {                                             \
    return bin(ScalarOp::k##Op, c.lit(a), c);                            \
  }
FW_MATH_BINARY(+, Add)
FW_MATH_BINARY(-, Sub)
FW_MATH_BINARY(*, Mul)
FW_MATH_BINARY(/, Div)
FW_MATH_BINARY(&, And)
FW_MATH_BINARY(|, Or)
FW_MATH_BINARY(^, Xor)
FW_MATH_BINARY(<<, Shl)
FW_MATH_BINARY(<, Lt)
FW_MATH_BINARY(<=, Le)
FW_MATH_BINARY(>, Gt)
FW_MATH_BINARY(>=, Ge)
FW_MATH_BINARY(==, Eq)
FW_MATH_BINARY(!=, Ne)
#undef FW_MATH_BINARY

inline V operator-(V a) { return un(ScalarOp::kNeg, a); }
inline V operator!(V a) { return un(ScalarOp::kNot, a); }
template <class A, class C>
V fma(V a, A m, C c) {  ///< a * m + c, rounded once; constants take a's type
  V vm = a, vc = a;
  if constexpr (Num<A>)
    vm = a.lit(m);
  else
    vm = m;
  if constexpr (Num<C>)
    vc = a.lit(c);
  else
    vc = c;
  return a.wrap(a.b->op(ScalarOp::kFma, a.v, vm.v, vc.v));
}
inline V vabs(V a) { return un(ScalarOp::kAbs, a); }
inline V vsqrt(V a) { return un(ScalarOp::kSqrt, a); }
inline V rint(V a) { return un(ScalarOp::kRint, a); }
inline V floor(V a) { return un(ScalarOp::kFloor, a); }
inline V trunc(V a) { return un(ScalarOp::kTrunc, a); }
inline V isnan(V a) { return un(ScalarOp::kIsNan, a); }
inline V copysign(V a, V s) { return bin(ScalarOp::kCopySign, a, s); }
inline V scaleb(V a, V n) { return bin(ScalarOp::kScaleB, a, n); }
inline V sar(V a, int n) { return bin(ScalarOp::kShrArith, a, a.lit(n)); }
inline V shr(V a, int n) { return bin(ScalarOp::kShrLogical, a, a.lit(n)); }
inline V imin(V a, int64_t c) { return bin(ScalarOp::kMinSecond, a, a.lit(c)); }  ///< integers only
inline V imax(V a, int64_t c) { return bin(ScalarOp::kMaxSecond, a, a.lit(c)); }
inline V imax(V a, V c) { return bin(ScalarOp::kMaxSecond, a, c); }
inline V imin(V a, V c) { return bin(ScalarOp::kMinSecond, a, c); }

template <class A, class C>
V select(V cond, A a, C c) {  ///< one of the two may be a literal
  if constexpr (Num<A>) {
    return cond.wrap(cond.b->select(cond.v, c.lit(a).v, c.v));
  } else if constexpr (Num<C>) {
    return cond.wrap(cond.b->select(cond.v, a.v, a.lit(c).v));
  } else {
    return cond.wrap(cond.b->select(cond.v, a.v, c.v));
  }
}
inline V cast(V a, DType to) { return a.wrap(a.b->cast(a.v, to)); }
inline V bits(V a) { return a.wrap(a.b->bitcast(a.v, a.is32() ? DType::kI32 : DType::kI64)); }
inline V fromBits(V a) { return a.wrap(a.b->bitcast(a.v, a.is32() ? DType::kF32 : DType::kF64)); }
inline void raiseIf(V cond, uint64_t status) { cond.b->raiseIf(cond.v, status); }

/// Bit pattern of c in x's floating type.
inline int64_t bitsOf(V x, double c) {
  return x.is32() ? static_cast<int64_t>(std::bit_cast<int32_t>(static_cast<float>(c))) : std::bit_cast<int64_t>(c);
}

/// Polynomial by Horner's rule: coefficients from the constant term up.
template <size_t N>
V horner(V x, const double (&c)[N]) {
  const double* p = c + N;
  V r = x.lit(*--p);
  while (p != c) r = fma(r, x, *--p);
  return r;
}

/// Unevaluated sum hi + lo.
struct DD {
  V hi, lo;
};
/// a + c exactly; needs |a| >= |c|, or a a multiple of ulp(c).
inline DD fastTwoSum(V a, V c) {
  V s = a + c;
  return {s, c - (s - a)};
}
inline DD twoSum(V a, V c) {
  V s = a + c;
  V t = s - a;
  return {s, (a - (s - t)) + (c - t)};
}
inline DD twoProd(V a, V c) {
  V p = a * c;
  return {p, fma(a, c, -p)};
}
/// (a + aLo) (c + cLo)
inline DD mul(DD a, DD c) {
  DD p = twoProd(a.hi, c.hi);
  return {p.hi, fma(a.hi, c.lo, fma(a.lo, c.hi, p.lo))};
}

/// Runs f32 or f64 code by the type of x.
inline V in(KernelBuilder& b, Val x) { return {&b, x}; }

}  // namespace fw::kernels::math
