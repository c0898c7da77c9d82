// The reference evaluator: nodes in order, every array dense in C order, every element computed by evaluateElement().
//
// NumPy's sums depend on memory layout, so each value also carries the byte strides that the array would have in NumPy:
// packed in the layout of its type for fresh values, transformed by views. Reductions are in evaluator_reduce.cpp.
// Composite rows are run through the decompose pass on a graph of their own.
#include "graph/evaluator.h"

#include <algorithm>
#include <cstring>

#include "graph/axes.h"
#include "graph/evaluator_internal.h"
#include "graph/evaluator_scalar.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {

HostArray HostArray::zeros(DType dtype, std::vector<int64_t> shape) {
  HostArray array{dtype, std::move(shape), {}};
  array.data.resize(static_cast<size_t>(array.elements() * itemSize(dtype)));
  return array;
}

int64_t HostArray::elements() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Scalar HostArray::at(int64_t flat) const {
  Scalar value{dtype, 0, 0};
  const size_t bytes = static_cast<size_t>(itemSize(dtype));
  const std::byte* from = data.data() + static_cast<size_t>(flat) * bytes;
  std::memcpy(&value.lo, from, std::min<size_t>(bytes, 8));
  if (bytes == 16) std::memcpy(&value.hi, from + 8, 8);
  return value;
}

void HostArray::set(int64_t flat, const Scalar& v) {
  FW_CHECK(v.dtype == dtype);
  const size_t bytes = static_cast<size_t>(itemSize(dtype));
  std::byte* to = data.data() + static_cast<size_t>(flat) * bytes;
  std::memcpy(to, &v.lo, std::min<size_t>(bytes, 8));
  if (bytes == 16) std::memcpy(to + 8, &v.hi, 8);
}

namespace eval {

std::vector<int64_t> rowMajor(absl::Span<const int64_t> shape) {
  std::vector<int64_t> weights(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) weights[i - 1] = weights[i] * shape[i];
  return weights;
}

void forEachIndex(absl::Span<const int64_t> shape, absl::FunctionRef<void(absl::Span<const int64_t>)> body) {
  for (int64_t size : shape)
    if (size <= 0) return;
  std::vector<int64_t> index(shape.size(), 0);
  while (true) {
    body(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

int64_t flatIndex(absl::Span<const int64_t> index, absl::Span<const int64_t> weights) {
  int64_t flat = 0;
  for (size_t i = 0; i < index.size(); ++i) flat += index[i] * weights[i];
  return flat;
}

std::vector<int64_t> packed(absl::Span<const int64_t> shape, const Layout& layout, DType dtype) {
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t step = itemSize(dtype);
  for (size_t i = layout.order.size(); i-- > 0;) {
    const size_t axis = static_cast<size_t>(layout.order[i]);
    if (layout.broadcastAxes >> axis & 1) continue;
    strides[axis] = layout.negativeAxes >> axis & 1 ? -step : step;
    step *= shape[axis];
  }
  return strides;
}

}  // namespace eval

namespace {

using eval::Value;
using Tuple = std::vector<Value>;

class Evaluator {
 public:
  Evaluator(const Graph& graph, absl::Span<const int64_t> symbols, const LibraryCall* library)
      : graph_(graph),
        symbols_(symbols.begin(), symbols.end()),
        library_(library) {}

  absl::StatusOr<Tuple> run(absl::Span<const Value> inputs) {
    values_.resize(graph_.size());
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(ValueId(i));
      absl::StatusOr<Tuple> result = compute(node, inputs);
      if (!result.ok())
        return absl::Status(result.status().code(),
                            "%" + std::to_string(i) + ": " + std::string(result.status().message()));
      values_[i] = *std::move(result);
    }
    Tuple outputs;
    for (ValueId output : graph_.outputs()) outputs.push_back(values_[output.index].front());
    return outputs;
  }

  /// After run(): stores every commit into `inputs`.
  absl::Status commit(std::vector<HostArray>& inputs) {
    std::vector<HostArray> values;  // before the views below take the place of what they read
    for (ValueId id : graph_.commits()) values.push_back(values_[id.index].front().array);
    for (size_t at = 0; at < values.size(); ++at) {
      const Node& store = graph_.node(graph_.commits()[at]);
      const HostArray& value = values[at];
      const ValueId base = viewBase(graph_, store.operands[0]);
      // Which element of the input each element of the target is: the target's views of an array of the input's
      // positions.
      const auto input = static_cast<size_t>(graph_.node(base).attrs.integer(AttrKey::kIndex));
      HostArray positions = HostArray::zeros(DType::kI64, inputs[input].shape);
      for (int64_t i = 0; i < positions.elements(); ++i) positions.set(i, Scalar::ofInt(DType::kI64, i));
      values_[base.index] = {{std::move(positions), {}}};
      values_[base.index].front().strides =
          eval::packed(inputs[input].shape, Layout::c(graph_.type(base).rank()), DType::kI64);
      std::vector<ValueId> views;
      for (ValueId view = store.operands[0]; view != base; view = graph_.node(view).operands[0]) views.push_back(view);
      for (; !views.empty(); views.pop_back()) {
        absl::StatusOr<Tuple> view = compute(graph_.node(views.back()), {});
        if (!view.ok()) return view.status();
        values_[views.back().index] = *std::move(view);
      }
      const HostArray& where = values_[store.operands[0].index].front().array;
      for (int64_t i = 0; i < value.elements(); ++i) inputs[input].set(where.at(i).asInt(), value.at(i));
    }
    return absl::OkStatus();
  }

 private:
  const Value& operand(const Node& node, size_t index) const { return values_[node.operands[index].index].front(); }

  absl::StatusOr<int64_t> number(SymId id) const { return graph_.syms().evaluate(id, symbols_); }

  absl::StatusOr<std::vector<int64_t>> numbers(absl::Span<const SymId> ids) const {
    std::vector<int64_t> result;
    for (SymId id : ids) {
      absl::StatusOr<int64_t> value = number(id);
      if (!value.ok()) return value.status();
      result.push_back(*value);
    }
    return result;
  }

  absl::StatusOr<Tuple> compute(const Node& node, absl::Span<const Value> inputs) {
    if (info(node.op).cls == OpClass::kControl) return control(node);
    absl::StatusOr<std::vector<int64_t>> shape = numbers(node.type.shape);
    if (!shape.ok()) return shape.status();
    if (node.op == Op::kInput) return input(node, *shape, inputs);
    if (info(node.op).cls == OpClass::kView) return view(node, *shape);
    if (info(node.op).cls == OpClass::kReduction) {
      if (info(node.op).cpu == "Decompose") return composite(node);
      const Node& below = graph_.node(node.operands[0]);
      const bool buffered = node.attrs.integerOr(AttrKey::kBuffered, 0) != 0 && below.op == Op::kCast;
      const std::vector<int64_t>& strides = buffered ? operand(below, 0).strides : operand(node, 0).strides;
      absl::StatusOr<HostArray> array = eval::reduce(node, operand(node, 0).array, strides, buffered, *shape);
      if (!array.ok()) return array.status();
      return fresh(node, *std::move(array));
    }
    HostArray out = HostArray::zeros(node.type.dtype, *shape);
    absl::Status status = fill(node, out);
    if (!status.ok()) return status;
    Tuple result = fresh(node, std::move(out));
    if (node.op == Op::kUpdate) result.front().strides = operand(node, 0).strides;
    return result;
  }

  static Tuple fresh(const Node& node, HostArray array) {
    Value value{std::move(array), {}};
    value.strides = eval::packed(value.array.shape, node.type.layout, node.type.dtype);
    return {std::move(value)};
  }

  absl::StatusOr<Tuple> input(const Node& node, const std::vector<int64_t>& shape,
                              absl::Span<const Value> inputs) const {
    const auto index = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
    if (index >= inputs.size()) return absl::InvalidArgumentError("input " + std::to_string(index) + " is missing");
    Value value = inputs[index];
    if (value.array.dtype != node.type.dtype || value.array.shape != shape)
      return absl::InvalidArgumentError("input " + std::to_string(index) + " does not have the type of the graph");
    if (!value.strides.empty() || shape.empty()) return Tuple{std::move(value)};
    value.strides = eval::packed(shape, node.type.layout, node.type.dtype);
    if (node.type.layout.contiguity != Contiguity::kPacked) {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const auto symbol = graph_.syms().findSymbol("t" + std::to_string(index) + "_" + std::to_string(axis));
        if (!symbol) continue;
        absl::StatusOr<int64_t> stride = number(*symbol);
        if (!stride.ok()) return stride.status();
        value.strides[axis] = *stride;
      }
    }
    return Tuple{std::move(value)};
  }

  absl::StatusOr<Tuple> view(const Node& node, const std::vector<int64_t>& shape) const {
    const Value& in = operand(node, 0);
    std::vector<int64_t> starts(in.array.shape.size(), 0), steps(in.array.shape.size(), 1);
    if (node.op == Op::kSlice) {
      absl::StatusOr<std::vector<int64_t>> first = numbers(node.attrs.syms(AttrKey::kStarts));
      absl::StatusOr<std::vector<int64_t>> step = numbers(node.attrs.syms(AttrKey::kSteps));
      if (!first.ok()) return first.status();
      if (!step.ok()) return step.status();
      starts = *first;
      steps = *step;
    }
    return Tuple{eval::applyView(node, in, shape, starts, steps)};
  }

  absl::Status fill(const Node& node, HostArray& out) const {
    switch (info(node.op).cls) {
      case OpClass::kSource:
        if (node.op == Op::kConstant) {
          out.set(0, node.attrs.scalar(AttrKey::kValue));
          return absl::OkStatus();
        } else {
          absl::StatusOr<int64_t> value = number(node.attrs.sym(AttrKey::kExpr));
          if (!value.ok()) return value.status();
          out.set(0, Scalar::ofInt(DType::kI64, *value));
          return absl::OkStatus();
        }
      case OpClass::kElementwise: return elementwise(node, out);
      case OpClass::kCreation:
        for (int64_t i = 0; i < out.elements(); ++i)
          out.set(i, node.op == Op::kIota    ? Scalar::ofInt(node.type.dtype, i)
                     : node.op == Op::kEmpty ? Scalar::zero(node.type.dtype)
                                             : operand(node, 0).array.at(0));
        return absl::OkStatus();
      case OpClass::kJoin: join(node, out); return absl::OkStatus();
      case OpClass::kGather: gather(node, out); return absl::OkStatus();
      case OpClass::kUpdate: return update(node, out);
      case OpClass::kReduction:
      case OpClass::kScan:
      case OpClass::kView:
      case OpClass::kControl: break;
    }
    return absl::UnimplementedError("reference evaluator: " + std::string(info(node.op).text));
  }

  /// Of an array as it is broadcast to a rank.
  static std::vector<int64_t> broadcastWeights(const std::vector<int64_t>& shape, size_t rank) {
    std::vector<int64_t> weights = eval::rowMajor(shape);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == 1) weights[axis] = 0;
    weights.insert(weights.begin(), rank - shape.size(), 0);
    return weights;
  }

  absl::Status elementwise(const Node& node, HostArray& out) const {
    std::vector<std::vector<int64_t>> weights;
    for (size_t i = 0; i < node.operands.size(); ++i)
      weights.push_back(broadcastWeights(operand(node, i).array.shape, out.shape.size()));
    absl::Status status;
    int64_t flat = 0;
    std::vector<Scalar> in(node.operands.size());
    eval::forEachIndex(out.shape, [&](absl::Span<const int64_t> index) {
      for (size_t i = 0; i < in.size(); ++i) in[i] = operand(node, i).array.at(eval::flatIndex(index, weights[i]));
      absl::StatusOr<Scalar> value = evaluateElement(node.op, in, node.type.dtype);
      if (value.ok())
        out.set(flat, *value);
      else
        status = value.status();
      ++flat;
    });
    return status;
  }

  void join(const Node& node, HostArray& out) const {
    const auto axis = static_cast<size_t>(node.attrs.integer(AttrKey::kAxis));
    const std::vector<int64_t> weights = eval::rowMajor(out.shape);
    int64_t offset = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const HostArray& part = operand(node, i).array;
      int64_t flat = 0;
      eval::forEachIndex(part.shape, [&](absl::Span<const int64_t> index) {
        out.set(eval::flatIndex(index, weights) + offset * weights[axis], part.at(flat++));
      });
      offset += part.shape[axis];
    }
  }

  void gather(const Node& node, HostArray& out) const {
    const HostArray& source = operand(node, 0).array;
    const int from = static_cast<int>(source.shape.size()), rank = static_cast<int>(out.shape.size());
    const IntList along = gatheredAlong(from, rank, node.attrs);
    const std::vector<int64_t> weights = eval::rowMajor(source.shape);
    int64_t flat = 0;
    eval::forEachIndex(out.shape, [&](absl::Span<const int64_t> index) {
      int64_t at = 0;
      size_t next = 1;
      for (size_t axis = 0; axis < along.size(); ++axis) {
        if (along[axis] >= 0) {
          at += index[static_cast<size_t>(along[axis])] * weights[axis];
          continue;
        }
        const HostArray& numbers = operand(node, next++).array;
        const Scalar number = numbers.at(eval::flatIndex(index, broadcastWeights(numbers.shape, out.shape.size())));
        const int64_t size = source.shape[axis], place = static_cast<int64_t>(number.lo) % size;
        at += (place < 0 ? place + size : place) * weights[axis];
      }
      out.set(flat++, source.at(at));
    });
  }

  absl::Status update(const Node& node, HostArray& out) const {
    if (node.op == Op::kStore) {
      out.data = operand(node, 1).array.data;
      return absl::OkStatus();
    }
    out.data = operand(node, 0).array.data;
    const HostArray& value = operand(node, 1).array;
    absl::StatusOr<std::vector<int64_t>> starts = numbers(node.attrs.syms(AttrKey::kStarts));
    absl::StatusOr<std::vector<int64_t>> steps = numbers(node.attrs.syms(AttrKey::kSteps));
    if (!starts.ok()) return starts.status();
    if (!steps.ok()) return steps.status();
    const std::vector<int64_t> weights = eval::rowMajor(out.shape);
    int64_t flat = 0;
    eval::forEachIndex(value.shape, [&](absl::Span<const int64_t> index) {
      int64_t to = 0;
      for (size_t axis = 0; axis < index.size(); ++axis)
        to += ((*starts)[axis] + index[axis] * (*steps)[axis]) * weights[axis];
      out.set(to, value.at(flat++));
    });
    return absl::OkStatus();
  }

  /// Symbols that the call binds are what they are first met as.
  absl::Status bindSizes(const Node& node, absl::Span<const HostArray> answer) {
    if (!node.attrs.has(AttrKey::kSizes)) return absl::OkStatus();
    for (SymId size : node.attrs.syms(AttrKey::kSizes)) {
      bool found = false;
      for (size_t i = 0; i < answer.size() && !found; ++i) {
        const SymShape& shape = node.type.tuple[i].shape;
        const auto axis = static_cast<size_t>(std::find(shape.begin(), shape.end(), size) - shape.begin());
        if (axis >= shape.size() || shape.size() != answer[i].shape.size()) continue;
        found = true;
        const SymRange range = graph_.syms().range(size);
        const int64_t now = answer[i].shape[axis];
        if (now < range.lo || now > range.hi) return absl::OutOfRangeError("a size is out of its range");
        symbols_[static_cast<size_t>(graph_.syms().node(size).value)] = now;
      }
      if (!found) return absl::InternalError("a library call answers other values");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tuple> call(const Node& node, const Tuple& operands) {
    if (library_ == nullptr) return absl::UnimplementedError("reference evaluator: library calls");
    std::vector<HostArray> arrays;
    for (const Value& operand : operands) arrays.push_back(operand.array);
    absl::StatusOr<std::vector<HostArray>> answer = (*library_)(node.attrs.integer(AttrKey::kSite), arrays);
    if (!answer.ok()) return answer.status();
    if (answer->size() != node.type.tuple.size()) return absl::InternalError("a library call answers other values");
    if (absl::Status bound = bindSizes(node, *answer); !bound.ok()) return bound;
    Tuple results;
    for (size_t i = 0; i < answer->size(); ++i) {
      const ValueType& type = node.type.tuple[i];
      absl::StatusOr<std::vector<int64_t>> shape = numbers(type.shape);
      if (!shape.ok()) return shape.status();
      HostArray& array = (*answer)[i];
      if (array.dtype != type.dtype || array.shape != *shape)
        return absl::InternalError("a library call answers values of other types");
      Value value{std::move(array), {}};
      value.strides = eval::packed(value.array.shape, type.layout, type.dtype);
      results.push_back(std::move(value));
    }
    return results;
  }

  absl::StatusOr<Tuple> control(const Node& node) {
    Tuple state;
    for (size_t i = 0; i < node.operands.size(); ++i) state.push_back(operand(node, i));
    if (node.op == Op::kProject)
      return Tuple{values_[node.operands[0].index][static_cast<size_t>(node.attrs.integer(AttrKey::kIndex))]};
    if (node.op == Op::kCall) return call(node, state);
    if (node.op == Op::kCond) {
      const bool taken = state.front().array.at(0).lo != 0;
      state.erase(state.begin());
      return Evaluator(*node.regions[taken ? 0 : 1], symbols_, library_).run(state);
    }
    const bool defines = node.op == Op::kDefine;  // for what follows, too
    std::vector<int64_t> inner(symbols_.begin(), symbols_.end());
    std::vector<int64_t>& symbols = defines ? symbols_ : inner;
    int64_t* symbol = nullptr;
    if (node.attrs.has(AttrKey::kSymbol))
      symbol = &symbols[static_cast<size_t>(graph_.syms().node(node.attrs.sym(AttrKey::kSymbol)).value)];
    if (node.op == Op::kBind || defines) {
      absl::StatusOr<int64_t> least = number(node.attrs.sym(AttrKey::kLeast));
      absl::StatusOr<int64_t> most = number(node.attrs.sym(AttrKey::kMost));
      if (!least.ok()) return least.status();
      if (!most.ok()) return most.status();
      *symbol = state.front().array.at(0).asInt();
      if (*symbol < *least || *symbol > *most) return absl::OutOfRangeError("a bound number is out of its range");
      state.erase(state.begin());
      if (defines) return state;
      return Evaluator(*node.regions[0], symbols, library_).run(state);
    }
    FW_CHECK(node.op == Op::kLoop);
    int64_t trips = INT64_MAX;
    if (node.attrs.has(AttrKey::kTrip)) {
      absl::StatusOr<int64_t> most = number(node.attrs.sym(AttrKey::kTrip));
      if (!most.ok()) return most.status();
      trips = *most;
    }
    for (int64_t trip = 0; trip < trips; ++trip) {
      if (symbol) *symbol = trip;
      absl::StatusOr<Tuple> next = Evaluator(*node.regions[0], symbols, library_).run(state);
      if (!next.ok()) return next.status();
      const bool again = next->front().array.at(0).lo != 0;
      state.assign(next->begin() + 1, next->end());
      if (!again) break;
    }
    return state;
  }

  /// A row without a definition of its own: the decompose pass says what it means.
  absl::StatusOr<Tuple> composite(const Node& node) const {
    Graph alone(const_cast<Graph&>(graph_));  // shares the symbols only
    ValueType type = graph_.type(node.operands[0]);
    const ValueId in = alone.input(0, type);
    alone.outputs() = {alone.addTyped(node.op, {in}, node.type, node.attrs)};
    const std::string_view names[] = {"decompose"};
    PassContext context;
    context.verifyEach = false;
    if (absl::Status status = runPasses(alone, names, context); !status.ok()) return status;
    return Evaluator(alone, symbols_, library_).run({operand(node, 0)});
  }

  const Graph& graph_;
  std::vector<int64_t> symbols_;
  const LibraryCall* library_;
  std::vector<Tuple> values_;
};

}  // namespace

absl::StatusOr<std::vector<HostArray>> evaluate(const Graph& graph, absl::Span<const HostArray> inputs,
                                                absl::Span<const int64_t> symbols, std::vector<HostArray>* committed,
                                                const LibraryCall* library) {
  Tuple values;
  for (const HostArray& input : inputs) values.push_back({input, {}});
  Evaluator evaluator(graph, symbols, library);
  absl::StatusOr<Tuple> outputs = evaluator.run(values);
  if (!outputs.ok()) return outputs.status();
  if (committed != nullptr) {
    committed->assign(inputs.begin(), inputs.end());
    if (absl::Status status = evaluator.commit(*committed); !status.ok()) return status;
  }
  std::vector<HostArray> arrays;
  for (Value& value : *outputs) arrays.push_back(std::move(value.array));
  return arrays;
}

}  // namespace fw::graph
