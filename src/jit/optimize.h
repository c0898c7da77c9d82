// LLVM's passes for functions of loops over numbers (FunctionState::Kind::kLoop). Other code is made of explicit
// vectors by emitters that leave nothing to do.
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace fw::jit {

/// Of functions that optimize() works on. Its value: whether flags come up where the program raises them and nowhere
/// else, or elsewhere too (ModuleState::liberties); none is lost.
inline constexpr char kOptimizeAttribute[] = "fusewire-optimize", kExact[] = "exact", kFree[] = "free";

/// Whether the module has such functions.
bool wantsOptimization(const llvm::Module& module);
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace fw::jit
