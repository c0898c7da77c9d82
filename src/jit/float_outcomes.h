// What is done with outcomes of comparisons of floats, for a code generator that would make numbers of them.
#pragma once

#include "llvm/IR/PassManager.h"

namespace fw::jit {

/// A float that a quiet comparison of floats chooses, in a vector register: the code generator would take the outcome
/// to the flags, from there to a mask, and by that to the number, one after the other in every turn of a running
/// maximum (12 cycles in place of 2 to 7). Needs AVX.
class SelectByMask : public llvm::PassInfoMixin<SelectByMask> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Two comparisons that decide together where to go, one of them of floats, decide one after the other: the code
/// generator would take both to masks, join those, and ask for a bit of them. No simplification of the flow may follow,
/// which would join them again.
class BranchOneByOne : public llvm::PassInfoMixin<BranchOneByOne> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace fw::jit
