// Internal to the vector mathematics: the parts of e^x that several functions share.
#pragma once

#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

namespace fw::kernels::math {

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two pieces for Cody-Waite reduction by FMA; the product n * hi needs no spare bits.
inline constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
inline constexpr double kLn2HiF32 = 0x1.62e43p-1, kLn2LoF32 = -0x1.05c61p-29;

/// x limited to [lo, hi]; NaN stays.
inline V clampFinite(V x, double lo, double hi) {
  V c = select(x < lo, lo, x);
  return select(x > hi, hi, c);
}

/// Double-length e^c - 1 (or half of it): |lo| <= ulp(hi) as far as the tail is small, else about 0.1 |hi|.
struct ExpParts {
  V hi, lo;
};
inline ExpParts expm1Parts(V c, bool halved) {
  const bool f32 = c.is32();
  V n = rint(c * kLog2E);
  V rh = fma(n, f32 ? -kLn2HiF32 : -kLn2Hi, c);          // exact
  V r = fma(n, f32 ? -kLn2LoF32 : -kLn2Lo, rh);
  V dr = fma(n, f32 ? -kLn2LoF32 : -kLn2Lo, rh - r);
  V q = f32 ? horner(r, kExpF32) : horner(r, kExpF64);
  V tail = fma(r * r, q, dr);
  V t = halved ? scaleb(c.lit(0.5), n) : scaleb(c.lit(1), n);
  V a = t - (halved ? 0.5 : 1.0);
  V hi = fma(t, r, a);
  V lo = fma(t, tail, fma(t, r, a - hi));
  return {hi, lo};
}

}  // namespace fw::kernels::math
