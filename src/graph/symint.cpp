// Construction and evaluation of symbolic integers. Each builder turns its operands into polynomials, computes the
// canonical result and interns it; where the polynomial arithmetic would overflow, the operation is kept as an opaque
// node.
#include "graph/symint.h"

#include <utility>

#include "absl/status/status.h"
#include "graph/support/check.h"
#include "graph/symint_algebra.h"
#include "graph/symint_range.h"

namespace fw::graph {

SymContext::SymContext() = default;

SymId SymContext::intern(SymNode node) {
  if (node.op != SymOp::kConst && node.op != SymOp::kSymbol && isPoint(node.range)) return constant(node.range.lo);
  auto [it, fresh] = interned_.try_emplace(node, SymId(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(node));
  return it->second;
}

SymId SymContext::constant(int64_t v) { return intern({SymOp::kConst, v, {}, {v, v}, false}); }

SymId SymContext::symbol(std::string name, SymRange range) {
  FW_CHECK_MSG(range.lo <= range.hi, "empty range of symbol " + name);
  SymId id = intern({SymOp::kSymbol, symbolCount(), {}, range, false});
  const bool isNew = named_.try_emplace(name, id).second;
  FW_CHECK_MSG(isNew, "symbol " + name + " exists");
  symbolIds_.push_back(id);
  symbolNames_.push_back(std::move(name));
  return id;
}

std::optional<SymId> SymContext::findSymbol(std::string_view name) const {
  auto it = named_.find(std::string(name));
  return it == named_.end() ? std::nullopt : std::optional<SymId>(it->second);
}

std::optional<int64_t> SymContext::asConst(SymId id) const {
  const SymNode& n = node(id);
  if (!isPoint(n.range)) return std::nullopt;
  return n.range.lo;
}

// Neutral operands are most frequent: they are seen before polynomials are made.

SymId SymContext::add(SymId a, SymId b) {
  if (isConst(a, 0)) return b;
  if (isConst(b, 0)) return a;
  SymAlgebra algebra(*this);
  std::optional<SymPoly> sum = algebra.add(algebra.poly(a), algebra.poly(b));
  return sum ? algebra.fromPoly(*sum) : algebra.opaque(SymOp::kAdd, {a, b});
}

SymId SymContext::neg(SymId a) { return mul(constant(-1), a); }

SymId SymContext::sub(SymId a, SymId b) {
  if (isConst(b, 0)) return a;
  if (a == b) return constant(0);
  SymAlgebra algebra(*this);
  std::optional<SymPoly> difference = algebra.add(algebra.poly(a), algebra.poly(b), -1);
  return difference ? algebra.fromPoly(*difference) : algebra.opaque(SymOp::kAdd, {a, neg(b)});
}

SymId SymContext::mul(SymId a, SymId b) {
  if (isConst(a, 1)) return b;
  if (isConst(b, 1)) return a;
  if (isConst(a, 0) || isConst(b, 0)) return constant(0);
  SymAlgebra algebra(*this);
  std::optional<SymPoly> product = algebra.mul(algebra.poly(a), algebra.poly(b));
  return product ? algebra.fromPoly(*product) : algebra.opaque(SymOp::kMul, {a, b});
}

SymId SymContext::product(absl::Span<const SymId> ids) {
  SymId p = constant(1);
  for (SymId id : ids) p = mul(p, id);
  return p;
}

namespace {

bool isNegativeMonomial(const SymPoly& p) { return p.size() == 1 && p[0].coefficient < 0; }

/// (y // e + r) // c is (y + e*r) // (e*c) for constants e > 0 and c > 0; answers y + e*r and e*c.
std::optional<std::pair<SymPoly, SymPoly>> unnest(const SymContext& context, const SymAlgebra& algebra,
                                                  const SymDivision& d) {
  bool onlyAtom = d.rest.size() == 1 || (d.rest.size() == 2 && d.rest[1].atoms.empty());
  if (!onlyAtom || d.rest[0].coefficient != 1 || d.rest[0].atoms.size() != 1) return std::nullopt;
  if (d.restDivisor.size() != 1 || !d.restDivisor[0].atoms.empty()) return std::nullopt;
  const SymNode& inner = context.node(d.rest[0].atoms[0]);
  if (inner.op != SymOp::kFloorDiv) return std::nullopt;
  std::optional<int64_t> e = context.asConst(inner.operands[1]);
  if (!e || *e <= 0) return std::nullopt;
  int64_t divisor = 0, constant = d.rest.size() == 2 ? d.rest[1].coefficient : 0;
  if (__builtin_mul_overflow(*e, d.restDivisor[0].coefficient, &divisor)) return std::nullopt;
  std::optional<SymPoly> sum = algebra.add(algebra.poly(inner.operands[0]), SymAlgebra::constantPoly(constant), *e);
  if (!sum) return std::nullopt;
  return std::make_pair(std::move(*sum), SymAlgebra::constantPoly(divisor));
}

}  // namespace

SymId SymContext::floorDiv(SymId a, SymId b) {
  FW_CHECK_MSG(!contains(SymAlgebra(*this).refine(b), 0), "the divisor " + print(b) + " may be 0");
  if (a == b) return constant(1);
  SymAlgebra algebra(*this);
  SymPoly dividend = algebra.poly(a), divisor = algebra.poly(b);
  if (isNegativeMonomial(divisor)) {
    std::optional<SymPoly> x = algebra.add({}, dividend, -1), y = algebra.add({}, divisor, -1);
    if (!x || !y) return algebra.atom(SymOp::kFloorDiv, a, b);
    dividend = std::move(*x);
    divisor = std::move(*y);
  }
  std::optional<SymDivision> d = algebra.divide(dividend, divisor);
  if (!d) return algebra.atom(SymOp::kFloorDiv, a, b);
  if (d->complete) return algebra.fromPoly(d->quotient);
  SymId rest;
  if (auto flat = unnest(*this, algebra, *d)) {
    rest = floorDiv(algebra.fromPoly(flat->first), algebra.fromPoly(flat->second));
  } else {
    rest = algebra.atom(SymOp::kFloorDiv, algebra.fromPoly(d->rest), algebra.fromPoly(d->restDivisor));
  }
  return add(algebra.fromPoly(d->quotient), rest);
}

SymId SymContext::mod(SymId a, SymId b) {
  FW_CHECK_MSG(!contains(SymAlgebra(*this).refine(b), 0), "the divisor " + print(b) + " may be 0");
  if (a == b) return constant(0);
  SymAlgebra algebra(*this);
  SymPoly dividend = algebra.poly(a), divisor = algebra.poly(b);
  bool negative = isNegativeMonomial(divisor);  // a mod -b is -(-a mod b)
  if (negative) {
    std::optional<SymPoly> x = algebra.add({}, dividend, -1), y = algebra.add({}, divisor, -1);
    if (!x || !y) return algebra.atom(SymOp::kMod, a, b);
    dividend = std::move(*x);
    divisor = std::move(*y);
  }
  std::optional<SymDivision> d = algebra.divide(dividend, divisor);
  if (!d) return algebra.atom(SymOp::kMod, a, b);
  SymId rest = algebra.fromPoly(d->rest);
  if (!d->complete) rest = algebra.atom(SymOp::kMod, rest, algebra.fromPoly(d->restDivisor));
  SymId result = add(mul(algebra.fromPoly({d->scale}), rest), constant(d->residue));
  return negative ? neg(result) : result;
}

SymId SymContext::min(SymId a, SymId b) { return SymAlgebra(*this).extreme(SymOp::kMin, a, b); }

SymId SymContext::max(SymId a, SymId b) { return SymAlgebra(*this).extreme(SymOp::kMax, a, b); }

namespace {

using Wide = __int128;
using WideMap = absl::flat_hash_map<SymId, Wide>;

absl::Status overflow() { return absl::OutOfRangeError("symbolic integer overflows"); }

/// Intermediate results have 128 bits: canonical form distributes products over sums, whose single terms may be larger
/// than the value itself.
absl::StatusOr<Wide> evaluateWide(const SymContext& context, SymId id, absl::Span<const int64_t> symbols,
                                  WideMap& done) {
  const SymNode& n = context.node(id);
  if (n.op == SymOp::kConst) return Wide{n.value};
  if (n.op == SymOp::kSymbol) {
    if (n.value >= static_cast<int64_t>(symbols.size())) {
      return absl::InvalidArgumentError("no value for symbol " + context.symbolName(static_cast<int>(n.value)));
    }
    return Wide{symbols[static_cast<size_t>(n.value)]};
  }
  if (auto it = done.find(id); it != done.end()) return it->second;
  Wide v = 0;
  for (size_t i = 0; i < n.operands.size(); ++i) {
    absl::StatusOr<Wide> x = evaluateWide(context, n.operands[i], symbols, done);
    if (!x.ok()) return x;
    if (i == 0) {
      v = *x;
      continue;
    }
    switch (n.op) {
      case SymOp::kAdd:
        if (__builtin_add_overflow(v, *x, &v)) return overflow();
        break;
      case SymOp::kMul:
        if (__builtin_mul_overflow(v, *x, &v)) return overflow();
        break;
      case SymOp::kFloorDiv:
      case SymOp::kMod: {
        if (*x == 0) return absl::InvalidArgumentError("symbolic integer divides by zero");
        Wide q = v / *x, r = v % *x;
        if (r != 0 && (r < 0) != (*x < 0)) {
          q -= 1;
          r += *x;
        }
        v = n.op == SymOp::kFloorDiv ? q : r;
        break;
      }
      case SymOp::kMin: v = *x < v ? *x : v; break;
      case SymOp::kMax: v = *x > v ? *x : v; break;
      case SymOp::kConst:
      case SymOp::kSymbol: FW_UNREACHABLE();
    }
  }
  done.emplace(id, v);
  return v;
}

}  // namespace

absl::StatusOr<int64_t> SymContext::evaluate(SymId id, absl::Span<const int64_t> symbols) const {
  WideMap done;
  absl::StatusOr<Wide> v = evaluateWide(*this, id, symbols, done);
  if (!v.ok()) return v.status();
  if (*v < INT64_MIN || *v > INT64_MAX) return overflow();
  return static_cast<int64_t>(*v);
}

}  // namespace fw::graph
