// Proofs of inequalities from everything that is known: ranges and equalities of the context, what guards establish,
// and facts that hold for a while, as inside a loop.
#pragma once

#include <optional>
#include <vector>

#include "graph/symint.h"
#include "graph/symint_algebra.h"

namespace fw::graph {

class BoundProver {
 public:
  /// Works on a copy of `context`, to which symbols may be added, and of which expressions made later are unknown.
  /// `guarded` are expressions that guards keep from falling below 0.
  explicit BoundProver(const SymContext& context, absl::Span<const SymId> guarded = {});
  BoundProver(const BoundProver&) = delete;

  SymContext& syms() { return context_; }

  /// `id` >= 0 from now on, until everything added since mark() is released.
  void addFact(SymId id);
  size_t mark() const { return facts_.size(); }
  void release(size_t mark);

  /// True if `id` >= 0 follows; false if that is not found.
  bool nonNegative(SymId id);
  /// The same from the ranges of the symbols alone, which is quick.
  bool holdsAtOnce(SymId id);
  bool lessEqual(SymId a, SymId b) { return nonNegative(context_.sub(b, a)); }
  /// What the other one has spent of the time that proofs are worth is spent.
  void continueFrom(const BoundProver& other) {
    total_ = other.total_;
    work_ = other.work_;
  }

 private:
  bool search(const SymPoly& poly);
  bool prove(const SymPoly& poly, int depth);
  /// p becomes scale * p + scale - 1 - times * factor * fact.
  struct Step {
    size_t fact;
    SymTerm factor;  ///< >= 0
    int64_t scale, times;
  };
  std::vector<Step> stepsAgainst(const SymPoly& p, const SymTerm& term) const;
  std::optional<SymPoly> apply(const SymPoly& p, const Step& step) const;
  bool splitCases(const SymPoly& p, int depth);
  bool isSpent() const;
  bool proveAsProduct(const SymPoly& p, int depth);
  std::vector<SymPoly> boundsOf(SymId atom, bool lower) const;
  void knowAtoms(const SymPoly& p);
  void knowAtom(SymId atom);
  void push(SymPoly poly);
  void pushFactors(const SymPoly& poly);
  void pushTogether(const SymPoly& poly);
  void knowPositive(SymId atom);
  void pushWithoutQuotients(const SymPoly& p);
  bool isBad(const SymTerm& t) const { return algebra_.range(t).lo < 0; }

  SymContext context_;
  SymAlgebra algebra_;
  std::vector<SymPoly> facts_;                               ///< all of them >= 0
  absl::flat_hash_map<SymId, std::vector<size_t>> factsOf_;  ///< atom -> facts that have it, ascending
  std::vector<SymId> known_;                                 ///< atoms whose own facts are there, in order
  absl::flat_hash_map<SymId, size_t> knownAt_;               ///< the same: number of the first of its facts
  std::vector<SymPoly> products_;  ///< that are numbers, less those: 0, where canonical() has put the number
  int impossible_ = 0;             ///< facts that never hold: then everything does
  std::vector<SymId> asking_;      ///< atoms of knowPositive() at work, one inside of another
  int limit_ = 0, steps_ = 0, total_ = 0;
  int64_t work_ = 0;
  bool cut_ = false;  ///< a limit has ended some attempt
};

}  // namespace fw::graph
