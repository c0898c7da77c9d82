// The functions of one executable. Each runs its kernels one after the other. What is alike is code that is shared, and
// a long function is cut into parts: the code generator takes more than linear time for one function.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/compile.h"
#include "jit/target.h"
#include "kernels/kernel.h"
#include "kernels/reach.h"
#include "llvm/IR/Module.h"

namespace fw::jit {

/// What the functions of one executable have in common.
struct ModuleState {
  llvm::Module& module;
  const TargetSpec& target;
  const graph::SymContext& syms;
  const graph::Plan& plan;
  absl::Span<const DeferredCommit> deferred;  ///< by rising number
  bool checked;                               ///< accesses are compared with their buffers before they are made
  absl::Span<const kernels::Reach> reaches;   ///< compared before anything is computed
  /// By group of the plan: the number of kernels that it and those in front of it have. Empty: all kernels in order.
  absl::Span<const size_t> kernelsUpTo;
};

/// Checked: what `commits` access is compared before anything is computed, since they cannot stop half-way.
void emitEntry(const ModuleState& m, const std::string& name, const std::vector<kernels::Kernel>& kernels,
               const std::vector<kernels::Kernel>& commits);
void emitCommits(const ModuleState& m, const std::string& name, const std::vector<kernels::Kernel>& commits);
/// Computes what deferred commits store, for what it raises.
void emitCheck(const ModuleState& m, const std::string& name, const std::vector<kernels::Kernel>& commits);

}  // namespace fw::jit
