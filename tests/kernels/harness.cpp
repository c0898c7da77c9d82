#include "harness.h"

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "kernels/interpreter.h"
#include "kernels/lower.h"

namespace fw::kernels::testing {

std::string BuiltGraph::text() const {
  std::string all = graph::print(plan, graph);
  for (const Kernel& k : kernels) all += kernels::print(k, graph.syms());
  return all;
}

absl::StatusOr<BuiltGraph> build(std::string_view text, const graph::Target& target, Arithmetic arithmetic) {
  absl::StatusOr<graph::Graph> parsed = graph::parse(text);
  if (!parsed.ok()) return parsed.status();
  BuiltGraph built{*std::move(parsed), {}, {}};
  absl::StatusOr<graph::Plan> plan = graph::makePlan(built.graph, {.target = target});
  if (!plan.ok()) return plan.status();
  built.plan = *std::move(plan);
  int ordinal = 0;
  for (const graph::Group& group : built.plan.groups) {
    absl::StatusOr<Kernel> kernel = buildKernel(built.graph, built.plan, group, ordinal++, arithmetic);
    if (!kernel.ok()) return kernel.status();
    const std::vector<std::string> problems = verify(*kernel, built.graph.syms());
    if (!problems.empty()) return absl::InternalError(problems[0] + "\n" + kernels::print(*kernel, built.graph.syms()));
    built.kernels.push_back(*std::move(kernel));
  }
  return built;
}

absl::StatusOr<Result> run(BuiltGraph& built, absl::Span<void* const> inputs, absl::Span<const int64_t> symbols) {
  graph::SymContext& syms = built.graph.syms();
  Result result;
  std::vector<std::vector<std::byte>> temps;
  std::vector<void*> buffers(built.plan.buffers.size());
  // Memory of outputs must not move: sizes first.
  for (const graph::Buffer& buffer : built.plan.buffers) {
    int64_t bytes = graph::itemSize(buffer.dtype);
    for (graph::SymId size : buffer.shape) {
      auto v = syms.evaluate(size, symbols);
      if (!v.ok()) return v.status();
      bytes *= *v;
    }
    std::vector<std::byte> data(buffer.kind == graph::BufferKind::kInput ? 0 : bytes, std::byte{0xcd});
    temps.push_back(std::move(data));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const graph::Buffer& buffer = built.plan.buffers[i];
    buffers[i] = buffer.kind == graph::BufferKind::kInput ? inputs[buffer.index] : temps[i].data();
  }
  for (const Kernel& kernel : built.kernels) {
    absl::StatusOr<uint64_t> status = interpret(kernel, syms, symbols, buffers, &built.plan);
    if (!status.ok()) return status.status();
    result.status |= *status;
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    if (built.plan.buffers[i].kind == graph::BufferKind::kOutput) result.outputs.push_back(std::move(temps[i]));
  return result;
}

}  // namespace fw::kernels::testing
