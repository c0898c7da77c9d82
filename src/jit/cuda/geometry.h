// How a piece of a kernel is laid out over the device: a pure function of sizes, strides and addresses.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "jit/cuda/sum_layout.h"
#include "kernels/cuda/emit.h"
#include "runtime/cuda/driver.h"
#include "runtime/sym_program.h"

namespace fw::jit::cuda {

/// One launch, with the numbers that its parameters name.
struct Launch {
  kernels::cuda::Form form;
  uint32_t gridX = 1, gridY = 1, blockX = 1, blockY = 1;
  int64_t sharedBytes = 0;  ///< of the shared memory that the text has no size for
  int64_t team = 1;
};

struct Layout {
  int64_t total = 0;                            ///< threads of a map, or rows
  std::vector<int64_t> lengths, parts, chunks;  ///< by step
  std::vector<SumLayout> sums;                  ///< by step, of listed sums
  StageLayout stage;
  std::vector<int64_t> scratch;  ///< by step: where its parts begin in the scratch memory
  int64_t scratchBytes = 0;
  std::vector<Launch> launches;
};

class Geometry {
 public:
  Geometry(const kernels::Kernel& kernel, const graph::SymContext& syms, const kernels::cuda::Piece& piece);

  /// `address` answers where a buffer lies.
  Layout layOut(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                const runtime::cuda::DeviceFacts& device) const;

 private:
  struct Reach {  ///< of one access
    graph::BufferId buffer;
    size_t offset;                              ///< in the values of the program
    std::vector<std::pair<int, size_t>> terms;  ///< size (-1: unknown) and stride
    int innermost = -1;                         ///< the term of the axis that packs lie along
    int bytes = 0;                              ///< of an element that moves in packs; 0: none
  };
  size_t need(graph::SymId id);
  /// `packed`: the nest along whose last axis packs would lie.
  void walk(const std::vector<kernels::Item>& items, const kernels::cuda::Nest* packed);
  void addReach(const kernels::Access& access, graph::DType dtype, const kernels::cuda::Nest* packed);
  bool needsWide(const int64_t* values) const;
  bool packs(const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address) const;
  void layOutMap(Layout& layout, const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                 bool wide) const;
  void layOutRows(Layout& layout, const int64_t* values, absl::FunctionRef<uint64_t(graph::BufferId)> address,
                  const runtime::cuda::DeviceFacts& device, bool wide) const;
  void layOutColumns(Layout& layout, Launch launch, const runtime::cuda::DeviceFacts& device) const;
  bool fitsOneRound(const Layout& layout, const int64_t* values, int64_t most,
                    const runtime::cuda::DeviceFacts& device) const;
  graph::ReductionChunk chunkOf(size_t step, const int64_t* values) const;
  void layOutSums(Layout& layout, const int64_t* values, int64_t tile) const;
  /// Bytes of shared memory that each team needs for its lists.
  int64_t listBytes(const Layout& layout) const { return layout.stage.all * listedBytes_; }
  void split(Layout& layout, int64_t blocks, int64_t team, const runtime::cuda::DeviceFacts& device,
             Launch launch) const;

  const kernels::Kernel& kernel_;
  const graph::SymContext& syms_;
  const kernels::cuda::Piece& piece_;
  std::vector<graph::SymId> needed_;
  absl::flat_hash_map<graph::SymId, size_t> places_;  ///< of those in the values of the program
  std::vector<size_t> outer_;                         ///< sizes of the nest
  std::vector<std::vector<size_t>> steps_;            ///< sizes of each step
  struct List {
    std::vector<size_t> sizes, strides;
  };
  std::vector<List> lists_;  ///< of each step, what its stretches follow from
  int64_t listedBytes_ = 0;  ///< of the accumulators of a listed sum, the most; 0: there is none
  absl::flat_hash_map<kernels::AxisId, size_t> sizes_;
  std::vector<Reach> reaches_;
  bool unknownSizes_ = false, single_ = false;
  int packLanes_ = 1, tileAxis_ = -1;
  runtime::SymProgram program_;
};

}  // namespace fw::jit::cuda
