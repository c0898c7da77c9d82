// Copies and conversions of whole arrays: copy, astype, asarray, item.
#include "frame_eval/long_list.h"
#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {
namespace {

/// Layout of a copy under order= K, C, A or F.
graph::Layout layoutFor(Trace& trace, ValueId node, char order) {
  const ValueType& type = trace.graph().type(node);
  if (order == 'C') return graph::Layout::c(type.rank());
  if (order == 'F') return graph::Layout::f(type.rank());
  return graph::likeLayout(type.layout, graph::unitAxes(trace.syms(), shapeOf(trace, node)));
}

char orderOf(Value* order, char otherwise) {
  if (!order || isNone(order)) return otherwise;
  auto text = textOf(order);
  if (!text || text->size() != 1 || std::string_view("KCF").find(*text) == std::string_view::npos)
    unsupported("this order= argument");
  return (*text)[0];
}

/// node in another type as a fresh array of that order.
ValueId convert(Trace& trace, ValueId node, DType dtype, char order) {
  graph::Layout layout = layoutFor(trace, node, order);
  DType from = trace.graph().type(node).dtype;
  if (graph::isComplex(from) && !graph::isComplex(dtype))
    unsupported("a cast of complex values to a real type (NumPy warns)");
  if (from == dtype) return copyAs(trace, node, layout);
  ValueId converted = trace.graph().cast(node, dtype);
  return trace.graph().type(converted).layout == layout ? converted : copyAs(trace, converted, layout);
}

Value* likeInput(Trace& trace, Value* self, ValueId node) {
  return self->kind == ValueKind::kArray ? trace.array(node) : trace.arrayOrScalar(node);
}

}  // namespace

namespace handlers {

Value* copy(Bound& a) {
  ValueId node = a.array("a");
  return a.trace.array(copyAs(a.trace, node, layoutFor(a.trace, node, orderOf(a["order"], 'K'))));
}

Value* copyMethod(Bound& a) {
  if (a["a"]->kind != ValueKind::kArray) return a["a"];
  ValueId node = a.array("a");
  const char order = a.function == "ndarray.__copy__" ? 'K' : orderOf(a["order"], 'C');
  return a.trace.array(copyAs(a.trace, node, layoutFor(a.trace, node, order)));
}

Value* astype(Bound& a) {
  Value* self = a["a"];
  if (a["casting"] && textOf(a["casting"]) != "unsafe") a.refuse("casting");
  if (a["subok"]) flag(a["subok"], "subok");
  DType dtype = dtypeArg(a.trace, a["dtype"]);
  char order = orderOf(a["order"], 'K');
  bool copy = !a["copy"] || flag(a["copy"], "copy");
  const ValueType& type = a.trace.graph().type(self->node);
  if (!copy && type.dtype == dtype && self->kind == ValueKind::kArray) {
    if (order == 'K') return self;
    a.refuse("copy=False and order");
  }
  return likeInput(a.trace, self, convert(a.trace, self->node, dtype, order));
}

Value* asarray(Bound& a) {
  Value* object = a["a"];
  if (a.trace.onDevice() && object->kind != ValueKind::kArray) a.refuse("what is no array of CuPy's yet");
  char order = orderOf(a["order"], 'K');
  ValueId node = a.array("a");
  DType from = a.trace.graph().type(node).dtype;
  DType dtype = absent(a["dtype"]) ? from : dtypeArg(a.trace, a["dtype"]);
  bool scalar = object->kind != ValueKind::kArray;
  const bool given = a["copy"] && !isNone(a["copy"]);
  const bool always = given && flag(a["copy"], "copy"), never = given && !always;
  if (!scalar && order == 'K' && dtype == from && !always) return object;
  if (never) raises("ValueError: Unable to avoid copy while creating an array as requested.");
  const graph::Layout& layout = a.trace.graph().type(node).layout;
  if (!scalar && order != 'K' && dtype == from && !always) {
    if (order == 'C' ? layout.isPackedC() : layout.isPacked() && layout.isFOrder()) return object;
    a.refuse("order");
  }
  if (scalar && dtype != from && !graph::canCastSafely(from, dtype)) a.refuse("a narrowing dtype");
  return a.trace.array(scalar ? a.trace.graph().cast(node, dtype) : convert(a.trace, node, dtype, order));
}

namespace {

/// np.array but for ndmin.
Value* arrayOf(Bound& a) {
  Value* object = a["object"];
  if (object->kind == ValueKind::kArray) {
    DType from = a.trace.graph().type(object->node).dtype;
    DType dtype = absent(a["dtype"]) ? from : dtypeArg(a.trace, a["dtype"]);
    const bool optional = a["copy"] && isNone(a["copy"]);
    if (a["copy"] && (optional || !flag(a["copy"], "copy"))) {
      if (dtype == from && orderOf(a["order"], 'K') == 'K') return object;
      if (!optional) a.refuse("copy=False");
      if (orderOf(a["order"], 'K') != 'K') a.refuse("copy=None and order");
    }
    return a.trace.array(convert(a.trace, object->node, dtype, orderOf(a["order"], 'K')));
  }
  if (a["copy"] && !isNone(a["copy"]) && !flag(a["copy"], "copy")) a.refuse("copy=False");
  checkOrder(a["order"], "KN");
  ValueId node = a.array("object");
  DType from = a.trace.graph().type(node).dtype;
  DType dtype = absent(a["dtype"]) ? from : dtypeArg(a.trace, a["dtype"]);
  // Python scalars are converted one by one, with checks, where the type is narrower.
  if (!graph::canCastSafely(from, dtype) && !(graph::isFloat(from) && graph::isFloat(dtype)))
    a.refuse("a narrowing dtype");
  return a.trace.array(a.trace.graph().cast(node, dtype));
}

}  // namespace

/// Axes that ndmin asks for stand in front: a view, also of what has just been made.
Value* array(Bound& a) {
  Value* made = arrayOf(a);
  if (absent(a["ndmin"])) return made;
  const int64_t least = knownInt(a.trace, a["ndmin"]), rank = a.trace.graph().type(made->node).rank();
  if (rank >= least) return made;
  IntList axes;
  for (int64_t axis = 0; axis < least - rank; ++axis) axes.push_back(axis);
  return makeView(a.trace, made, a.trace.graph().expand(made->node, axes));
}

Value* ascontiguousarray(Bound& a) {
  Value* object = a["a"];
  const bool ours = object->kind == ValueKind::kArray && a.trace.graph().type(object->node).layout.isPackedC();
  if (a.trace.onDevice() && !ours) a.refuse("what may be contiguous for CuPy, or no array of its");
  ValueId node = a.array("a");
  DType from = a.trace.graph().type(node).dtype;
  DType dtype = absent(a["dtype"]) ? from : dtypeArg(a.trace, a["dtype"]);
  const ValueType& type = a.trace.graph().type(node);
  if (type.rank() == 0) a.refuse("a 0-d array");
  if (dtype != from) return a.trace.array(convert(a.trace, node, dtype, 'C'));
  if (object->kind == ValueKind::kArray && type.layout.isPackedC()) return object;
  bool known = object->kind != ValueKind::kArray || a.trace.graph().node(node).op == Op::kInput;
  if (!known) a.refuse("a view that may be contiguous");
  return a.trace.array(copyAs(a.trace, node, graph::Layout::c(type.rank())));
}

/// The module that is asked, where one of the arguments is an array of its own.
Value* arrayModule(Bound& a) {
  for (const Value* value : a.rest)
    if (a.trace.onDevice() && value->kind == ValueKind::kArray)
      return a.trace.constant(cpython::checked(PyImport_ImportModule(a.trace.arrays().name.c_str())).get());
  a.refuse("no array of CuPy's");
}

/// x.item() of a scalar or an array of one element known by its shape.
Value* item(Bound& a) {
  if (!a.rest.empty()) a.refuse("arguments");
  graph::Graph& g = a.trace.graph();
  ValueId node = a["a"]->node;
  if (g.type(node).rank() != 0) a.refuse("an array of rank above 0");
  DType dtype = g.type(node).dtype;
  if (dtype == DType::kBool) return a.trace.number(ValueKind::kPyBool, node);
  if (graph::isFloat(dtype)) return a.trace.number(ValueKind::kPyFloat, g.cast(node, DType::kF64));
  if (graph::isComplex(dtype)) return a.trace.number(ValueKind::kPyComplex, g.cast(node, DType::kC128));
  a.refuse("integers (a Python int computed from array data)");
}

Value* tolist(Bound& a) {
  Value* list = a.trace.loops && !a.trace.onDevice() ? LongList::ofArray(a.trace, a["a"]->node) : nullptr;
  if (!list) a.refuse("an array of more than two axes, or of such numbers");
  return list;
}

}  // namespace handlers
}  // namespace fw::capture::numpy
