// What is known about symbolic integers: three-valued comparisons, and what expressions are by the equalities that
// guards establish (symint_assume.cpp).
//
// A proof of a <= b works on the polynomial b - a: by intervals; by measuring every atom from its lower bound, which
// leaves only non-negative coefficients (s0*s1 - s0 with s1 >= 1 becomes t0*t1 + t1 + ...); and by replacing min, max
// and floorDiv atoms with bounds of theirs.
#include <algorithm>

#include "graph/symint.h"
#include "graph/symint_algebra.h"
#include "graph/symint_facts.h"
#include "graph/symint_range.h"

namespace fw::graph {
namespace {

constexpr int kProofDepth = 4;
constexpr int kProofSteps = 256;  // polynomials that one proof looks at
constexpr int kRewriteRounds = 8;
constexpr size_t kMaxDegree = 6;

}  // namespace

bool SymAlgebra::nonNegative(const SymPoly& poly, int depth) {
  if (poly.empty() || range(poly).lo >= 0) return true;
  const SymPoly p = inLowestTerms(poly);
  if (p.empty() || range(p).lo >= 0) return true;
  if (range(p).hi < 0 || ++proofSteps_ > kProofSteps) return false;
  return nonNegativeByShift(p) || nonNegativeBySubstitution(p, depth);
}

/// Writes every atom as lo + t (or hi - t) with t >= 0: if no coefficient is negative then, neither is the value.
bool SymAlgebra::nonNegativeByShift(const SymPoly& p) const {
  SymPoly shifted;
  for (const SymTerm& t : p) {
    if (t.atoms.size() > kMaxDegree) return false;
    SymPoly expanded = constantPoly(t.coefficient);
    for (SymId a : t.atoms) {
      SymRange r = context_.range(a);
      SymPoly variable;
      if (r.lo != INT64_MIN) {
        variable = {{1, {a}}};
        if (r.lo != 0) variable.push_back({r.lo, {}});
      } else if (r.hi != INT64_MAX) {
        variable = {{-1, {a}}};
        if (r.hi != 0) variable.push_back({r.hi, {}});
      } else {
        return false;
      }
      std::optional<SymPoly> product = mul(expanded, variable);
      if (!product) return false;
      expanded = std::move(*product);
    }
    std::optional<SymPoly> sum = add(shifted, expanded);
    if (!sum || sum->size() > 64) return false;
    shifted = std::move(*sum);
  }
  return std::all_of(shifted.begin(), shifted.end(), [](const SymTerm& t) { return t.coefficient >= 0; });
}

/// Replaces the first linear min, max or floorDiv atom by what bounds it and tries again.
bool SymAlgebra::nonNegativeBySubstitution(const SymPoly& p, int depth) {
  if (depth >= kProofDepth) return false;
  for (const SymTerm& t : p) {
    if (t.atoms.size() != 1) continue;
    const SymNode n = context_.node(t.atoms[0]);
    bool up = t.coefficient > 0;
    auto holdsWith = [&](SymId replacement) {
      std::optional<SymPoly> without = add(p, {t}, -1);
      std::optional<SymPoly> with = without ? add(*without, poly(replacement), t.coefficient) : std::nullopt;
      return with && nonNegative(*with, depth + 1);
    };
    if (n.op == SymOp::kMin || n.op == SymOp::kMax) {
      bool any = (n.op == SymOp::kMax) == up;
      return any ? std::any_of(n.operands.begin(), n.operands.end(), holdsWith)
                 : std::all_of(n.operands.begin(), n.operands.end(), holdsWith);
    }
    std::optional<int64_t> k = n.op == SymOp::kFloorDiv ? context_.asConst(n.operands[1]) : std::nullopt;
    if (!k || *k <= 0) continue;
    // x - (k-1) <= k * (x // k) <= x, so with everything multiplied by k the atom has bounds without division.
    std::optional<SymPoly> without = add(p, {t}, -1);
    std::optional<SymPoly> scaled = without ? add({}, *without, *k) : std::nullopt;
    std::optional<SymPoly> bound = up ? add(poly(n.operands[0]), constantPoly(1 - *k)) : poly(n.operands[0]);
    std::optional<SymPoly> with = scaled && bound ? add(*scaled, *bound, t.coefficient) : std::nullopt;
    if (with && nonNegative(*with, depth + 1)) return true;
  }
  return false;
}

namespace {

/// a mod b written as a - b * (a // b), so that mod and floorDiv of the same operands meet.
SymId expandMods(SymContext& context, SymId id) {
  const SymNode n = context.node(id);
  if (n.opaque) return id;
  if (n.op == SymOp::kMod && !contains(context.range(n.operands[1]), 0)) {
    return context.sub(n.operands[0], context.mul(n.operands[1], context.floorDiv(n.operands[0], n.operands[1])));
  }
  if (n.op != SymOp::kAdd && n.op != SymOp::kMul) return id;
  SymId result = expandMods(context, n.operands[0]);
  for (size_t i = 1; i < n.operands.size(); ++i) {
    SymId o = expandMods(context, n.operands[i]);
    result = n.op == SymOp::kAdd ? context.add(result, o) : context.mul(result, o);
  }
  return result;
}

/// A sum of multiples of g plus a constant that is no multiple of g is never 0.
bool neverZeroByDivisibility(const SymPoly& p) {
  if (p.empty() || !p.back().atoms.empty()) return false;
  uint64_t g = 0;
  auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
  for (size_t i = 0; i + 1 < p.size(); ++i) {
    uint64_t b = magnitude(p[i].coefficient);
    while (b != 0) g = std::exchange(b, g % b);
  }
  return g > 1 && magnitude(p.back().coefficient) % g != 0;
}

}  // namespace

std::optional<bool> SymContext::provablyEqual(SymId a, SymId b) {
  if (a == b) return true;
  SymId d = sub(canonical(a), canonical(b));
  if (!contains(range(d), 0)) return false;
  if (isConst(d, 0)) return true;
  SymAlgebra algebra(*this);
  if (neverZeroByDivisibility(algebra.poly(d))) return false;
  const auto isZero = [this](SymId id) { return std::binary_search(zeros_.begin(), zeros_.end(), id); };
  if (!zeros_.empty() && (isZero(d) || isZero(neg(d)))) return true;
  SymId expanded = expandMods(*this, d);
  if (isConst(expanded, 0)) return true;
  SymPoly p = algebra.poly(expanded);
  // s * t * u is 0 where s * t is known to be 0 and u to be positive.
  if (isConst(canonical(algebra.fromPoly(algebra.withoutPositiveFactors(p))), 0)) return true;
  if (std::optional<SymPoly> less = algebra.add(p, algebra.constantPoly(-1)); less && algebra.nonNegative(*less)) {
    return false;
  }
  std::optional<SymPoly> minus = algebra.add({}, p, -1);
  std::optional<SymPoly> more = minus ? algebra.add(*minus, algebra.constantPoly(-1)) : std::nullopt;
  if (more && algebra.nonNegative(*more)) return false;
  if (minus && algebra.nonNegative(p) && algebra.nonNegative(*minus)) return true;
  return std::nullopt;
}

std::optional<bool> SymContext::provablyLess(SymId a, SymId b) {
  if (auto known = less_.find({a, b}); known != less_.end()) return known->second;
  const std::optional<bool> answer = compared(a, b);
  less_.emplace(std::pair(a, b), answer);
  return answer;
}

std::optional<bool> SymContext::compared(SymId a, SymId b) {
  SymAlgebra algebra(*this);
  SymPoly x = algebra.poly(canonical(a)), y = algebra.poly(canonical(b));
  std::optional<SymPoly> difference = algebra.add(y, x, -1);
  if (!difference) return std::nullopt;
  std::optional<SymPoly> strict = algebra.add(*difference, algebra.constantPoly(-1));
  if (strict && algebra.nonNegative(*strict)) return true;
  std::optional<SymPoly> reverse = algebra.add({}, *difference, -1);
  if (reverse && algebra.nonNegative(*reverse)) return false;
  return std::nullopt;
}

bool SymContext::provablyLessEqual(SymId a, SymId b) {
  SymAlgebra algebra(*this);
  std::optional<SymPoly> difference = algebra.add(algebra.poly(canonical(b)), algebra.poly(canonical(a)), -1);
  return difference && algebra.nonNegative(*difference);
}

namespace {

/// Range that follows from those of the operands.
SymRange rangeOfOperands(const SymContext& context, const SymNode& n) {
  SymRange r = context.range(n.operands[0]);
  for (size_t i = 1; i < n.operands.size(); ++i) {
    const SymRange x = context.range(n.operands[i]);
    switch (n.op) {
      case SymOp::kConst:
      case SymOp::kSymbol: break;
      case SymOp::kAdd: r = addRanges(r, x); break;
      case SymOp::kMul: r = mulRanges(r, x); break;
      case SymOp::kMin: r = minRanges(r, x); break;
      case SymOp::kMax: r = maxRanges(r, x); break;
      case SymOp::kFloorDiv: r = contains(x, 0) ? n.range : floorDivRanges(r, x); break;
      case SymOp::kMod: r = contains(x, 0) ? n.range : modRanges(r, x); break;
    }
  }
  return r;
}

}  // namespace

SymRange SymAlgebra::refine(SymId id) {
  const SymNode& n = context_.node(id);
  if (n.operands.empty()) return n.range;
  for (SymRange now : {range(poly(id)), rangeOfOperands(context_, n)}) {
    SymRange& known = context_.nodes_[id.index].range;
    const SymRange both{std::max(known.lo, now.lo), std::min(known.hi, now.hi)};
    if (both.lo > both.hi || (both.lo == known.lo && both.hi == known.hi)) continue;
    known = both;
    context_.forgetAnswers();
  }
  return context_.range(id);
}

SymId SymAlgebra::folded(SymId id) {
  const SymNode& n = context_.node(id);
  if (n.operands.empty()) return id;
  const SymRange now = rangeOfOperands(context_, n);
  SymRange& known = context_.nodes_[id.index].range;
  const SymRange both{std::max(known.lo, now.lo), std::min(known.hi, now.hi)};
  if (both.lo <= both.hi) known = both;
  return isPoint(known) ? context_.constant(known.lo) : id;
}

SymRange refinedRange(SymContext& context, SymId id) { return SymAlgebra(context).refine(id); }

SymId SymContext::rebuild(SymId id, absl::flat_hash_map<SymId, SymId>& done) {
  if (auto it = done.find(id); it != done.end()) return it->second;
  const SymNode n = node(id);
  auto ruled = [this](SymId x) {
    auto it = assumed_.find(x);
    return it == assumed_.end() ? x : it->second;
  };
  SymId result = id;
  absl::InlinedVector<SymId, 4> operands;
  bool changed = false;
  for (SymId o : n.operands) {
    operands.push_back(rebuild(o, done));
    changed |= operands.back() != o;
  }
  switch (n.op) {
    case SymOp::kConst:
    case SymOp::kSymbol: break;
    case SymOp::kAdd:
      if (!changed) break;
      result = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) result = add(result, operands[i]);
      break;
    case SymOp::kMul: {
      // A rule may be about the monomial without its coefficient.
      SymId coefficient = constant(1), monomial = constant(1);
      for (SymId o : operands) {
        if (asConst(o)) {
          coefficient = mul(coefficient, o);
        } else {
          monomial = mul(monomial, o);
        }
      }
      SymId replaced = ruled(monomial);
      if (changed || replaced != monomial) result = mul(coefficient, replaced);
      break;
    }
    case SymOp::kFloorDiv:
    case SymOp::kMod:
      if (!changed) break;
      if (contains(range(operands[1]), 0)) {
        // The divisor is not 0, because it equals one that is not; only its range does not say so any more.
        result = isConst(operands[1], 0) ? id : SymAlgebra(*this).atom(n.op, operands[0], operands[1], n.range);
        break;
      }
      result = n.op == SymOp::kFloorDiv ? floorDiv(operands[0], operands[1]) : mod(operands[0], operands[1]);
      break;
    case SymOp::kMin:
    case SymOp::kMax:
      if (!changed) break;
      result = operands[0];
      for (size_t i = 1; i < operands.size(); ++i) {
        result = n.op == SymOp::kMin ? min(result, operands[i]) : max(result, operands[i]);
      }
      break;
  }
  result = SymAlgebra(*this).folded(ruled(result));
  done[id] = result;
  return result;
}

SymId SymContext::canonical(SymId id) {
  if (!learnt_ || node(id).op == SymOp::kConst) return id;
  if (auto known = canonical_.find(id); known != canonical_.end()) return known->second;
  const SymId given = id;
  for (int round = 0; round < kRewriteRounds; ++round) {
    absl::flat_hash_map<SymId, SymId> done;
    SymId next = rebuild(id, done);
    if (next == id) break;
    id = next;
  }
  canonical_.emplace(given, id);
  return id;
}

}  // namespace fw::graph
