#include "runtime/calls.h"

#include "graph/support/check.h"

namespace fw::runtime {

using graph::BufferKind;
using graph::SymId;

Calls::Calls(const graph::Plan& plan, const graph::Graph& graph) {
  const std::vector<const graph::CallStep*> steps = graph::callsOf(plan);
  calls_.reserve(steps.size());
  for (const graph::CallStep* step : steps) {
    Call call{step->site, {}, {}, {}};
    std::vector<SymId> wanted;
    const auto add = [&](const graph::ValueType& type, graph::BufferId id, const graph::Window* window) {
      Array array{type.dtype, type.rank(), -1, Where::kNowhere, static_cast<int>(wanted.size())};
      graph::SymList strides;
      SymId offset = graph.syms().constant(0);
      if (id.valid()) {
        const graph::Buffer& buffer = plan.buffers[id.index];
        array.buffer = static_cast<int>(id.index);
        array.where = window == nullptr && buffer.kind == BufferKind::kGiven ? Where::kGiven
                      : buffer.kind == BufferKind::kTemp                     ? Where::kWorkspace
                                                                             : Where::kTable;
        strides = window ? window->strides : buffer.strides;
        if (buffer.kind == BufferKind::kTemp) offset = buffer.offset;
        if (window) offset = graph.syms().add(offset, window->offset);
      } else {
        strides.assign(type.shape.size(), offset);
      }
      wanted.insert(wanted.end(), type.shape.begin(), type.shape.end());
      wanted.insert(wanted.end(), strides.begin(), strides.end());
      wanted.push_back(offset);
      return array;
    };
    const graph::Graph& region = graph::regionOf(plan, graph, step->node.region);
    const graph::Node& node = region.node(step->node.value);
    for (size_t i = 0; i < node.operands.size(); ++i)
      call.operands.push_back(add(region.type(node.operands[i]), step->operands[i].buffer, &step->operands[i]));
    for (size_t i = 0; i < node.type.tuple.size(); ++i)
      call.results.push_back(add(node.type.tuple[i], step->results[i], nullptr));
    call.program = SymProgram(graph.syms(), wanted);
    calls_.push_back(std::move(call));
  }
}

Calls::Frame::Frame(const Calls& calls, int call, const Context& context)
    : call_(calls.calls_[static_cast<size_t>(call)]),
      context_(context),
      words_(call_.program.resultCount()) {
  call_.program.run(context.symbols, words_.data());
}

CallArray Calls::Frame::array(const Array& array) const {
  const int64_t* shape = words_.data() + array.words;
  const int64_t* strides = shape + array.rank;
  char* start = nullptr;
  switch (array.where) {
    case Where::kTable: start = static_cast<char*>(context_.buffers[array.buffer]); break;
    case Where::kWorkspace: start = static_cast<char*>(context_.workspace); break;
    case Where::kGiven:
    case Where::kNowhere: return {array.dtype, array.rank, shape, strides, nullptr, array.buffer};
  }
  return {array.dtype, array.rank, shape, strides, start + strides[array.rank], array.buffer};
}

}  // namespace fw::runtime
