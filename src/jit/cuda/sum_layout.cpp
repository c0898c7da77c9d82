#include "jit/cuda/sum_layout.h"

#include <algorithm>

#include "kernels/cuda/emit.h"

namespace fw::jit::cuda {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t n) { return ceilDiv(n, 8) * 8; }

/// Parts have at least so many elements, but for those of lists that are shorter.
constexpr int64_t kLeastPart = 32;

}  // namespace

StageLayout layOutStage(int64_t tile) {
  StageLayout stage;
  stage.tile = tile;
  stage.parts = roundUp(tile + tile / 128 * 8 + 8);
  stage.totals = stage.parts + roundUp(tile / kLeastPart + 8);
  stage.all = stage.totals + roundUp(tile / (2 * kLeastPart) + 8);
  return stage;
}

SumLayout layOutSum(const kernels::ListedSum& list, graph::ReductionChunk chunk, int64_t length, int64_t tile) {
  SumLayout sum;
  if (length <= 0) return sum;
  if (list.by == kernels::ListedSum::By::kElement) chunk = {tile, length};
  sum.period = std::min(chunk.period, length);
  sum.stretch = std::min(chunk.length, sum.period);
  sum.per = ceilDiv(sum.period, sum.stretch);
  sum.stretches = ceilDiv(length, sum.period) * sum.per;
  if (sum.stretch > tile) {
    const int64_t group = kernels::cuda::listGroup(list);
    // The largest of 2^depth parts of a stretch.
    const auto most = [&] { return (ceilDiv(sum.stretch / group, int64_t{1} << sum.depth) + 1) * group; };
    while (most() > tile) ++sum.depth;
    sum.tiles = sum.slots = sum.stretches << sum.depth;
    return sum;
  }
  // As many as there are totals for.
  sum.together = std::max(tile / std::max(sum.stretch, 2 * kLeastPart), std::min<int64_t>(8, tile / sum.stretch));
  sum.together = std::min(sum.together, sum.stretches);
  sum.tiles = ceilDiv(sum.stretches, sum.together);
  sum.slots = sum.stretches;
  return sum;
}

}  // namespace fw::jit::cuda
