// How the list of a sum is cut into tiles, and where things stand in the shared memory of a team: the numbers that the
// functions of the prelude (kernels/cuda/prelude.cpp) work with.
#pragma once

#include <cstdint>

#include "graph/pairwise_order.h"
#include "kernels/kernel.h"

namespace fw::jit::cuda {

/// kernels::cuda::StageNumber, and how many elements a tile may have.
struct StageLayout {
  int64_t tile = 0;
  int64_t parts = 0, totals = 0, all = 0;
};
StageLayout layOutStage(int64_t tile);

/// kernels::cuda::CutNumber. `slots`: numbers that tiles leave in memory where they are spread over blocks.
struct SumLayout {
  int64_t stretch = 1, period = 1, per = 1, stretches = 0, together = 1, depth = 0, tiles = 0, slots = 0;
};
/// Of `length` elements that NumPy adds in `chunk`s.
SumLayout layOutSum(const kernels::ListedSum& list, graph::ReductionChunk chunk, int64_t length, int64_t tile);

}  // namespace fw::jit::cuda
