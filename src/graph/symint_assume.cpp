// What guards teach: equalities that become rules, and ranges.
//
// An assumed equality becomes a rewriting rule that eliminates a symbol where one can be solved for, so that rules
// cannot chase each other; what no rule can be made of is kept as an expression that is 0, until more is known of a
// part of it. What follows for the range of a symbol is a part of the symbol.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "graph/symint.h"
#include "graph/symint_algebra.h"
#include "graph/symint_facts.h"
#include "graph/symint_range.h"

namespace fw::graph {
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
  algebra.narrowFactors(p);
  algebra.narrowByQuotients(p);
  if (std::optional<SymPoly> minus = algebra.add({}, p, -1)) algebra.narrowByQuotients(*minus);
  absl::flat_hash_map<SymId, SymId> done;
  if (const SymId now = rebuild(d, done); now != d) return assumeEqual(now, constant(0));  // some of it is a number now
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

void SymAlgebra::replace(SymId symbol, SymId value) {
  const SymId now = context_.canonical(value);
  if (context_.canonical(symbol) == symbol && !mentions(context_, now, symbol)) context_.addRule(symbol, now);
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
  learnt_ = true;
  forgetAnswers();
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
  forgetAnswers();
  for (SymId s : symbols) {
    const SymId right = canonical(assumed_.at(s));
    assumed_.at(s) = right;
    forgetAnswers();
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
    const std::optional<SymPoly> least = known.lo == INT64_MIN ? std::nullopt : algebra.add(p, {{-known.lo, {}}});
    const std::optional<SymPoly> most = known.hi == INT64_MAX ? std::nullopt : algebra.add({{known.hi, {}}}, p, -1);
    if (least) algebra.narrowByQuotients(*least);
    if (most) algebra.narrowByQuotients(*most);
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
  learnt_ = true;
  forgetAnswers();
  // What can have one value only is that value from now on, for everybody.
  if (isPoint(both) && !assumed_.contains(id)) return addRule(id, constant(both.lo));
  SymAlgebra(*this).reconsiderZeros(id);
}

/// s * (t - 1) == 12 with s >= 0: both are between 1 and 12.
void SymAlgebra::narrowFactors(const SymPoly& zero) {
  if (zero.size() < 2 || !zero.back().atoms.empty() || zero.back().coefficient == INT64_MIN) return;
  const int64_t product = -zero.back().coefficient, most = std::abs(product);
  SymPoly rest(zero.begin(), zero.end() - 1);
  const absl::InlinedVector<SymId, 2> atoms = rest[0].atoms;
  for (SymId atom : atoms) {
    const auto has = [&](const SymTerm& t) { return std::find(t.atoms.begin(), t.atoms.end(), atom) != t.atoms.end(); };
    if (context_.range(atom).lo < 0 || !std::all_of(rest.begin(), rest.end(), has)) continue;
    for (SymTerm& t : rest) t.atoms.erase(std::find(t.atoms.begin(), t.atoms.end(), atom));
    context_.narrow(atom, {1, most});
    context_.narrow(fromPoly(rest), product > 0 ? SymRange{1, most} : SymRange{-most, -1});
    return;
  }
}

/// x // k lies between (x - k + 1) / k and x / k. Where that leaves one symbol of a sum that is at least 0, it has a
/// bound: (s + 3) // 4 >= (s + 1) // 2 says s <= 3.
void SymAlgebra::narrowByQuotients(const SymPoly& notNegative) {
  constexpr int kMostQuotients = 4;
  SymPoly p = notNegative;
  int found = 0;
  for (size_t i = 0; i < p.size();) {
    const SymTerm t = p[i];
    const bool single = t.atoms.size() == 1 && context_.node(t.atoms[0]).op == SymOp::kFloorDiv;
    const std::optional<int64_t> k =
        single ? context_.asConst(context_.node(t.atoms[0]).operands[1]) : std::optional<int64_t>();
    if (!k || *k < 2) {
      ++i;
      continue;
    }
    if (++found > kMostQuotients) return;
    p.erase(p.begin() + static_cast<ptrdiff_t>(i));
    const SymPoly x = poly(context_.node(t.atoms[0]).operands[0]);
    const std::optional<SymPoly> end = t.coefficient > 0 ? x : add(x, constantPoly(1 - *k));
    const std::optional<SymPoly> scaled = add({}, p, *k);
    const std::optional<SymPoly> sum = end && scaled ? add(*scaled, *end, t.coefficient) : std::nullopt;
    if (!sum) return;
    p = *sum;
    i = 0;
  }
  const bool oneSymbol = !p.empty() && p.size() <= 2 && p[0].atoms.size() == 1 && (p.size() == 1 || p[1].atoms.empty());
  if (found > 0 && oneSymbol && context_.node(p[0].atoms[0]).op == SymOp::kSymbol)
    context_.narrow(fromPoly(p), {0, INT64_MAX});
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
    context_.forgetAnswers();
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
    if (p.size() == 1 && p[0].atoms.size() == 1) break;
    if (context_.range(atom).lo < 1 || !std::all_of(p.begin(), p.end(), has)) continue;
    for (SymTerm& t : p) t.atoms.erase(std::find(t.atoms.begin(), t.atoms.end(), atom));
  }
  return p;
}

}  // namespace fw::graph
