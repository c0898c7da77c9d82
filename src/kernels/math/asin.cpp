// asin, acos.
//
// |x| <= 1/2: asin x = t + t z q(z), t = |x|, z = x^2. Above: asin x = pi/2 - 2 asin t with z = (1 - |x|)/2, t = sqrt
// z (in f64 with the error of the root, (z - t^2) / 2t). Every case is A + k (t + tail) with constants A and k.
// Outside [-1, 1] the square root raises invalid.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: asin f32 1.31 (24), f64 0.64 (38); acos f32 1.29 (29), f64 0.61 (43).
#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

namespace fw::kernels::math {
namespace {

struct Arc {
  V inner;  ///< |x| <= 1/2
  V t, tail;
};
Arc arc(V x) {
  V a = vabs(x);
  V outer = a > 0.5;
  V z = select(outer, fma(a, -0.5, 0.5), a * a);
  V s = vsqrt(z);
  V t = select(outer, s, a);
  V q = x.is32() ? horner(z, kAsinF32) : horner(z, kAsinF64);
  if (x.is32()) return {!outer, t, (t * z) * q};
  // The root of the smallest z is 2^-27: the addend only keeps 0 away from the division.
  V e = fma(-s, s, z) * (0.5 / (s + 0x1p-200));
  return {!outer, t, fma(t * z, q, select(outer, e, 0))};
}

/// aHi + aLo + k (t + tail)
V combine(V aHi, V aLo, V k, const Arc& p) {
  V hi = fma(p.t, k, aHi);
  V e = fma(p.t, k, aHi - hi);
  return hi + fma(p.tail, k, e + aLo);
}

double hiOf(V x) { return x.is32() ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0; }
double loOf(V x) { return x.is32() ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54; }

}  // namespace

Val asin(KernelBuilder& b, Val v) {
  V x = in(b, v);
  Arc p = arc(x);
  V aHi = select(p.inner, 0, x.lit(hiOf(x))), aLo = select(p.inner, 0, x.lit(loOf(x)));
  V r = combine(aHi, aLo, select(p.inner, 1, x.lit(-2)), p);
  return copysign(r, x).v;
}

Val acos(KernelBuilder& b, Val v) {
  V x = in(b, v);
  Arc p = arc(x);
  V turns = select(p.inner, 1, select(x < 0, x.lit(2), 0));  // A = turns pi/2
  V k = select(p.inner, copysign(x.lit(1), -x), select(x < 0, x.lit(-2), 2));
  return combine(turns * hiOf(x), turns * loOf(x), k, p).v;
}

}  // namespace fw::kernels::math
