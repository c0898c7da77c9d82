#include "runtime/calls.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::runtime {

using graph::BufferKind;
using graph::SymId;

/// Collects the arrays of one call.
class Calls::Builder {
 public:
  Builder(const graph::Plan& plan, const graph::Graph& graph, int site) : plan_(plan), syms_(graph.syms()) {
    call_.site = site;
  }

  void bind(absl::Span<const SymId> sizes) {
    FW_CHECK_MSG(sizes.size() <= 64, "a call that binds more than 64 sizes");
    for (SymId size : sizes) {
      const graph::SymRange range = syms_.range(size);
      call_.sizes.push_back({static_cast<size_t>(syms_.node(size).value), range.lo, range.hi});
    }
    sizes_ = sizes;
  }

  void operand(const graph::ValueType& type, const graph::Window& window) {
    call_.operands.push_back(array(type, window.buffer, &window));
  }

  void result(const graph::ValueType& type, graph::BufferId buffer) {
    Array result = array(type, buffer, nullptr);
    for (size_t axis = 0; axis < type.shape.size() && !sizes_.empty(); ++axis) {
      const auto at = std::find(sizes_.begin(), sizes_.end(), type.shape[axis]);
      result.binds.push_back(at == sizes_.end() ? -1 : static_cast<int>(at - sizes_.begin()));
    }
    call_.results.push_back(std::move(result));
  }

  Call build() {
    call_.program = SymProgram(syms_, wanted_);
    if (call_.program.symbols().empty()) {
      call_.known.resize(wanted_.size());
      call_.program.run(nullptr, call_.known.data());
    }
    return std::move(call_);
  }

 private:
  Array array(const graph::ValueType& type, graph::BufferId id, const graph::Window* window) {
    Array array{type.dtype, type.rank(), -1, Where::kNowhere, static_cast<int>(wanted_.size()), {}};
    graph::SymList strides;
    SymId offset = syms_.constant(0);
    if (id.valid()) {
      const graph::Buffer& buffer = plan_.buffers[id.index];
      array.buffer = static_cast<int>(id.index);
      array.where = window == nullptr && buffer.kind == BufferKind::kGiven ? Where::kGiven
                    : buffer.kind == BufferKind::kTemp                     ? Where::kWorkspace
                                                                           : Where::kTable;
      strides = window ? window->strides : buffer.strides;
      if (buffer.kind == BufferKind::kTemp) offset = buffer.offset;
      if (window) offset = syms_.add(offset, window->offset);
    } else {
      strides.assign(type.shape.size(), offset);
    }
    wanted_.insert(wanted_.end(), type.shape.begin(), type.shape.end());
    wanted_.insert(wanted_.end(), strides.begin(), strides.end());
    wanted_.push_back(offset);
    return array;
  }

  const graph::Plan& plan_;
  graph::SymContext& syms_;
  Call call_;
  absl::Span<const SymId> sizes_;
  std::vector<SymId> wanted_;
};

Calls::Calls(const graph::Plan& plan, const graph::Graph& graph) {
  for (const graph::CallStep* step : graph::callsOf(plan)) {
    const graph::Graph& region = graph::regionOf(plan, graph, step->node.region);
    const graph::Node& node = region.node(step->node.value);
    Builder builder(plan, graph, step->site);
    builder.bind(step->sizes);
    for (size_t i = 0; i < node.operands.size(); ++i) builder.operand(region.type(node.operands[i]), step->operands[i]);
    for (size_t i = 0; i < node.type.tuple.size(); ++i) builder.result(node.type.tuple[i], step->results[i]);
    calls_.push_back(builder.build());
  }
  for (graph::BufferId id : graph::madeArraysOf(plan)) {
    const graph::Buffer& buffer = plan.buffers[id.index];
    Builder builder(plan, graph, -1);
    builder.result({buffer.dtype, buffer.shape, buffer.layout, {}}, id);
    made_.push_back(builder.build());
  }
}

Calls::Frame::Frame(const Calls& calls, int call, const Context& context)
    : Frame(calls.calls_[static_cast<size_t>(call)], context) {}

Calls::Frame Calls::Frame::ofMade(const Calls& calls, int made, const Context& context) {
  return Frame(calls.made_[static_cast<size_t>(made)], context);
}

Calls::Frame::Frame(const Call& call, const Context& context)
    : call_(call),
      context_(context),
      words_(call.known.data()) {
  if (!call.known.empty()) return;
  own_.resize(call.program.resultCount());
  words_ = own_.data();
  call_.program.run(context.symbols, own_.data());
}

bool Calls::Frame::bind(size_t result, const int64_t* shape) {
  const Array& array = call_.results[result];
  const int64_t* wanted = words_ + array.words;
  for (int axis = 0; axis < array.rank; ++axis) {
    const int number = array.binds.empty() ? -1 : array.binds[static_cast<size_t>(axis)];
    if (number < 0) {
      if (shape[axis] != wanted[axis]) return false;
      continue;
    }
    const Size& size = call_.sizes[static_cast<size_t>(number)];
    int64_t& symbol = context_.symbols[size.symbol];
    const bool known = bound_ >> number & 1;
    if (known ? shape[axis] != symbol : shape[axis] < size.least || shape[axis] > size.most) return false;
    symbol = shape[axis];
    bound_ |= uint64_t{1} << number;
  }
  return true;
}

void Calls::Frame::settle() {
  if (binds() && !own_.empty()) call_.program.run(context_.symbols, own_.data());
}

CallArray Calls::Frame::array(const Array& array) const {
  const int64_t* shape = words_ + array.words;
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
