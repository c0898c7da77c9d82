// Proof that kernels stay inside their buffers. It looks at nothing but the kernel, the plan's buffers and what is
// known of the symbols - not at how an access was made: the byte that an access reaches at any point of the loops
// around it lies between the first and the last byte of its buffer.
//
// What is not proved has to be checked when it runs (reach.h). Proofs have a budget, so that this is cheaper than
// looking for ever: giving up is safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/symint_bounds.h"
#include "kernels/kernel.h"

namespace fw::kernels {

class AccessProver {
 public:
  /// `guarded`: expressions that guards keep from falling below 0. `scoped`: symbols that have a value only inside of a
  /// region, the index of a loop of the schedule or a size that depends on data; nothing outside of their Scope that
  /// mentions them is proved.
  AccessProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded = {},
               absl::Span<const SymId> scoped = {});
  AccessProver(const AccessProver&) = delete;
  ~AccessProver();

  /// While it lives, `symbols` (some of `scoped`) have values, for which the expressions `facts` are at least 0: for
  /// the index of a loop over [0, n) these are i and n - 1 - i, for the number k of true elements among n, k and n - k.
  /// Scopes are nested.
  class Scope {
   public:
    Scope(AccessProver& prover, absl::Span<const SymId> symbols, absl::Span<const SymId> facts);
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    AccessProver& prover_;
    size_t facts_;
    std::vector<SymId> symbols_;
  };

  /// Accesses of `kernel` that are not proved, as numbers of Kernel::accesses, ascending.
  std::vector<uint32_t> unproved(const Kernel& kernel);
  /// Results that are views and are not proved to lie in their buffers, as numbers of Plan::outputs.
  std::vector<size_t> unprovedResults();

 private:
  struct Walk;
  struct Search;
  Search& search();
  void block(Walk& walk, const Block& b);
  void loop(Walk& walk, const Stmt& s);
  void access(Walk& walk, uint32_t number, int64_t bytes, absl::Span<const ExprId> places);
  bool runsAlongAxes(const Walk& walk, const Access& a, int64_t bytes) const;
  bool isKnown(SymId id) const;

  const graph::Plan& plan_;
  const graph::SymContext& syms_;
  const std::vector<SymId> guarded_;
  std::vector<SymId> unbound_;      ///< scoped symbols whose scope is not open
  std::vector<SymId> scopeFacts_;   ///< of the open scopes
  std::unique_ptr<Search> search_;  ///< made when a proof needs more than a look
};

/// Where access number `access` of `kernel` reaches, for messages.
std::string describeAccess(const Kernel& kernel, uint32_t access, const graph::Plan& plan,
                           const graph::SymContext& syms);

}  // namespace fw::kernels
