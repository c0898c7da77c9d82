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
                                   int ordinal, Arithmetic arithmetic = {});

/// The same in the order in which they run: one kernel, but for a concatenate of many operands, which are copied by one
/// each.
absl::Status buildKernels(const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group, int ordinal,
                          std::vector<Kernel>& out, Arithmetic arithmetic = {});

}  // namespace fw::kernels
