// Polynomials behind SymContext: the canonical form of an expression is a sum of monomials over atoms, where an atom is
// anything that is not a sum or a product (symbols, floorDiv, mod, min, max) or an opaque node. Internal to
// symint*.cpp and symint_bounds.h.
#pragma once

#include <optional>
#include <vector>

#include "graph/symint.h"

namespace fw::graph {

/// coefficient * product of atoms, which are sorted and repeated for powers.
struct SymTerm {
  int64_t coefficient = 0;
  absl::InlinedVector<SymId, 2> atoms;
};
/// Sorted (higher degree first, the constant last), distinct monomials, no zero coefficients.
using SymPoly = std::vector<SymTerm>;

/// What is left of dividend and divisor after everything divisible has been taken out:
///   dividend = divisor * quotient + scale * rest + residue,  divisor = scale * restDivisor,  0 <= residue < scale
/// so that dividend // divisor = quotient + rest // restDivisor. If `complete`, rest // restDivisor is 0.
struct SymDivision {
  SymPoly quotient, rest, restDivisor;
  SymTerm scale{1, {}};
  int64_t residue = 0;
  bool complete = false;
};

class SymAlgebra {
 public:
  explicit SymAlgebra(SymContext& context) : context_(context) {}

  /// Structural order of nodes: does not depend on when they were made, so that printed text is stable.
  int compare(SymId a, SymId b) const;
  int compareMonomials(const SymTerm& a, const SymTerm& b) const;

  SymPoly poly(SymId id) const;
  static SymPoly constantPoly(int64_t v);
  SymId fromPoly(const SymPoly& poly);
  SymRange range(const SymPoly& poly) const;
  SymRange range(const SymTerm& term) const;

  // nullopt: a coefficient overflows, or the result is too large to be worth expanding.
  std::optional<SymPoly> add(const SymPoly& a, const SymPoly& b, int64_t scaleOfB = 1) const;
  std::optional<SymPoly> mul(const SymPoly& a, const SymPoly& b) const;
  std::optional<SymDivision> divide(const SymPoly& dividend, const SymPoly& divisor) const;

  /// A polynomial that is not negative for the same values: without the common factor of all terms but the constant,
  /// which is rounded down. 2a - 2b + 1 >= 0 is a - b >= 0 of integers.
  static SymPoly inLowestTerms(const SymPoly& poly);
  SymPoly withoutPositiveFactors(SymPoly poly) const;
  /// All values of poly are >= 0. False means unknown.
  bool nonNegative(const SymPoly& poly, int depth = 0);
  /// The same, by ranges of the atoms alone.
  bool nonNegativeByShift(const SymPoly& poly) const;

  SymId opaque(SymOp op, absl::InlinedVector<SymId, 2> operands);
  /// floorDiv or mod without simplification. The divisor's range may contain 0: then the caller knows better, or
  /// evaluation fails.
  SymId atom(SymOp op, SymId a, SymId b, SymRange known = {});
  SymId extreme(SymOp op, SymId a, SymId b);
  /// What assumed equalities say beyond canonical(), as expressions that are at least 0: x // 2 == y leaves x - 2 * y
  /// between 0 and 1.
  std::vector<SymId> assumedBounds();
  /// See symint_facts.h.
  SymRange refine(SymId id);
  /// What a sum that is 0, or at least 0, says of the ranges of its symbols.
  void narrowFactors(const SymPoly& zero);
  void narrowByQuotients(const SymPoly& notNegative);
  /// Puts `value` in the place of a symbol that it does not mention, whichever of its symbols is the latest.
  void replace(SymId symbol, SymId value);
  /// Looks again at the expressions known to be 0 that mention `part`, about which more is known now.
  void reconsiderZeros(SymId part);
  /// id, or the constant that it must be by the ranges of its operands.
  SymId folded(SymId id);

 private:
  std::optional<SymPoly> collect(SymPoly terms) const;
  std::optional<SymTerm> mul(const SymTerm& a, const SymTerm& b) const;
  static std::optional<SymTerm> exactQuotient(const SymTerm& a, const SymTerm& b);
  std::optional<SymDivision> divideByMonomial(SymPoly dividend, SymTerm divisor) const;
  std::optional<SymDivision> divideByPoly(const SymPoly& dividend, const SymPoly& divisor) const;
  bool cancelCommonFactor(SymPoly& dividend, SymTerm& divisor, SymTerm& scale) const;
  bool takeOutMultiples(SymDivision& d, int64_t c) const;
  bool finish(SymDivision& d) const;
  bool nonNegativeBySubstitution(const SymPoly& poly, int depth);

  SymContext& context_;
  int proofSteps_ = 0;  ///< of nonNegative(), which gives up after some
};

}  // namespace fw::graph
