// From the text of a graph to sources of CUDA, without a device.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "jit/cuda/geometry.h"
#include "kernels/cuda/emit.h"

namespace fw::testing {

struct Emitted {
  kernels::cuda::Source source;
  jit::cuda::Launch launch;
};

/// Everything that a call with these symbols would launch on a device of 132 multiprocessors. `simple`: in the form
/// that does one iteration per thread.
absl::StatusOr<std::vector<Emitted>> emitAll(std::string_view graph, const std::vector<int64_t>& symbols,
                                             bool simple = false);

}  // namespace fw::testing
