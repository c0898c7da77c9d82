// Proof that kernels stay inside their buffers. It looks at nothing but the kernel, the plan's buffers and what is
// known of the symbols - not at how an access was made: the byte that an access reaches at any point of the loops
// around it lies between the first and the last byte of its buffer.
#pragma once

#include <string>
#include <vector>

#include "graph/symint_bounds.h"
#include "kernels/kernel.h"

namespace fw::kernels {

class AccessProver {
 public:
  /// `guarded`: expressions that guards keep from falling below 0.
  AccessProver(const graph::Plan& plan, const graph::SymContext& syms, absl::Span<const SymId> guarded = {});
  AccessProver(const AccessProver&) = delete;

  /// Accesses of `kernel` that are not proved, as numbers of Kernel::accesses.
  std::vector<uint32_t> unproved(const Kernel& kernel);
  /// Results that are views and are not proved to lie in their buffers, a sentence for each.
  std::vector<std::string> unprovedResults();

 private:
  /// First byte of a buffer and the one behind its last, from its data pointer.
  struct Extent {
    SymId first, end;
    bool mayBeEmpty = false;  ///< and `first` and `end` do not show it
    graph::SymShape shape;
  };
  struct Walk;

  Extent extentOf(const graph::Buffer& buffer);
  bool inside(graph::BufferId buffer, SymId address, int64_t bytes);
  bool insideInAllCases(const Extent& extent, SymId address, int64_t bytes, absl::Span<const SymId> choices);
  void collectChoices(SymId id, std::vector<SymId>& choices) const;
  bool reaches(const Extent& extent, SymId address, int64_t bytes);
  void block(Walk& walk, const Block& b);
  void loop(Walk& walk, const Stmt& s);
  void access(Walk& walk, uint32_t number, int64_t bytes);
  SymId value(Walk& walk, ExprId id);
  SymId compute(Walk& walk, const Expr& e);
  SymId fresh(graph::SymRange range);

  const graph::Plan& plan_;
  graph::BoundProver prover_;
  graph::SymContext& syms_;
  std::vector<Extent> extents_;
  std::vector<SymId> running_;  ///< iterations of the loops around, all of them at least 1
  int symbols_ = 0;
};

/// Where access number `access` of `kernel` reaches, for messages.
std::string describeAccess(const Kernel& kernel, uint32_t access, const graph::Plan& plan,
                           const graph::SymContext& syms);

}  // namespace fw::kernels
