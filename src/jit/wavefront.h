// Time steps over arrays, run as a wavefront: a loop whose turns are kernels that walk arrays in the order of their
// memory can begin the next turns behind the one at hand, at a distance. What a band of rows needs then stays in the
// cache for several turns, where turn after turn would fetch whole arrays from memory.
//
// Progress is counted in bytes, p = index of a kernel's outermost loop times its stride. An access touches the bytes
// [p + low, p + high) of its memory. Two stages may go on side by side if the later one keeps `high(later) -
// low(earlier)` behind the earlier one, over all pairs of accesses to one memory one of which stores: then none touches
// what the other has yet to write, or to read. (The method is known as time skewing; here by distances that are
// computed when the loop begins.)
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "jit/emit_module.h"

namespace fw::jit {

struct Wavefront {
  struct Touch {
    int memory;  ///< as Memories counts
    bool stores;
    graph::SymId offset;
    std::vector<std::pair<kernels::ExprId, graph::SymId>> inner;  ///< upper bounds and strides of the loops inside
    int64_t bytes;                                                ///< of an element
  };
  struct Stage {
    size_t kernel;  ///< number in the program
    kernels::ExprId upper;
    graph::SymId stride;  ///< of the outermost loop, in bytes
    std::vector<Touch> touches;
  };
  std::vector<Stage> stages;
  int64_t cycle = 1;   ///< turns after which memories that change places are where they were
  int64_t arrays = 0;  ///< that the stages touch
};

// What bands and turns are measured by. Not the size of this machine's cache: code is the same everywhere.
inline constexpr int64_t kCacheBytes = int64_t{3} << 19;  ///< that the turns at work share
inline constexpr int64_t kLargeBytes = int64_t{1} << 20;  ///< up to here arrays are near enough
inline constexpr int64_t kBandBytes = int64_t{1} << 15;   ///< of each array, by which all turns go on, or more:
inline constexpr int64_t kBandRows = 2;                   ///< a multiple of so many rows, which go in pairs
inline constexpr int64_t kTurnsAtOnce = 16;

/// Null if the turns do anything else, or in another order.
std::optional<Wavefront> wavefront(const graph::LoopStep& loop, const ModuleState& m);

}  // namespace fw::jit
