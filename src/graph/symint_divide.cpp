// Floor division of polynomials. Everything that is divisible for all values is taken out, common factors are
// cancelled (exact, because the divisor is not zero), and what remains is either provably less than the divisor or
// becomes a floorDiv or mod atom.
#include <algorithm>
#include <numeric>

#include "graph/support/check.h"
#include "graph/symint_algebra.h"
#include "graph/symint_facts.h"
#include "graph/symint_range.h"

namespace fw::graph {
namespace {

int64_t floorOf(int64_t a, int64_t b) {  // b > 0
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

bool isConstant(const SymPoly& p) { return p.empty() || (p.size() == 1 && p[0].atoms.empty()); }
bool isOne(const SymTerm& t) { return t.coefficient == 1 && t.atoms.empty(); }

uint64_t magnitude(int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); }

/// Removes `remove` from `from`, atom by atom; false if some are missing. Neither list needs to be sorted for this.
bool removeAtoms(absl::InlinedVector<SymId, 2>& from, const absl::InlinedVector<SymId, 2>& remove) {
  for (SymId a : remove) {
    auto it = std::find(from.begin(), from.end(), a);
    if (it == from.end()) return false;
    from.erase(it);
  }
  return true;
}

}  // namespace

SymPoly SymAlgebra::inLowestTerms(const SymPoly& poly) {
  uint64_t factor = 0;
  for (const SymTerm& t : poly)
    if (!t.atoms.empty()) factor = std::gcd(factor, magnitude(t.coefficient));
  if (factor <= 1 || factor > INT64_MAX) return poly;
  SymPoly result = poly;
  for (SymTerm& t : result) t.coefficient = floorOf(t.coefficient, static_cast<int64_t>(factor));
  std::erase_if(result, [](const SymTerm& t) { return t.coefficient == 0; });
  return result;
}

std::optional<SymTerm> SymAlgebra::exactQuotient(const SymTerm& a, const SymTerm& b) {
  if (b.coefficient == -1 && a.coefficient == INT64_MIN) return std::nullopt;
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  SymTerm q{a.coefficient / b.coefficient, a.atoms};
  if (!removeAtoms(q.atoms, b.atoms)) return std::nullopt;
  return q;
}

/// Divides dividend and divisor by their common factor and multiplies scale by it. The constant term of a dividend
/// over a constant divisor need not share the factor: its remainder is the residue, which the caller keeps.
bool SymAlgebra::cancelCommonFactor(SymPoly& dividend, SymTerm& divisor, SymTerm& scale) const {
  SymTerm g{divisor.coefficient, divisor.atoms};
  bool constantDivisor = divisor.atoms.empty();
  uint64_t gcd = magnitude(divisor.coefficient);
  for (const SymTerm& t : dividend) {
    if (constantDivisor && t.atoms.empty()) continue;
    gcd = std::gcd(gcd, magnitude(t.coefficient));
    absl::InlinedVector<SymId, 2> common, rest = t.atoms;
    for (SymId a : g.atoms) {
      if (removeAtoms(rest, {a})) common.push_back(a);
    }
    g.atoms = std::move(common);
  }
  if (gcd > INT64_MAX) return false;
  g.coefficient = static_cast<int64_t>(gcd);
  if (isOne(g)) return false;
  for (SymTerm& t : dividend) {
    t.coefficient = floorOf(t.coefficient, g.coefficient);
    removeAtoms(t.atoms, g.atoms);
  }
  std::erase_if(dividend, [](const SymTerm& t) { return t.coefficient == 0; });
  divisor.coefficient /= g.coefficient;
  removeAtoms(divisor.atoms, g.atoms);
  scale = g;
  return true;
}

/// Moves k multiples of the divisor from rest into the quotient, for every term that has them. `c` is the divisor's
/// coefficient, positive. Constants are reduced to [0, c) when the divisor is constant, other coefficients towards 0.
bool SymAlgebra::takeOutMultiples(SymDivision& d, int64_t c) const {
  const SymTerm divisor = d.restDivisor[0];
  SymPoly rest;
  for (const SymTerm& t : d.rest) {
    SymTerm q{t.coefficient / c, t.atoms};
    if (!removeAtoms(q.atoms, divisor.atoms)) {
      rest.push_back(t);
      continue;
    }
    if (t.atoms.empty()) q.coefficient = floorOf(t.coefficient, c);
    SymTerm r{t.coefficient - q.coefficient * c, t.atoms};
    if (q.coefficient != 0) d.quotient.push_back(q);
    if (r.coefficient != 0) rest.push_back(r);
  }
  std::optional<SymPoly> quotient = collect(std::move(d.quotient));
  d.rest = std::move(rest);
  if (!quotient) return false;
  d.quotient = std::move(*quotient);
  return true;
}

/// Sets complete if rest // restDivisor is one constant for all values, after moving that constant into the quotient.
bool SymAlgebra::finish(SymDivision& d) const {
  if (d.rest.empty()) {
    d.complete = true;
    return true;
  }
  SymRange rest = range(d.rest), divisor = range(d.restDivisor);
  if (isConstant(d.restDivisor) && bounded(rest)) {
    int64_t c = d.restDivisor[0].coefficient;
    if (c > 0 && floorOf(rest.lo, c) == floorOf(rest.hi, c)) {
      int64_t k = floorOf(rest.lo, c);
      std::optional<SymPoly> quotient = add(d.quotient, constantPoly(k));
      std::optional<SymPoly> reduced = add(d.rest, d.restDivisor, -k);
      if (!quotient || !reduced) return false;
      d.quotient = std::move(*quotient);
      d.rest = std::move(*reduced);
      d.complete = true;
    }
    return true;
  }
  if (rest.lo >= 0 && divisor.lo > 0) {
    std::optional<SymPoly> gap = add(d.restDivisor, d.rest, -1);
    d.complete = gap && (range(*gap).lo >= 1 || (rest.hi < divisor.lo));
  }
  return true;
}

std::optional<SymDivision> SymAlgebra::divideByMonomial(SymPoly dividend, SymTerm divisor) const {
  SymDivision d;
  d.rest = std::move(dividend);
  d.restDivisor = {divisor};
  if (!takeOutMultiples(d, divisor.coefficient)) return std::nullopt;
  int64_t constantTerm = !d.rest.empty() && d.rest.back().atoms.empty() ? d.rest.back().coefficient : 0;
  bool constantDivisor = divisor.atoms.empty();
  if (cancelCommonFactor(d.rest, divisor, d.scale)) {
    d.restDivisor = {divisor};
    if (constantDivisor) d.residue = constantTerm % d.scale.coefficient;
    std::optional<SymPoly> sorted = collect(std::move(d.rest));
    if (!sorted) return std::nullopt;
    d.rest = std::move(*sorted);
  }
  if (!finish(d)) return std::nullopt;
  return d;
}

/// Long division by the leading term; only an exact quotient, or one whose rest is provably within the divisor, is
/// used.
std::optional<SymDivision> SymAlgebra::divideByPoly(const SymPoly& dividend, const SymPoly& divisor) const {
  SymDivision d;
  d.rest = dividend;
  d.restDivisor = divisor;
  for (int step = 0; step < 32 && !d.rest.empty(); ++step) {
    std::optional<SymTerm> q = exactQuotient(d.rest[0], divisor[0]);
    if (!q) break;
    std::optional<SymPoly> product = mul({*q}, divisor);
    if (!product) return std::nullopt;
    std::optional<SymPoly> rest = add(d.rest, *product, -1);
    std::optional<SymPoly> quotient = add(d.quotient, {*q});
    if (!rest || !quotient) return std::nullopt;
    d.rest = std::move(*rest);
    d.quotient = std::move(*quotient);
  }
  if (!finish(d)) return std::nullopt;
  if (!d.complete) {
    d.quotient.clear();
    d.rest = dividend;
    if (!finish(d)) return std::nullopt;
  }
  return d;
}

std::optional<SymDivision> SymAlgebra::divide(const SymPoly& dividend, const SymPoly& divisor) const {
  FW_CHECK(!divisor.empty());
  if (divisor.size() > 1) return divideByPoly(dividend, divisor);
  FW_CHECK(divisor[0].coefficient > 0);
  return divideByMonomial(dividend, divisor[0]);
}

std::optional<SymId> exactQuotient(SymContext& context, SymId a, SymId b) {
  SymAlgebra algebra(context);
  const SymPoly dividend = algebra.poly(context.canonical(a)), divisor = algebra.poly(context.canonical(b));
  if (divisor.empty() || (divisor.size() == 1 && divisor[0].coefficient <= 0)) return std::nullopt;
  const std::optional<SymDivision> d = algebra.divide(dividend, divisor);
  if (!d || !d->rest.empty() || d->residue != 0) return std::nullopt;
  return algebra.fromPoly(d->quotient);
}

}  // namespace fw::graph
