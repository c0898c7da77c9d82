// From the plan's groups to kernels.
#pragma once

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "kernels/builder.h"
#include "kernels/kernel.h"

namespace fw::kernels {

/// The kernel that computes `group`: reads its inputs through their views, stores its outputs.
absl::StatusOr<Kernel> buildKernel(const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                                   int ordinal);

}  // namespace fw::kernels
