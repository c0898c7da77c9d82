// sin, cos, tan.
//
// Reduction: n = rint(x / (pi/2)), r = x - n (P1 + P2 + P3). The pieces are truncated, so that the first FMA is exact:
// x and n P1 are multiples of ulp(P1) or finer, and their difference is below 2. Where r needs a second word (f64, and
// tan in f32), the second product is taken double-length as well.
// sin, cos: both polynomials on [-pi/4, pi/4], selected by the quadrant.
// tan: f32 an odd polynomial on [-pi/4, pi/4], then -1/t in odd quadrants; f64 sin/cos, both double-length, with the
// error of the quotient added.
// Beyond |x| = 1e5 (f32) and 2^40 (f64) the reduction would lose accuracy: the call declines and NumPy runs.
// Infinities give NaN with invalid.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: sin f32 1.47 (27), f64 0.77 (50); cos f32 1.49 (26), f64 0.78 (49);
// tan f32 1.46 (38), f64 0.87 (66).
#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

#include <limits>

namespace fw::kernels::math {
namespace {

// pi/2 in truncated pieces.
constexpr double kHalfPiF32[] = {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48};
constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// Adding it rounds to an integer and leaves that integer in the low bits.
double magic(V x) { return x.is32() ? 0x1.8p23 : 0x1.8p52; }

void declineLarge(V x) {
  V a = vabs(x);
  raiseIf((a > (x.is32() ? 1e5 : 0x1p40)) & (a < std::numeric_limits<double>::infinity()), kDecline);
}

V reduceF32(V x, V n) { return fma(n, -kHalfPiF32[2], fma(n, -kHalfPiF32[1], fma(n, -kHalfPiF32[0], x))); }

/// v with its sign flipped where bit 1 of n is set.
V flipSign(V v, V n) {
  V s = (n & 2) << (v.is32() ? 30 : 62);
  return fromBits(bits(v) ^ s);
}

/// x - n pi/2 = hi + lo
DD reduceLong(V x, V n, const double (&p)[3]) {
  V a = fma(n, -p[0], x);
  V q = n * p[1];
  V e = fma(n, p[1], -q);
  V r = a - q;
  return {r, fma(n, -p[2], ((a - r) - q) - e)};  // a is a multiple of ulp(q): the difference is exact
}

struct Reduced {
  V n;      ///< quadrant in the low bits
  V r, dr;  ///< x - n pi/2 = r + dr
};
Reduced reduceF64(V x) {
  V t = fma(x, kTwoOverPi, magic(x));
  auto [r, dr] = reduceLong(x, t - magic(x), kHalfPi);
  return {bits(t), r, dr};
}

/// sin(r + dr) = r + sine, cos(r + dr) = cosHi + cosLo; `exactSquare` keeps the rounding error of r^2 in the cosine
struct SinCos {
  V sine, cosHi, cosLo;
};
SinCos sinCosF64(V r, V dr, bool exactSquare) {
  V z = r * r;
  V h = z * 0.5;
  V sine = fma(r * z, horner(z, kSinF64), fma(dr, -h, dr));
  V w = 1 - h;
  V low = -(r * dr);
  if (exactSquare) low = fma(fma(r, r, -z), -0.5, low);
  V c = fma(z * z, horner(z, kCosF64), low);
  return {sine, w, ((1 - w) - h) + c};
}

V sinCosF32(V x, bool cosine) {
  V t = fma(x, kTwoOverPi, magic(x));
  V r = reduceF32(x, t - magic(x));
  V z = r * r;
  V s = fma(r * z, horner(z, kSinF32), r);
  V c = fma(fma(horner(z, kCosF32), z, -0.5), z, 1);
  V n = cosine ? bits(t) + 1 : bits(t);
  V y = flipSign(select((n & 1) != 0, c, s), n);
  return cosine ? y : select(x == 0, x, y);
}

V sinCos(V x, bool cosine) {
  declineLarge(x);
  if (x.is32()) return sinCosF32(x, cosine);
  Reduced q = reduceF64(x);
  SinCos p = sinCosF64(q.r, q.dr, /*exactSquare=*/false);
  V n = cosine ? q.n + 1 : q.n;
  V odd = (n & 1) != 0;
  V y = select(odd, p.cosHi, q.r) + select(odd, p.cosLo, p.sine);
  y = flipSign(y, n);
  return cosine ? y : select(x == 0, x, y);
}

}  // namespace

Val sin(KernelBuilder& b, Val x) { return sinCos(in(b, x), false).v; }
Val cos(KernelBuilder& b, Val x) { return sinCos(in(b, x), true).v; }

Val tan(KernelBuilder& b, Val v) {
  V x = in(b, v);
  declineLarge(x);
  if (x.is32()) {
    V t = fma(x, kTwoOverPi, magic(x));
    V n = t - magic(x);
    auto [r, dr] = reduceLong(x, n, kHalfPiF32);
    V z = r * r;
    V tail = fma(r * z, horner(z, kTanF32), dr * fma(z, 1.5, 1));  // 1 + 3/2 z ~ 1 + tan^2
    V y = r + tail;
    V yLo = (r - y) + tail;
    y = copysign(y, r);  // keeps -0
    V odd = (bits(t) & 1) != 0;
    V q = select(odd, -1, y) / select(odd, y, 1);
    return fma(yLo * select(odd, q, 0), q, q).v;  // -1 / (y + yLo)
  }
  Reduced q = reduceF64(x);
  SinCos p = sinCosF64(q.r, q.dr, /*exactSquare=*/true);
  DD s = fastTwoSum(q.r, p.sine), c = fastTwoSum(p.cosHi, p.cosLo);
  V odd = (q.n & 1) != 0;
  V num = select(odd, -c.hi, s.hi), numLo = select(odd, -c.lo, s.lo);
  V den = select(odd, s.hi, c.hi), denLo = select(odd, s.lo, c.lo);
  V inv = 1 / den;
  V y = num * inv;
  V err = fma(-y, denLo, numLo) + fma(-y, den, num);
  return select(x == 0, x, fma(err, inv, y)).v;
}

}  // namespace fw::kernels::math
