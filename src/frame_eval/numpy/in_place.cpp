#include "frame_eval/numpy/in_place.h"

#include "cpython/numpy_api.h"
#include "frame_eval/nesting.h"
#include "graph/alias.h"

namespace fw::capture::numpy {
namespace {

using cpython::checked;

/// A copy of the array in front of the arguments, which the function has changed.
PyObject* changed(PyObject* function, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (count == 0 || !PyArray_Check(arguments[0])) return PyErr_Format(PyExc_TypeError, "not an array");
  const Ref copy = Ref::steal(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(arguments[0]), NPY_CORDER));
  if (!copy) return nullptr;
  const Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
  std::vector<PyObject*> given(arguments, arguments + all);
  given[0] = copy.get();
  const Ref done = Ref::steal(PyObject_Vectorcall(function, given.data(), static_cast<size_t>(count), names));
  return done ? Py_NewRef(copy.get()) : nullptr;
}

void refuseShared(Trace& trace, ValueId array, Value* argument) {
  const Nesting nesting(trace);
  settled(trace, argument);
  if (argument->kind == ValueKind::kArray && graph::alias(trace.graph(), array, argument->node) != graph::Alias::kNone)
    throw CaptureBreak(BreakReason::kUnsupportedWrite, "an array gets parts of its own");
  for (Value* item : argument->items)
    if (item && argument->kind != ValueKind::kArray) refuseShared(trace, array, item);
}

/// Whether NumPy may say of it that it drops imaginary parts, where it is stored as something else.
bool isComplexNumber(Trace& trace, const Value* value) {
  if (value->kind == ValueKind::kList || value->kind == ValueKind::kTuple)
    return std::any_of(value->items.begin(), value->items.end(),
                       [&](const Value* item) { return isComplexNumber(trace, item); });
  if (value->isConstant())
    return PyComplex_Check(value->object.get()) || PyArray_IsScalar(value->object.get(), ComplexFloating);
  if (value->kind == ValueKind::kPyComplex) return true;
  const bool hasNode = value->kind == ValueKind::kArray || value->kind == ValueKind::kArrayScalar;
  return hasNode && graph::isComplex(trace.graph().type(value->node).dtype);
}

}  // namespace

Ref changing(const Ref& function) {
  static PyMethodDef method = {"changed", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(changed)),
                               METH_FASTCALL | METH_KEYWORDS, nullptr};
  return checked(PyCFunction_New(&method, function.get()));
}

void changeBy(Trace& trace, Value* array, Ref function, LibraryNode what) {
  checkWriteable(trace, array);
  const ValueType type = trace.graph().type(array->node);
  if (type.layout.rank() == 0) unsupported(std::string(what.name) + " of an array of rank 0");
  if (type.layout.rank() > 1 && (!type.layout.isCOrder() || type.layout.broadcastAxes || type.layout.negativeAxes))
    unsupported(std::string(what.name) + " of an array that is not in C order");
  for (Value* argument : what.positional) {
    refuseShared(trace, array->node, argument);
    what.watched |= isComplexNumber(trace, argument) && !graph::isComplex(type.dtype);
  }
  for (const auto& [name, argument] : what.keywords) refuseShared(trace, array->node, argument);
  what.positional.insert(what.positional.begin(), trace.array(array->node));
  what.function = changing(function);
  const ValueId result = libraryNode(trace, std::move(what), [&](ValueId) {
    return std::vector{freshType(type.dtype, shapeOf(trace, array->node))};
  })[0];
  writeAll(trace, array, result);
}

namespace handlers {

/// Functions and methods whose first argument is what they change; they answer nothing.
Value* changesFirst(Bound& a) {
  Value* array = a.values[0].second;
  if (array->kind != ValueKind::kArray) a.refuse("something that is no array");
  if (a.trace.onDevice()) a.refuse("an array of a device");
  LibraryNode what{.name = a.function, .function = {}, .positional = a.rest};
  for (size_t i = 1; i < a.values.size(); ++i) {
    if (i < a.positional)
      what.positional.push_back(a.values[i].second);
    else
      what.keywords.push_back(a.values[i]);
  }
  changeBy(a.trace, array, functionOf(a), std::move(what));
  return a.trace.constant(Py_None);
}

}  // namespace handlers
}  // namespace fw::capture::numpy
