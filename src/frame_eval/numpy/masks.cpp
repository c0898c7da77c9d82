// Boolean masks. Most selections go back through the same mask: a[m] = b[m], a[m] *= c. A selection is therefore a
// Value of its own (a kOpaque of class ndarray) that holds the whole array it was selected from; element by element
// operations work on that, and a store through the same mask, which is the same node, is a `where`. For any other use
// it is settled: NumPy selects, and the size of what it answers is bound then (data_sizes.cpp).
//
// On a device nobody knows the size of a selection that is settled: Python goes on from where it was made.
//
// What the mask leaves out is replaced by one where something is selected, so that operations on it raise no flags, as
// a rule; if one does, Python runs the call.
#include "frame_eval/numpy/masks.h"

#include <algorithm>

#include "frame_eval/numpy/binding.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

constexpr std::string_view kSelection = "a selection by a mask";

/// `node` where the mask is true, one elsewhere.
ValueId onlyWhere(Trace& trace, ValueId mask, ValueId node) {
  return ufuncNode(trace, Op::kWhere, {mask, node, scalarNode(trace, trace.graph().type(node).dtype, 1)});
}

/// The mask over all axes of an array of this shape; raises where NumPy does.
ValueId maskOver(Trace& trace, ValueId mask, const SymShape& shape) {
  const SymShape own = shapeOf(trace, mask);
  if (own.empty()) unsupported("indexing with a bool");
  if (own.size() > shape.size()) raises("too many indices for array");
  IntList rest;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i >= own.size()) {
      rest.push_back(static_cast<int64_t>(i));
    } else if (!sameSize(trace, own[i], shape[i])) {
      raises("IndexError: boolean index did not match indexed array");
    }
  }
  return rest.empty() ? mask : trace.graph().expand(mask, rest);
}

/// `origin`: what it is selected from as it is, if nothing has been computed.
Value* selection(Trace& trace, ValueId mask, ValueId node, Value* origin = nullptr) {
  Value* v = trace.make(ValueKind::kOpaque);
  v->cls = Ref::create(reinterpret_cast<PyObject*>(&PyArray_Type));
  v->name = kSelection;
  v->items = {trace.array(mask)};
  if (origin) v->items.push_back(trace.array(origin->node));
  v->node = node;
  return v;
}

ValueId maskOf(Value* selected) { return selected->items[0]->node; }

/// The whole array behind a selection through `mask`; scalars as they are; null for what belongs to no whole array.
Value* wholeOperand(Trace& trace, Value* value, ValueId mask) {
  if (isSelection(value)) return maskOf(value) == mask ? trace.array(value->node) : nullptr;
  const bool scalar = !sequenceItems(trace, value) && (value->isNumeric() || value->isConstant()) &&
                      trace.graph().type(trace.operand(value).value).rank() == 0;
  return scalar ? value : nullptr;
}

bool haveOneShape(Trace& trace, ValueId left, ValueId right) {
  const SymShape x = shapeOf(trace, left), y = shapeOf(trace, right);
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [&](SymId a, SymId b) {
           const bool decided = trace.decided.contains(a) || trace.decided.contains(b);
           return decided ? trace.syms().provablyEqual(a, b) == true : sameSize(trace, a, b);
         });
}

}  // namespace

Value* settled(Trace& trace, Value* value) {
  if (!isSelection(value)) return value;
  if (trace.onDevice())
    throw CaptureBreak(BreakReason::kUnsupportedNumpy, "a selection by a mask on a device", value->madeAt);
  const ValueId mask = maskOf(value);
  const ValueId from = value->items.size() > 1 ? value->items[1]->node : value->node;
  const ValueId node = selectByMask(trace, from, mask);
  value->kind = ValueKind::kArray;  // its class and name stay: an arm of a branch may be left again
  value->node = node;
  value->items.clear();
  return value;
}

bool isMask(Trace& trace, Value* index) {
  return index->kind == ValueKind::kArray && trace.graph().type(index->node).dtype == DType::kBool;
}

bool isSelection(const Value* value) { return value->kind == ValueKind::kOpaque && value->name == kSelection; }

Value* select(Trace& trace, Value* array, Value* index) {
  const ValueId mask = maskOver(trace, index->node, shapeOf(trace, array->node));
  return selection(trace, index->node, onlyWhere(trace, mask, array->node), array);
}

Value* selectionOp(Trace& trace, Op op, bool inplace, Value* left, Value* right) {
  if (inplace && !isSelection(left)) return nullptr;
  const ValueId mask = maskOf(isSelection(left) ? left : right);
  Value* a = wholeOperand(trace, left, mask);
  Value* b = wholeOperand(trace, right, mask);
  if (!a || !b) return nullptr;
  if (isSelection(left) && isSelection(right) && !haveOneShape(trace, a->node, b->node)) return nullptr;
  // Exponents other than known numbers raise for some elements, which may be such as are not selected.
  if (op == Op::kPower && !(isSelection(left) && right->isConstant())) return nullptr;
  const ValueId node = operatorNode(trace, op, a, b);
  if (!inplace) {
    Value* result = selection(trace, mask, node);
    for (const Value* from : {left, right})
      if (isSelection(from)) result->madeAt = std::min(result->madeAt, from->madeAt);
    return result;
  }
  const DType to = trace.graph().type(left->node).dtype;
  if (!graph::canCastSameKind(trace.graph().type(node).dtype, to))
    raises("UFuncTypeError: cannot cast the result of an in-place operation");
  left->node = trace.graph().cast(node, to);
  left->items.resize(1);  // it is no longer what it was selected from
  return left;
}

void storeSelected(Trace& trace, Value* array, Value* index, Value* value) {
  graph::Graph& g = trace.graph();
  const SymShape shape = shapeOf(trace, array->node);
  const ValueId mask = maskOver(trace, index->node, shape);
  if (isSelection(value)) {
    const bool fits = maskOf(value) == index->node && haveOneShape(trace, value->node, array->node);
    if (!fits) return assignThrough(trace, array, index, value);
    value = trace.array(value->node);
  } else if (sequenceItems(trace, value)) {
    unsupported("assignment of a sequence through a mask");
  } else if (g.type(trace.operand(value).value).rank() != 0) {
    return assignThrough(trace, array, index, value);
  }
  const ValueId element = elementOf(trace, value, g.type(array->node).dtype);
  writeAll(trace, array, ufuncNode(trace, Op::kWhere, {mask, element, array->node}));
}

Value* ufuncWhere(Trace& trace, Op op, std::vector<Value*> operands, Value* where, Value* out) {
  graph::Graph& g = trace.graph();
  if (!isMask(trace, where)) unsupported("this where=");
  const ValueId mask = broadcastInto(trace, where->node, shapeOf(trace, out->node), false);
  for (Value*& operand : operands) {
    if (operand->kind == ValueKind::kArray) operand = trace.array(onlyWhere(trace, mask, operand->node));
  }
  ValueId node = ufuncNode(trace, op, operands);
  const DType to = g.type(out->node).dtype;
  const DType loop = g.type(node).dtype;
  if (!graph::canCastSameKind(loop, to)) raises("UFuncTypeError: cannot cast ufunc output");
  // NumPy converts what is there as well, so that its loop can leave it where the mask is false.
  if (graph::isInexact(to) && loop != DType::kBool && !graph::canCastSafely(to, loop) && !trace.onDevice())
    unsupported("where= with an out that is wider than the loop (NumPy may warn)");
  node = broadcastInto(trace, g.cast(node, to), shapeOf(trace, out->node), false);
  writeAll(trace, out, ufuncNode(trace, Op::kWhere, {mask, node, out->node}));
  return out;
}

namespace handlers {

/// Values that are repeated or cut to the size of the array are NumPy's business.
Value* putmask(Bound& a) {
  Trace& t = a.trace;
  graph::Graph& g = t.graph();
  Value* target = a["a"];
  Value* values = a["values"];
  if (target->kind != ValueKind::kArray) raises("TypeError: putmask() argument 1 must be numpy.ndarray");
  checkWriteable(t, target);
  const DType to = g.type(target->node).dtype;
  const SymShape shape = shapeOf(t, target->node);
  auto hasShape = [&](Value* v) {
    if (v->kind != ValueKind::kArray || g.type(v->node).rank() != static_cast<int>(shape.size())) return false;
    const SymShape own = shapeOf(t, v->node);
    for (size_t i = 0; i < shape.size(); ++i)
      if (!sameSize(t, own[i], shape[i])) return false;
    return true;
  };
  if (!isMask(t, a["mask"]) || !hasShape(a["mask"])) a.refuse("this mask");
  const bool number = values->kind == ValueKind::kPyFloat || values->kind == ValueKind::kPyInt ||
                      values->kind == ValueKind::kPyBool ||
                      (values->isConstant() && isPlain(values->object.get()) && !sequenceItems(t, values));
  if (!number && (!hasShape(values) || !graph::canCastSafely(g.type(values->node).dtype, to))) a.refuse("these values");
  const ValueId element = elementOf(t, values, to);
  writeAll(t, target, ufuncNode(t, Op::kWhere, {a["mask"]->node, element, target->node}));
  return t.constant(Py_None);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
