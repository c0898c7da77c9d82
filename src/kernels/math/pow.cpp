// pow(x, y) = exp(y log |x|), sign and special values put on afterwards.
//
// f64: log |x| = k ln 2 + 2 s + s z (2/3 + z (2/5 + z q(z))), s = f/(2+f), z = s^2, with s, z, and the two leading
// steps of the polynomial in double length: relative error about 2^-67, because y log |x| may reach 745 and its
// absolute error becomes the relative error of the result. The product with y is double-length, and e^r = 1 + r + tail
// is added up with one rounding.
// f32: the same in double arithmetic, single length. That halves the lanes, but is still the cheapest way to 11 extra
// bits.
//
// |y| is clamped to 2^66: beyond it every x but 1 overflows or vanishes, and y log |x| stays finite.
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: pow f32 0.55 (84), f64 0.62 (155).
#include "kernels/math/coefficients.h"
#include "kernels/math/exp_core.h"
#include "kernels/math/expr.h"

#include <limits>

namespace fw::kernels::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// hi + lo + (c), |hi| >= |c|
DD addTo(double hi, double lo, DD c) {
  V s = c.hi + hi;
  return {s, (c.hi - (s - hi)) + (c.lo + lo)};
}

struct Scaled {
  V k, f;  ///< |x| = 2^k (1 + f), f in [sqrt(1/2) - 1, sqrt 2 - 1)
};
Scaled splitF64(V a, bool subnormals) {
  V bias = a.lit(0x1p52 + 1023);
  if (subnormals) {
    V tiny = a < 0x1p-1022;
    a = a * select(tiny, a.lit(0x1p54), 1);
    bias = select(tiny, a.lit(0x1p52 + 1023 + 54), bias);
  }
  const int64_t base = bitsOf(a, 0x1.6a09e667f3bcdp-1);
  V t = bits(a) + (bitsOf(a, 1.0) - base);
  V k = fromBits(shr(t, 52) | int64_t{0x4330000000000000}) - bias;
  return {k, fromBits((t & int64_t{0xfffffffffffff}) + base) - 1};
}

/// log a in double length
DD logLong(V a) {
  auto [k, f] = splitF64(a, /*subnormals=*/true);
  V g = f + 2;
  V gLo = f - (g - 2);
  V inv = 1 / g;
  V s = f * inv;
  V sLo = fma(-s, gLo, fma(-s, g, f)) * inv;
  V z = s * s;
  V zLo = fma(s + s, sLo, fma(s, s, -z));
  V q = z * horner(z, kLogPowF64);
  DD c = addTo(0x1.999999999999ap-2, -0x1.999999999999ap-56, {q, q.lit(0)});
  c = addTo(0x1.5555555555555p-1, 0x1.5555555555555p-55, mul({z, zLo}, c));
  DD w = mul({s, sLo}, mul({z, zLo}, c));
  // k ln 2 + 2 s + w; k * hi is exact
  DD l = fastTwoSum(k * 0x1.62e42fefa38p-1, s + s);
  DD m = fastTwoSum(l.hi, w.hi);
  return fastTwoSum(m.hi, m.lo + (l.lo + fma(k, 0x1.ef35793c76730p-45, fma(sLo, 2, w.lo))));
}

/// a^y for finite positive a; where `idle` is true the result is 1, without flags
V powerF64(V a, V y, V idle) {
  DD l = logLong(a);
  V p = y * l.hi;
  V pLo = fma(y, l.lo, fma(y, l.hi, -p));
  V large = vabs(p) > 750;
  V c = select(idle, 0, select(large, copysign(p.lit(750), p), p));
  pLo = select(large | idle, 0, pLo);
  V n = rint(fma(c, kLog2E, kShift));
  V d = fma(n, -kLn2Hi, c);  // exact
  DD r = fastTwoSum(d, fma(n, -kLn2Lo, pLo));
  V z = r.hi * r.hi;
  V tail = fma(z * r.hi, horner(r.hi, kExpm1F64), fma(z, 0.5, fma(r.hi, r.lo, r.lo)));
  DD s = fastTwoSum(p.lit(1), r.hi);
  return scaleb(s.hi + (s.lo + tail), n);
}

V powerF32(V a, V y, V idle) {
  V ya = cast(y, DType::kF64);
  auto [k, f] = splitF64(cast(a, DType::kF64), /*subnormals=*/false);
  V s = f / (f + 2);
  V z = s * s;
  V l = fma(k, kLn2Hi, fma(z * s, horner(z, kLogPowF32), s + s));
  V p = ya * l;
  V c = select(idle, 0, select(vabs(p) > 200, copysign(p.lit(200), p), p));
  V n = rint(c * kLog2E);
  V r = fma(n, -kLn2Hi, c);
  V e = fma(fma(horner(r, kExpPowF32), r, 1), r, 1);
  return cast(scaleb(e, n), DType::kF32);
}

}  // namespace

Val pow(KernelBuilder& b, Val vx, Val vy) {
  V x = in(b, vx), y = in(b, vy);
  V a = vabs(x), ay = vabs(y);
  V unit = a == 1;
  // 0, infinity or NaN to any power, and anything but 1 to an infinite power: the magnitude is 0 or infinity.
  V limit = ((a == 0) | (!(a < kInf))) | ((!(ay < kInf)) & (!unit));
  V yc = select(ay > 0x1p66, copysign(y.lit(0x1p66), y), y);
  V power = x.is32() ? powerF32(a, yc, limit) : powerF64(a, yc, limit);
  V negative = y < 0;
  V r = select(limit, select((a > 1) ^ negative, y.lit(kInf), 0), power);
  // Sign and domain.
  V half = y * 0.5;
  V integral = rint(y) == y;
  V odd = integral & (rint(half) != half);
  r = select((bits(x) < 0) & odd, -r, r);
  V undefined = (x < 0) & (a < kInf) & (rint(y) != y) & (ay < kInf);
  raiseIf(undefined, kRaiseInvalid);
  const V pole = (a == 0) & negative;
  raiseIf(pole & (ay < kInf), kRaiseDivide);
  // The infinities of 0 to the power of -infinity and of large numbers to that of infinity are exact, but the libraries
  // behind some of NumPy's loops report them.
  raiseIf((pole & (ay == kInf)) | ((a > 1) & (a < kInf) & (y == kInf)), kDecline);
  r = select(undefined | isnan(x) | isnan(y), std::numeric_limits<double>::quiet_NaN(), r);
  return select((x == 1) | (y == 0), 1, r).v;
}

}  // namespace fw::kernels::math
