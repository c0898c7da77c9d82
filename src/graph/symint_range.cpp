// Interval arithmetic in 128 bits: a bound is widened, computed exactly, and saturated back. A saturated bound is
// weaker than the true one, never wrong.
#include "graph/symint_range.h"

#include <algorithm>

namespace fw::graph {
namespace {

using Wide = __int128;
constexpr Wide kInfinity = Wide{1} << 126;  // beyond every product of two finite bounds

Wide wideLo(SymRange r) { return r.lo == INT64_MIN ? -kInfinity : Wide{r.lo}; }
Wide wideHi(SymRange r) { return r.hi == INT64_MAX ? kInfinity : Wide{r.hi}; }
bool infinite(Wide v) { return v >= kInfinity || v <= -kInfinity; }

int64_t saturate(Wide v) { return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : static_cast<int64_t>(v); }

Wide times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a > 0) == (b > 0) ? kInfinity : -kInfinity;
  return a * b;
}

Wide quotient(Wide a, Wide b) {
  if (a == 0) return 0;
  bool sameSign = (a > 0) == (b > 0);
  if (infinite(a)) return sameSign ? kInfinity : -kInfinity;
  if (infinite(b)) return sameSign ? 0 : -1;
  Wide q = a / b;
  return q * b != a && !sameSign ? q - 1 : q;
}

template <class F>
SymRange corners(SymRange a, SymRange b, F f) {
  Wide values[] = {f(wideLo(a), wideLo(b)), f(wideLo(a), wideHi(b)), f(wideHi(a), wideLo(b)), f(wideHi(a), wideHi(b))};
  return {saturate(*std::min_element(values, values + 4)), saturate(*std::max_element(values, values + 4))};
}

}  // namespace

SymRange addRanges(SymRange a, SymRange b) {
  int64_t lo = a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : saturate(Wide{a.lo} + b.lo);
  int64_t hi = a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : saturate(Wide{a.hi} + b.hi);
  return {lo, hi};
}

SymRange mulRanges(SymRange a, SymRange b) { return corners(a, b, times); }

SymRange powRange(SymRange a, int exponent) {
  SymRange r = a;
  for (int i = 1; i < exponent; ++i) r = mulRanges(r, a);
  if (exponent % 2 == 0) r.lo = std::max<int64_t>(r.lo, 0);
  return r;
}

SymRange floorDivRanges(SymRange a, SymRange b) { return corners(a, b, quotient); }

SymRange modRanges(SymRange a, SymRange b) {
  if (b.lo > 0) {
    if (a.lo >= 0 && a.hi < b.lo) return a;
    int64_t hi = b.hi == INT64_MAX ? INT64_MAX : b.hi - 1;
    return {0, a.lo >= 0 ? std::min(hi, a.hi) : hi};
  }
  if (a.hi <= 0 && a.lo > b.hi) return a;
  int64_t lo = b.lo == INT64_MIN ? INT64_MIN : b.lo + 1;
  return {a.hi <= 0 ? std::max(lo, a.lo) : lo, 0};
}

SymRange minRanges(SymRange a, SymRange b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }

SymRange maxRanges(SymRange a, SymRange b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

}  // namespace fw::graph
