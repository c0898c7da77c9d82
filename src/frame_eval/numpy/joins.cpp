// Functions that lay arrays side by side: concatenate and what NumPy builds on it, roll and pad.
#include "frame_eval/long_list.h"
#include "frame_eval/numpy/binding.h"
#include "graph/symint_facts.h"
#include "graph/views.h"

namespace fw::capture::numpy {
namespace {

/// Arrays that are joined at once. NumPy copies as fast as compiled code does; what is saved beside that is little for
/// each, while guards and code grow with their number.
constexpr size_t kMostJoined = 40;

std::vector<Value*> items(Bound& a, std::string_view name) {
  auto list = sequenceItems(a.trace, a[name]);
  if (!list) a.refuse(name);
  if (list->empty()) raises("need at least one array to concatenate");
  if (list->size() > kMostJoined) unsupported("joining more than " + std::to_string(kMostJoined) + " arrays at once");
  return *list;
}

/// The items of a list that loops have filled, one above the other: rows of one array. None: it is no such list.
std::optional<ValueId> rowsOf(Bound& a, std::string_view name) {
  if (!isLongList(a[name])) return std::nullopt;
  Trace& t = a.trace;
  const ValueId node = LongList{t, a[name]}.array();
  const bool rows = a[name]->base->kind == ValueKind::kArray || t.graph().type(node).rank() == 1;
  if (!rows) a.refuse(name);
  if (!isPositive(t, shapeOf(t, node)[0])) raises("need at least one array to concatenate");
  return node;
}

/// The same one behind the other along another axis, in memory of the order of the axes.
ValueId stackedRows(Trace& trace, ValueId rows, int axis) {
  graph::Graph& g = trace.graph();
  const int rank = g.type(rows).rank();
  if (axis == 0) return rows;
  graph::IntList perm;
  for (int i = 1; i < rank; ++i) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  return copyAs(trace, g.transpose(rows, perm), graph::Layout::c(rank));
}

/// The same side by side along the first axis that they have by themselves.
ValueId joinedRows(Trace& trace, ValueId rows) {
  SymShape shape = shapeOf(trace, rows);
  const SymId first = trace.syms().canonical(trace.syms().mul(shape[0], shape[1]));
  shape.erase(shape.begin());
  shape[0] = first;
  return trace.graph().reshape(rows, shape, false);
}

/// np.concatenate along a known axis.
ValueId join(Trace& trace, std::vector<ValueId> nodes, int axis) {
  graph::Graph& g = trace.graph();
  DType dtype = g.type(nodes[0]).dtype;
  int rank = g.type(nodes[0]).rank();
  if (rank == 0) raises("zero-dimensional arrays cannot be concatenated");
  for (ValueId node : nodes) {
    if (g.type(node).rank() != rank) raises("all the input array dimensions must match");
    dtype = graph::promote(dtype, g.type(node).dtype);
    for (int i = 0; i < rank; ++i) {
      auto at = static_cast<size_t>(i);
      if (i != axis && !sameSize(trace, shapeOf(trace, node)[at], shapeOf(trace, nodes[0])[at])) {
        raises("all the input array dimensions except for the concatenation axis must match exactly");
      }
    }
  }
  // The order of the result's axes is that of the arrays as they are, before conversion, and by the strides of an empty
  // array as well; its layout, which guards see, does not tell them.
  for (ValueId node : nodes) {
    if (rank == 1 || g.node(graph::viewBase(g, node)).op != graph::Op::kInput) continue;
    if (!isPositive(trace, shapeOf(trace, node)[static_cast<size_t>(axis)])) unsupported("joining an empty argument");
  }
  decideUnitAxes(trace, nodes, /*zeroStridesVote=*/true);
  absl::InlinedVector<graph::LayoutOperand, 4> layouts;
  std::vector<ValueType> types;
  for (ValueId node : nodes) types.push_back(g.type(node));
  for (const ValueType& t : types) layouts.push_back({&t.layout, graph::unitAxes(trace.syms(), t.shape)});
  for (ValueId& node : nodes) node = g.cast(node, dtype);
  Attrs attrs;
  attrs.set(AttrKey::kAxis, int64_t{axis});
  ValueId joined = orBreak(g.add(Op::kConcatenate, nodes, attrs));
  ValueType type = g.type(joined);
  type.layout = graph::concatenateLayout(rank, layouts);
  if (type.layout == g.type(joined).layout) return joined;
  return g.addTyped(Op::kConcatenate, nodes, std::move(type), attrs);
}

ValueId joinValues(Trace& trace, const std::vector<Value*>& values, int axis) {
  std::vector<ValueId> nodes;
  for (Value* v : values) nodes.push_back(asArray(trace, v));
  return join(trace, std::move(nodes), axis);
}

int rankOf(Trace& trace, Value* value) { return trace.graph().type(asArray(trace, value)).rank(); }

/// node[..., start:start + size, ...] along one axis.
ValueId part(Trace& trace, ValueId node, int axis, SymId start, SymId size) {
  SymShape shape = shapeOf(trace, node);
  SymList starts(shape.size(), trace.syms().constant(0)), steps(shape.size(), trace.syms().constant(1));
  starts[static_cast<size_t>(axis)] = start;
  shape[static_cast<size_t>(axis)] = size;
  return trace.graph().slice(node, starts, steps, shape);
}

/// np.roll along one axis as concatenation of two parts; `node` itself if nothing moves.
ValueId rollAxis(Trace& trace, ValueId node, SymId shift, int axis) {
  graph::SymContext& syms = trace.syms();
  SymId n = shapeOf(trace, node)[static_cast<size_t>(axis)], zero = syms.constant(0);
  if (!isPositive(trace, n)) unsupported("np.roll of an empty axis");
  // The offset is shift mod n; shifts by less than a whole turn need no division.
  SymId offset = shift;
  if (trace.decide(shift, Relation::kLt, zero)) offset = syms.add(shift, n);
  bool within = trace.decide(zero, Relation::kLe, offset) && trace.decide(offset, Relation::kLt, n);
  if (!within) {
    n = syms.canonical(n);
    if (graph::refinedRange(syms, n).lo <= 0) n = syms.constant(trace.specialize(n));
    offset = syms.mod(shift, n);
  }
  if (trace.decide(offset, Relation::kEq, zero)) return node;
  ValueId tail = part(trace, node, axis, syms.sub(n, offset), offset);
  ValueId head = part(trace, node, axis, zero, syms.sub(n, offset));
  return join(trace, {tail, head}, axis);
}

}  // namespace

namespace handlers {

Value* concatenate(Bound& a) {
  if (isLongList(a["arrays"])) {
    const int rank = a.trace.graph().type(LongList{a.trace, a["arrays"]}.array()).rank() - 1;
    if (rank == 0) raises("zero-dimensional arrays cannot be concatenated");
    if (a["axis"] && isNone(a["axis"])) a.refuse("arrays");
    if (a["axis"] && axisArg(a.trace, a["axis"], rank) != 0) a.refuse("axis");
    return a.trace.array(joinedRows(a.trace, *rowsOf(a, "arrays")));
  }
  std::vector<Value*> values = items(a, "arrays");
  if (a["axis"] && isNone(a["axis"])) {
    // Here Python's numbers take the type of the arrays; elsewhere they have become arrays before.
    const auto weak = [](Value* v) { return v->kind != ValueKind::kArray && v->kind != ValueKind::kArrayScalar; };
    const auto some = static_cast<size_t>(std::count_if(values.begin(), values.end(), weak));
    if (some != 0 && some != values.size()) a.refuse("Python's numbers among arrays");
    std::vector<ValueId> flat;
    for (Value* v : values) flat.push_back(ravelValue(a.trace, v)->node);
    return a.trace.array(join(a.trace, std::move(flat), 0));
  }
  int rank = rankOf(a.trace, values[0]);
  if (rank == 0) raises("zero-dimensional arrays cannot be concatenated");
  return a.trace.array(joinValues(a.trace, values, a["axis"] ? axisArg(a.trace, a["axis"], rank) : 0));
}

Value* stack(Bound& a) {
  if (isLongList(a["arrays"])) {
    const int rank = a.trace.graph().type(LongList{a.trace, a["arrays"]}.array()).rank();
    const int axis = a["axis"] ? axisArg(a.trace, a["axis"], rank) : 0;
    return a.trace.array(stackedRows(a.trace, *rowsOf(a, "arrays"), axis));
  }
  std::vector<Value*> values = items(a, "arrays");
  int rank = rankOf(a.trace, values[0]) + 1;
  int axis = a["axis"] ? axisArg(a.trace, a["axis"], rank) : 0;
  std::vector<ValueId> nodes;
  for (Value* v : values) {
    ValueId node = asArray(a.trace, v);
    SymShape shape = shapeOf(a.trace, node), first = shapeOf(a.trace, asArray(a.trace, values[0]));
    if (shape.size() != first.size()) raises("all input arrays must have the same shape");
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!sameSize(a.trace, shape[i], first[i])) raises("all input arrays must have the same shape");
    }
    nodes.push_back(a.trace.graph().expand(node, {axis}));
  }
  return a.trace.array(join(a.trace, std::move(nodes), axis));
}

Value* vstack(Bound& a) {
  if (const auto rows = rowsOf(a, "tup")) {
    const int rank = a.trace.graph().type(*rows).rank();
    if (rank == 1)
      return a.trace.array(
          a.trace.graph().reshape(*rows, {shapeOf(a.trace, *rows)[0], a.trace.syms().constant(1)}, false));
    return a.trace.array(rank == 2 ? *rows : joinedRows(a.trace, *rows));
  }
  std::vector<ValueId> nodes;
  for (Value* v : items(a, "tup")) nodes.push_back(atLeastRank(a.trace, v, 2)->node);
  return a.trace.array(join(a.trace, std::move(nodes), 0));
}

Value* hstack(Bound& a) {
  if (const auto rows = rowsOf(a, "tup")) {
    const int rank = a.trace.graph().type(*rows).rank();
    if (rank > 2) a.refuse("tup");
    return a.trace.array(rank == 1 ? *rows : joinedRows(a.trace, *rows));
  }
  std::vector<ValueId> nodes;
  for (Value* v : items(a, "tup")) nodes.push_back(atLeastRank(a.trace, v, 1)->node);
  return a.trace.array(join(a.trace, nodes, a.trace.graph().type(nodes[0]).rank() == 1 ? 0 : 1));
}

Value* columnStack(Bound& a) {
  graph::Graph& g = a.trace.graph();
  if (const auto rows = rowsOf(a, "tup")) {
    if (g.type(*rows).rank() != 2) a.refuse("tup");
    return a.trace.array(stackedRows(a.trace, *rows, 1));
  }
  std::vector<ValueId> nodes;
  for (Value* v : items(a, "tup")) {
    ValueId node = asArray(a.trace, v);
    if (g.type(node).rank() == 0) node = g.expand(node, {0});
    if (g.type(node).rank() == 1) node = g.transpose(g.expand(node, {0}), {1, 0});
    nodes.push_back(node);
  }
  return a.trace.array(join(a.trace, std::move(nodes), 1));
}

Value* append(Bound& a) {
  Value* array = arrayValue(a.trace, a["arr"]);
  if (absent(a["axis"])) {
    std::vector<ValueId> flat{ravelValue(a.trace, array)->node, ravelValue(a.trace, a["values"])->node};
    return a.trace.array(join(a.trace, std::move(flat), 0));
  }
  int axis = axisArg(a.trace, a["axis"], rankOf(a.trace, array));
  return a.trace.array(joinValues(a.trace, {array, a["values"]}, axis));
}

Value* roll(Bound& a) {
  graph::Graph& g = a.trace.graph();
  Value* array = arrayValue(a.trace, a["a"]);
  if (sequenceItems(a.trace, a["shift"])) a.refuse("several shifts");
  SymId shift = a.trace.asSym(a["shift"]);
  if (absent(a["axis"])) {
    SymShape shape = shapeOf(a.trace, array->node);
    ValueId rolled = rollAxis(a.trace, ravelValue(a.trace, array)->node, shift, 0);
    // The result is a reshaped view of a fresh flat array.
    Value* flat = a.trace.array(copyAs(a.trace, rolled, graph::Layout::c(1)));
    return makeView(a.trace, flat, shape.size() == 1 ? flat->node : g.reshape(flat->node, shape, false));
  }
  if (sequenceItems(a.trace, a["axis"])) a.refuse("several axes");
  int axis = axisArg(a.trace, a["axis"], rankOf(a.trace, array));
  const ValueType type = g.type(array->node);
  ValueId rolled = rollAxis(a.trace, array->node, shift, axis);
  const uint32_t units = graph::unitAxes(a.trace.syms(), shapeOf(a.trace, array->node));
  return a.trace.array(copyAs(a.trace, rolled, graph::likeLayout(type.layout, units)));
}

namespace {

struct PadWidth {
  SymId before, after;
};

std::vector<PadWidth> padWidths(Bound& a, int rank) {
  Value* value = a["pad_width"];
  auto one = [&](Value* v) {
    SymId s = a.trace.asSym(v);
    if (!a.trace.decide(a.trace.syms().constant(0), Relation::kLe, s)) raises("index can't contain negative values");
    return s;
  };
  auto pair = [&](const std::vector<Value*>& v) {
    if (v.size() == 1) return PadWidth{one(v[0]), one(v[0])};
    if (v.size() != 2) a.refuse("this pad_width");
    return PadWidth{one(v[0]), one(v[1])};
  };
  auto list = sequenceItems(a.trace, value);
  if (!list) return std::vector<PadWidth>(static_cast<size_t>(rank), {one(value), one(value)});
  if (list->empty()) a.refuse("this pad_width");
  if (!sequenceItems(a.trace, (*list)[0])) return std::vector<PadWidth>(static_cast<size_t>(rank), pair(*list));
  std::vector<PadWidth> widths;
  for (Value* v : *list) {
    auto inner = sequenceItems(a.trace, v);
    if (!inner) a.refuse("this pad_width");
    widths.push_back(pair(*inner));
  }
  if (widths.size() == 1) widths.resize(static_cast<size_t>(rank), widths[0]);
  if (static_cast<int>(widths.size()) != rank) raises("operands could not be broadcast together");
  return widths;
}

ValueId padConstant(Bound& a, ValueId node, const std::vector<PadWidth>& widths) {
  graph::Graph& g = a.trace.graph();
  graph::SymContext& syms = a.trace.syms();
  const ValueType type = g.type(node);
  ValueId fill = scalarNode(a.trace, type.dtype, 0);
  if (a["constant_values"]) {
    if (sequenceItems(a.trace, a["constant_values"])) a.refuse("several constant_values");
    graph::UfuncOperand operand = a.trace.operand(a["constant_values"]);
    DType from = g.type(operand.value).dtype;
    if (!graph::canCastSameKind(from, type.dtype) || g.type(operand.value).rank() != 0) a.refuse("constant_values");
    fill = castOperand(a.trace, a["constant_values"], type.dtype);
  }
  SymShape shape = shapeOf(a.trace, node);
  SymList starts, steps;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] = syms.add(shape[i], syms.add(widths[i].before, widths[i].after));
    starts.push_back(widths[i].before);
    steps.push_back(syms.constant(1));
  }
  return g.update(g.full(fill, shape), node, starts, steps);
}

ValueId padEdge(Bound& a, ValueId node, const std::vector<PadWidth>& widths) {
  graph::Graph& g = a.trace.graph();
  graph::SymContext& syms = a.trace.syms();
  for (size_t i = 0; i < widths.size(); ++i) {
    auto axis = static_cast<int>(i);
    SymShape shape = shapeOf(a.trace, node);
    SymId one = syms.constant(1), last = syms.sub(shape[i], one);
    if (!isPositive(a.trace, shape[i])) a.refuse("an empty axis");
    SymShape before = shape, after = shape;
    before[i] = widths[i].before;
    after[i] = widths[i].after;
    ValueId left = g.broadcastTo(part(a.trace, node, axis, syms.constant(0), one), before);
    ValueId right = g.broadcastTo(part(a.trace, node, axis, last, one), after);
    node = join(a.trace, {left, node, right}, axis);
  }
  return node;
}

}  // namespace

Value* pad(Bound& a) {
  graph::Graph& g = a.trace.graph();
  ValueId node = a.array("array");
  const ValueType type = g.type(node);
  if (type.rank() == 0 || !type.layout.isCOrder()) a.refuse("an array that is not in C order");
  std::vector<PadWidth> widths = padWidths(a, type.rank());
  auto mode = a["mode"] ? textOf(a["mode"]) : std::optional<std::string>("constant");
  ValueId padded;
  if (mode == "constant") {
    padded = padConstant(a, node, widths);
  } else if (mode == "edge") {
    padded = padEdge(a, node, widths);
  } else {
    a.refuse("this mode");
  }
  graph::Layout c = graph::Layout::c(type.rank());
  return a.trace.array(g.type(padded).layout == c ? padded : copyAs(a.trace, padded, c));
}

}  // namespace handlers
}  // namespace fw::capture::numpy
