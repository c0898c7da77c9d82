// Inputs are copied into the evaluator's arrays, and what comes out is copied back, over the strides of both.
#include "runtime/reference.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "graph/evaluator.h"
#include "runtime/buffer_results.h"

namespace fw::runtime {
namespace {

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

class ReferenceExecutable : public Executable {
 public:
  ReferenceExecutable(graph::Graph graph, graph::Plan plan) : graph_(std::move(graph)), plan_(std::move(plan)) {
    graph_.outputs().clear();
    for (const BufferResult& result : bufferResults(plan_)) {
      graph_.outputs().push_back(result.value);
      outputBuffers_.push_back(result.buffer);
    }
    // Where results lie may depend on numbers that the evaluator keeps to itself.
    for (const graph::Step& step : plan_.steps) defines_ |= std::holds_alternative<graph::DefineStep>(step.what);
  }
  const graph::Plan& plan() const override { return plan_; }

  int32_t compute(Context& context) const override {
    if (defines_) return kStatusDecline;
    auto results = graph::evaluate(graph_, readInputs(context), symbols(context));
    if (!results.ok()) return kStatusDecline;
    for (size_t i = 0; i < outputBuffers_.size(); ++i) write(context, outputBuffers_[i], (*results)[i]);
    return 0;
  }

  /// Computes everything once more: nothing has been written, so the values are those of compute().
  int32_t commit(Context& context) const override {
    std::vector<graph::HostArray> committed;
    FW_CHECK(graph::evaluate(graph_, readInputs(context), symbols(context), &committed).ok());
    for (graph::ValueId store : graph_.commits()) {
      const graph::BufferId id = plan_.bufferOf(store);
      write(context, id, committed[plan_.buffers[id.index].index]);
    }
    return 0;
  }

 private:
  absl::Span<const int64_t> symbols(const Context& context) const {
    return {context.symbols, static_cast<size_t>(graph_.syms().symbolCount())};
  }

  std::vector<graph::HostArray> readInputs(const Context& context) const {
    std::vector<graph::HostArray> inputs;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != graph::BufferKind::kInput) continue;
      StridedMemory memory = locate(context, graph::BufferId(b));
      auto host = graph::HostArray::zeros(buffer.dtype, memory.shape);
      const size_t size = graph::itemSize(buffer.dtype);
      memory.forEach([&](int64_t i, std::byte* p) { std::memcpy(host.data.data() + i * size, p, size); });
      if (inputs.size() <= static_cast<size_t>(buffer.index)) inputs.resize(buffer.index + 1);
      inputs[buffer.index] = std::move(host);
    }
    return inputs;
  }

  void write(const Context& context, graph::BufferId id, const graph::HostArray& host) const {
    const size_t size = graph::itemSize(plan_.buffers[id.index].dtype);
    locate(context, id).forEach([&](int64_t i, std::byte* p) { std::memcpy(p, host.data.data() + i * size, size); });
  }

  StridedMemory locate(const Context& context, graph::BufferId id) const {
    const graph::Buffer& buffer = plan_.buffers[id.index];
    StridedMemory memory{static_cast<std::byte*>(context.buffers[id.index]), {}, {}};
    auto value = [&](graph::SymId expression) {
      auto v = graph_.syms().evaluate(expression, symbols(context));
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
  bool defines_ = false;
};

}  // namespace

std::unique_ptr<Executable> makeReference(graph::Graph graph, graph::Plan plan) {
  return std::make_unique<ReferenceExecutable>(std::move(graph), std::move(plan));
}

}  // namespace fw::runtime
