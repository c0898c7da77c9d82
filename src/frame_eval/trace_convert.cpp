// From values of the trace to other forms: operands of the graph, symbolic integers, Python objects, types; and the
// concrete evaluation of Python numbers behind specializeNumber().
#include <cmath>

#include "cpython/elements.h"
#include "cpython/numpy_api.h"
#include "frame_eval/classes.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/trace.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;
using graph::Scalar;

namespace {

std::string typeName(PyObject* object) { return Py_TYPE(object)->tp_name; }

/// Element of a NumPy scalar object as graph constant.
std::optional<Scalar> scalarOf(PyObject* object) {
  auto dtype = guards::dtypeOfScalarType(Py_TYPE(object));
  if (!dtype) return std::nullopt;
  Scalar s{.dtype = *dtype};
  char bytes[16] = {};
  PyArray_ScalarAsCtype(object, bytes);
  int size = graph::itemSize(*dtype);
  if (size == 16) {
    memcpy(&s.lo, bytes, 8);
    memcpy(&s.hi, bytes + 8, 8);
  } else {
    memcpy(&s.lo, bytes, size);
  }
  return s;
}

}  // namespace

graph::UfuncOperand Trace::operand(Value* value) {
  using graph::Weak;
  open(value);
  if (MixedNumbers::mayBeInt(value)) branches.refuse(value);  // who can do with a float takes the node
  switch (value->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar:
    case ValueKind::kPyBool: return {value->node, Weak::kNo};
    case ValueKind::kPyFloat: return {value->node, Weak::kFloat};
    case ValueKind::kPyComplex: return {value->node, Weak::kComplex};
    case ValueKind::kDataInt: return {value->node, Weak::kInt};
    case ValueKind::kPyInt: return {graph_.sym(syms().canonical(value->sym)), Weak::kInt};
    case ValueKind::kConstant: {
      PyObject* o = value->object.get();
      if (PyBool_Check(o)) return {graph_.constant(Scalar::ofBool(o == Py_True)), Weak::kNo};
      if (PyFloat_CheckExact(o)) {
        return {graph_.constant(Scalar::ofDouble(DType::kF64, PyFloat_AS_DOUBLE(o))), Weak::kFloat};
      }
      if (PyComplex_CheckExact(o)) {
        std::complex<double> c(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
        return {graph_.constant(Scalar::ofComplex(DType::kC128, c)), Weak::kComplex};
      }
      if (PyLong_CheckExact(o)) {
        int overflow = 0;
        int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) fail(BreakReason::kUnsupportedNumpy, "a Python integer outside int64 as operand of an array");
        return {graph_.constant(Scalar::ofInt(DType::kI64, v)), Weak::kInt};
      }
      if (auto s = scalarOf(o)) return {graph_.constant(*s), Weak::kNo};
      fail(BreakReason::kUnsupportedNumpy, "operand of type " + typeName(o));
    }
    case ValueKind::kTuple: fail(BreakReason::kUnsupportedNumpy, "operand of type tuple");
    case ValueKind::kLongList:
    case ValueKind::kPooledList:
    case ValueKind::kList: fail(BreakReason::kUnsupportedNumpy, "operand of type list");
    case ValueKind::kDict: fail(BreakReason::kUnsupportedNumpy, "operand of type dict");
    case ValueKind::kSlice: fail(BreakReason::kUnsupportedNumpy, "operand of type slice");
    case ValueKind::kRange: fail(BreakReason::kUnsupportedNumpy, "operand of type range");
    case ValueKind::kSet: fail(BreakReason::kUnsupportedNumpy, "operand of type set");
    case ValueKind::kDeque: fail(BreakReason::kUnsupportedNumpy, "operand of type deque");
    case ValueKind::kWorkTable:
      fail(BreakReason::kUnsupportedNumpy, std::string("operand of type ") + typeOf(value)->tp_name);
    case ValueKind::kOpaque:
      if (numpy::isSelection(value)) return operand(numpy::settled(*this, value));
      [[fallthrough]];
    case ValueKind::kException:
    case ValueKind::kObject: refuseOpaque(value); [[fallthrough]];
    case ValueKind::kInstance:
      fail(BreakReason::kUnsupportedNumpy, std::string("operand of type ") + typeOf(value)->tp_name);
    case ValueKind::kUnjoined: branches.refuse(value);
    case ValueKind::kIterator:
    case ValueKind::kFunction:
    case ValueKind::kMethod:
    case ValueKind::kCell:
    case ValueKind::kNull:
    case ValueKind::kSuper:
    case ValueKind::kUnread: fail(BreakReason::kUnsupportedNumpy, "operand that is not a number");
  }
  FW_UNREACHABLE();
}

graph::SymId Trace::asSym(Value* value) {
  open(value);
  if (value->kind == ValueKind::kPyInt) return syms().canonical(value->sym);
  if (value->kind == ValueKind::kDataInt) {
    if (!value->name.empty()) branches.refuse(value);
    fail(BreakReason::kDataDependentShape, "an integer computed from array data");
  }
  if (value->isConstant()) {
    PyObject* o = value->object.get();
    if (PyLong_Check(o) && (PyLong_CheckExact(o) || PyBool_Check(o))) {
      int overflow = 0;
      int64_t v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (!overflow) return syms().constant(v);
      fail(BreakReason::kUnsupportedObject, "a Python integer outside int64");
    }
    if (PyArray_IsScalar(o, Integer)) {
      auto s = scalarOf(o);
      if (s) return syms().constant(s->asInt());
    }
  }
  if (value->kind == ValueKind::kArray || value->kind == ValueKind::kArrayScalar) {
    fail(BreakReason::kDataDependentShape, "an integer computed from array data");
  }
  fail(BreakReason::kUnsupportedObject, "an integer is needed here");
}

graph::SymId Trace::asSize(Value* value) {
  constexpr int64_t kMost = int64_t{1} << 46;  // what is larger no memory holds
  DataInts ints{*this};
  const bool element = value->kind == ValueKind::kArrayScalar && !value->which && !onDevice() &&
                       graph::isInteger(graph_.type(value->node).dtype);
  if (element && !numbers_.of(value)) value = ints.fromNumber(value->node);
  if (value->kind != ValueKind::kDataInt) return asSym(value);
  return ints.symbol(value, syms().constant(-kMost), syms().constant(kMost));
}

Ref Trace::asObject(Value* value) {
  Nesting nesting(*this);
  open(value);
  if (value->isConstant()) return value->object;
  if (value->cls) return {};
  bool tuple = value->kind == ValueKind::kTuple;
  if (!tuple && value->kind != ValueKind::kSlice) return {};
  std::vector<Ref> items;
  for (Value* item : value->items) {
    Ref object = asObject(item);
    if (!object) return {};
    items.push_back(std::move(object));
  }
  if (!tuple) return checked(PySlice_New(items[0].get(), items[1].get(), items[2].get()));
  Ref result = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) PyTuple_SET_ITEM(result.get(), i, items[i].release());
  return result;
}

PyTypeObject* Trace::typeOf(Value* value) {
  switch (value->kind) {
    case ValueKind::kConstant: {
      PyTypeObject* type = Py_TYPE(value->object.get());
      (void)mroOf(type);
      return type;
    }
    case ValueKind::kObject: {
      PyTypeObject* type = Py_TYPE(value->object.get());
      (void)mroOf(type);
      if (!value->typed) {
        if (isMadeByEveryCall(type, code))
          fail(BreakReason::kUnsupportedObject,
               std::string("an object of a class that every call makes anew: ") + type->tp_name);
        value->typed = true;
        guard({.kind = guards::GuardKind::kType,
               .source = value->source,
               .object = Ref::create(reinterpret_cast<PyObject*>(type))});
      }
      return type;
    }
    case ValueKind::kInstance: return reinterpret_cast<PyTypeObject*>(value->object.get());
    case ValueKind::kArray: return arrays().type;
    case ValueKind::kArrayScalar:
      if (value->which) branches.refuse(value);
      return guards::scalarType(graph_.type(value->node).dtype);
    case ValueKind::kPyFloat: return &PyFloat_Type;
    case ValueKind::kDataInt:
    case ValueKind::kPyInt: return &PyLong_Type;
    case ValueKind::kPyBool: return &PyBool_Type;
    case ValueKind::kPyComplex: return &PyComplex_Type;
    case ValueKind::kSet:
    case ValueKind::kWorkTable:
    case ValueKind::kOpaque: return reinterpret_cast<PyTypeObject*>(value->cls.get());
    case ValueKind::kException: return reinterpret_cast<PyTypeObject*>(value->object.get());
    case ValueKind::kTuple: return value->cls ? reinterpret_cast<PyTypeObject*>(value->cls.get()) : &PyTuple_Type;
    case ValueKind::kLongList:
      if (value->cls) return reinterpret_cast<PyTypeObject*>(value->cls.get());
      [[fallthrough]];
    case ValueKind::kPooledList:
    case ValueKind::kList: return &PyList_Type;
    case ValueKind::kDict: return value->cls ? reinterpret_cast<PyTypeObject*>(value->cls.get()) : &PyDict_Type;
    case ValueKind::kDeque: return cpython::dequeType();
    case ValueKind::kSlice: return &PySlice_Type;
    case ValueKind::kRange: return &PyRange_Type;
    case ValueKind::kFunction: return &PyFunction_Type;
    case ValueKind::kMethod: return value->name.empty() ? &PyMethod_Type : &PyCFunction_Type;
    case ValueKind::kCell:
      // Cells of variables are nothing else; one that is a value like others may be another object on the next call.
      if (value->source.valid() && !value->typed) {
        value->typed = true;
        guard({.kind = guards::GuardKind::kType,
               .source = value->source,
               .object = Ref::create(reinterpret_cast<PyObject*>(&PyCell_Type))});
      }
      return &PyCell_Type;
    case ValueKind::kSuper: return &PySuper_Type;
    case ValueKind::kIterator:
      if (value->cls) return reinterpret_cast<PyTypeObject*>(value->cls.get());
      break;
    case ValueKind::kNull:
    case ValueKind::kUnjoined: branches.refuse(value);
    case ValueKind::kUnread: break;
  }
  fail(BreakReason::kUnsupportedObject, "type of an iterator");
}

// ---- concrete numbers ---------------------------------------------------------------------------------------------

Value* Trace::specializeNumber(Value* value) {
  open(value);
  if (value->isConstant()) return value;
  // From now on the Value is that number, one object wherever it goes.
  auto become = [&](Ref number) {
    if (!value->source.valid()) value->object = std::move(number);
    value->kind = ValueKind::kConstant;
    return value;
  };
  if (value->kind == ValueKind::kPyInt) return become(checked(PyLong_FromLongLong(specialize(value->sym))));
  if (value->kind == ValueKind::kPyComplex) {
    if (!value->source.valid()) return nullptr;
    return guardedConstant(value->source, value->object.get(), guards::GuardKind::kEquals);
  }
  if (value->kind != ValueKind::kPyFloat && value->kind != ValueKind::kPyBool) return nullptr;
  if (value->source.valid() && value->kind == ValueKind::kPyFloat) {
    return become(guardedConstant(value->source, value->object.get(), guards::GuardKind::kEquals)->object);
  }
  auto number = numbers_.of(value);
  if (!number) return nullptr;
  Value* known = numbers_.specialize(*number);
  return value->kind == ValueKind::kPyBool ? known : become(known->object);
}

}  // namespace fw::capture
