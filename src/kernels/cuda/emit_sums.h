// The text of listed sums: where the elements of a list go, and what is done with them.
#pragma once

#include <string>

#include "kernels/cuda/writer.h"

namespace fw::kernels::cuda {

/// Of the steps of a piece of rows that are listed sums. Each accumulator of a step has a list of its own in shared
/// memory.
class SumEmitter {
 public:
  SumEmitter(Writer& w, const Piece& piece, const Form& form) : w_(w), piece_(piece), form_(form) {}

  /// The shared memory of the thread's team. Nothing where no step lists.
  void place();
  /// Pointers to the lists of a step.
  void open(const RowStep& step);
  /// Around the lanes of a pack, and in each lane: the elements go to their lists. `at`: where the pack, or the lane,
  /// has its place in the list.
  void openPack(const RowStep& step);
  void lane(const RowStep& step, const std::string& at);
  void closePack(const RowStep& step, const std::string& at);

  /// The list is complete, and is all there is.
  void whole(const RowStep& step, const std::string& length);
  /// The list in tiles: a loop with i64 `tile` and its `range`, whose body writes down the elements.
  void openTiles(int number, const RowStep& step);
  void closeTiles(int number, const RowStep& step);
  /// Tiles that earlier launches have added up.
  void gather(int number, const RowStep& step);
  /// What gather() has left.
  void recall(int number, const RowStep& step);
  /// Columns: the rows that the block has written down, `count` of them, and the end of it.
  void chain(const RowStep& step, const std::string& count);
  void endChain(int number, const RowStep& step);

 private:
  const Stmt& stmt(const RowStep& step) const { return w_.kernel().stmts[step.stmt.index]; }
  size_t count(const RowStep& step) const { return stmt(step).accumulators.size(); }
  std::string type(const RowStep& step, size_t i) const;
  std::string name(const char* what, const RowStep& step, size_t i) const;
  std::string element(const RowStep& step, size_t i) const;
  std::string group(const RowStep& step) const;
  std::string stage(StageNumber what);
  std::string cut(int number, CutNumber what);
  std::string slots(int number, size_t i);
  bool alike(const RowStep& a, const RowStep& b) const;
  void declareCut(int number);
  void share(const RowStep& step);
  void keep(int number, const RowStep& step);

  Writer& w_;
  const Piece& piece_;
  const Form& form_;
  const RowStep* last_ = nullptr;  ///< that has been opened
};

}  // namespace fw::kernels::cuda
