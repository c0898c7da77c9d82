// Reductions. NumPy converts the operand to the accumulator's type, reduces and converts the result; where the
// conversion happens inside the reduction the order of a float sum depends on it, which the attribute `buffered` says.
#include <algorithm>

#include "frame_eval/numpy/device.h"
#include "graph/cast_inside.h"

namespace fw::capture::numpy {
namespace {

bool keepdimsOf(Bound& a) { return a["keepdims"] && !isNone(a["keepdims"]) && flag(a["keepdims"], "keepdims"); }

std::optional<DType> requestedType(Bound& a) {
  if (absent(a["dtype"])) return std::nullopt;
  return dtypeArg(a.trace, a["dtype"]);
}

/// Axes of a reduction; an empty tuple of axes makes it an element-by-element function.
IntList reducedAxes(Bound& a, int rank) {
  IntList axes = axesArg(a.trace, a["axis"], rank);
  if (axes.empty() && rank > 0) a.refuse("axis=()");
  return axes;
}

Attrs reductionAttrs(const IntList& axes, bool keepdims) {
  Attrs attrs;
  attrs.set(AttrKey::kAxes, axes).set(AttrKey::kKeepdims, int64_t{keepdims});
  return attrs;
}

graph::ReductionTypes typesOf(Op op, DType input, std::optional<DType> requested) {
  auto types = graph::resolveReduction(op, input, requested);
  if (!types.ok()) orBreak(types.status());
  return *types;
}

/// Number of elements that one result is made of.
SymId reducedCount(Trace& trace, ValueId node, const IntList& axes) {
  SymShape shape = shapeOf(trace, node), sizes;
  for (int64_t axis : axes) sizes.push_back(shape[static_cast<size_t>(axis)]);
  return elementCount(trace, sizes);
}

/// initial= of a reduction of integers: an integer or bool, converted to `dtype`.
ValueId initialOf(Bound& a, DType dtype) {
  if (graph::isInexact(dtype) || sequenceItems(a.trace, a["initial"])) a.refuse("initial");
  graph::UfuncOperand operand = a.trace.operand(a["initial"]);
  const ValueType& type = a.trace.graph().type(operand.value);
  bool fits = operand.weak == Weak::kInt || graph::canCastSafely(type.dtype, dtype);
  if (graph::isInexact(type.dtype) || type.rank() != 0 || !fits) a.refuse("initial");
  return castOperand(a.trace, a["initial"], dtype);
}

/// NumPy adds floats in another order where an axis has one element: its neighbours in memory are one run then
/// (kernels/reduction.h, notUnit). A column is as common as a matrix: which of both it is, is a guard.
void decideOrder(Trace& trace, ValueId node, const IntList& axes) {
  const ValueType& type = trace.graph().type(node);
  const graph::Layout layout = type.layout;
  const bool copied =
      !trace.onDevice() && axes.size() > 1 && (layout.contiguity != graph::Contiguity::kPacked || layout.broadcastAxes);
  bool below = false;
  for (int8_t axis : layout.order) {
    const bool isReduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    const SymId size = shapeOf(trace, node)[static_cast<size_t>(axis)];
    const bool known = !trace.decided.contains(size) && !trace.turns.contains(size);
    if (known && (copied || (below && !isReduced))) (void)sameSize(trace, size, trace.syms().constant(1));
    below |= isReduced;
  }
}

/// What sum, prod, mean, var and std have in common.
struct Opening {
  ValueId node;
  IntList axes;
  DType input;
  graph::ReductionTypes types;
  Attrs attrs;
};

Opening opened(Bound& a, Op op) {
  graph::Graph& g = a.trace.graph();
  Opening o;
  o.node = a.array("a");
  o.input = g.type(o.node).dtype;
  o.axes = reducedAxes(a, g.type(o.node).rank());
  if (a.trace.onDevice()) checkDeviceReduction(op, o.input);
  o.types = typesOf(op, o.input, requestedType(a));
  const bool ordered = op != Op::kProd && graph::isInexact(o.types.accumulate);
  if (ordered) decideOrder(a.trace, o.node, o.axes);
  o.attrs = reductionAttrs(o.axes, keepdimsOf(a));
  return o;
}

/// The result as it leaves: into out=, or as an array or scalar.
Value* reduced(Bound& a, ValueId node) {
  Value* out = outArg(a.trace, a["out"]);
  if (!out) return a.trace.arrayOrScalar(node);
  const ValueType &to = a.trace.graph().type(out->node), &from = a.trace.graph().type(node);
  // Another element type changes what NumPy computes in, other strides may change the order in which it adds.
  if (to.dtype != from.dtype) a.refuse("out of another type than the result");
  const bool sameOrder = to.layout.order == from.layout.order && !to.layout.negativeAxes;
  if (graph::isInexact(from.dtype) && to.rank() > 0 && !sameOrder) a.refuse("out in another layout than the result");
  return writeOut(a.trace, out, node, false);
}

/// sum and prod.
Value* accumulate(Bound& a, Op op) {
  graph::Graph& g = a.trace.graph();
  Opening o = opened(a, op);
  if (!graph::canCastSafely(o.input, o.types.accumulate) && graph::isInexact(o.input) &&
      !graph::isInexact(o.types.accumulate)) {
    a.refuse("dtype");
  }
  if (o.types.accumulate != o.input && graph::isInexact(o.types.accumulate))
    o.attrs.set(AttrKey::kBuffered, int64_t{1});
  ValueId result = orBreak(g.add(op, {graph::castInside(g, o.node, o.types.accumulate)}, o.attrs));
  Value* initial = a["initial"];
  if (initial && !isNone(initial)) {
    // A float sum starts from `initial`, which is not the same as adding it at the end.
    result = ufuncNode(a.trace, op == Op::kSum ? Op::kAdd : Op::kMultiply, {initialOf(a, o.types.accumulate), result});
  }
  return reduced(a, g.cast(result, o.types.output));
}

Value* extreme(Bound& a, Op op, Op pairwise) {
  graph::Graph& g = a.trace.graph();
  ValueId node = a.array("a");
  IntList axes = reducedAxes(a, g.type(node).rank());
  bool keepdims = keepdimsOf(a);
  Value* initial = a["initial"];
  if (!initial || isNone(initial)) return reduced(a, reduceNode(a.trace, op, node, axes, keepdims));
  ValueId start = initialOf(a, g.type(node).dtype);
  return reduced(a, ufuncNode(a.trace, pairwise, {start, reduceNode(a.trace, op, node, axes, keepdims)}));
}

Value* truthOf(Bound& a, Op op) {
  graph::Graph& g = a.trace.graph();
  ValueId node = a.array("a");
  IntList axes = reducedAxes(a, g.type(node).rank());
  ValueId test = graph::castInside(g, node, DType::kBool);
  return reduced(a, g.reduce(op, test, axes, keepdimsOf(a)));
}

Value* position(Bound& a, Op op) {
  graph::Graph& g = a.trace.graph();
  ValueId node = a.array("a");
  int rank = g.type(node).rank();
  if (!absent(a["axis"]) && sequenceItems(a.trace, a["axis"])) raises("TypeError: axis of argmax is an integer");
  // A 0-d array is treated as one of a single element.
  if (rank == 0) {
    node = g.expand(node, {0});
    rank = 1;
    if (keepdimsOf(a)) a.refuse("keepdims");
  }
  IntList axes = reducedAxes(a, rank);
  const bool keepdims = keepdimsOf(a);
  SymShape shape = shapeOf(a.trace, node);
  const auto isOne = [&](int64_t axis) { return a.trace.syms().isConst(shape[static_cast<size_t>(axis)], 1); };
  if (std::all_of(axes.begin(), axes.end(), isOne)) {  // needs no element
    std::sort(axes.begin(), axes.end());
    for (size_t i = axes.size(); i-- > 0 && !keepdims;) shape.erase(shape.begin() + axes[i]);
    return reduced(a, g.full(g.constant(Scalar::zero(DType::kI64)), shape));
  }
  return reduced(a, reduceNode(a.trace, op, node, axes, keepdims));
}

/// mean, var and std: one composite op over operands of the accumulator's type.
Value* statistic(Bound& a, Op op) {
  graph::Graph& g = a.trace.graph();
  Opening o = opened(a, op);
  // NumPy's var subtracts the mean from the operand in the type that the two promote to.
  if (op != Op::kMean && !absent(a["dtype"]) && !graph::canCastSafely(o.input, o.types.accumulate)) a.refuse("dtype");
  // Asked for, it is what every step rounds to; else only the end does.
  if (o.types.output == DType::kF16 && !absent(a["dtype"])) a.refuse("dtype");
  if (o.input == DType::kF16 && !absent(a["out"])) a.refuse("out and float16");
  SymId count = reducedCount(a.trace, o.node, o.axes);
  // NumPy warns about empty slices and too few degrees of freedom.
  if (!isPositive(a.trace, count)) unsupported(std::string(a.function) + " of an empty axis");
  if (op != Op::kMean) {
    Value* ddof = a["ddof"];
    Value* correction = a["correction"];
    if (correction && !isNone(correction)) {
      if (ddof) a.refuse("both ddof and correction");
      ddof = correction;
    }
    SymId delta = ddof ? a.trace.asSym(ddof) : a.trace.syms().constant(0);
    if (!a.trace.decide(delta, Relation::kLt, count)) unsupported(std::string(a.function) + " with too few elements");
    o.attrs.set(AttrKey::kDdof, delta);
  }
  if (o.types.accumulate != o.input) o.attrs.set(AttrKey::kBuffered, int64_t{1});
  ValueId result = orBreak(g.add(op, {graph::castInside(g, o.node, o.types.accumulate)}, o.attrs));
  return reduced(a, g.cast(result, o.types.output));
}

}  // namespace

ValueId reduceNode(Trace& trace, Op op, ValueId node, const IntList& axes, bool keepdims) {
  if (trace.onDevice()) checkDeviceReduction(op, trace.graph().type(node).dtype);
  if (graph::isComplex(trace.graph().type(node).dtype)) unsupported("max, min, argmax or argmin of complex values");
  for (int64_t axis : axes) {
    SymId n = shapeOf(trace, node)[static_cast<size_t>(axis)];
    if (!isPositive(trace, n)) unsupported("max, min, argmax or argmin of an empty axis");
  }
  return orBreak(trace.graph().add(op, {node}, reductionAttrs(axes, keepdims)));
}

namespace handlers {

Value* sum(Bound& a) { return accumulate(a, Op::kSum); }
Value* prod(Bound& a) { return accumulate(a, Op::kProd); }
Value* max(Bound& a) { return extreme(a, Op::kMax, Op::kMaximum); }
Value* min(Bound& a) { return extreme(a, Op::kMin, Op::kMinimum); }
Value* any(Bound& a) { return truthOf(a, Op::kAny); }
Value* all(Bound& a) { return truthOf(a, Op::kAll); }
Value* argmax(Bound& a) { return position(a, Op::kArgmax); }
Value* argmin(Bound& a) { return position(a, Op::kArgmin); }
Value* mean(Bound& a) { return statistic(a, Op::kMean); }
Value* var(Bound& a) { return statistic(a, Op::kVar); }
Value* std(Bound& a) { return statistic(a, Op::kStd); }

Value* countNonzero(Bound& a) {
  ValueId node = a.array("a");
  IntList axes = reducedAxes(a, a.trace.graph().type(node).rank());
  ValueId test = a.trace.graph().cast(node, DType::kBool);
  return a.trace.arrayOrScalar(a.trace.graph().reduce(Op::kCountNonzero, test, axes, keepdimsOf(a)));
}

Value* ptp(Bound& a) {
  ValueId node = a.array("a");
  if (a.trace.graph().type(node).dtype == DType::kBool) raises("TypeError: numpy boolean subtract");
  IntList axes = reducedAxes(a, a.trace.graph().type(node).rank());
  bool keepdims = keepdimsOf(a);
  ValueId high = reduceNode(a.trace, Op::kMax, node, axes, keepdims);
  ValueId low = reduceNode(a.trace, Op::kMin, node, axes, keepdims);
  return reduced(a, ufuncNode(a.trace, Op::kSubtract, {high, low}));
}

}  // namespace handlers
}  // namespace fw::capture::numpy
