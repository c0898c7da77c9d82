// A kernel as what a GPU is launched for: nests of independent iterations, and rows that reduce.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"

namespace fw::kernels::cuda {

/// Loops that stand one in the other and run from 0. Levels hold what stands between them: level i is the block around
/// loop i + 1, the last one is what the innermost loop runs.
struct Nest {
  struct Axis {
    AxisId id;
    SymId size;
  };
  std::vector<Axis> axes;
  std::vector<const Block*> levels;  ///< as many as axes
  StmtId outermost, innermost;       ///< the statements of the first and the last axis; invalid if there are none
};

/// What one iteration of all loops runs: what stands in front of each inner loop, then the body of the innermost. What
/// stands behind only hands on what the inner loops have reduced.
std::vector<Item> iterationOf(const Nest& nest);

/// A statement of a row: a nest that a team of threads runs together, or what one of them does.
struct RowStep {
  enum class Kind : uint8_t { kReduce, kLoop, kSingle };
  Kind kind;
  StmtId stmt;
  Nest nest;                        ///< kReduce, kLoop
  const ListedSum* list = nullptr;  ///< kReduce: in which order it adds
};

struct Piece {
  enum class Kind : uint8_t {
    kMap,   ///< every iteration of `nest` is done by one thread; without axes: its items are
    kRows,  ///< every iteration of `nest` is a row, which threads share
  };
  Kind kind;
  Nest nest;                   ///< the kept axes of rows, maybe none
  std::vector<Item> items;     ///< the body of the innermost loop, or what stands at the root
  std::vector<RowStep> steps;  ///< kRows, in order
  bool root = false;           ///< `items` are those of the root, its expressions among them
  bool columns = false;        ///< kRows: neighbours along the last kept axis are neighbours in memory
};

/// In the order in which they run; expressions of the root are computed in each of them. kUnimplemented where that
/// would read what an earlier piece has stored, and for kernels that decline.
absl::StatusOr<std::vector<Piece>> piecesOf(const Kernel& kernel, graph::SymContext& syms);

/// Expressions of the root, which every piece begins with.
std::vector<ExprId> rootExpressions(const Kernel& kernel);

}  // namespace fw::kernels::cuda
