// Calls that write into an array they are given: out= of ufuncs and reductions, np.copyto, ndarray.fill. NumPy computes
// as if the array did not overlap the operands, which is what a functional graph does anyway.
#include "cpython/numpy_api.h"
#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

Value* outArg(Trace& trace, Value* out) {
  if (!out || absent(out)) return nullptr;
  if (auto items = sequenceItems(trace, out)) {
    if (out->kind == ValueKind::kList || items->size() != 1) raises("'out' must be an array or a tuple of arrays");
    out = (*items)[0];
    if (isNone(out)) return nullptr;
  }
  if (out->kind != ValueKind::kArray) raises("TypeError: return arrays must be of ArrayType");
  checkWriteable(trace, out);
  return out;
}

void checkOwnProduct(Trace& trace, Op op, Value* out) {
  if (op != Op::kMultiply || !graph::isComplex(trace.graph().type(out->node).dtype)) return;
  const SymId count = elementCount(trace, shapeOf(trace, out->node));
  if (!trace.decide(trace.syms().constant(1), Relation::kLt, count))
    unsupported("a complex product of one element in place");
}

Value* writeOut(Trace& trace, Value* out, ValueId node, bool broadcasts) {
  graph::Graph& g = trace.graph();
  const DType to = g.type(out->node).dtype;
  if (!graph::canCastSameKind(g.type(node).dtype, to)) raises("UFuncTypeError: cannot cast ufunc output");
  const SymShape shape = shapeOf(trace, out->node);
  if (!broadcasts) {
    const SymShape own = shapeOf(trace, node);
    if (own.size() != shape.size()) raises("output parameter has the wrong number of dimensions");
    for (size_t i = 0; i < own.size(); ++i) {
      if (!sameSize(trace, own[i], shape[i])) raises("output parameter has the wrong shape");
    }
  }
  writeAll(trace, out, broadcastInto(trace, g.cast(node, to), shape, false));
  return out;
}

namespace handlers {

Value* copyto(Bound& a) {
  Trace& t = a.trace;
  graph::Graph& g = t.graph();
  Value* target = a["dst"];
  if (target->kind != ValueKind::kArray) raises("TypeError: copyto() argument 1 must be numpy.ndarray");
  const std::optional<std::string> casting = a["casting"] ? textOf(a["casting"]) : "same_kind";
  const bool any = casting == "unsafe";
  if (!any && casting != "same_kind") a.refuse("this casting");
  checkWriteable(t, target);
  const DType to = g.type(target->node).dtype;
  const SymShape shape = shapeOf(t, target->node);
  Value* source = a["src"];
  const bool array = source->kind == ValueKind::kArray || source->kind == ValueKind::kArrayScalar;
  if (!any && array && !graph::canCastSameKind(g.type(source->node).dtype, to))
    raises("TypeError: Cannot cast array data");
  // Python numbers are tested as the types that they have by default; of an int it is the value that has to fit.
  if (!any && !array && !sequenceItems(t, source)) {
    const DType from = g.type(t.operand(source).value).dtype;
    const bool byValue = graph::isInteger(from) && to != DType::kBool;
    if (!byValue && !graph::canCastSameKind(from, to)) raises("TypeError: Cannot cast scalar");
  }
  ValueId node = assignedNode(t, source, to, shape);
  Value* where = a["where"];
  if (where && !(where->isConstant() && where->object.get() == Py_True)) {
    if (where->kind != ValueKind::kArray || g.type(where->node).dtype != DType::kBool) a.refuse("this where");
    const ValueId mask = broadcastInto(t, where->node, shape, false);
    node = ufuncNode(t, Op::kWhere, {mask, node, target->node});
  }
  writeAll(t, target, node);
  return t.constant(Py_None);
}

Value* fill(Bound& a) {
  Trace& t = a.trace;
  Value* target = a["a"];
  if (target->kind != ValueKind::kArray) a.refuse("a NumPy scalar");
  checkWriteable(t, target);
  if (!isScalar(a["value"])) a.refuse("a value that is no scalar");
  const ValueType& type = t.graph().type(target->node);
  writeAll(t, target, assignedNode(t, a["value"], type.dtype, shapeOf(t, target->node)));
  return t.constant(Py_None);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
