// cbrt, hypot.
//
// cbrt: |x| = 2^(3e) m with m in [0.35, 2.83]; r ~ m^(-1/3) by a polynomial (relative error 2^-15), in f64 improved
// once with third order, y = m r^2, and one Newton step y - (y^3 - m) / (3 y^2) whose residual is exact to double
// length in f64. Nothing divides.
// hypot: both sides are scaled by the power of two that brings the larger into [1, 2), then the root of the sum of
// squares. In f32 one FMA spares the larger square its rounding; in f64 the sum is double-length and the root is
// corrected by its remainder.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: cbrt f32 0.90 (38), f64 0.50 (49); hypot f32 1.01 (18), f64 0.65 (34).
#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

#include <limits>

namespace fw::kernels::math {

Val cbrt(KernelBuilder& b, Val v) {
  V x = in(b, v);
  const bool f32 = x.is32();
  V a = vabs(x);
  V tiny = a < (f32 ? 0x1p-126 : 0x1p-1022);
  V u = bits(a * select(tiny, x.lit(f32 ? 0x1p24 : 0x1p54), 1));
  // a = 2^k m, m in [1, 2)
  const int mantissa = f32 ? 23 : 52;
  V m = fromBits((u & ((int64_t{1} << mantissa) - 1)) + bitsOf(x, 1.0));
  V k = f32 ? cast(shr(u, 23), DType::kF32) : fromBits(shr(u, 52) | int64_t{0x4330000000000000}) - 0x1p52;
  const double bias = f32 ? 127 : 1023;
  V unbiased = k - select(tiny, x.lit(bias + (f32 ? 24 : 54)), bias);
  V e = rint(unbiased * (1.0 / 3));
  V rem = fma(e, -3, unbiased);  // -1, 0, 1
  V up = rem > 0, down = rem < 0;
  V w = m * select(up, x.lit(2), select(down, x.lit(0.5), 1));
  V r = f32 ? horner(m, kInvCbrtF32) : horner(m, kInvCbrtF64);
  r = r * select(up, x.lit(0x1.965fea53d6e3dp-1), select(down, x.lit(0x1.428a2f98d728bp+0), 1));
  if (!f32) {
    V h = fma(-(w * r), r * r, 1);
    r = fma(r * h, fma(h, 2.0 / 9, 1.0 / 3), r);
  }
  V r2 = r * r;
  V y = w * r2;
  V y2 = y * y;
  V residual = fma(y2, y, -w);
  if (!f32) residual = fma(fma(y, y, -y2), y, residual);
  y = fma(residual, r2 * (-1.0 / 3), y);
  V ordinary = (a < std::numeric_limits<double>::infinity()) & (a > 0);
  return select(ordinary, copysign(scaleb(y, e), x), x).v;
}

namespace {

/// sqrt(p p + q q), 1 <= p < 2, q <= p
V rootOfSquares(V p, V q) {
  DD a = twoProd(p, p), c = twoProd(q, q);
  DD s = fastTwoSum(a.hi, c.hi);
  V h = vsqrt(s.hi);
  // + (errors of the root and of the sum) / 2h; 1/2h is needed to a tenth only, a line will do
  return fma(fma(-h, h, s.hi) + (s.lo + (a.lo + c.lo)), fma(h, -0x1.6ap-3, 0.635), h);
}

}  // namespace

Val hypot(KernelBuilder& b, Val vx, Val vy) {
  V x = in(b, vx), y = in(b, vy);
  const double inf = std::numeric_limits<double>::infinity();
  V ax = vabs(x), ay = vabs(y);
  // Exponent field of the larger side, kept where 2^e and 2^-e are both normal.
  V large = imax(bits(ax), bits(ay)), small = imin(bits(ax), bits(ay));
  V exponent = large & bitsOf(x, inf);
  const double lowest = x.is32() ? 0x1p-126 : 0x1p-1022, highest = x.is32() ? 0x1p126 : 0x1p1022;
  exponent = imin(imax(exponent, bitsOf(x, lowest)), bitsOf(x, highest));
  V up = fromBits(exponent);
  V down = fromBits(2 * bitsOf(x, 1.0) - exponent);
  V p = fromBits(large) * down, q = fromBits(small) * down;
  V infinite = (ax == inf) | (ay == inf);
  V h = p;
  if (x.is32()) {
    h = vsqrt(fma(p, p, q * q));
  } else {
    h = rootOfSquares(select(infinite, 1, p), select(infinite, 0, q));
  }
  return select(infinite, inf, h * up).v;
}

}  // namespace fw::kernels::math
