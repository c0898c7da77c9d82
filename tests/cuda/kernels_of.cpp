#include "kernels_of.h"

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "jit/cuda/target.h"
#include "kernels/lower.h"

namespace fw::testing {

absl::StatusOr<std::vector<Emitted>> emitAll(std::string_view text, const std::vector<int64_t>& symbols, bool simple) {
  absl::StatusOr<graph::Graph> graph = graph::parse(text);
  if (!graph.ok()) return graph.status();
  if (absl::Status s = graph::runPasses(*graph, {}); !s.ok()) return s;
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, {.target = jit::cuda::planningTarget()});
  if (!plan.ok()) return plan.status();
  std::vector<kernels::Kernel> kernels;
  for (size_t i = 0; i < plan->groups.size(); ++i) {
    const graph::Group& group = plan->groups[i];
    if (group.kind == graph::Group::Kind::kControl) continue;
    absl::Status s = kernels::buildKernels(graph::regionOf(*plan, *graph, group.region), *plan, group,
                                           static_cast<int>(i), kernels, kernels::Numbers::kCuPy);
    if (!s.ok()) return s;
  }
  std::vector<Emitted> result;
  for (const kernels::Kernel& kernel : kernels) {
    absl::StatusOr<std::vector<kernels::cuda::Piece>> pieces = kernels::cuda::piecesOf(kernel, graph->syms());
    if (!pieces.ok()) return pieces.status();
    for (const kernels::cuda::Piece& piece : *pieces) {
      const jit::cuda::Geometry geometry(kernel, graph->syms(), piece);
      const auto address = [](graph::BufferId id) { return 512 * (id.index + uint64_t{1}); };
      for (const jit::cuda::Launch& launch :
           geometry.layOut(symbols.data(), address, {"sm_90", 132, 219 << 10}).launches) {
        auto source = kernels::cuda::emit(kernel, graph->syms(), piece, simple ? kernels::cuda::Form{} : launch.form);
        if (!source.ok()) return source.status();
        result.push_back({*std::move(source), launch});
      }
    }
  }
  return result;
}

}  // namespace fw::testing
