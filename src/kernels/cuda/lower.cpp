#include "kernels/cuda/lower.h"

#include "kernels/lower.h"

namespace fw::kernels::cuda {

absl::StatusOr<Program> lowerPlan(const graph::Graph& graph, const graph::Plan& plan) {
  Program program;
  const auto add = [&](const std::vector<graph::Group>& groups, std::vector<std::vector<Kernel>>& to) {
    for (const graph::Group& group : groups) {
      std::vector<Kernel>& kernels = to.emplace_back();
      if (group.kind == graph::Group::Kind::kCheck || group.kind == graph::Group::Kind::kControl) continue;
      const graph::Graph& region = graph::regionOf(plan, graph, group.region);
      absl::Status built = buildKernels(region, plan, group, static_cast<int>(to.size()) - 1, kernels, Numbers::kCuPy);
      if (!built.ok()) return built;
    }
    return absl::OkStatus();
  };
  if (absl::Status s = add(plan.groups, program.groups); !s.ok()) return s;
  if (absl::Status s = add(plan.commits, program.commits); !s.ok()) return s;
  return program;
}

}  // namespace fw::kernels::cuda
