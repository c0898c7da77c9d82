// How it works: a polynomial is not negative if no term of it can be. A term that can be, say -b*w of s*w - b*w, is
// taken away by a fact that has it, times what is missing: s - b >= 0 times w >= 0 leaves 0. What is left has to be
// proved in turn. min, max, floorDiv and mod bring facts of their own. All steps are exact; the number of steps is
// limited, so that a failure is quick as well.
#include "graph/symint_bounds.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/symint_range.h"

namespace fw::graph {
namespace {

constexpr int kMaxDepth = 12;
constexpr int kMaxSteps = 100;         ///< for each depth
constexpr int kMaxTotal = 4000;        ///< of one prover: what has not been proved by then is not worth the time
constexpr int64_t kMaxWork = 300'000;  ///< of one prover: atoms in the polynomials of its steps
constexpr size_t kMaxSize = 48;        ///< terms

int64_t sizeOf(const SymPoly& p) {
  return std::accumulate(p.begin(), p.end(), int64_t{0},
                         [](int64_t sum, const SymTerm& t) { return sum + 1 + static_cast<int64_t>(t.atoms.size()); });
}

/// The atoms of `of` without those of `without`; nullopt if some are missing.
std::optional<SymTerm> termWithout(const SymTerm& of, const SymTerm& without) {
  SymTerm rest{1, of.atoms};
  for (SymId atom : without.atoms) {
    auto at = std::find(rest.atoms.begin(), rest.atoms.end(), atom);
    if (at == rest.atoms.end()) return std::nullopt;
    rest.atoms.erase(at);
  }
  return rest;
}

}  // namespace

BoundProver::BoundProver(const SymContext& context, absl::Span<const SymId> guarded)
    : context_(context),
      algebra_(context_) {
  for (SymId id : algebra_.assumedBounds()) {
    addFact(id);
    if (!context_.isConst(context_.canonical(id), 0)) continue;
    const SymPoly p = algebra_.poly(id);  // a rule, which knows itself only
    push(p);
    if (p.size() == 2 && p[0].coefficient > 0 && p[1].atoms.empty() && p[1].coefficient < 0) products_.push_back(p);
  }
  for (SymId id : guarded) addFact(id);
}

void BoundProver::addFact(SymId id) {
  const SymPoly p = algebra_.poly(context_.canonical(id));
  push(p);
  knowAtoms(p);  // s >= 2 follows from s // n >= 1 and n >= 2
  pushWithoutQuotients(p);
}

/// x // k lies between (x - k + 1) / k and x / k: from (s + 1) // 2 >= s follows s + 1 >= 2s, which no step against
/// another fact finds.
void BoundProver::pushWithoutQuotients(const SymPoly& p) {
  for (size_t i = 0; i < p.size(); ++i) {
    for (size_t k = 0; k < p[i].atoms.size(); ++k) {
      const SymNode n = context_.node(p[i].atoms[k]);
      if (n.op != SymOp::kFloorDiv) continue;
      const std::optional<int64_t> by = context_.asConst(n.operands[1]);
      SymTerm factor = p[i];
      factor.atoms.erase(factor.atoms.begin() + static_cast<ptrdiff_t>(k));
      if (!by || *by < 2 || algebra_.range(SymTerm{1, factor.atoms}).lo < 0) continue;
      SymPoly rest = p;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
      SymPoly x = algebra_.poly(n.operands[0]);
      std::optional<SymPoly> end = algebra_.add(x, SymAlgebra::constantPoly(factor.coefficient > 0 ? 0 : 1 - *by));
      std::optional<SymPoly> part = end ? algebra_.mul(*end, {factor}) : std::nullopt;
      std::optional<SymPoly> fact = part ? algebra_.add(*part, rest, *by) : std::nullopt;
      if (fact) push(*std::move(fact));
    }
  }
}

void BoundProver::push(SymPoly poly) {
  // Ranges say as much.
  if (poly.empty() || (algebra_.range(poly).lo >= 0 && poly.size() == 1 && poly[0].atoms.size() <= 1)) return;
  const size_t number = facts_.size();
  impossible_ += algebra_.range(poly).hi < 0;
  for (const SymTerm& t : poly) {
    for (SymId atom : t.atoms) {
      std::vector<size_t>& list = factsOf_[atom];
      if (list.empty() || list.back() != number) list.push_back(number);
    }
  }
  facts_.push_back(poly);
  pushFactors(poly);
  pushTogether(poly);
}

/// 2t >= s + 1 and s + 5 >= 3t leave 4 >= t: what two facts about the same two atoms say of one of them.
void BoundProver::pushTogether(const SymPoly& poly) {
  const auto ofTwo = [](const SymPoly& p) {
    return p.size() >= 2 && p.size() <= 3 && p[0].atoms.size() == 1 && p[1].atoms.size() == 1 &&
           (p.size() == 2 || p[2].atoms.empty());
  };
  if (!ofTwo(poly)) return;
  const std::vector<size_t> list = factsOf_[poly[0].atoms[0]];
  for (size_t number : list) {
    const SymPoly other = facts_[number];
    if (!ofTwo(other) || other[0].atoms != poly[0].atoms || other[1].atoms != poly[1].atoms) continue;
    for (size_t gone : {0, 1}) {
      const int64_t x = poly[gone].coefficient, y = other[gone].coefficient;
      if (x == INT64_MIN || y == INT64_MIN || (x > 0) == (y > 0)) continue;
      const std::optional<SymPoly> scaled = algebra_.add({}, poly, std::abs(y));
      const std::optional<SymPoly> sum = scaled ? algebra_.add(*scaled, other, std::abs(x)) : std::nullopt;
      if (sum && sum->size() == 2 && algebra_.range(*sum).lo < 0) push(SymAlgebra::inLowestTerms(*sum));
    }
  }
}

/// s * (t - 1) >= 0 of s > 0 is t >= 1; s * t >= 1 of s >= 0 is s >= 1 and t >= 1.
void BoundProver::pushFactors(const SymPoly& poly) {
  if (poly.size() < 2) return;
  const bool isPositive = poly.back().atoms.empty() && poly.back().coefficient < 0;
  SymPoly rest(poly.begin(), poly.end() - (isPositive ? 1 : 0));
  const absl::InlinedVector<SymId, 2> atoms = rest[0].atoms;
  SymTerm taken{1, {}};
  for (SymId atom : atoms) {
    const auto has = [&](const SymTerm& t) { return std::find(t.atoms.begin(), t.atoms.end(), atom) != t.atoms.end(); };
    if (context_.range(atom).lo < (isPositive ? 0 : 1) || !std::all_of(rest.begin(), rest.end(), has)) continue;
    for (SymTerm& t : rest) t.atoms.erase(std::find(t.atoms.begin(), t.atoms.end(), atom));
    taken.atoms.push_back(atom);
  }
  if (taken.atoms.empty()) return;
  if (isPositive && poly.size() == 2 && poly[0].atoms.size() == 1) return knowPositive(poly[0].atoms[0]);
  if (isPositive) rest.push_back({-1, {}});
  if (rest.size() > 1 && !rest[0].atoms.empty()) push(std::move(rest));
  if (!isPositive) return;
  for (SymId atom : taken.atoms) push({{1, {atom}}, {-1, {}}});
}

/// `atom` >= 1 by a fact: those that are multiples of it say as much without it.
void BoundProver::knowPositive(SymId atom) {
  if (context_.range(atom).lo >= 1) return;
  // s * s >= s says that s is 1 at least, which is what it has been asked for.
  if (std::find(asking_.begin(), asking_.end(), atom) != asking_.end()) return;
  asking_.push_back(atom);
  const std::vector<size_t> list = factsOf_[atom];
  for (size_t number : list) {
    SymPoly less = facts_[number];
    for (SymTerm& t : less) {
      const auto at = std::find(t.atoms.begin(), t.atoms.end(), atom);
      if (at == t.atoms.end()) {
        less.clear();
        break;
      }
      t.atoms.erase(at);
    }
    if (less.size() > 1) push(std::move(less));
  }
  // max(x, 0) is x then.
  const SymNode n = context_.node(atom);
  if (n.op == SymOp::kMax && n.operands.size() == 2)
    for (const int side : {0, 1})
      if (context_.range(n.operands[side]).hi < 1) push(algebra_.poly(context_.sub(n.operands[1 - side], atom)));
  asking_.pop_back();
}

void BoundProver::release(size_t mark) {
  while (facts_.size() > mark) {
    impossible_ -= algebra_.range(facts_.back()).hi < 0;
    for (const SymTerm& t : facts_.back()) {
      for (SymId atom : t.atoms) {
        std::vector<size_t>& list = factsOf_[atom];
        if (!list.empty() && list.back() == facts_.size() - 1) list.pop_back();
      }
    }
    facts_.pop_back();
  }
  while (!known_.empty() && knownAt_.at(known_.back()) >= mark) {
    knownAt_.erase(known_.back());
    known_.pop_back();
  }
}

/// What follows from an atom being what it is.
void BoundProver::knowAtom(SymId atom) {
  if (!knownAt_.try_emplace(atom, facts_.size()).second) return;
  known_.push_back(atom);
  const SymNode n = context_.node(atom);
  auto add = [&](SymId larger, SymId smaller, int64_t constant) {
    SymId d = context_.add(context_.sub(larger, smaller), context_.constant(constant));
    push(algebra_.poly(d));
  };
  if (n.op == SymOp::kMin || n.op == SymOp::kMax) {
    for (SymId o : n.operands) n.op == SymOp::kMin ? add(o, atom, 0) : add(atom, o, 0);
    return;
  }
  if ((n.op != SymOp::kFloorDiv && n.op != SymOp::kMod) || context_.range(n.operands[1]).lo < 1) return;
  const SymId x = n.operands[0], y = n.operands[1];
  if (n.op == SymOp::kMod) {
    add(y, atom, -1);
    if (context_.range(x).lo >= 0) add(x, atom, 0);
    return;
  }
  const SymId whole = context_.mul(atom, y);
  add(x, whole, 0);
  add(context_.add(whole, y), x, -1);
}

void BoundProver::knowAtoms(const SymPoly& p) {
  for (const SymTerm& t : p)
    for (SymId atom : t.atoms)
      if (context_.node(atom).op != SymOp::kSymbol) knowAtom(atom);
}

bool BoundProver::holdsAtOnce(SymId id) {
  return SymAlgebra(context_).nonNegative(algebra_.poly(context_.canonical(id)));  // has a budget of its own
}

bool BoundProver::nonNegative(SymId id) {
  if (holdsAtOnce(id)) return true;
  if (total_ > kMaxTotal || work_ > kMaxWork) return false;
  const SymPoly p = algebra_.poly(context_.canonical(id));
  if (search(p)) return true;
  // 16 - 2 * s is s * t - 2 * s where s * t is 16, and s * u - 16 is s * u - s * t.
  const int64_t constant = p.empty() || !p.back().atoms.empty() ? 0 : p.back().coefficient;
  return std::any_of(products_.begin(), products_.end(), [&](const SymPoly& product) {
    const int64_t value = -product[1].coefficient, times = constant / value, rest = constant % value;
    for (const int64_t way : {rest > 0 ? times + 1 : times, rest < 0 ? times - 1 : times}) {
      const std::optional<SymPoly> shown = way == 0 ? std::nullopt : algebra_.add(p, product, way);
      if (shown && search(*shown)) return true;
      if (rest >= 0) break;
    }
    return false;
  });
}

bool BoundProver::search(const SymPoly& p) {
  // Short proofs first: a wrong turn is not followed far before the others have been tried.
  for (limit_ = 2; limit_ <= kMaxDepth; limit_ += limit_ < 6 ? 1 : 3) {
    steps_ = 0;
    cut_ = false;
    if (prove(p, 0)) return true;
    if (!cut_) return false;
  }
  return false;
}

bool BoundProver::prove(const SymPoly& poly, int depth) {
  if (isSpent()) return false;  // of all ways that are open: none of them is followed to its end
  const SymPoly p = SymAlgebra::inLowestTerms(poly);
  if (impossible_ > 0 || p.empty() || algebra_.range(p).lo >= 0 || algebra_.nonNegativeByShift(p)) return true;
  if (algebra_.range(p).hi < 0 || p.size() > kMaxSize) return false;
  if (depth == limit_ || ++steps_ > kMaxSteps) {
    cut_ = true;
    return false;
  }
  ++total_;
  work_ += sizeOf(p);
  knowAtoms(p);
  // Terms that may be negative, those that the fewest facts can take away first; what none can may be outweighed by
  // another term in the end. Where only the constant is too small, a smaller bound of some other term brings a larger
  // one along.
  std::vector<std::vector<Step>> ways;
  bool onlyConstant = true;
  for (const SymTerm& t : p) {
    if (t.atoms.empty() || !isBad(t)) continue;
    onlyConstant = false;
    ways.push_back(stepsAgainst(p, t));
  }
  if (onlyConstant)
    for (const SymTerm& t : p) ways.push_back(stepsAgainst(p, t));
  std::stable_sort(ways.begin(), ways.end(), [](const auto& x, const auto& y) { return x.size() < y.size(); });
  for (const std::vector<Step>& steps : ways)
    for (const Step& step : steps) {
      if (isSpent()) return false;
      work_ += sizeOf(p);
      if (std::optional<SymPoly> rest = apply(p, step); rest && prove(*rest, depth + 1)) return true;
    }
  return proveAsProduct(p, depth) || splitCases(p, depth);
}

bool BoundProver::isSpent() const { return steps_ > kMaxSteps || work_ > kMaxWork; }

/// What `atom` is at least, or at most: its range, and facts that name it once and alone.
std::vector<SymPoly> BoundProver::boundsOf(SymId atom, bool lower) const {
  constexpr size_t kMost = 4;
  std::vector<SymPoly> bounds;
  const SymRange range = context_.range(atom);
  const int64_t end = lower ? range.lo : range.hi;
  if (end != (lower ? INT64_MIN : INT64_MAX)) bounds.push_back(SymAlgebra::constantPoly(end));
  const auto facts = factsOf_.find(atom);
  if (facts == factsOf_.end()) return bounds;
  for (size_t i = facts->second.size(); i-- > 0 && bounds.size() < kMost;) {  // what holds here first
    SymPoly rest;
    int64_t coefficient = 0;
    bool alone = true;
    for (const SymTerm& t : facts_[facts->second[i]]) {
      const bool has = std::find(t.atoms.begin(), t.atoms.end(), atom) != t.atoms.end();
      if (!has) rest.push_back(t);
      if (has) coefficient = t.coefficient;
      alone &= !has || t.atoms.size() == 1;
    }
    if (!alone || coefficient != (lower ? 1 : -1)) continue;
    std::optional<SymPoly> bound = algebra_.add({}, rest, lower ? -1 : 1);
    if (bound) bounds.push_back(*std::move(bound));
  }
  return bounds;
}

/// (s - m) * (t - k), multiplied out: along t it rises by s - m, from what it is at the least t. Terms one by one do
/// not show it, where m is a minimum.
bool BoundProver::proveAsProduct(const SymPoly& p, int depth) {
  constexpr size_t kMostAtoms = 8;  // in a term: arrays of many axes would use up the time of all proofs
  if (std::any_of(p.begin(), p.end(), [](const SymTerm& t) { return t.atoms.size() > kMostAtoms; })) return false;
  std::vector<SymId> tried;
  for (const SymTerm& term : p) {
    for (SymId atom : term.atoms) {
      if (std::find(tried.begin(), tried.end(), atom) != tried.end()) continue;
      tried.push_back(atom);
      if (isSpent()) return false;
      work_ += sizeOf(p);
      SymPoly slope, rest;
      bool linear = true;
      for (SymTerm t : p) {
        const auto at = std::find(t.atoms.begin(), t.atoms.end(), atom);
        const bool has = at != t.atoms.end();
        if (has) t.atoms.erase(at);
        linear &= std::find(t.atoms.begin(), t.atoms.end(), atom) == t.atoms.end();
        (has ? slope : rest).push_back(std::move(t));
      }
      if (!linear || slope.size() < 2) continue;
      const std::optional<SymPoly> falls = algebra_.add({}, slope, -1);
      const bool rises = prove(slope, depth + 1);
      if (!rises && (!falls || !prove(*falls, depth + 1))) continue;
      for (const SymPoly& bound : boundsOf(atom, rises)) {
        const std::optional<SymPoly> part = algebra_.mul(slope, bound);
        const std::optional<SymPoly> least = part ? algebra_.add(rest, *part) : std::nullopt;
        if (least && prove(*least, depth + 1)) return true;
      }
    }
  }
  return false;
}

/// Facts that have `term` with the same sign, times what is missing.
std::vector<BoundProver::Step> BoundProver::stepsAgainst(const SymPoly& p, const SymTerm& term) const {
  std::vector<size_t> candidates;
  auto addAll = [&](const SymTerm& t) {
    for (SymId atom : t.atoms) {
      auto it = factsOf_.find(atom);
      if (it != factsOf_.end()) candidates.insert(candidates.end(), it->second.begin(), it->second.end());
    }
  };
  if (!term.atoms.empty()) {
    addAll(term);
  } else {  // facts about what else there is
    for (const SymTerm& t : p) addAll(t);
  }
  std::sort(candidates.rbegin(), candidates.rend());  // what holds here first
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::vector<Step> steps;
  for (size_t number : candidates) {
    for (const SymTerm& t : facts_[number]) {
      if (term.atoms.empty() != t.atoms.empty()) continue;
      std::optional<SymTerm> factor = termWithout(term, t);
      if (!factor) continue;
      const SymRange sign = algebra_.range(*factor);
      if (sign.lo < 0 && sign.hi > 0) continue;
      if (sign.lo < 0) factor->coefficient = -1;
      if ((factor->coefficient * t.coefficient > 0) != (term.coefficient > 0)) continue;
      const int64_t x = std::abs(t.coefficient), y = std::abs(term.coefficient), g = std::gcd(x, y);
      steps.push_back({number, *std::move(factor), x / g, y / g});
    }
  }
  return steps;
}

std::optional<SymPoly> BoundProver::apply(const SymPoly& p, const Step& step) const {
  std::optional<SymPoly> product = algebra_.mul(facts_[step.fact], {step.factor});
  // Of integers: 2p >= -1 is as much as p >= 0.
  std::optional<SymPoly> scaled = algebra_.add(SymAlgebra::constantPoly(step.scale - 1), p, step.scale);
  return product && scaled ? algebra_.add(*scaled, *product, -step.times) : std::nullopt;
}

/// A minimum is one of its operands: what holds with each of them holds.
bool BoundProver::splitCases(const SymPoly& p, int depth) {
  for (const SymTerm& t : p) {
    for (SymId atom : t.atoms) {
      const SymNode n = context_.node(atom);
      if (n.op != SymOp::kMin && n.op != SymOp::kMax) continue;
      return std::all_of(n.operands.begin(), n.operands.end(), [&](SymId operand) {
        SymPoly with;
        for (const SymTerm& u : p) {
          SymPoly value{{u.coefficient, {}}};
          for (SymId a : u.atoms) {
            std::optional<SymPoly> next = algebra_.mul(value, algebra_.poly(a == atom ? operand : a));
            if (!next) return false;
            value = std::move(*next);
          }
          std::optional<SymPoly> sum = algebra_.add(with, value);
          if (!sum) return false;
          with = std::move(*sum);
        }
        return prove(with, depth + 1);
      });
    }
  }
  return false;
}

}  // namespace fw::graph
