// The ladder of backends, which isolates faults: `llvm` is the product, `llvm_o0` the same without optimisation,
// `reference` computes the plan with the graph evaluator, one element at a time, `numpy` with NumPy, one call per
// operation, `statements` runs what capture saw on the arrays themselves. Backends of the user stand beside it
// ("@name").
#include "bindings/backend.h"

#include <cstring>

#include "bindings/python_backend.h"
#include "bindings/statements_backend.h"
#include "graph/evaluator.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {
namespace {

class LlvmProgram : public Program {
 public:
  explicit LlvmProgram(std::unique_ptr<jit::Executable> executable) : executable_(std::move(executable)) {}
  const graph::Plan& plan() const override { return executable_->plan(); }
  jit::EntryFn entry() const override { return executable_->entry(); }
  int32_t run(const int64_t* symbols, void* const* buffers, void* workspace) override {
    return executable_->entry()(symbols, buffers, workspace);
  }
  int32_t commit(const int64_t* symbols, void* const* buffers, void* workspace,
                 jit::CommitProgress* progress) override {
    return executable_->commit()(symbols, buffers, workspace, progress);
  }
  jit::EntryFn check() const override { return executable_->check(); }
  absl::Span<const jit::DeferredCommit> deferred() const override { return executable_->deferred(); }
  bool isChecked() const override { return executable_->isChecked(); }
  jit::CompileTimings timings() const override { return executable_->timings(); }

 private:
  std::unique_ptr<jit::Executable> executable_;
};

/// A plan without computation: its results are arguments, views of them, and Python objects.
class EmptyProgram : public Program {
 public:
  explicit EmptyProgram(graph::Plan plan) : plan_(std::move(plan)) {}
  const graph::Plan& plan() const override { return plan_; }
  jit::EntryFn entry() const override {
    return [](const int64_t*, void* const*, void*) { return int32_t{0}; };
  }
  int32_t run(const int64_t*, void* const*, void*) override { return 0; }

 private:
  graph::Plan plan_;
};

/// Strided memory of one buffer under concrete symbols.
struct StridedMemory {
  std::byte* data;
  std::vector<int64_t> shape, strides;

  template <class F>
  void forEach(F&& visit) const {  // elements in C order: visit(flat index, address)
    int64_t count = 1;
    for (int64_t s : shape) count *= s;
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat;
      std::byte* p = data;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) p += rest % shape[d] * strides[d];
      visit(flat, p);
    }
  }
};

/// Values only: it raises no floating-point status, so NumPy's warnings do not appear under this backend.
class ReferenceProgram : public Program {
 public:
  ReferenceProgram(graph::Graph graph, graph::Plan plan) : graph_(std::move(graph)), plan_(std::move(plan)) {
    const std::vector<BufferResult> results = bufferResults(plan_);
    graph_.outputs().clear();
    for (const BufferResult& result : results) {
      graph_.outputs().push_back(result.value);
      outputBuffers_.push_back(result.buffer);
    }
  }
  const graph::Plan& plan() const override { return plan_; }

  int32_t run(const int64_t* symbols, void* const* buffers, void*) override {
    absl::Span<const int64_t> values(symbols, graph_.syms().symbolCount());
    auto results = graph::evaluate(graph_, readInputs(values, buffers), values);
    if (!results.ok()) return jit::kStatusDecline;
    for (size_t i = 0; i < outputBuffers_.size(); ++i) {
      const graph::Buffer& buffer = plan_.buffers[outputBuffers_[i].index];
      const size_t size = graph::itemSize(buffer.dtype);
      const graph::HostArray& host = (*results)[i];
      locate(buffer, buffers[outputBuffers_[i].index], values).forEach([&](int64_t k, std::byte* p) {
        std::memcpy(p, host.data.data() + k * size, size);
      });
    }
    return 0;
  }

  /// Computes everything once more: nothing has been written, so the values are those of run().
  int32_t commit(const int64_t* symbols, void* const* buffers, void*, jit::CommitProgress*) override {
    absl::Span<const int64_t> values(symbols, graph_.syms().symbolCount());
    std::vector<graph::HostArray> committed;
    FW_CHECK(graph::evaluate(graph_, readInputs(values, buffers), values, &committed).ok());
    for (graph::ValueId store : graph_.commits()) {
      const graph::BufferId id = plan_.bufferOf.at(store);
      const graph::Buffer& buffer = plan_.buffers[id.index];
      const size_t size = graph::itemSize(buffer.dtype);
      locate(buffer, buffers[id.index], values).forEach([&](int64_t i, std::byte* p) {
        std::memcpy(p, committed[buffer.index].data.data() + i * size, size);
      });
    }
    return 0;
  }

 private:
  std::vector<graph::HostArray> readInputs(absl::Span<const int64_t> symbols, void* const* buffers) const {
    std::vector<graph::HostArray> inputs;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != graph::BufferKind::kInput) continue;
      StridedMemory memory = locate(buffer, buffers[b], symbols);
      auto host = graph::HostArray::zeros(buffer.dtype, memory.shape);
      const size_t size = graph::itemSize(buffer.dtype);
      memory.forEach([&](int64_t i, std::byte* p) { std::memcpy(host.data.data() + i * size, p, size); });
      if (inputs.size() <= static_cast<size_t>(buffer.index)) inputs.resize(buffer.index + 1);
      inputs[buffer.index] = std::move(host);
    }
    return inputs;
  }

  StridedMemory locate(const graph::Buffer& buffer, void* data, absl::Span<const int64_t> symbols) const {
    StridedMemory memory{static_cast<std::byte*>(data), {}, {}};
    auto value = [&](graph::SymId id) {
      auto v = graph_.syms().evaluate(id, symbols);
      FW_CHECK(v.ok());
      return *v;
    };
    for (graph::SymId s : buffer.shape) memory.shape.push_back(value(s));
    for (graph::SymId s : buffer.strides) memory.strides.push_back(value(s));
    return memory;
  }

  graph::Graph graph_;
  graph::Plan plan_;
  std::vector<graph::BufferId> outputBuffers_;
};

using MakeProgram = absl::StatusOr<std::unique_ptr<Program>> (*)(graph::Graph, graph::Plan, const Config&,
                                                                 const ProgramOptions&);

absl::StatusOr<std::unique_ptr<Program>> makeNative(graph::Graph graph, graph::Plan plan, const Config& config,
                                                    int optLevel, const ProgramOptions& given) {
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
  const bool wantKernels = channelEnabled(Channel::kKernels), wantCode = channelEnabled(Channel::kOutputCode);
  jit::CompiledText text;
  options.keepText = wantKernels || wantCode;
  auto executable = jit::compile(graph, std::move(plan), options, options.keepText ? &text : nullptr);
  if (!executable.ok()) return executable.status();
  if (wantKernels) emit(Channel::kKernels, "kernels", text.kernels, {{"text", text.kernels}});
  if (wantCode)
    emit(Channel::kOutputCode, "code", text.llvm + text.assembly, {{"llvm", text.llvm}, {"assembly", text.assembly}});
  return std::make_unique<LlvmProgram>(*std::move(executable));
}

absl::StatusOr<std::unique_ptr<Program>> makeLlvm(graph::Graph graph, graph::Plan plan, const Config& config,
                                                  const ProgramOptions& options) {
  return makeNative(std::move(graph), std::move(plan), config, static_cast<int>(config.number(Setting::kOptLevel)),
                    options);
}

absl::StatusOr<std::unique_ptr<Program>> makeLlvmO0(graph::Graph graph, graph::Plan plan, const Config& config,
                                                    const ProgramOptions& options) {
  return makeNative(std::move(graph), std::move(plan), config, 0, options);
}

/// The callables receive a functional graph and answer its outputs.
absl::StatusOr<std::unique_ptr<Program>> makeNumpy(graph::Graph graph, graph::Plan plan, const Config&,
                                                   const ProgramOptions&) {
  return makePython("@numpy", std::move(graph), std::move(plan));
}

absl::StatusOr<std::unique_ptr<Program>> makeReference(graph::Graph graph, graph::Plan plan, const Config&,
                                                       const ProgramOptions&) {
  return std::make_unique<ReferenceProgram>(std::move(graph), std::move(plan));
}

absl::StatusOr<std::unique_ptr<Program>> makeScripted(graph::Graph graph, graph::Plan plan, const Config&,
                                                      const ProgramOptions& options) {
  return makeStatements(std::move(graph), std::move(plan), options.script);
}

constexpr struct {
  std::string_view name;
  MakeProgram make;
} kBackends[] = {{"llvm", makeLlvm},
                 {"llvm_o0", makeLlvmO0},
                 {"reference", makeReference},
                 {"numpy", makeNumpy},
                 {"statements", makeScripted}};

}  // namespace

int32_t Program::commit(const int64_t*, void* const*, void*, jit::CommitProgress*) {
  FW_CHECK_MSG(plan().commits.empty(), "backend without commits");
  return 0;
}

absl::StatusOr<std::unique_ptr<Program>> makeProgram(graph::Graph graph, graph::Plan plan, const Config& config,
                                                     const ProgramOptions& options) {
  if (plan.groups.empty() && plan.commits.empty() && options.script.writes.empty())
    return std::make_unique<EmptyProgram>(std::move(plan));
  const std::string& name = config.text(Setting::kBackend);
  if (name.front() == '@') return makePython(name, std::move(graph), std::move(plan));
  for (const auto& backend : kBackends)
    if (backend.name == name) return backend.make(std::move(graph), std::move(plan), config, options);
  return absl::InvalidArgumentError("no backend computes graphs under setting 'backend'");
}

}  // namespace fw::bindings
