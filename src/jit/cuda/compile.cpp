// Steps are host code: a kernel is launched, a copy is enqueued, and a loop, branch or bind waits for the number that
// it depends on.
#include "jit/cuda/compile.h"

#include <algorithm>
#include <atomic>

#include "absl/container/flat_hash_set.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"
#include "jit/cuda/launcher.h"
#include "runtime/cuda/host.h"

namespace fw::jit::cuda {
namespace {

using runtime::Context;
using Launchers = std::vector<std::unique_ptr<Launcher>>;

class CudaExecutable : public runtime::Executable {
 public:
  CudaExecutable(Device& device, graph::Graph graph, graph::Plan plan, bool wait)
      : device_(device),
        wait_(wait),
        graph_(std::move(graph)),
        plan_(std::move(plan)) {
    std::vector<graph::SymId> offsets;
    for (const graph::Buffer& buffer : plan_.buffers)
      offsets.push_back(buffer.kind == graph::BufferKind::kTemp ? buffer.offset : graph_.syms().constant(0));
    offsets_ = runtime::SymProgram(graph_.syms(), offsets);
    findEndless(plan_.steps);
  }

  absl::Status build(kernels::cuda::Program program, const std::vector<int>& onHost) {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != graph::BufferKind::kInput) continue;
      if (std::find(onHost.begin(), onHost.end(), buffer.index) != onHost.end())
        hostNumbers_.push_back(graph::BufferId(static_cast<int>(b)));
    }
    if (!hostNumbers_.empty())
      if (absl::Status s = checkSteps(plan_.steps); !s.ok()) return s;
    for (std::vector<kernels::Kernel>& kernels : program.groups)
      if (absl::Status s = add(std::move(kernels), groups_); !s.ok()) return s;
    for (std::vector<kernels::Kernel>& kernels : program.commits)
      if (absl::Status s = add(std::move(kernels), commits_); !s.ok()) return s;
    return absl::OkStatus();
  }

  const graph::Plan& plan() const override { return plan_; }

  int32_t compute(Context& context) const override {
    Run run(*this, context);
    absl::Status status;
    for (const Launchers& commit : commits_) status.Update(run.prepare(commit));
    // Until all of it has been there once, nothing is launched in vain.
    if (!complete_.load(std::memory_order_relaxed)) status.Update(run.prepareSteps(plan_.steps));
    if (status.ok()) status = run.steps(plan_.steps);
    complete_.store(status.ok(), std::memory_order_relaxed);
    return answer(status);
  }
  int32_t commit(Context& context) const override {
    absl::Status status;
    Run run(*this, context);
    for (const Launchers& commit : commits_)
      if (status.ok()) status = run.launch(commit);
    return answer(status);
  }

 private:
  /// One call.
  class Run {
   public:
    Run(const CudaExecutable& of, Context& context)
        : of_(of),
          context_(context),
          host_(static_cast<runtime::cuda::Host&>(*context.host)),
          offsets_(of.plan_.buffers.size()) {
      of.offsets_.run(context.symbols, offsets_.data());
    }

    absl::Status steps(const graph::Steps& steps) {
      for (const graph::Step& step : steps)
        if (absl::Status s = std::visit([&](const auto& what) { return run(what); }, step.what); !s.ok()) {
          if (absl::IsUnavailable(s)) s.Update(prepareSteps(steps));
          return s;
        }
      return absl::OkStatus();
    }

    /// The kernels among these steps, not those of loops and branches, whose numbers are not known.
    absl::Status prepareSteps(const graph::Steps& steps) {
      absl::Status status;
      for (const graph::Step& step : steps)
        if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what))
          status.Update(prepare(of_.groups_[static_cast<size_t>(kernel->group)]));
      return status;
    }

    absl::Status prepare(const Launchers& launchers) {
      absl::Status status;
      for (const std::unique_ptr<Launcher>& launcher : launchers) {
        const auto address = [&](graph::BufferId id) { return this->address(id); };
        status.Update(launcher->prepare(context_.symbols, address));
      }
      return status;
    }

    absl::Status launch(const Launchers& launchers) {
      for (const std::unique_ptr<Launcher>& launcher : launchers) {
        const auto address = [&](graph::BufferId id) { return this->address(id); };
        if (absl::Status s = launcher->launch(context_.symbols, address, host_); !s.ok()) return s;
      }
      return absl::OkStatus();
    }

   private:
    const runtime::cuda::Driver& driver() const { return of_.device_.driver(); }
    const graph::Buffer& buffer(graph::BufferId id) const { return of_.plan_.buffers[id.index]; }
    uint64_t address(graph::BufferId id) const {
      if (buffer(id).kind == graph::BufferKind::kTemp)
        return reinterpret_cast<uint64_t>(context_.workspace) + static_cast<uint64_t>(offsets_[id.index]);
      return reinterpret_cast<uint64_t>(context_.buffers[id.index]);
    }
    absl::StatusOr<int64_t> number(graph::SymId id) const {
      return of_.graph_.syms().evaluate(id, {context_.symbols, static_cast<size_t>(of_.graph_.syms().symbolCount())});
    }
    void setSymbol(graph::SymId symbol, int64_t value) {
      context_.symbols[of_.graph_.syms().node(symbol).value] = value;
    }

    /// Waits for the stream.
    template <class T>
    absl::StatusOr<T> read(graph::BufferId id) {
      T value{};
      int result = driver().memcpyDtoHAsync(&value, address(id), sizeof value, host_.stream());
      if (result == 0) result = driver().streamSynchronize(host_.stream());
      if (absl::Status s = runtime::cuda::check(driver(), result, "reading a number back"); !s.ok()) return s;
      return value;
    }

    absl::Status run(const graph::KernelStep& step) { return launch(of_.groups_[static_cast<size_t>(step.group)]); }
    absl::Status run(const graph::AcceptStep&) { return absl::OkStatus(); }
    absl::Status run(const graph::CommitStep&) { return absl::OkStatus(); }  // commit()

    /// The library gets memory of the device, and works on the stream of the host.
    absl::Status run(const graph::CallStep& step) {
      return host_.call(context_, step.number) == 0 ? absl::OkStatus() : absl::OutOfRangeError("a library call");
    }

    /// Memory of the device of sizes that it decides: the stream would have to be waited for.
    absl::Status run(const graph::AllocStep&) { return absl::UnimplementedError("memory of a size that data decides"); }
    absl::Status run(const graph::FreeStep&) { return absl::OkStatus(); }

    absl::Status run(const graph::CopyStep& step) {
      const uint64_t to = address(step.to), from = address(step.from);
      int64_t bytes = graph::itemSize(buffer(step.to).dtype);
      for (graph::SymId size : buffer(step.to).shape) {
        absl::StatusOr<int64_t> n = number(size);
        if (!n.ok()) return n.status();
        bytes *= *n;
      }
      if (bytes <= 0 || to == from) return absl::OkStatus();
      return runtime::cuda::check(driver(),
                                  driver().memcpyDtoDAsync(to, from, static_cast<size_t>(bytes), host_.stream()),
                                  "cuMemcpyDtoDAsync");
    }

    absl::Status run(const graph::LoopStep& step) {
      for (graph::BufferId handle : step.handles) {
        const uint64_t home = address(buffer(handle).home);
        context_.buffers[handle.index] = reinterpret_cast<void*>(home);
      }
      int64_t trip = INT64_MAX;
      if (step.trip) {
        absl::StatusOr<int64_t> n = number(*step.trip);
        if (!n.ok()) return n.status();
        trip = *n;
      }
      const bool endless = of_.endless_.contains(&step);
      bool again = true;
      for (int64_t i = 0; i < trip && again; ++i) {
        if (step.index) setSymbol(*step.index, i);
        if (absl::Status s = steps(step.bodies[0].steps); !s.ok()) return s;
        if (!endless) {
          absl::StatusOr<uint8_t> byte = read<uint8_t>(step.again);
          if (!byte.ok()) return byte.status();
          again = *byte != 0;
        }
        std::vector<uint64_t> addresses;
        for (const auto& [to, from] : step.moves) addresses.push_back(address(from));
        for (size_t k = 0; k < addresses.size(); ++k)
          context_.buffers[step.moves[k].first.index] = reinterpret_cast<void*>(addresses[k]);
      }
      return absl::OkStatus();
    }

    absl::Status run(const graph::CondStep& step) {
      absl::StatusOr<uint8_t> taken = read<uint8_t>(step.predicate);
      if (!taken.ok()) return taken.status();
      return steps(step.bodies[*taken != 0 ? 0 : 1].steps);
    }

    absl::Status run(const graph::BindStep& step) {
      absl::StatusOr<int64_t> value = read<int64_t>(step.from), least = number(step.least), most = number(step.most);
      for (const auto* n : {&value, &least, &most})
        if (!n->ok()) return n->status();
      if (*value < *least || *value > *most) return absl::OutOfRangeError("a bound number");
      setSymbol(step.symbol, *value);
      return steps(step.bodies[0].steps);
    }

    absl::Status run(const graph::DefineStep& step) {
      absl::StatusOr<int64_t> value = read<int64_t>(step.from), least = number(step.least), most = number(step.most);
      for (const auto* n : {&value, &least, &most})
        if (!n->ok()) return n->status();
      if (*value < *least || *value > *most) return absl::OutOfRangeError("a defined number");
      setSymbol(step.symbol, *value);
      return absl::OkStatus();
    }

    const CudaExecutable& of_;
    Context& context_;
    runtime::cuda::Host& host_;
    std::vector<int64_t> offsets_;
  };

  absl::Status add(std::vector<kernels::Kernel> kernels, std::vector<Launchers>& to) {
    Launchers& launchers = to.emplace_back();
    for (kernels::Kernel& kernel : kernels) {
      kernel.hostNumbers = hostNumbers_;
      absl::StatusOr<std::unique_ptr<Launcher>> launcher =
          Launcher::make(device_, std::move(kernel), graph_.syms(), wait_);
      if (!launcher.ok()) return launcher.status();
      launchers.push_back(*std::move(launcher));
    }
    return absl::OkStatus();
  }

  /// Only kernels are handed numbers of the host.
  absl::Status checkSteps(const graph::Steps& steps) const {
    const auto onHost = [&](graph::BufferId id) {
      return std::find(hostNumbers_.begin(), hostNumbers_.end(), id) != hostNumbers_.end();
    };
    for (const graph::Step& step : steps) {
      const auto* copy = std::get_if<graph::CopyStep>(&step.what);
      const auto* call = std::get_if<graph::CallStep>(&step.what);
      const bool defines = std::holds_alternative<graph::DefineStep>(step.what);
      if ((copy && onHost(copy->from)) || call || defines || graph::controlOf(step))
        return absl::UnimplementedError("a number of the host in a step that is no kernel");
    }
    return absl::OkStatus();
  }

  /// Loops that go on until their trip is over: nobody has to look.
  void findEndless(const graph::Steps& steps) {
    for (const graph::Step& step : steps) {
      const graph::ControlStep* control = graph::controlOf(step);
      if (!control) continue;
      if (const auto* loop = std::get_if<graph::LoopStep>(&step.what)) {
        const graph::Graph& body = graph::regionOf(plan_, graph_, loop->bodies[0].region);
        graph::ValueId again = body.outputs()[0];  // a constant, in memory of its own
        while (body.node(again).op == graph::Op::kCopy || body.node(again).op == graph::Op::kFull)
          again = body.node(again).operands[0];
        const graph::Node& node = body.node(again);
        if (node.op == graph::Op::kConstant && node.attrs.scalar(graph::AttrKey::kValue).lo != 0) endless_.insert(loop);
      }
      for (const graph::ControlStep::Body& body : control->bodies) findEndless(body.steps);
    }
  }

  int32_t answer(const absl::Status& status) const {
    if (status.ok()) return 0;
    if (absl::IsUnavailable(status)) return runtime::kStatusNotYet;
    if (!absl::IsOutOfRange(status) && !absl::IsFailedPrecondition(status))  // those have been reported
      report(Channel::kOutputCode, "cuda_failed", "CUDA: " + status.ToString(), {{"status", status.ToString()}});
    return runtime::kStatusDecline;
  }

  Device& device_;
  const bool wait_;
  mutable std::atomic<bool> complete_ = false;  ///< the last call found all of its kernels
  graph::Graph graph_;
  graph::Plan plan_;
  runtime::SymProgram offsets_;
  std::vector<Launchers> groups_, commits_;
  std::vector<graph::BufferId> hostNumbers_;
  absl::flat_hash_set<const graph::LoopStep*> endless_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<runtime::Executable>> compile(Device& device, graph::Graph graph, graph::Plan plan,
                                                             kernels::cuda::Program program, CompileOptions options) {
  auto executable = std::make_unique<CudaExecutable>(device, std::move(graph), std::move(plan), options.wait);
  if (absl::Status s = executable->build(std::move(program), options.onHost); !s.ok()) return s;
  return executable;
}

}  // namespace fw::jit::cuda
