// The ladder of backends, which isolates faults: `llvm` is the product, `llvm_o0` the same without optimisation,
// `reference` computes the plan with the graph evaluator, one element at a time, `numpy` with NumPy, one call per
// operation, `statements` runs what capture saw on the arrays themselves. Backends of the user stand beside it
// ("@name").
#include "bindings/backend.h"

#include "bindings/cuda_device.h"
#include "bindings/internal_failures.h"
#include "bindings/python_backend.h"
#include "bindings/statements_backend.h"
#include "graph/support/event.h"
#include "graph/support/stopwatch.h"
#include "jit/compile.h"
#include "jit/cuda/compile.h"
#include "jit/cuda/target.h"
#include "jit/target.h"
#include "kernels/cuda/lower.h"
#include "kernels/access_proof.h"
#include "kernels/lower_plan.h"
#include "nlohmann/json.hpp"
#include "runtime/null.h"
#include "runtime/reference.h"

namespace fw::bindings {
namespace {

using Made = absl::StatusOr<std::unique_ptr<runtime::Executable>>;
using Make = Made (*)(graph::Graph, graph::Plan, const Config&, const BackendOptions&);

/// Other threads of Python go on meanwhile.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { PyEval_RestoreThread(state_); }
  WithoutLock(const WithoutLock&) = delete;

 private:
  PyThreadState* const state_;
};

Made makeNative(graph::Graph graph, graph::Plan plan, const Config& config, int optLevel, const BackendOptions& given) {
  jit::CompileOptions options;
  options.isa = jit::isaNamed(config.text(Setting::kIsa));
  options.optLevel = optLevel;
  options.deadline = given.deadline;
  options.checked = config.flag(Setting::kChecked);
  options.timed = isTracing();
  kernels::LoweringOptions lowering;
  lowering.deferChecks = given.deferChecks;
  lowering.guarded = given.guarded;
  lowering.deadline = given.deadline;
  lowering.refuseUnproved = config.flag(Setting::kVerifyPasses);
  lowering.plantOutside = planted.load(std::memory_order_relaxed) == Planted::kAccess;
  Stopwatch watch;
  absl::StatusOr<kernels::KernelProgram> program = kernels::lowerPlan(graph, plan, lowering);
  if (!program.ok()) return program.status();
  runtime::CompileTimings timings;
  timings.kernelMs = watch.lapMs();
  if (channelEnabled(Channel::kKernels)) {
    const Telling telling;
    const std::string kernels = kernels::print(*program, graph.syms());
    emit(Channel::kKernels, "kernels", kernels, {{"text", kernels}});
  }
  jit::CompiledText text;
  options.keepText = channelEnabled(Channel::kOutputCode);
  options.textOfKnown = options.keepText && !isTracing();  // a trace has told it
  options.background = given.background && config.flag(Setting::kBackground);
  options.limitNs = config.number(Setting::kCompileLimit) * 1'000'000;
  auto executable = [&] {
    const WithoutLock unlocked;
    return jit::compile(*std::move(program), graph.syms(), std::move(plan), options, options.keepText ? &text : nullptr,
                        timings);
  }();
  if (!executable.ok()) return executable.status();
  if (options.keepText && !text.llvm.empty())
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

bool isNative(const std::string& backend) { return backend == "llvm" || backend == "llvm_o0"; }

constexpr struct {
  std::string_view name;
  Make make;
} kBackends[] = {{"llvm", makeLlvm},
                 {"llvm_o0", makeLlvmO0},
                 {"reference", makeReference},
                 {"numpy", makeNumpy},
                 {"statements", makeScripted}};

}  // namespace

/// Backends other than native code are NumPy's.
static Made makeOnDevice(graph::Graph graph, graph::Plan plan, const Config& config, const BackendOptions& options) {
  const std::string& name = config.text(Setting::kBackend);
  if (!isNative(name)) return absl::UnimplementedError("arrays of a device by this backend");
  if (!options.script.writes.empty()) return absl::UnimplementedError("statements on arrays of a device");
  absl::StatusOr<jit::cuda::Device*> device = cudaDevice(options.device);
  if (!device.ok()) return device.status();
  absl::StatusOr<kernels::cuda::Program> program = kernels::cuda::lowerPlan(graph, plan);
  if (!program.ok()) return program.status();
  return jit::cuda::compile(**device, std::move(graph), std::move(plan), *std::move(program),
                            {options.hostInputs, !config.flag(Setting::kBackground)});
}

graph::Target planningTarget(const Config& config, bool onDevice) {
  if (onDevice) return jit::cuda::planningTarget();
  graph::Target target = jit::planningTarget();
  target.rewritesInputs = isNative(config.text(Setting::kBackend)) && !config.flag(Setting::kChecked);
  return target;
}

Made makeExecutable(graph::Graph graph, graph::Plan plan, const Config& config, const BackendOptions& options) {
  if (plan.isStraight() && plan.groups.empty() && plan.commits.empty() && plan.calls == 0 &&
      options.script.writes.empty() &&
      kernels::AccessProver(plan, graph.syms(), options.guarded).unprovedResults().empty())
    return std::make_unique<runtime::NullExecutable>(std::move(plan));
  if (plan.target.space == graph::MemorySpace::kDevice)
    return makeOnDevice(std::move(graph), std::move(plan), config, options);
  const std::string& name = config.text(Setting::kBackend);
  if (name.front() == '@') return makePython(name, std::move(graph), std::move(plan));
  if (plan.calls > 0 && !isNative(name)) return absl::UnimplementedError("a backend that makes no library calls");
  for (const auto& backend : kBackends)
    if (backend.name == name) return backend.make(std::move(graph), std::move(plan), config, options);
  return absl::InvalidArgumentError("no backend computes graphs under setting 'backend'");
}

}  // namespace fw::bindings
