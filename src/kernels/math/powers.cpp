// x to the power of a constant that is a small multiple of 1/2: x**3, x**1.5, r**-6 ...
//
// By repeated multiplication in double length, then by the root, rounded once. Negative powers begin with 1/x. f32 is
// computed in f64. Where intermediate results could leave the range of double length, x is scaled by a power of two
// first, and the result by its power; beyond that every result is 0 or infinite, or x is, and plain products say so,
// with the flags of C.
//
// Largest errors measured (17 exponents, random arguments in several ranges and over all magnitudes, f64 against MPFR)
// and operations: f32 0.50 (3 to 11), f64 0.50 in the middle and 0.75 where results are subnormal (20 to 56).
#include "kernels/math/expr.h"

#include <cmath>
#include <limits>

namespace fw::kernels::math {
namespace {

constexpr int kMostFactors = 16;

/// |y| = factors + (root ? 1/2 : 0)
struct Exponent {
  explicit Exponent(double y) : value(y), factors(static_cast<int>(std::fabs(y))), root(std::fabs(y) != factors) {}
  double value;
  int factors;
  bool root;
};

V mul(V a, V c) { return a * c; }

/// base^n for n > 0
template <class T>
T repeated(T base, int n) {
  T r = base;
  int bit = 1;
  while (2 * bit <= n) bit *= 2;
  for (bit /= 2; bit > 0; bit /= 2) {
    r = mul(r, r);
    if (n & bit) r = mul(r, base);
  }
  return r;
}

V inDouble(V x, const Exponent& y) {
  V base = y.value < 0 ? 1 / x : x;
  if (!y.root) return repeated(base, y.factors);
  V s = vsqrt(base);
  return y.factors ? repeated(base, y.factors) * s : s;
}

/// m^y, where q is 1 / m if y is negative. No power on the way overflows or gets lost.
V longPower(V m, V q, const Exponent& y) {
  DD base = y.value < 0 ? DD{q, fma(-m, q, 1) * q} : DD{m, m.lit(0)};
  DD r = base;
  if (y.factors) r = repeated(base, y.factors);
  if (y.root) {
    V s = vsqrt(base.hi);
    V slope = y.value < 0 ? s * m * 0.5 : 0.5 / s;
    DD half{s, (fma(-s, s, base.hi) + base.lo) * slope};
    r = y.factors ? mul(r, half) : half;
  }
  return r.hi + r.lo;
}

/// Which is rounded once: a product, a quotient, a root.
bool isOneOperation(const Exponent& y) {
  const int operations = (y.value < 0) + y.factors - (y.factors > 0) + y.root + (y.root && y.factors > 0);
  return operations <= 1;
}

}  // namespace

bool isSmallPower(double y) { return y != 0 && std::fabs(y) <= kMostFactors && 2 * y == std::rint(2 * y); }

Val power(KernelBuilder& b, Val vx, double exponent) {
  V x = in(b, vx);
  const Exponent y(exponent);
  const double inf = std::numeric_limits<double>::infinity();
  if (y.root) x = select(x == -inf, inf, x + 0.0);  // what C does with -0 and -infinity
  if (isOneOperation(y)) return inDouble(x, y).v;
  if (x.is32()) return cast(inDouble(cast(x, DType::kF64), y), DType::kF32).v;
  // x = 2^shift u, where shift * y is a whole number.
  const double size = std::fabs(exponent);
  const double shift = 2 * std::rint(200 / size);
  V a = vabs(x);
  V large = a > std::exp2(450 / size), small = a < std::exp2(-450 / size);
  V inside = (a < std::exp2(1090 / size)) & (a > std::exp2(-1090 / size));
  if (y.root) inside = inside | ((x < 0) & (a < inf));  // its root is NaN
  V scale = select(large, x.lit(std::exp2(-shift)), select(small, x.lit(std::exp2(shift)), 1));
  V back = select(large, x.lit(std::exp2(shift * exponent)), select(small, x.lit(std::exp2(-shift * exponent)), 1));
  V u = select(inside, x * scale, x);
  V base = exponent < 0 ? 1 / u : u;
  V r = longPower(select(inside, u, 1), select(inside, base, 1), y) * back;
  // Beyond, half a factor more makes no difference.
  return select(inside, r, repeated(select(inside, 1, base), y.factors + y.root)).v;
}

}  // namespace fw::kernels::math
