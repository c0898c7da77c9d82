// Passes of our own for functions of loops over numbers (optimize.h): what LLVM's do not dare behind a check.
#pragma once

#include "llvm/IR/PassManager.h"

namespace fw::jit {

/// Moves invariant integers and addresses in front of a loop, also from blocks that not every turn comes to. LLVM's
/// LICM, told to compute nothing that the program may not (LICMOptions::AllowSpeculation), leaves them there, although
/// only floats raise flags; and InstCombine makes new ones of sums that had been moved.
class HoistIndices : public llvm::PassInfoMixin<HoistIndices> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Hands elements on in a register that one turn stores and the next one reads: d[i, j - 1] of a recurrence. LLVM's
/// LoopLoadElimination wants to know all dependences of a loop and gives up at the first way out; this one needs a load
/// that every turn makes before it may leave, a store that every full turn makes at the same distance, and that no
/// other store may come between.
class CarriedLoads : public llvm::PassInfoMixin<CarriedLoads> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Hands numbers on that the turn before has computed for its condition: of `while x * x + y * y < 4:`, x * x, which
/// begins the body of the next turn. LLVM's GVN makes nothing available across the way back to the next turn.
class CarriedProducts : public llvm::PassInfoMixin<CarriedProducts> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

/// Takes what the turn before has computed last into a minimum or maximum of three and more integers, whose order is
/// free: min(min(carried, a), b) waits for two comparisons in every turn, min(min(a, b), carried) for one.
class CarriedLast : public llvm::PassInfoMixin<CarriedLast> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace fw::jit
