// log, log2, log10, log1p.
//
// x = 2^k m with m in [sqrt(1/2), sqrt 2) by integer operations on the bits (subnormals are scaled first), f = m - 1.
// f32: log(1+f) = f - w, w = f^2 (1/2 - f q(f)).
// f64: log(1+f) = f - w, w = f^2/2 - s (f^2/2 + R), s = f/(2+f), R = s^2 q(s^2): the division costs less than the
//      eight or nine more coefficients that a polynomial in f would need.
// The terms are added as a double-length sum in f64. For log2 and log10 f - w is first normalised to hi + lo and
// multiplied by the double-length 1/ln 2 or 1/ln 10, so that exact powers give exact results.
// log1p: u = 1 + x with its rounding error c; c / u is added in the form c 2^-k (1 - f + f^2).
// Zero raises divide, negative numbers raise invalid by raiseIf().
//
// Largest errors measured (random arguments in several ranges, f64 400,000 a range against MPFR, f32 4,000,000 and
// every 4096th bit pattern), and operations: log f32 1.16 (34), f64 0.88 (40); log2 f32 1.37 (35), f64 0.87 (50);
// log10 f32 1.23 (36), f64 0.74 (52); log1p f32 1.20 (45), f64 0.88 (52).
#include "kernels/math/coefficients.h"
#include "kernels/math/expr.h"

#include <limits>

namespace fw::kernels::math {
namespace {

struct Split {
  V k, f;
  V mBits, uBits;
};

/// x = 2^k (1 + f) for positive finite x; `scaled` (may be null) tells lanes that were multiplied by 2^24 or 2^54.
Split split(V x, const V* scaled) {
  const double half = x.is32() ? static_cast<double>(static_cast<float>(0x1.6a09e6p-1)) : 0x1.6a09e667f3bcdp-1;
  const int64_t base = bitsOf(x, half);
  V u = bits(x);
  if (x.is32()) {
    V t = u - base;
    V m = u - (t & int64_t{-0x800000});
    V k = cast(sar(t, 23), DType::kF32);
    if (scaled) k = select(*scaled, k - 24, k);
    return {k, fromBits(m) - 1, m, u};
  }
  // Biased by 1023, so that the exponent can be turned into a double by pasting it below 2^52: AVX2 has no conversion.
  V t = u + (bitsOf(x, 1.0) - base);
  V m = (t & int64_t{0xfffffffffffff}) + base;
  V e = fromBits(shr(t, 52) | int64_t{0x4330000000000000});
  V k = scaled ? e - select(*scaled, x.lit(0x1p52 + 1023 + 54), 0x1p52 + 1023) : e - (0x1p52 + 1023);
  return {k, fromBits(m) - 1, m, u};
}

Split splitAny(V x) {
  V tiny = x < (x.is32() ? 0x1p-126 : 0x1p-1022);
  return split(x * select(tiny, x.lit(x.is32() ? 0x1p24 : 0x1p54), 1), &tiny);
}

/// w in log(1+f) = f - w; `lost` receives the rounding error of its largest term (f64)
V tailOf(V f, V* lost = nullptr) {
  if (f.is32()) return (f * f) * fma(-f, horner(f, kLogF32), 0.5);
  V s = f / (f + 2);
  V z = s * s;
  V half = f * 0.5;
  V h = half * f;
  if (lost) *lost = fma(half, f, -h);
  return h - s * fma(z, horner(z, kLogF64), h);
}

/// Values at and outside the ends of the domain (pole, infinity).
V finish(V result, V x, double pole) {
  const double inf = std::numeric_limits<double>::infinity();
  V atPole = x == pole, below = x < pole;
  raiseIf(atPole, kRaiseDivide);
  raiseIf(below, kRaiseInvalid);
  V r = select(x < inf, result, x);
  r = select(atPole, -inf, r);
  return select(below, std::numeric_limits<double>::quiet_NaN(), r);
}

/// k ln 2 + f - w
V sumLn(V k, V f, V w) {
  if (f.is32()) return fma(k, 0x1.62e430p-1, f + fma(k, -0x1.05c610p-29, -w));
  const double hi = 0x1.62e42fefa38p-1, lo = 0x1.ef35793c76730p-45;  // k * hi is exact
  V s = fma(k, hi, f);
  V e = f - fma(k, -hi, s);
  return s + (e + fma(k, lo, -w));
}

struct Scale {
  double inv[2], inv32[2];  ///< 1 / ln(base), two pieces
  double k[2], k32[2];      ///< log_base(2), the first piece short for f64
};
constexpr Scale kBase2 = {
    {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}, {0x1.715476p+0, 0x1.4ae0cp-26}, {1, 0}, {1, 0}};
constexpr Scale kBase10 = {{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57},
                           {0x1.bcb7b2p-2, -0x1.5b235ep-27},
                           {0x1.34413509f78p-2, 0x1.fef311f12b358p-46},
                           {0x1.344136p-2, -0x1.ec10cp-27}};

V logBase(V x, const Scale& c) {
  auto [k, f, m, u] = splitAny(x);
  V lost = f;
  V w = tailOf(f, &lost);
  if (x.is32()) {
    V t = fma(f, c.inv32[1], -(w * c.inv32[0]));
    if (c.k32[1] != 0) t = fma(k, c.k32[1], t);
    V l = fma(f, c.inv32[0], t);
    return finish(c.k32[0] == 1 ? k + l : fma(k, c.k32[0], l), x, 0);
  }
  DD l = fastTwoSum(f, -w);
  V p = l.hi * c.inv[0];
  V e = fma(l.lo - lost, c.inv[0], fma(l.hi, c.inv[1], fma(l.hi, c.inv[0], -p)));
  if (c.k[1] != 0) e = fma(k, c.k[1], e);
  V a = c.k[0] == 1 ? k : k * c.k[0];
  DD s = fastTwoSum(a, p);
  return finish(s.hi + (s.lo + e), x, 0);
}

}  // namespace

Val log(KernelBuilder& b, Val v) {
  V x = in(b, v);
  auto [k, f, m, u] = splitAny(x);
  return finish(sumLn(k, f, tailOf(f)), x, 0).v;
}

Val log2(KernelBuilder& b, Val v) { return logBase(in(b, v), kBase2).v; }
Val log10(KernelBuilder& b, Val v) { return logBase(in(b, v), kBase10).v; }

Val log1p(KernelBuilder& b, Val v) {
  V x = in(b, v);
  V one = x.lit(1);
  V y = select(x < std::numeric_limits<double>::infinity(), x, one);
  DD u = twoSum(one, y);
  auto [k, f, mBits, uBits] = split(u.hi, nullptr);
  V scale = fromBits(imax((mBits - uBits) + bitsOf(x, 1.0), 0));  // 2^-k, 0 where the error does not matter
  V c = (u.lo * scale) * fma(f, f, 1 - f);
  V r = copysign(sumLn(k, f, tailOf(f) - c), x);  // keeps -0
  return finish(r, x, -1).v;
}

}  // namespace fw::kernels::math
