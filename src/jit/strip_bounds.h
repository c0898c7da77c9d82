// How large the ints are that a strip of turns computes, in terms of what it takes from elsewhere.
//
// In a strip, let W be a bound of the magnitudes of all anchors and of what turns have handed on so far, T one of the
// anchors alone. A value is bounded by `alone`, in terms of T, or by W + `beyond`; both are wanted, since a minimum of
// what is handed on and of an anchor is below W, and their sum below W + T. What turns hand on (header phis) may be as
// large as W: a turn adds at most the largest `beyond` of what it hands on, so that W is at most T + turns * that.
#pragma once

#include <algorithm>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

namespace fw::jit {

/// A magnitude; beyond what ints have, no sums of two are formed.
using Size = __int128;
inline constexpr Size kUnbounded = Size{1} << 100;

inline Size sum(Size a, Size b) { return std::min(a + b, kUnbounded); }

struct Bound {
  Size alone = kUnbounded, beyond = kUnbounded;
};

struct Anchors {
  int bits = 0;                                        ///< of the magnitude of each
  llvm::SmallSetVector<llvm::Instruction*, 8> inside;  ///< of each turn
  llvm::SmallSetVector<llvm::Value*, 8> outside;       ///< what a strip begins with
};

/// Bounds of values of a loop, of which anchors have at most so many bits.
class Bounds {
 public:
  Bounds(const llvm::Loop& loop, llvm::ScalarEvolution& evolution, const llvm::DominatorTree& dominators, int bits)
      : loop_(loop),
        evolution_(evolution),
        dominators_(dominators),
        anchor_(Size{1} << bits) {
    anchors.bits = bits;
  }

  Bound of(llvm::Value* value);

  Anchors anchors;                                   ///< asked for so far
  llvm::SmallSetVector<llvm::PHINode*, 8> handedOn;  ///< header phis found so far

 private:
  Bound find(llvm::Value* value);
  template <class Values>
  Bound largest(const Values& values);

  const llvm::Loop& loop_;
  llvm::ScalarEvolution& evolution_;
  const llvm::DominatorTree& dominators_;
  const Size anchor_;
  llvm::DenseMap<llvm::Value*, Bound> known_;
};

}  // namespace fw::jit
