// From a planned graph to its kernels for CUDA.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "kernels/kernel.h"

namespace fw::kernels::cuda {

/// Kernels by number of the plan's group or commit. Groups that only check are empty: nothing is reported, so that
/// nothing has to be known before it is stored.
struct Program {
  std::vector<std::vector<Kernel>> groups, commits;
};

/// With CuPy's numbers (builder.h). Errors as buildKernels().
absl::StatusOr<Program> lowerPlan(const graph::Graph& graph, const graph::Plan& plan);

}  // namespace fw::kernels::cuda
