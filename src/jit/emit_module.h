// The functions of one executable. Each runs its kernels one after the other. What is alike is code that is shared, and
// a long function is cut into parts: the code generator takes more than linear time for one function.
#pragma once

#include <string>

#include "jit/compile.h"
#include "jit/target.h"
#include "kernels/program.h"
#include "llvm/IR/Module.h"

namespace fw::jit {

/// What the functions of one executable have in common.
struct ModuleState {
  llvm::Module& module;
  const TargetSpec& target;
  const graph::SymContext& syms;
  const graph::Plan& plan;
  const kernels::KernelProgram& program;
  bool checked;  ///< accesses are compared with their buffers before they are made
  bool timed;    ///< kernels and library calls are (CompileOptions)
  /// Loops over numbers may raise flags that the program does not, and give up where an index counts from the end
  /// (Executable::exact).
  bool liberties;

  /// Their numbers in Context::times.
  size_t partOfKernel(size_t i) const { return i; }
  size_t partOfCommit(size_t i) const { return program.kernels.size() + i; }
  size_t partOfCall(size_t number) const { return program.kernels.size() + program.commits.size() + number; }
};

/// Checked: what commits access is compared before anything is computed, since they cannot stop half-way.
void emitEntry(const ModuleState& m, const std::string& name);
void emitCommits(const ModuleState& m, const std::string& name);
/// Computes what deferred commits store, for what it raises.
void emitCheck(const ModuleState& m, const std::string& name);

}  // namespace fw::jit
