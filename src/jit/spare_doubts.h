// Fewer questions about the sizes of ints: that of few numbers answers that of all that a strip of turns computes.
#pragma once

#include "llvm/IR/PassManager.h"

namespace fw::jit {

/// Code of loops with liberties collects whether an int has left its 62 bits (FunctionState::doubt) at every sum. In
/// the innermost loops, whose turns come in strips of at most some thousand, the sums of a turn are bounded by what the
/// turn takes from elsewhere, its anchors: elements, what the strip begins with, what does not change. Where there are
/// fewer of those, they are asked for, and the sums are not. An anchor has to have some bits less, so that the run may
/// be in doubt where no sum is too large; what is computed then knows no such limit.
class SpareDoubts : public llvm::PassInfoMixin<SpareDoubts> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace fw::jit
