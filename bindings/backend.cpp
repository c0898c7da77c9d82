// The ladder of backends, which isolates faults: `llvm` is the product, `llvm_o0` the same without optimisation,
// `reference` computes the plan with the graph evaluator, one element at a time, `numpy` with NumPy, one call per
// operation, `statements` runs what capture saw on the arrays themselves. Backends of the user stand beside it
// ("@name").
#include "bindings/backend.h"

#include "bindings/internal_failures.h"
#include "bindings/python_backend.h"
#include "bindings/statements_backend.h"
#include "graph/support/event.h"
#include "jit/compile.h"
#include "kernels/access_proof.h"
#include "nlohmann/json.hpp"
#include "runtime/null.h"
#include "runtime/reference.h"

namespace fw::bindings {
namespace {

using Made = absl::StatusOr<std::unique_ptr<runtime::Executable>>;
using Make = Made (*)(graph::Graph, graph::Plan, const Config&, const BackendOptions&);

Made makeNative(graph::Graph graph, graph::Plan plan, const Config& config, int optLevel, const BackendOptions& given) {
  jit::CompileOptions options;
  const std::string& isa = config.text(Setting::kIsa);
  options.isa = isa == "avx512"     ? jit::CompileOptions::Isa::kAvx512
                : isa == "avx2"     ? jit::CompileOptions::Isa::kAvx2
                : isa == "portable" ? jit::CompileOptions::Isa::kPortable
                                    : jit::CompileOptions::Isa::kHost;
  options.optLevel = optLevel;
  options.deferChecks = given.deferChecks;
  options.guarded = given.guarded;
  options.deadline = given.deadline;
  options.refuseUnproved = config.flag(Setting::kVerifyPasses);
  options.checked = config.flag(Setting::kChecked);
  options.plantOutside = planted.load(std::memory_order_relaxed) == Planted::kAccess;
  const bool wantKernels = channelEnabled(Channel::kKernels), wantCode = channelEnabled(Channel::kOutputCode);
  jit::CompiledText text;
  options.keepText = wantKernels || wantCode;
  auto executable = jit::compile(graph, std::move(plan), options, options.keepText ? &text : nullptr);
  if (!executable.ok()) return executable.status();
  if (wantKernels) emit(Channel::kKernels, "kernels", text.kernels, {{"text", text.kernels}});
  if (wantCode)
    emit(Channel::kOutputCode, "code", text.llvm + text.assembly, {{"llvm", text.llvm}, {"assembly", text.assembly}});
  return *std::move(executable);
}

Made makeLlvm(graph::Graph graph, graph::Plan plan, const Config& config, const BackendOptions& options) {
  return makeNative(std::move(graph), std::move(plan), config, static_cast<int>(config.number(Setting::kOptLevel)),
                    options);
}

Made makeLlvmO0(graph::Graph graph, graph::Plan plan, const Config& config, const BackendOptions& options) {
  return makeNative(std::move(graph), std::move(plan), config, 0, options);
}

/// The callables receive a functional graph and answer its outputs.
Made makeNumpy(graph::Graph graph, graph::Plan plan, const Config&, const BackendOptions&) {
  return makePython("@numpy", std::move(graph), std::move(plan));
}

Made makeReference(graph::Graph graph, graph::Plan plan, const Config&, const BackendOptions&) {
  return runtime::makeReference(std::move(graph), std::move(plan));
}

Made makeScripted(graph::Graph graph, graph::Plan plan, const Config&, const BackendOptions& options) {
  return makeStatements(std::move(graph), std::move(plan), options.script);
}

constexpr struct {
  std::string_view name;
  Make make;
} kBackends[] = {{"llvm", makeLlvm},
                 {"llvm_o0", makeLlvmO0},
                 {"reference", makeReference},
                 {"numpy", makeNumpy},
                 {"statements", makeScripted}};

}  // namespace

Made makeExecutable(graph::Graph graph, graph::Plan plan, const Config& config, const BackendOptions& options) {
  if (plan.groups.empty() && plan.commits.empty() && plan.calls == 0 && options.script.writes.empty() &&
      kernels::AccessProver(plan, graph.syms(), options.guarded).unprovedResults().empty())
    return std::make_unique<runtime::NullExecutable>(std::move(plan));
  const std::string& name = config.text(Setting::kBackend);
  if (name.front() == '@') return makePython(name, std::move(graph), std::move(plan));
  if (plan.calls > 0 && name != "llvm" && name != "llvm_o0")
    return absl::UnimplementedError("a backend that makes no library calls");
  for (const auto& backend : kBackends)
    if (backend.name == name) return backend.make(std::move(graph), std::move(plan), config, options);
  return absl::InvalidArgumentError("no backend computes graphs under setting 'backend'");
}

}  // namespace fw::bindings
