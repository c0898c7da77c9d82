// sinh, cosh, tanh from E = e^y - 1 in double length (exp_core.h), so that nothing cancels near zero.
//
// tanh = E / (E + 2) with y = 2|x|; the quotient is corrected by its remainder. f32 takes n = floor(y / ln 2) instead
//   of rint: then 2^n - 1 and 2^n (e^r - 1) are both positive and E needs no second word.
// sinh = (E + E/(1+E)) / 2, the quotient with its remainder in f64.
// cosh = (2 + E E/(1+E)) / 2 for E < 1 and (E + 2 - E/(1+E)) / 2 above.
// The last two are formed at 1/16 of their size, and the last product overflows when they do.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: sinh f32 1.36 (40), f64 0.74 (56); cosh f32 0.96 (40), f64 0.94 (47);
// tanh f32 1.46 (28), f64 0.78 (45), but 1.00 for 18.71 < |x| < 19.07, where either neighbour of the true value may
// come out.
#include "kernels/math/coefficients.h"
#include "kernels/math/exp_core.h"
#include "kernels/math/expr.h"

namespace fw::kernels::math {
namespace {

/// e / (e + c) with the remainder of the division and the rounding error of the sum: result and its correction.
DD quotientParts(DD e, double c, bool withLow) {
  V d = e.hi + c;
  V dLo = e.hi - (d - c);
  if (withLow) dLo = dLo + e.lo;
  V inv = 1 / d;
  V q = e.hi * inv;
  V rest = fma(-q, d, e.hi);
  rest = withLow ? rest + fma(-q, dLo, e.lo) : fma(-q, dLo, rest);
  return {q, rest * inv};
}

V quotient(DD e, double c, bool withLow) {
  DD q = quotientParts(e, c, withLow);
  return q.hi + q.lo;
}

V tanhF32(V x) {
  V a = vabs(x);
  V c = select(a > 10, 10, a);
  V n = floor(c * (2 * kLog2E));
  V r = fma(n, -0.5 * kLn2LoF32, fma(n, -0.5 * kLn2HiF32, c));  // y - n ln 2 = 2 r
  double coefficients[std::size(kExpm1F32)];
  for (size_t i = 0; i < std::size(kExpm1F32); ++i) coefficients[i] = kExpm1F32[i] * static_cast<double>(2 << i);
  V p = fma(r * r, horner(r, coefficients), r);  // (e^2r - 1) / 2
  V t = scaleb(x.lit(2), n);
  V e = fma(t, p, fma(t, 0.5, -1));
  return copysign(quotient({e, e.lit(0)}, 2, /*withLow=*/false), x);
}

V tanhF64(V x) {
  V a = vabs(x);
  V c = select(a > 22, 22, a);
  DD e = expm1Parts(c + c, 1, /*exactOne=*/false);
  e = fastTwoSum(e.hi, e.lo);
  return copysign(quotient(e, 2, /*withLow=*/true), x);
}

constexpr double kScale = 0.0625;

V limited(V x) {
  V a = vabs(x);
  const double limit = x.is32() ? 90 : 711;
  return select(a > limit, limit, a);
}

}  // namespace

Val tanh(KernelBuilder& b, Val v) {
  V x = in(b, v);
  return (x.is32() ? tanhF32(x) : tanhF64(x)).v;
}

Val sinh(KernelBuilder& b, Val v) {
  V x = in(b, v);
  DD p = expm1Parts(limited(x), kScale);
  V y = x;
  if (x.is32()) {
    V e = p.hi + p.lo;
    V d = e / (e + kScale);
    y = select(e < kScale, (p.hi + p.hi) + fma(-e, d, p.lo + p.lo), p.hi + fma(d, kScale, p.lo));
  } else {
    DD e = fastTwoSum(p.hi, p.lo);
    DD d = quotientParts(e, kScale, /*withLow=*/true);
    DD sum = fastTwoSum(e.hi, d.hi * kScale);
    y = sum.hi + fma(d.lo, kScale, sum.lo + e.lo);
  }
  V tiny = vabs(x) < (x.is32() ? 0x1p-13 : 0x1p-28);  // also keeps subnormals
  return select(tiny, x, copysign(y * (0.5 / kScale), x)).v;
}

Val cosh(KernelBuilder& b, Val v) {
  V x = in(b, v);
  DD p = expm1Parts(limited(x), kScale);
  V e = p.hi + p.lo;
  V d = e / (e + kScale);
  DD s = twoSum(p.hi, p.hi.lit(2 * kScale));
  V large = s.hi + (fma(d, -kScale, s.lo) + p.lo);
  V y = select(e < kScale, fma(e, d, 2 * kScale), large);
  return (y * (0.5 / kScale)).v;
}

}  // namespace fw::kernels::math
