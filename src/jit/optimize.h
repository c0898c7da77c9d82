// LLVM's passes for functions of loops over numbers (FunctionState::Kind::kLoop). Other code is made of explicit
// vectors by emitters that leave nothing to do.
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace fw::jit {

/// Of functions that optimize() works on.
inline constexpr char kOptimizeAttribute[] = "fusewire-optimize";

/// Whether the module has such functions.
bool wantsOptimization(const llvm::Module& module);
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace fw::jit
