// Groups become launchers. What a loop does again and again is found out here: whether its turns are all alike, and
// after how many of them everything is where it was.
#include "jit/cuda/compile.h"

#include <algorithm>
#include <numeric>

#include "graph/support/event.h"
#include "jit/cuda/run.h"
#include "nlohmann/json.hpp"

namespace fw::jit::cuda {
namespace {

using runtime::Context;

/// Launches of a graph that is made of turns: with more of them the host has less to do, and more to replace.
constexpr int64_t kGraphLaunches = 20;

class Builder {
 public:
  Builder(DeviceProgram& program, bool wait) : p_(program), wait_(wait) {}

  absl::Status build(kernels::cuda::Program program, const std::vector<int>& onHost) {
    std::vector<graph::SymId> offsets;
    for (const graph::Buffer& buffer : p_.plan.buffers)
      offsets.push_back(buffer.kind == graph::BufferKind::kTemp ? buffer.offset : p_.graph.syms().constant(0));
    p_.offsets = runtime::SymProgram(p_.graph.syms(), offsets);
    for (size_t b = 0; b < p_.plan.buffers.size(); ++b) {
      const graph::Buffer& buffer = p_.plan.buffers[b];
      if (buffer.kind != graph::BufferKind::kInput) continue;
      if (std::find(onHost.begin(), onHost.end(), buffer.index) != onHost.end())
        p_.hostNumbers.push_back(graph::BufferId(static_cast<int>(b)));
    }
    if (absl::Status s = checkSteps(p_.plan.steps); !s.ok()) return s;
    findEndless(p_.plan.steps, program.groups);
    for (std::vector<kernels::Kernel>& kernels : program.groups)
      if (absl::Status s = add(std::move(kernels), p_.groups); !s.ok()) return s;
    for (std::vector<kernels::Kernel>& kernels : program.commits)
      if (absl::Status s = add(std::move(kernels), p_.commits); !s.ok()) return s;
    for (auto& [step, facts] : p_.loops) findTurns(*step, facts);
    return absl::OkStatus();
  }

 private:
  absl::Status add(std::vector<kernels::Kernel> kernels, std::vector<Launchers>& to) {
    Launchers& launchers = to.emplace_back();
    for (kernels::Kernel& kernel : kernels) {
      kernel.hostNumbers = p_.hostNumbers;
      absl::StatusOr<std::unique_ptr<Launcher>> launcher =
          Launcher::make(p_.device, std::move(kernel), p_.graph.syms(), wait_);
      if (!launcher.ok()) return launcher.status();
      launchers.push_back(*std::move(launcher));
    }
    return absl::OkStatus();
  }

  /// Kernels are handed numbers of the host, and steps that decide something read them where they are.
  absl::Status checkSteps(const graph::Steps& steps) const {
    const auto onHost = [&](graph::BufferId id) {
      return std::find(p_.hostNumbers.begin(), p_.hostNumbers.end(), id) != p_.hostNumbers.end();
    };
    for (const graph::Step& step : steps) {
      const auto* copy = std::get_if<graph::CopyStep>(&step.what);
      const auto* call = std::get_if<graph::CallStep>(&step.what);
      const auto* loop = std::get_if<graph::LoopStep>(&step.what);
      bool moved = copy && onHost(copy->from);
      if (call)
        moved = std::any_of(call->operands.begin(), call->operands.end(),
                            [&](const graph::Window& window) { return onHost(window.buffer); });
      if (loop)
        moved = std::any_of(loop->handles.begin(), loop->handles.end(),
                            [&](graph::BufferId handle) { return onHost(p_.plan.buffers[handle.index].home); });
      if (moved) return absl::UnimplementedError("a number of the host in memory that is the device's");
      if (const graph::ControlStep* control = graph::controlOf(step))
        for (const graph::ControlStep::Body& body : control->bodies)
          if (absl::Status s = checkSteps(body.steps); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  /// Loops that go on until their trip is over. Nobody reads what says so, so that it is not stored.
  void findEndless(const graph::Steps& steps, std::vector<std::vector<kernels::Kernel>>& groups) {
    for (const graph::Step& step : steps) {
      const graph::ControlStep* control = graph::controlOf(step);
      if (!control) continue;
      if (const auto* loop = std::get_if<graph::LoopStep>(&step.what)) {
        LoopFacts& facts = p_.loops[loop];
        const graph::Graph& body = graph::regionOf(p_.plan, p_.graph, loop->bodies[0].region);
        graph::ValueId again = body.outputs()[0];  // a constant, in memory of its own
        while (body.node(again).op == graph::Op::kCopy || body.node(again).op == graph::Op::kFull)
          again = body.node(again).operands[0];
        const graph::Node& node = body.node(again);
        facts.endless = node.op == graph::Op::kConstant && node.attrs.scalar(graph::AttrKey::kValue).lo != 0;
        for (const graph::Step& inner : loop->bodies[0].steps) {
          const auto* kernel = facts.endless ? std::get_if<graph::KernelStep>(&inner.what) : nullptr;
          const graph::Group* group = kernel ? &p_.plan.groups[static_cast<size_t>(kernel->group)] : nullptr;
          if (group && group->outputs == std::vector{body.outputs()[0]})
            groups[static_cast<size_t>(kernel->group)].clear();
        }
      }
      for (const graph::ControlStep::Body& body : control->bodies) findEndless(body.steps, groups);
    }
  }

  void findTurns(const graph::LoopStep& loop, LoopFacts& facts) {
    if (!facts.endless) return;
    int64_t launches = 0;
    for (const graph::Step& step : loop.bodies[0].steps) {
      const auto* kernel = std::get_if<graph::KernelStep>(&step.what);
      if (!kernel) return;
      for (const std::unique_ptr<Launcher>& launcher : p_.groups[static_cast<size_t>(kernel->group)]) {
        if (loop.index && kernels::mentions(launcher->kernel(), p_.graph.syms(), *loop.index)) return;
        launches += static_cast<int64_t>(launcher->pieces().size());
      }
    }
    if (launches == 0) return;
    const int64_t period = periodOf(loop.moves);
    facts.turns = period * ((kGraphLaunches + launches * period - 1) / (launches * period));
    facts.graph = std::make_unique<runtime::cuda::LaunchGraph>(p_.device.driver());
  }

  /// After so many turns every handle is where it was.
  static int64_t periodOf(const std::vector<std::pair<graph::BufferId, graph::BufferId>>& moves) {
    absl::flat_hash_map<graph::BufferId, graph::BufferId> from(moves.begin(), moves.end());
    int64_t period = 1;
    for (const auto& [handle, first] : moves) {
      int64_t turns = 1;
      for (graph::BufferId at = first; at != handle; ++turns) {
        const auto next = from.find(at);
        if (next == from.end()) break;
        at = next->second;
      }
      period = std::lcm(period, turns);
    }
    return period;
  }

  DeviceProgram& p_;
  const bool wait_;
};

class CudaExecutable : public runtime::Executable {
 public:
  explicit CudaExecutable(std::unique_ptr<DeviceProgram> program) : program_(std::move(program)) {}
  const graph::Plan& plan() const override { return program_->plan; }
  int32_t compute(Context& context) const override { return answer(Run(*program_, context).compute()); }
  int32_t commit(Context& context) const override { return answer(Run(*program_, context).commit()); }

 private:
  static int32_t answer(const absl::Status& status) {
    if (status.ok()) return 0;
    if (absl::IsUnavailable(status)) return runtime::kStatusNotYet;
    if (!absl::IsOutOfRange(status) && !absl::IsFailedPrecondition(status))  // those have been reported
      report(Channel::kOutputCode, "cuda_failed", "CUDA: " + status.ToString(), {{"status", status.ToString()}});
    return runtime::kStatusDecline;
  }

  const std::unique_ptr<DeviceProgram> program_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<runtime::Executable>> compile(Device& device, graph::Graph graph, graph::Plan plan,
                                                             kernels::cuda::Program program, CompileOptions options) {
  auto made = std::make_unique<DeviceProgram>(device, std::move(graph), std::move(plan));
  if (absl::Status s = Builder(*made, options.wait).build(std::move(program), options.onHost); !s.ok()) return s;
  return std::make_unique<CudaExecutable>(std::move(made));
}

}  // namespace fw::jit::cuda
