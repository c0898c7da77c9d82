// Polynomial arithmetic for SymContext: conversion between nodes and polynomials, sums, products, order and ranges.
// Every operation is checked: where a coefficient leaves int64 the answer is nullopt and the caller keeps an opaque
// node, so that an expression is never silently a different one. Division lives in symint_divide.cpp, proofs in
// symint_prove.cpp.
#include "graph/symint_algebra.h"

#include <algorithm>

#include "graph/support/check.h"
#include "graph/symint_range.h"

namespace fw::graph {
namespace {

constexpr size_t kMaxTerms = 128;    // beyond this a sum or product stays opaque
constexpr size_t kMaxExtremes = 16;  // operands of one min or max; more are nested

int rankOf(const SymNode& n) {
  switch (n.op) {
    case SymOp::kSymbol: return 0;
    case SymOp::kFloorDiv: return 1;
    case SymOp::kMod: return 2;
    case SymOp::kMin: return 3;
    case SymOp::kMax: return 4;
    case SymOp::kMul: return 5;
    case SymOp::kAdd: return 6;
    case SymOp::kConst: return 7;
  }
  return 8;
}

}  // namespace

int SymAlgebra::compare(SymId a, SymId b) const {
  if (a == b) return 0;
  const SymNode& x = context_.node(a);
  const SymNode& y = context_.node(b);
  if (int d = rankOf(x) - rankOf(y)) return d;
  if (x.value != y.value) return x.value < y.value ? -1 : 1;
  if (x.operands.size() != y.operands.size()) return x.operands.size() < y.operands.size() ? -1 : 1;
  for (size_t i = 0; i < x.operands.size(); ++i) {
    if (int d = compare(x.operands[i], y.operands[i])) return d;
  }
  return static_cast<int>(x.opaque) - static_cast<int>(y.opaque);
}

int SymAlgebra::compareMonomials(const SymTerm& a, const SymTerm& b) const {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? -1 : 1;
  for (size_t i = 0; i < a.atoms.size(); ++i) {
    if (int d = compare(a.atoms[i], b.atoms[i])) return d;
  }
  return 0;
}

SymPoly SymAlgebra::constantPoly(int64_t v) {
  SymPoly p;
  if (v != 0) p.push_back({v, {}});
  return p;
}

SymPoly SymAlgebra::poly(SymId id) const {
  auto termOf = [this](SymId t) {
    const SymNode& n = context_.node(t);
    if (n.op == SymOp::kConst) return SymTerm{n.value, {}};
    if (n.op != SymOp::kMul || n.opaque) return SymTerm{1, {t}};
    SymTerm term{1, {}};
    for (SymId o : n.operands) {
      if (context_.node(o).op == SymOp::kConst) {
        term.coefficient = context_.node(o).value;
      } else {
        term.atoms.push_back(o);
      }
    }
    return term;
  };
  const SymNode& n = context_.node(id);
  if (n.op == SymOp::kConst) return constantPoly(n.value);
  SymPoly p;
  if (n.op == SymOp::kAdd && !n.opaque) {
    for (SymId o : n.operands) p.push_back(termOf(o));
  } else {
    p.push_back(termOf(id));
  }
  return p;
}

SymId SymAlgebra::fromPoly(const SymPoly& p) {
  auto termId = [this](const SymTerm& t) {
    if (t.atoms.empty()) return context_.constant(t.coefficient);
    if (t.coefficient == 1 && t.atoms.size() == 1) return t.atoms[0];
    SymNode n{SymOp::kMul, 0, {}, range(t), false};
    if (t.coefficient != 1) n.operands.push_back(context_.constant(t.coefficient));
    n.operands.insert(n.operands.end(), t.atoms.begin(), t.atoms.end());
    return context_.intern(std::move(n));
  };
  if (p.empty()) return context_.constant(0);
  if (p.size() == 1) return termId(p[0]);
  SymNode n{SymOp::kAdd, 0, {}, range(p), false};
  for (const SymTerm& t : p) n.operands.push_back(termId(t));
  return context_.intern(std::move(n));
}

SymRange SymAlgebra::range(const SymTerm& t) const {
  SymRange r{t.coefficient, t.coefficient};
  for (size_t i = 0; i < t.atoms.size();) {
    size_t j = i;
    while (j < t.atoms.size() && t.atoms[j] == t.atoms[i]) ++j;
    r = mulRanges(r, powRange(context_.range(t.atoms[i]), static_cast<int>(j - i)));
    i = j;
  }
  return r;
}

SymRange SymAlgebra::range(const SymPoly& p) const {
  SymRange r{0, 0};
  for (const SymTerm& t : p) r = addRanges(r, range(t));
  return r;
}

std::optional<SymPoly> SymAlgebra::collect(SymPoly terms) const {
  std::stable_sort(terms.begin(), terms.end(),
                   [this](const SymTerm& a, const SymTerm& b) { return compareMonomials(a, b) < 0; });
  SymPoly out;
  for (SymTerm& t : terms) {
    if (!out.empty() && out.back().atoms == t.atoms) {
      if (__builtin_add_overflow(out.back().coefficient, t.coefficient, &out.back().coefficient)) return std::nullopt;
    } else {
      if (!out.empty() && out.back().coefficient == 0) out.pop_back();
      out.push_back(std::move(t));
    }
  }
  if (!out.empty() && out.back().coefficient == 0) out.pop_back();
  return out;
}

std::optional<SymPoly> SymAlgebra::add(const SymPoly& a, const SymPoly& b, int64_t scaleOfB) const {
  if (a.size() + b.size() > kMaxTerms) return std::nullopt;
  SymPoly sum = a;
  for (const SymTerm& t : b) {
    sum.push_back(t);
    if (__builtin_mul_overflow(t.coefficient, scaleOfB, &sum.back().coefficient)) return std::nullopt;
  }
  return collect(std::move(sum));
}

std::optional<SymTerm> SymAlgebra::mul(const SymTerm& a, const SymTerm& b) const {
  SymTerm t;
  if (__builtin_mul_overflow(a.coefficient, b.coefficient, &t.coefficient)) return std::nullopt;
  t.atoms.resize(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(), t.atoms.begin(),
             [this](SymId x, SymId y) { return compare(x, y) < 0; });
  return t;
}

std::optional<SymPoly> SymAlgebra::mul(const SymPoly& a, const SymPoly& b) const {
  if (a.size() * b.size() > kMaxTerms) return std::nullopt;
  SymPoly out;
  for (const SymTerm& x : a) {
    for (const SymTerm& y : b) {
      std::optional<SymTerm> t = mul(x, y);
      if (!t) return std::nullopt;
      out.push_back(std::move(*t));
    }
  }
  return collect(std::move(out));
}

SymId SymAlgebra::opaque(SymOp op, absl::InlinedVector<SymId, 2> operands) {
  FW_CHECK((op == SymOp::kAdd || op == SymOp::kMul) && operands.size() == 2);
  SymRange a = context_.range(operands[0]), b = context_.range(operands[1]);
  if (compare(operands[0], operands[1]) > 0) std::swap(operands[0], operands[1]);
  SymRange r = op == SymOp::kAdd ? addRanges(a, b) : mulRanges(a, b);
  return context_.intern({op, 0, std::move(operands), r, true});
}

SymId SymAlgebra::atom(SymOp op, SymId a, SymId b, SymRange known) {
  FW_CHECK(op == SymOp::kFloorDiv || op == SymOp::kMod);
  SymRange x = context_.range(a), y = context_.range(b), r = known;
  if (!contains(y, 0)) r = op == SymOp::kFloorDiv ? floorDivRanges(x, y) : modRanges(x, y);
  return context_.intern({op, 0, {a, b}, r, false});
}

SymId SymAlgebra::extreme(SymOp op, SymId a, SymId b) {
  bool isMin = op == SymOp::kMin;
  std::vector<SymId> items;
  for (SymId id : {a, b}) {
    const SymNode& n = context_.node(id);
    if (n.op == op) {
      items.insert(items.end(), n.operands.begin(), n.operands.end());
    } else {
      items.push_back(id);
    }
  }
  if (items.size() > kMaxExtremes) items = {a, b};
  std::sort(items.begin(), items.end(), [this](SymId x, SymId y) { return compare(x, y) < 0; });
  items.erase(std::unique(items.begin(), items.end()), items.end());
  for (size_t i = 0; i < items.size();) {
    bool dominated = std::any_of(items.begin(), items.end(), [&](SymId other) {
      if (other == items[i]) return false;
      SymPoly small = poly(isMin ? other : items[i]), large = poly(isMin ? items[i] : other);
      std::optional<SymPoly> difference = add(large, small, -1);
      if (!difference || !nonNegative(*difference)) return false;
      // What has been proved may be more than its range says: max(n - n // 2, 1) is a divisor.
      const SymRange bound = context_.range(items[i]);
      SymRange& known = context_.nodes_[other.index].range;
      const SymRange both =
          isMin ? SymRange{known.lo, std::min(known.hi, bound.hi)} : SymRange{std::max(known.lo, bound.lo), known.hi};
      if (both.lo <= both.hi && (both.lo != known.lo || both.hi != known.hi)) {
        known = both;
        context_.forgetAnswers();
      }
      return true;
    });
    if (dominated) {
      items.erase(items.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (items.size() == 1) return items[0];
  SymNode n{op, 0, {items.begin(), items.end()}, context_.range(items[0]), false};
  for (SymId id : items)
    n.range = isMin ? minRanges(n.range, context_.range(id)) : maxRanges(n.range, context_.range(id));
  return context_.intern(std::move(n));
}

}  // namespace fw::graph
