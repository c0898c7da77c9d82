#include "native_graph.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan_text.h"
#include "graph/support/check.h"
#include "runtime/calls.h"
#include "runtime/host.h"

namespace fw::jit::testing {
namespace {

constexpr int64_t kMargin = 128;  // around every array, where nothing may be written
constexpr std::byte kFill{0x5c};

struct Block {
  std::vector<std::byte> bytes;
  std::byte* data() { return bytes.data() + kMargin; }
  explicit Block(int64_t size) : bytes(static_cast<size_t>(size + 2 * kMargin), kFill) {}
  bool intact(int64_t size) const {
    for (int64_t i = 0; i < kMargin; ++i)
      if (bytes[static_cast<size_t>(i)] != kFill || bytes[static_cast<size_t>(kMargin + size + i)] != kFill)
        return false;
    return true;
  }
};

/// The elements of a view in C order.
HostArray gather(const std::byte* data, graph::DType dtype, std::vector<int64_t> shape,
                 absl::Span<const int64_t> strides) {
  HostArray array = HostArray::zeros(dtype, std::move(shape));
  const auto size = static_cast<size_t>(graph::itemSize(dtype));
  for (int64_t flat = 0; flat < array.elements(); ++flat) {
    const std::byte* at = data;
    int64_t rest = flat;
    for (size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
      at += rest % array.shape[axis] * strides[axis];
    std::memcpy(array.data.data() + static_cast<size_t>(flat) * size, at, size);
  }
  return array;
}

void scatter(std::byte* data, const HostArray& array, absl::Span<const int64_t> strides) {
  const auto size = static_cast<size_t>(graph::itemSize(array.dtype));
  for (int64_t flat = 0; flat < array.elements(); ++flat) {
    std::byte* at = data;
    int64_t rest = flat;
    for (size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
      at += rest % array.shape[axis] * strides[axis];
    std::memcpy(at, array.data.data() + static_cast<size_t>(flat) * size, size);
  }
}

/// Library calls on arrays of the evaluator. A call leaves as it is what it answered the last time but once. Allocation
/// number `fails` finds no memory, 0: all do.
class TestHost : public runtime::Host {
 public:
  TestHost(const runtime::Calls& calls, const graph::LibraryCall& library, int fails)
      : calls_(calls),
        library_(library),
        untilFailure_(fails) {}
  ~TestHost() override {
    for (const auto& [data, block] : heap_) FW_CHECK_MSG(block->intact(), "written outside of a buffer");
  }

  int32_t call(Context& context, int number) override {
    runtime::Calls::Frame frame(calls_, number, context);
    std::vector<HostArray> operands;
    for (size_t i = 0; i < frame.operandCount(); ++i) {
      const runtime::CallArray array = frame.operand(i);
      const absl::Span<const int64_t> strides(array.strides, static_cast<size_t>(array.rank));
      operands.push_back(
          gather(static_cast<std::byte*>(array.data), array.dtype, {array.shape, array.shape + array.rank}, strides));
    }
    absl::StatusOr<std::vector<HostArray>> answer = library_(calls_.site(number), operands);
    if (!answer.ok()) return kStatusDecline;
    for (size_t i = 0; i < frame.resultCount(); ++i)
      if (!frame.bind(i, (*answer)[i].shape.data())) return kStatusDecline;
    frame.settle();
    for (size_t i = 0; i < frame.resultCount(); ++i) {
      const runtime::CallArray array = frame.result(i);
      if (array.buffer < 0) continue;
      std::byte* data = static_cast<std::byte*>(array.data);
      if (data == nullptr) {
        std::vector<std::byte>& memory = memory_[{number, i}];
        memory.assign((*answer)[i].data.size() + 1, std::byte{0});
        context.buffers[array.buffer] = data = memory.data();
      }
      scatter(data, (*answer)[i], {array.strides, static_cast<size_t>(array.rank)});
    }
    return 0;
  }
  void* allocate(int64_t bytes) override {
    if (untilFailure_ > 0 && --untilFailure_ == 0) return nullptr;
    auto block = std::make_unique<Guarded>(bytes);
    void* data = block->data();
    heap_[data] = std::move(block);
    return data;
  }
  void release(void* data) override {
    FW_CHECK_MSG(heap_.contains(data) && heap_.at(data)->intact(), "written outside of a buffer");
    heap_.erase(data);
  }
  bool make(Context& context, int number) override {
    const runtime::Calls::Frame frame = runtime::Calls::Frame::ofMade(calls_, number, context);
    const runtime::CallArray array = frame.result(0);
    int64_t bytes = graph::itemSize(array.dtype);
    for (int axis = 0; axis < array.rank; ++axis) bytes *= array.shape[axis];
    return (context.buffers[array.buffer] = allocate(bytes)) != nullptr;
  }
  bool hasFailed() const { return untilFailure_ == 0; }

 private:
  /// Memory between margins that nobody writes.
  struct Guarded {
    explicit Guarded(int64_t size) : size(size), block(size) {}
    void* data() { return block.data(); }
    bool intact() const { return block.intact(size); }
    int64_t size;
    Block block;
  };
  const runtime::Calls& calls_;
  const graph::LibraryCall& library_;
  int untilFailure_;
  std::map<void*, std::unique_ptr<Guarded>> heap_;
  std::map<std::pair<int, size_t>, std::vector<std::byte>> memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> compilePlan(const graph::Graph& graph, const graph::Plan& plan,
                                                        const CompileOptions& options,
                                                        const kernels::LoweringOptions& lowering) {
  absl::StatusOr<kernels::KernelProgram> program = kernels::lowerPlan(graph, plan, lowering);
  if (!program.ok()) return program.status();
  return compile(*std::move(program), graph.syms(), plan, options);
}

absl::StatusOr<NativeGraph> NativeGraph::compiled(graph::Graph source, graph::Graph graph, const graph::Plan& plan,
                                                  const CompileOptions& options) {
  auto executable = compilePlan(graph, plan, options);
  if (!executable.ok()) return executable.status();
  NativeGraph result;
  result.source_ = std::move(source);
  result.graph_ = std::move(graph);
  result.executable_ = *std::move(executable);
  return result;
}

absl::StatusOr<NativeGraph> NativeGraph::build(std::string_view text, const CompileOptions& options) {
  absl::StatusOr<graph::Graph> source = graph::parse(text), graph = graph::parse(text);
  if (!graph.ok()) return graph.status();
  if (absl::Status s = graph::runPasses(*graph, graph::PassContext{}); !s.ok()) return s;
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  if (!plan.ok()) return plan.status();
  absl::StatusOr<graph::Plan> read = graph::parsePlan(graph::printWhole(*plan, *graph), *graph);
  if (!read.ok()) return read.status();
  return compiled(*std::move(source), *std::move(graph), *read, options);
}

absl::StatusOr<NativeGraph> NativeGraph::read(std::string_view graphText, std::string_view planText,
                                              const CompileOptions& options) {
  absl::StatusOr<graph::Graph> source = graph::parse(graphText), graph = graph::parse(graphText);
  if (!graph.ok()) return graph.status();
  absl::StatusOr<graph::Plan> plan = graph::parsePlan(planText, *graph);
  if (!plan.ok()) return plan.status();
  return compiled(*std::move(source), *std::move(graph), *plan, options);
}

Answer NativeGraph::run(const std::vector<HostArray>& inputs, std::vector<int64_t> symbols, int fails) const {
  const graph::SymContext& syms = graph_.syms();
  const auto number = [&](graph::SymId id) { return *syms.evaluate(id, symbols); };
  std::vector<Block> blocks;
  std::vector<int64_t> sizes;
  std::vector<void*> buffers(plan().buffers.size(), nullptr);
  for (const graph::Buffer& buffer : plan().buffers) {
    int64_t size = graph::itemSize(buffer.dtype);
    const bool outside = buffer.kind == graph::BufferKind::kInput || buffer.kind == graph::BufferKind::kOutput;
    for (graph::SymId axis : buffer.shape) size *= outside ? number(axis) : 0;
    sizes.push_back(size);
    blocks.emplace_back(size);
    if (buffer.kind == graph::BufferKind::kInput) {
      const HostArray& input = inputs[static_cast<size_t>(buffer.index)];
      if (!input.data.empty()) std::memcpy(blocks.back().data(), input.data.data(), input.data.size());
    }
  }
  for (size_t b = 0; b < blocks.size(); ++b) buffers[b] = blocks[b].data();
  const int64_t bytes = number(plan().workspaceBytes);
  Block workspace(bytes + 64);
  auto at = reinterpret_cast<uintptr_t>(workspace.data());
  void* aligned = reinterpret_cast<void*>((at + 63) / 64 * 64);
  Answer answer;
  CommitProgress progress;
  const runtime::Calls calls(plan(), graph_);
  TestHost host(calls, library_, fails);
  Context context{symbols.data(), buffers.data(), aligned, &progress, &host};
  answer.status = executable_->compute(context);
  if (answer.status != 0) {
    const Executable* exact = executable_->exact(answer.status);
    FW_CHECK_MSG(exact || !(answer.status & kStatusDoubt), "nobody resolves the doubt");
    if (exact) answer.status = exact->compute(context);
  }
  answer.ranOut = fails > 0 && host.hasFailed();
  if (!(answer.status & kStatusDecline)) FW_CHECK(executable_->commit(context) == 0);
  for (size_t b = 0; b < blocks.size(); ++b) FW_CHECK_MSG(blocks[b].intact(sizes[b]), "written outside of a buffer");
  FW_CHECK_MSG(workspace.intact(bytes + 64), "written outside of the workspace");
  // Behind those of the source there may be others, kept for the reports that they raise. What was declined has none.
  if (answer.status & kStatusDecline) answer.outputs.clear();
  for (size_t i = 0; i < source_.outputs().size() && !(answer.status & kStatusDecline); ++i) {
    const graph::OutputBinding& output = plan().outputs[i];
    std::vector<int64_t> shape, strides;
    for (graph::SymId size : output.shape) shape.push_back(number(size));
    for (graph::SymId stride : output.strides) strides.push_back(number(stride));
    const auto* data = static_cast<std::byte*>(buffers[output.buffer.index]);
    answer.outputs.push_back(gather(data + (output.isView ? number(output.offset) : 0),
                                    plan().buffers[output.buffer.index].dtype, shape, strides));
  }
  answer.inputs = inputs;
  for (size_t b = 0; b < blocks.size(); ++b)
    if (plan().buffers[b].kind == graph::BufferKind::kInput) {
      HostArray& input = answer.inputs[static_cast<size_t>(plan().buffers[b].index)];
      if (!input.data.empty()) std::memcpy(input.data.data(), blocks[b].data(), input.data.size());
    }
  return answer;
}

Answer NativeGraph::evaluate(const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) const {
  Answer answer;
  absl::StatusOr<std::vector<HostArray>> outputs = graph::evaluate(source_, inputs, symbols, &answer.inputs, &library_);
  if (!outputs.ok()) {
    answer.status = kStatusDecline;
    answer.inputs = inputs;
    return answer;
  }
  answer.outputs = *std::move(outputs);
  return answer;
}

namespace {

bool same(const graph::Scalar& a, const graph::Scalar& b) {
  if (a == b) return true;
  const auto equal = [](double x, double y) { return std::isnan(x) && std::isnan(y); };
  return graph::isInexact(a.dtype) && equal(a.asComplex().real(), b.asComplex().real()) &&
         (!graph::isComplex(a.dtype) || equal(a.asComplex().imag(), b.asComplex().imag()));
}

std::string difference(const char* what, const std::vector<HostArray>& want, const std::vector<HostArray>& got) {
  if (want.size() != got.size()) return "number of arrays";
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string name = what + std::to_string(i);
    if (want[i].shape != got[i].shape || want[i].dtype != got[i].dtype) return "type of " + name;
    for (int64_t k = 0; k < want[i].elements(); ++k)
      if (!same(want[i].at(k), got[i].at(k)))
        return name + " element " + std::to_string(k) + ": " + print(got[i].at(k)) + ", not " + print(want[i].at(k));
  }
  return "";
}

}  // namespace

std::string difference(const Answer& want, const Answer& got) {
  if ((want.status ^ got.status) & kStatusDecline) return got.status & kStatusDecline ? "declined" : "not declined";
  if (got.status & kStatusDecline) return difference("input ", want.inputs, got.inputs);
  const std::string outputs = difference("output ", want.outputs, got.outputs);
  return outputs.empty() ? difference("input ", want.inputs, got.inputs) : outputs;
}

}  // namespace fw::jit::testing
