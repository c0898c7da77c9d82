// From a planned graph to an Executable: one kernel per group, all of them in one native function; those of
// commits in a second one.
#include <chrono>

#include "absl/strings/str_cat.h"
#include "jit/compile.h"
#include "kernels/lower.h"

namespace fw::jit {

absl::StatusOr<std::unique_ptr<Executable>> compile(const graph::Graph& graph, graph::Plan plan,
                                                    const CompileOptions& options, CompiledText* text) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<kernels::Kernel> kernels, commits;
  for (size_t i = 0; i < plan.groups.size() + plan.commits.size(); ++i) {
    const bool commit = i >= plan.groups.size();
    const graph::Group& group = commit ? plan.commits[i - plan.groups.size()] : plan.groups[i];
    auto kernel = kernels::buildKernel(graph, plan, group, static_cast<int>(i));
    if (!kernel.ok()) return kernel.status();
    if (text != nullptr && options.keepText) {
      absl::StrAppend(&text->kernels, kernels::print(*kernel, graph.syms()), "\n");
    }
    (commit ? commits : kernels).push_back(*std::move(kernel));
  }
  CompileTimings timings;
  timings.kernelMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compileKernels(kernels, commits, graph.syms(), std::move(plan), options, text, timings);
}

}  // namespace fw::jit
