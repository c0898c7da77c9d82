// CUDA C++ of one piece of a kernel, in the form that the sizes of a call ask for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/symint.h"
#include "kernels/cuda/pieces.h"

namespace fw::kernels::cuda {

/// What of the text depends on sizes. Few values, so that a sweep over sizes compiles once or twice.
struct Form {
  bool wide = false;  ///< indices and distances in bytes may exceed 31 bits
  int lanes = 1;      ///< iterations that a thread does at once
  /// They are neighbours along the last axis, of the nest or of each step, and accesses with packedBytes() move `pack`
  /// of them together: all of a map's, several times as many in a row.
  bool packed = false;
  int pack = 1;
  /// kMap: blocks do tiles of the last axis and this one, so that reads along either are of neighbours.
  int tile = -1;
  bool whole = false;  ///< kRows: one round of the team covers a row, which is read once and kept in registers
  int threads = 1024;  ///< kRows: a block has at most so many
  /// kRows: only these steps, each spread over several blocks per row; those before are combined from what their blocks
  /// have left in `scratch`. All of them in one launch if `to` is 0.
  int from = 0, to = 0;
  /// Step `from` is a listed sum, whose tiles an earlier launch has added up: a block per row does the rest.
  bool gathers = false;

  bool split() const { return to != 0; }
  friend bool operator==(const Form&, const Form&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Form& f) {
    return H::combine(std::move(h), f.wide, f.lanes, f.packed, f.pack, f.tile, f.whole, f.threads, f.from, f.to,
                      f.gathers);
  }
};

/// How a listed sum is cut into tiles, each added up by a team at once: the prelude's fw_cut, and the number of tiles.
enum class CutNumber : uint8_t { kStretch, kPeriod, kPer, kStretches, kTogether, kDepth, kTiles };
/// In elements: where parts of a tile stand behind its elements, totals of stretches behind those, and the whole.
enum class StageNumber : uint8_t { kParts, kTotals, kAll };

/// One 8-byte field of the structure that a kernel is launched with.
struct Parameter {
  enum class Kind : uint8_t {
    kAddress,  ///< of buffer `buffer`, plus `sym` bytes
    kNumber,   ///< the value of `sym`
    kDivisor,  ///< the same, as divisorOf()
    kTotal,    ///< iterations of the piece's nest: threads of a map, rows
    kLength,   ///< iterations of step `step`
    kParts,    ///< of a row and step `step`, in the scratch memory: blocks that it is spread over, or slots of its list
               ///< and one for the sum
    kChunk,    ///< iterations per part of step `step`
    kTeam,     ///< threads per row
    kHost,     ///< bytes 8 * `slot` and on of the number in buffer `buffer`
    kScratch,  ///< address of 8 bytes for each row and part of accumulator `slot` of step `step`
    kCut,      ///< number `slot`, a CutNumber, of the list of step `step`
    kStage,    ///< number `slot`, a StageNumber, of the shared memory of a row
  };
  Kind kind;
  graph::BufferId buffer;
  SymId sym;
  int step = 0;
  int slot = 0;
};

struct Source {
  std::string name;  ///< of the function, by the content
  std::string text;  ///< without the prelude
  std::vector<Parameter> parameters;
  bool sharesBySize = false;  ///< it has shared memory whose size the launch says
};

/// Bytes that an access moves at once if `nest` is done in packs of `lanes` along its last axis; 0 if it does not move
/// neighbours.
int packedBytes(const graph::SymContext& syms, const Nest& nest, const Access& access, DType dtype, int lanes);

/// Of the reductions of a piece: numbers of 8 bytes that a thread hands to others at once.
size_t accumulatorWords(const Kernel& kernel, const Piece& piece);
/// The most threads of a block that does columns: what they hand to each other fits into its memory.
int columnThreads(const Kernel& kernel, const Piece& piece);

/// Threads of a block that adds columns one row after the other, and the shared memory that it needs for `lanes` rows
/// of each.
inline constexpr int kChainThreads = 256;
int64_t chainBytes(const Kernel& kernel, const RowStep& step, int lanes);
/// Bytes of the accumulators of a step.
int64_t accumulatorBytes(const Kernel& kernel, const RowStep& step);
/// The accumulators that NumPy adds a list with.
inline int listGroup(const ListedSum& list) { return list.by == ListedSum::By::kPairsOfParts ? 4 : 8; }

/// Sides of a tile, and the threads along its other side.
inline constexpr int kTile = 32, kTileThreads = 8;
/// The axis of a map's nest along which loads read neighbours that do not along the last; -1 if there is none.
int tileAxis(const Kernel& kernel, const graph::SymContext& syms, const Piece& piece);

/// kUnimplemented where no text is known.
absl::StatusOr<Source> emit(const Kernel& kernel, const graph::SymContext& syms, const Piece& piece, const Form& form);

/// A divisor below 2^31 as the prelude's fw_divide takes it.
uint64_t divisorOf(int64_t divisor);

}  // namespace fw::kernels::cuda
