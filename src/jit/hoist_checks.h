// Checks of places that grow by the same in every turn, made once in front of a strip of turns.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"

namespace fw::jit {

/// A bool that stands for the checks of the loop which begins where control goes on if it is false: whether one of them
/// would fail in some turn. The run is in doubt then (kStatusDoubt), and this may ask for more than the turns would.
llvm::Value* checksAhead(llvm::IRBuilder<>& ir);

/// Puts in place of checksAhead() the checks of a loop that ask whether an integer is below an invariant one, where the
/// integer is linear in the turn and every turn asks: for its first and its last value. Only of loops that end where
/// their turns are over, or the run is given up: what a way out would have spared is not asked for.
class HoistChecks : public llvm::PassInfoMixin<HoistChecks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace fw::jit
