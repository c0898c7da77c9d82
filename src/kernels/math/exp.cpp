// exp, exp2, expm1.
//
// exp: n = rint(x / ln 2), r = x - n ln 2 (Cody-Waite, two FMAs), e^r = 1 + r + r^2 q(r), result scaled by 2^n. The
// argument is clamped first, to just beyond where the result overflows or vanishes: then the scaling raises overflow
// by itself, and no intermediate does. (It also does so for +inf, where C does not: two operations are saved for a
// rare value.)
// exp2: n = rint(x), 2^r by a polynomial in the exact r = x - n.
// expm1: the same reduction with the rounding error of r kept; 2^n r + (2^n - 1) is formed as a double-length sum,
// since its terms cancel for n = 1 and n = -1, and the tail 2^n (r^2 q(r) + error of r) joins in the last addition.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: exp f32 0.88 (15), f64 0.85 (20); exp2 f32 0.83 (13), f64 0.82 (18);
// expm1 f32 0.97 (30), f64 0.86 (37).
#include "kernels/math/coefficients.h"
#include "kernels/math/exp_core.h"
#include "kernels/math/expr.h"

namespace fw::kernels::math {

Val exp(KernelBuilder& b, Val v) {
  V x = in(b, v);
  const bool f32 = x.is32();
  V c = clampFinite(x, f32 ? -105.0 : -750.0, f32 ? 90.0 : 711.0);
  V n = rint(c * kLog2E);
  if (f32) {
    V r = fma(n, -kLn2LoF32, fma(n, -kLn2HiF32, c));
    V q = horner(r, kExpF32);
    return scaleb(fma(fma(q, r, 1), r, 1), n).v;
  }
  V r = fma(n, -kLn2Lo, fma(n, -kLn2Hi, c));
  V q = horner(r, kExpF64);
  return scaleb(fma(fma(q, r, 1), r, 1), n).v;
}

Val exp2(KernelBuilder& b, Val v) {
  V x = in(b, v);
  const bool f32 = x.is32();
  V c = clampFinite(x, f32 ? -151.0 : -1076.0, f32 ? 129.0 : 1025.0);
  V n = rint(c);
  V r = c - n;
  V q = f32 ? horner(r, kExp2F32) : horner(r, kExp2F64);
  return scaleb(fma(q, r, 1), n).v;
}

Val expm1(KernelBuilder& b, Val v) {
  V x = in(b, v);
  const bool f32 = x.is32();
  V c = clampFinite(x, f32 ? -20.0 : -40.0, f32 ? 90.0 : 711.0);
  // A sixteenth of the result is formed, so that everything stays finite up to the clamp; the last product overflows.
  DD p = expm1Parts(c, 0.0625);
  V y = (p.hi + p.lo) * 16;
  V tiny = vabs(x) < (f32 ? 0x1p-26 : 0x1p-55);  // keeps -0 and subnormals
  return select(tiny, x, y).v;
}

}  // namespace fw::kernels::math
