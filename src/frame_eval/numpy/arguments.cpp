// Reading of Python arguments that have to be known when the graph is built: flags, axes, shapes, dtypes.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "cpython/warning_watch.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/support.h"
#include "guards/array_layout.h"
#include "guards/set_index.h"

namespace fw::capture::numpy {

using cpython::checked;

void unsupported(const std::string& what) { throw CaptureBreak(BreakReason::kUnsupportedNumpy, what); }
void raises(const std::string& what) { throw CaptureBreak(BreakReason::kPythonException, what); }

ValueId orBreak(absl::StatusOr<ValueId> value) {
  if (value.ok()) return *value;
  std::string what(value.status().message());
  if (absl::IsInvalidArgument(value.status())) raises(std::move(what));
  unsupported(std::move(what));
}

bool isNone(Value* value) {
  if (!value->isConstant()) return false;
  PyObject* o = value->object.get();
  return o == Py_None || cpython::isNoValue(o);
}

bool absent(Value* value) { return !value || isNone(value); }

bool flag(Value* value, const char* what) {
  if (value->isConstant()) {
    PyObject* o = value->object.get();
    if (PyBool_Check(o)) return o == Py_True;
    if (PyLong_CheckExact(o)) return checked(PyObject_IsTrue(o)) != 0;
  }
  unsupported(std::string(what) + " that is not a plain bool");
}

std::optional<std::vector<Value*>> sequenceItems(Trace& trace, Value* value) {
  if (value->kind == ValueKind::kTuple || value->kind == ValueKind::kList) return value->items;
  if (!value->isConstant() || !PyTuple_CheckExact(value->object.get())) return std::nullopt;
  std::vector<Value*> items;
  PyObject* tuple = value->object.get();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) items.push_back(trace.constant(PyTuple_GET_ITEM(tuple, i)));
  return items;
}

int64_t knownInt(Trace& trace, Value* value) {
  if (value->isConstant() && PyFloat_Check(value->object.get())) raises("an integer is required");
  return trace.specialize(trace.asSym(value));
}

std::optional<std::string> textOf(Value* value) {
  if (!value->isConstant() || !PyUnicode_CheckExact(value->object.get())) return std::nullopt;
  const char* text = PyUnicode_AsUTF8(value->object.get());
  if (!text) throw cpython::PythonError();
  return text;
}

std::optional<DType> dtypeOfObject(PyObject* object) {
  // Only objects whose conversion runs no user code.
  bool plain =
      PyArray_DescrCheck(object) || PyUnicode_CheckExact(object) ||
      object == reinterpret_cast<PyObject*>(&PyFloat_Type) || object == reinterpret_cast<PyObject*>(&PyLong_Type) ||
      object == reinterpret_cast<PyObject*>(&PyBool_Type) || object == reinterpret_cast<PyObject*>(&PyComplex_Type);
  if (!plain && PyType_Check(object)) {
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    plain = PyType_IsSubtype(type, &PyGenericArrType_Type) && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  }
  if (!plain) return std::nullopt;
  PyArray_Descr* descr = nullptr;
  std::optional<cpython::WarningWatch> watch;  // some names are outdated
  if (PyUnicode_CheckExact(object)) watch.emplace();
  if (!PyArray_DescrConverter(object, &descr)) {
    PyErr_Clear();
    return std::nullopt;
  }
  Ref owned = Ref::steal(reinterpret_cast<PyObject*>(descr));
  if (watch && watch->hasWarned()) return std::nullopt;
  return guards::dtypeOf(descr);
}

DType dtypeArg(Trace& trace, Value* value) {
  Ref object = trace.asObject(value);
  auto dtype = object ? dtypeOfObject(object.get()) : std::nullopt;
  if (!dtype) unsupported("this dtype argument");
  return *dtype;
}

/// Where NumPy's C code wants an integer it takes no bool, but NumPy's Python code does here and there: left to it.
static void refuseTruth(Trace& trace, Value* value) {
  trace.open(value);
  const bool truth = value->kind == ValueKind::kPyBool || (value->isConstant() && PyBool_Check(value->object.get()));
  if (truth) raises("a bool is no size and no axis");
}

SymId sizeArg(Trace& trace, Value* size) {
  refuseTruth(trace, size);
  return trace.asSize(size);
}

int axisArg(Trace& trace, Value* axis, int rank) {
  refuseTruth(trace, axis);
  int64_t a = knownInt(trace, axis);
  if (a < -rank || a >= rank) raises("AxisError: axis " + std::to_string(a) + " is out of bounds");
  return static_cast<int>(a < 0 ? a + rank : a);
}

IntList axesArg(Trace& trace, Value* axis, int rank) {
  IntList axes;
  if (absent(axis)) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  if (axis->kind == ValueKind::kList) raises("a list of axes");
  if (auto items = sequenceItems(trace, axis)) {
    for (Value* item : *items) axes.push_back(axisArg(trace, item, rank));
  } else {
    axes.push_back(axisArg(trace, axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) raises("duplicate value in 'axis'");
  return axes;
}

SymShape shapeArg(Trace& trace, Value* shape) {
  SymShape result;
  if (auto items = sequenceItems(trace, shape)) {
    for (Value* item : *items) result.push_back(sizeArg(trace, item));
  } else {
    result.push_back(sizeArg(trace, shape));
  }
  for (SymId s : result) {
    if (!trace.decide(trace.syms().constant(0), Relation::kLe, s)) raises("negative dimensions are not allowed");
  }
  checkElementCount(trace, result);
  return result;
}

void checkElementCount(Trace& trace, const SymShape& shape) {
  // Sizes in bytes are computed without checks for overflow.
  constexpr int64_t kMost = int64_t{1} << 46;
  std::vector<int64_t> symbols;
  for (SymId size : shape) guards::symbolsIn(trace.syms(), trace.syms().canonical(size), symbols);
  auto isDim = [&](int64_t symbol) {
    using From = guards::SymbolBinding::From;
    const From from = trace.guardSet().symbols[static_cast<size_t>(symbol)].from;
    return from == From::kDim || from == From::kCall;
  };
  bool constant = symbols.empty() && trace.syms().asConst(trace.syms().product(shape));
  if (!constant && std::all_of(symbols.begin(), symbols.end(), isDim)) return;  // of arrays that exist
  SymId count = trace.syms().constant(1);
  for (SymId size : shape) {
    if (!trace.ensureWithin(size, 0, kMost)) raises("array is too big");
    count = trace.syms().mul(count, trace.syms().canonical(size));
    if (!trace.ensureWithin(count, 0, kMost)) raises("array is too big");
  }
}

void checkOrder(Value* order, const char* also) {
  if (!order) return;
  auto text = textOf(order);
  if (text && text->size() == 1 && (*text == "C" || std::string_view(also).find(*text) != std::string_view::npos))
    return;
  if (isNone(order) && std::string_view(also).find('N') != std::string_view::npos) return;
  unsupported("this order= argument");
}

bool isPlace(Trace& trace, const Value* index) {
  return DataInts::isWhole(index) ||
         (index->kind == ValueKind::kArrayScalar && graph::isInteger(trace.graph().type(index->node).dtype));
}

bool isPositive(Trace& trace, SymId size) { return trace.decide(trace.syms().constant(1), Relation::kLe, size); }

}  // namespace fw::capture::numpy
