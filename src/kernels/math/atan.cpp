// atan, atan2.
//
// Both are the angle of (M, m) with M >= m >= 0 the larger and smaller of the two sides, put into its octant
// afterwards: angle = j pi/4 +- atan(t). f32: t = m/M in [0, 1], one odd polynomial. f64: where m > tan(pi/8) M, t =
// (m - M)/(m + M), so that |t| <= tan(pi/8); t is kept with its remainder, and the sum with j pi/4 is double-length.
// atan2 in f64 scales extreme sides, so that neither m + M overflows nor 1/M.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: atan f32 1.46 (23), f64 0.62 (57); atan2 f32 1.73 (38), f64 0.74 (78).
#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

#include <limits>

namespace fw::kernels::math {
namespace {

/// Angle of (large, small) seen from where `swapped` (the sides are exchanged) and `mirrored` (x < 0; may be null) say.
/// large > 0, and moderate in f64.
V octantAngle(V large, V small, V swapped, const V* mirrored) {
  V flip = mirrored ? swapped ^ *mirrored : swapped;
  if (large.is32()) {
    V t = small / large;
    V z = t * t;
    V a = fma(t * z, horner(z, kAtanF32), t);
    V j = select(swapped, large.lit(1), 0);
    if (mirrored) j = select(*mirrored, 2 - j, j);
    return fma(j, 0x1.921fb6p+0, fma(j, -0x1.777a5cp-25, select(flip, -a, a)));
  }
  V mid = small > large * 0x1.a827999fcef32p-2;
  V diff = small - large, sum = small + large;
  V num = select(mid, diff, small), den = select(mid, sum, large);
  V numLo = select(mid, small - (diff + large), 0), denLo = select(mid, small - (sum - large), 0);
  V inv = 1 / den;
  V t = num * inv;
  V rest = fma(-t, den, num) + fma(-t, denLo, numLo);
  V tLo = rest * inv;
  V z = t * t;
  V tail = fma(t * z, horner(z, kAtanF64), fma(-z, tLo, tLo));
  V j = select(mid, large.lit(1), 0);
  j = select(swapped, 2 - j, j);
  if (mirrored) j = select(*mirrored, 4 - j, j);
  const double quarter = 0x1.921fb54442d18p-1, quarterLo = 0x1.1a62633145c07p-55;
  V base = j * quarter;
  V baseLo = fma(j, quarterLo, fma(j, quarter, -base));
  V ts = select(flip, -t, t);
  V s = base + ts;
  return s + ((ts - (s - base)) + (select(flip, -tail, tail) + baseLo));
}

}  // namespace

Val atan(KernelBuilder& b, Val v) {
  V x = in(b, v);
  V a = vabs(x);
  V c = select(a > 0x1p60, 0x1p60, a);
  V swapped = c > 1;
  V r = octantAngle(select(swapped, c, 1), select(swapped, 1, c), swapped, nullptr);
  return copysign(r, x).v;
}

Val atan2(KernelBuilder& b, Val vy, Val vx) {
  V y = in(b, vy), x = in(b, vx);
  V ay = vabs(y), ax = vabs(x);
  const int64_t inf = bitsOf(x, std::numeric_limits<double>::infinity());
  V iy = bits(ay), ix = bits(ax);  // ordered like the values, NaN above infinity
  V large = imax(iy, ix), small = imin(iy, ix);
  small = select((large == inf) & (small != inf), 0, small);
  large = fromBits(imin(large, inf - 1));
  small = fromBits(imin(small, inf - 1));
  V zero = large == 0;
  if (!x.is32()) {
    V scale = select(large > 0x1p900, x.lit(0x1p-600), select(large < 0x1p-900, x.lit(0x1p600), 1));
    large = large * scale;
    small = small * scale;
  }
  V mirrored = bits(x) < 0;
  V r = octantAngle(select(zero, 1, large), small, ay > ax, &mirrored);
  return select(isnan(x) | isnan(y), std::numeric_limits<double>::quiet_NaN(), copysign(r, y)).v;
}

}  // namespace fw::kernels::math
