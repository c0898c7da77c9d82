// Internal to the vector mathematics: the parts of e^x that several functions share.
#pragma once

#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

namespace fw::kernels::math {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two pieces for Cody-Waite reduction by FMA; the product n * hi needs no spare bits.
inline constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
inline constexpr double kLn2HiF32 = 0x1.62e43p-1, kLn2LoF32 = -0x1.05c61p-29;

// In f64 the interval of r for kExpm1F64 is shifted to [-0.30, 0.40]: 2^n r + (2^n - 1) cancels most at its left end
// for n = 1.
inline constexpr double kShift = -0.07;

/// x limited to [lo, hi]; NaN stays.
inline V clampFinite(V x, double lo, double hi) {
  V c = select(x < lo, lo, x);
  return select(x > hi, hi, c);
}

/// Double-length scale * (e^c - 1) for a power of two `scale`: hi is exact up to its rounding error, which lo contains
/// together with the tail of the series, so that |lo| may reach a fifth of |hi|. `exactOne` keeps the 1 where 2^n - 1
/// rounds.
inline DD expm1Parts(V c, double scale, bool exactOne = true) {
  const bool f32 = c.is32();
  V n = f32 ? rint(c * kLog2E) : rint(fma(c, kLog2E, kShift));
  V rh = fma(n, f32 ? -kLn2HiF32 : -kLn2Hi, c);  // exact
  V r = fma(n, f32 ? -kLn2LoF32 : -kLn2Lo, rh);
  V dr = fma(n, f32 ? -kLn2LoF32 : -kLn2Lo, rh - r);
  V z = r * r;
  V tail = f32 ? fma(z, horner(r, kExpF32), dr) : fma(z * r, horner(r, kExpm1F64), fma(z, 0.5, dr));
  V t = scaleb(c.lit(scale), n);
  V a = t - scale;
  V hi = fma(t, r, a);
  V lost = fma(t, r, a - hi);
  if (exactOne) lost = lost + ((t - a) - scale);
  return {hi, fma(t, tail, lost)};
}

}  // namespace fw::kernels::math
