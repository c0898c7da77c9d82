// What a loop over numbers overwrites in arrays of the caller (graph/rewriting.h) is saved on the stack before it
// stores, a strip of turns at a time, as the stretch of memory that its places lie in. When the log is full, and when
// the loop is done, all must be well so far: then it begins anew. Else the function is left, and puts back what is in
// it, the latest first.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/plan.h"
#include "jit/emit_function.h"
#include "jit/scalar_loops.h"

namespace fw::jit {

struct UndoEntry {
  void* place;
  const void* saved;
  int64_t bytes;
};

/// All on the function under construction. Does nothing where nothing is rewritten.
class UndoLog {
 public:
  using Places = absl::flat_hash_map<const graph::LoopStep*, std::vector<RewrittenPlace>>;

  UndoLog(FunctionState& fn, const Places& places);

  /// Saves what a strip of turns of the loop stores to, from `first` on: as many turns as there is room for, `most` at
  /// most, and not beyond `trip`. Answers where it ends.
  llvm::Value* strip(const graph::LoopStep& loop, llvm::Value* first, llvm::Value* most, llvm::Value* trip);
  /// Leaves the function unless all is well so far.
  void settle();
  /// Where the function is left.
  void putBack();

 private:
  struct Reach {              ///< of one turn
    llvm::Value *low, *high;  ///< bytes into the buffer: the least and the greatest RewrittenPlace::offset
    llvm::Value* step;        ///< to the next turn
  };
  Reach reach(const graph::LoopStep& loop, const RewrittenPlace& place, llvm::Value* turn);
  llvm::Value* offset(const graph::LoopStep& loop, const RewrittenPlace& place, llvm::Value* turn, size_t corner);
  llvm::Value* load(llvm::Value* counter);

  FunctionState& fn_;
  llvm::IRBuilder<>& ir_;
  const Places& places_;
  llvm::Value* area_ = nullptr;     ///< saved bytes
  llvm::Value* entries_ = nullptr;  ///< UndoEntry
  llvm::Value *used_ = nullptr, *count_ = nullptr;
};

}  // namespace fw::jit
