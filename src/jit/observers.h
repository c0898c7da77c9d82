// What keeps operations on floats in functions of loops over numbers: LLVM takes them for free of effects, and drops
// or moves those that nobody needs where they stand, with the flags that they raise.
#pragma once

#include "llvm/IR/PassManager.h"

namespace llvm {
class BasicBlock;
}

namespace fw::jit {

/// Whether a part or loop ends before its end from here on: it answers that all is to end.
bool isGivenUp(const llvm::BasicBlock* block);

/// Calls that LLVM cannot take away need their operand (OpEmitter::observe), and forbid much else. They have done their
/// work when invariant code has moved: this pass takes away those whose value is needed anyhow, in the place where it
/// is computed.
class DropObservers : public llvm::PassInfoMixin<DropObservers> {
 public:
  /// `exact`: nothing may be computed either where the program does not compute it.
  explicit DropObservers(bool exact) : exact_(exact) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool exact_;
};

}  // namespace fw::jit
