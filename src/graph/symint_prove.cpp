// What is known about symbolic integers: three-valued comparisons, and equalities that guards establish.
//
// A proof of a <= b works on the polynomial b - a: by intervals; by measuring every atom from its lower bound, which
// leaves only non-negative coefficients (s0*s1 - s0 with s1 >= 1 becomes t0*t1 + t1 + ...); and by replacing min, max
// and floorDiv atoms with bounds of theirs. An assumed equality becomes a rewriting rule that eliminates a symbol
// where one can be solved for, so that rules cannot chase each other.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "graph/support/check.h"
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

// ---- assumptions

namespace {

/// Calls `visit` with every node of the expression once, until it answers true; answers whether it did.
template <class Visit>
bool anyNode(const SymContext& context, SymId root, const Visit& visit) {
  absl::flat_hash_set<SymId> seen = {root};
  std::vector<SymId> open = {root};
  while (!open.empty()) {
    const SymId id = open.back();
    open.pop_back();
    if (visit(id)) return true;
    for (SymId o : context.node(id).operands)
      if (seen.insert(o).second) open.push_back(o);
  }
  return false;
}

/// Nodes of the expression; what is shared counts once.
int weight(const SymContext& context, SymId id) {
  int count = 0;
  anyNode(context, id, [&](SymId) { return ++count, false; });
  return count;
}

/// Index of the term that a rule should replace by the others: the latest symbol that stands alone with coefficient 1
/// or -1, else the heaviest monomial if it has such a coefficient and the others are made of symbols only. So every
/// rewriting either removes a symbol for good, or a floorDiv, mod, min or max, or makes a monomial smaller, and must
/// end.
std::optional<size_t> termToEliminate(const SymContext& context, const SymAlgebra& algebra, const SymPoly& p) {
  std::optional<size_t> best, heaviest;
  int heaviestWeight = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i].atoms.empty()) continue;
    bool unit = p[i].coefficient == 1 || p[i].coefficient == -1;
    SymId atom = p[i].atoms[0];
    if (unit && p[i].atoms.size() == 1 && context.node(atom).op == SymOp::kSymbol) {
      bool alone = true;
      for (size_t j = 0; j < p.size() && alone; ++j) {
        alone = j == i ||
                std::none_of(p[j].atoms.begin(), p[j].atoms.end(), [&](SymId a) { return mentions(context, a, atom); });
      }
      if (alone && (!best || context.node(p[*best].atoms[0]).value < context.node(atom).value)) best = i;
    }
    int w = 0;
    for (SymId a : p[i].atoms) w += weight(context, a);
    if (w > heaviestWeight || (w == heaviestWeight && heaviest && algebra.compareMonomials(p[*heaviest], p[i]) < 0)) {
      heaviest = i;
      heaviestWeight = w;
    }
  }
  if (best) return best;
  if (!heaviest || (p[*heaviest].coefficient != 1 && p[*heaviest].coefficient != -1)) return std::nullopt;
  for (size_t j = 0; j < p.size(); ++j) {
    bool plain = std::all_of(p[j].atoms.begin(), p[j].atoms.end(),
                             [&](SymId a) { return context.node(a).op == SymOp::kSymbol; });
    if (j != *heaviest && !plain) return std::nullopt;
  }
  return heaviest;
}

}  // namespace

bool mentions(const SymContext& context, SymId id, SymId symbol) {
  if (context.node(id).operands.empty()) return id == symbol;
  return anyNode(context, id, [&](SymId node) { return node == symbol; });
}

bool mentions(const SymContext& context, SymId id, const absl::flat_hash_set<SymId>& symbols) {
  if (symbols.empty()) return false;
  if (context.node(id).operands.empty()) return symbols.contains(id);
  return anyNode(context, id, [&](SymId node) { return symbols.contains(node); });
}

void SymContext::assumeEqual(SymId a, SymId b) {
  a = canonical(a);
  b = canonical(b);
  if (provablyEqual(a, b).has_value()) return;  // known already, or a guard that never passes: nothing to learn
  SymAlgebra algebra(*this);
  SymId d = sub(a, b);
  SymPoly p = algebra.poly(d);
  const auto keepZero = [this](SymId zero) {
    const auto at = std::lower_bound(zeros_.begin(), zeros_.end(), zero);
    if (at == zeros_.end() || *at != zero) zeros_.insert(at, zero);
  };
  if (node(d).opaque) return keepZero(d);
  uint64_t g = 0;
  for (const SymTerm& t : p) {
    uint64_t v = t.coefficient < 0 ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
    while (v != 0) g = std::exchange(v, g % v);
  }
  if (g > 1 && g <= INT64_MAX) {
    for (SymTerm& t : p) t.coefficient /= static_cast<int64_t>(g);
  }
  p = algebra.withoutPositiveFactors(std::move(p));
  std::optional<size_t> index = termToEliminate(*this, algebra, p);
  if (!index) return keepZero(algebra.fromPoly(p));
  SymTerm t = p[*index];
  p.erase(p.begin() + static_cast<ptrdiff_t>(*index));
  std::optional<SymPoly> rest = algebra.add({}, p, -t.coefficient);
  if (!rest) return keepZero(d);
  SymId from = algebra.fromPoly({{1, t.atoms}}), to = algebra.fromPoly(*rest);
  SymRange x = range(from), y = range(to);
  if (std::max(x.lo, y.lo) > std::min(x.hi, y.hi)) return;
  addRule(from, to);
}

/// The right sides of symbols stay free of eliminated symbols; rules for larger expressions that mention one are made
/// anew.
void SymContext::addRule(SymId from, SymId to) {
  const SymId before = canonical(to);
  narrow(to, range(from));
  narrow(from, range(to));
  // What has become a number by that has a rule already: this one says what the rest is then.
  if (const SymId now = canonical(to); now != before || assumed_.contains(from)) return assumeEqual(from, now);
  assumed_.emplace(from, to);
  canonical_.clear();
  if (node(from).op == SymOp::kFloorDiv) {
    // x // c == y is 0 <= x - c * y < c: (s + 1) // 2 == s leaves 0 and 1 for s.
    const SymId x = node(from).operands[0], divisor = node(from).operands[1];
    if (const std::optional<int64_t> c = asConst(divisor); c && *c > 0) narrow(sub(x, mul(divisor, to)), {0, *c - 1});
  }
  if (node(from).op != SymOp::kSymbol) return SymAlgebra(*this).reconsiderZeros(from);
  std::vector<SymId> symbols;
  std::vector<std::pair<SymId, SymId>> again;
  for (const auto& [left, right] : assumed_) {
    const bool symbol = node(left).op == SymOp::kSymbol;
    if (!mentions(*this, right, from) && (symbol || !mentions(*this, left, from))) continue;
    if (symbol) {
      symbols.push_back(left);
    } else {
      again.emplace_back(left, right);
    }
  }
  for (const auto& pair : again) assumed_.erase(pair.first);
  canonical_.clear();
  for (SymId s : symbols) {
    const SymId right = canonical(assumed_.at(s));
    assumed_.at(s) = right;
    canonical_.clear();
  }
  std::sort(again.begin(), again.end());
  for (const auto& [left, right] : again) assumeEqual(left, right);
  SymAlgebra(*this).reconsiderZeros(from);
}

std::vector<SymId> SymAlgebra::assumedBounds() {
  SymContext& c = context_;
  std::vector<std::pair<SymId, SymId>> rules(c.assumed_.begin(), c.assumed_.end());
  std::sort(rules.begin(), rules.end());
  std::vector<SymId> bounds;
  for (const auto& [from, to] : rules) {
    const SymNode n = c.node(from);
    if (n.op == SymOp::kMin)
      for (SymId operand : n.operands) bounds.push_back(c.sub(operand, to));
    if (n.op == SymOp::kMax)
      for (SymId operand : n.operands) bounds.push_back(c.sub(to, operand));
    // What is known of a symbol holds for what stands for it, whose own range may not show it.
    const SymRange own = n.op == SymOp::kSymbol ? n.range : SymRange{};
    if (own.lo > c.range(to).lo) bounds.push_back(c.sub(to, c.constant(own.lo)));
    if (own.hi < c.range(to).hi) bounds.push_back(c.sub(c.constant(own.hi), to));
    if (n.op == SymOp::kMul) {  // s * t == 12 tells of u - 12 with s <= u, where canonical() has hidden the product
      bounds.push_back(c.sub(from, to));
      bounds.push_back(c.sub(to, from));
    }
    if (n.op != SymOp::kFloorDiv || c.range(n.operands[1]).lo < 1) continue;
    const SymId rest = c.sub(n.operands[0], c.mul(n.operands[1], to));  // within [0, divisor)
    bounds.push_back(rest);
    bounds.push_back(c.sub(c.sub(n.operands[1], c.constant(1)), rest));
  }
  for (SymId zero : c.zeros_) {
    bounds.push_back(zero);
    bounds.push_back(c.neg(zero));
  }
  return bounds;
}

namespace {

/// What follows for x from x // c being within a range, and for all operands from their minimum or maximum.
std::vector<std::pair<SymId, SymRange>> rangesOfOperands(const SymContext& context, SymId atom, SymRange known) {
  const SymNode& n = context.node(atom);
  std::vector<std::pair<SymId, SymRange>> result;
  if (n.op == SymOp::kFloorDiv) {
    const std::optional<int64_t> c = context.asConst(n.operands[1]);
    if (!c || *c <= 0) return {};
    SymRange dividend = mulRanges(known, {*c, *c});
    if (dividend.hi != INT64_MAX) dividend = addRanges(dividend, {0, *c - 1});
    result.emplace_back(n.operands[0], dividend);
  }
  if (n.op == SymOp::kMin)
    for (SymId operand : n.operands) result.emplace_back(operand, SymRange{known.lo, INT64_MAX});
  if (n.op == SymOp::kMax)
    for (SymId operand : n.operands) result.emplace_back(operand, SymRange{INT64_MIN, known.hi});
  return result;
}

}  // namespace

namespace {

/// What follows for the factors of a product of sizes from its range: if it is positive, so are they, and none of them
/// is larger.
SymRange rangeOfFactors(const SymContext& context, const SymTerm& product, SymRange known) {
  if (product.coefficient == INT64_MIN) return {};
  if (product.coefficient < 0) known = mulRanges(known, {-1, -1});
  const auto isSize = [&](SymId atom) {
    return context.node(atom).op == SymOp::kSymbol && context.range(atom).lo >= 0;
  };
  const auto isPositive = [&](SymId atom) { return context.range(atom).lo >= 1; };
  if (!std::all_of(product.atoms.begin(), product.atoms.end(), isSize)) return {};
  if (known.lo < 1 && !std::all_of(product.atoms.begin(), product.atoms.end(), isPositive)) return {};
  const int64_t most = known.hi == INT64_MAX ? INT64_MAX : known.hi / std::abs(product.coefficient);
  return most < 1 ? SymRange{} : SymRange{1, most};
}

}  // namespace

/// Intersects the range of a symbol, or of the symbol x in k * x + c, with what is now known about the expression;
/// where there is another operation in the place of x, so those of its operands.
/// A sum that can have one value only is that value. Nodes made before keep their wider ranges, which stay sound.
void SymContext::narrow(SymId value, SymRange known) {
  SymAlgebra algebra(*this);
  SymPoly p = algebra.poly(value);
  if (p.size() == 1 && p[0].atoms.size() > 1)
    if (const SymRange r = rangeOfFactors(*this, p[0], known); r.lo == 1)
      for (SymId atom : p[0].atoms) narrow(atom, r);
  bool linear = (p.size() == 1 || (p.size() == 2 && p[1].atoms.empty())) && !p.empty() && p[0].atoms.size() == 1;
  if (p.size() > 1 && !linear) {
    const SymRange now = refinedRange(*this, value);
    const SymRange both{std::max(now.lo, known.lo), std::min(now.hi, known.hi)};
    if (isPoint(both) && !isPoint(now)) assumeEqual(value, constant(both.lo));
    return;
  }
  if (!linear || p[0].coefficient == INT64_MIN) return;
  if (p.size() == 2 && p[1].coefficient == INT64_MIN) return;
  int64_t c = p.size() == 2 ? p[1].coefficient : 0;
  SymRange r = addRanges(known, {-c, -c});
  if (p[0].coefficient < 0) r = mulRanges(r, {-1, -1});
  const int64_t k = std::abs(p[0].coefficient);  // k * x within r
  if (r.lo != INT64_MIN) r.lo = r.lo / k + (r.lo % k > 0 ? 1 : 0);
  if (r.hi != INT64_MAX) r.hi = r.hi / k - (r.hi % k < 0 ? 1 : 0);
  const SymId id = p[0].atoms[0];
  if (node(id).op != SymOp::kSymbol) {
    for (const auto& [operand, range] : rangesOfOperands(*this, id, r)) narrow(operand, range);
    return;
  }
  SymNode& symbol = nodes_[id.index];
  SymRange both{std::max(symbol.range.lo, r.lo), std::min(symbol.range.hi, r.hi)};
  if (both.lo > both.hi || (both.lo == symbol.range.lo && both.hi == symbol.range.hi)) return;
  symbol.range = both;
  canonical_.clear();
  // What can have one value only is that value from now on, for everybody.
  if (isPoint(both) && !assumed_.contains(id)) return addRule(id, constant(both.lo));
  SymAlgebra(*this).reconsiderZeros(id);
}

/// What could not become a rule may become one when more is known about a part of it. And rules say more then:
/// s * t == s that t is 1, once s is known to be positive; (s + 1) // 2 == t what t is, once s is 3 or 4.
void SymAlgebra::reconsiderZeros(SymId part) {
  std::vector<SymId> again;
  const auto touched = [&](SymId zero) { return mentions(context_, zero, part); };
  std::copy_if(context_.zeros_.begin(), context_.zeros_.end(), std::back_inserter(again), touched);
  std::erase_if(context_.zeros_, touched);
  for (auto rule = context_.assumed_.begin(); rule != context_.assumed_.end();) {
    const auto now = rule++;
    const auto [from, to] = *now;
    if (context_.node(from).op == SymOp::kSymbol || !mentions(context_, from, part)) continue;
    absl::flat_hash_map<SymId, SymId> done;
    const absl::InlinedVector<SymId, 2> operands = context_.node(from).operands;
    for (SymId operand : operands) context_.rebuild(operand, done);  // brings their ranges up to date
    const SymRange known = refine(from);
    const SymPoly p = poly(context_.sub(from, to));
    const bool hasFactor = !p.empty() && withoutPositiveFactors(p).front().atoms.size() < p.front().atoms.size();
    if (isPoint(known)) {  // which the rule says from now on
      const SymId number = context_.constant(known.lo);
      if (to == number) continue;
      again.push_back(context_.sub(number, to));
      now->second = number;
    } else if (hasFactor) {
      again.push_back(context_.sub(from, to));
      context_.assumed_.erase(now);
    } else {
      continue;
    }
    context_.canonical_.clear();
  }
  std::sort(again.begin(), again.end());
  for (SymId zero : again) {
    absl::flat_hash_map<SymId, SymId> done;
    context_.assumeEqual(context_.rebuild(zero, done), context_.constant(0));
  }
}

/// A sum without the atoms that all of its terms have and that are more than 0: it is 0 or negative where the other is.
SymPoly SymAlgebra::withoutPositiveFactors(SymPoly p) const {
  if (p.empty()) return p;
  const absl::InlinedVector<SymId, 2> atoms = p[0].atoms;
  for (SymId atom : atoms) {
    const auto has = [&](const SymTerm& t) { return std::find(t.atoms.begin(), t.atoms.end(), atom) != t.atoms.end(); };
    if (p.size() < 2 || context_.range(atom).lo < 1 || !std::all_of(p.begin(), p.end(), has)) continue;
    for (SymTerm& t : p) t.atoms.erase(std::find(t.atoms.begin(), t.atoms.end(), atom));
  }
  return p;
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
    context_.canonical_.clear();
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
  if (assumed_.empty() || node(id).op == SymOp::kConst) return id;
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
