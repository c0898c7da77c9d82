// Builtin functions and types. Handlers see arguments as Values and say what CPython would answer; a form of call that is
// not understood breaks with kUnsupportedCall. The table is builtins.def.
#include "frame_eval/builtins.h"

#include <cstring>

#include "cpython/numpy_api.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;

namespace {

Value* boolean(Trace& trace, bool value) { return trace.constant(value ? Py_True : Py_False); }

/// Told by C identity, not by what the builtins module holds now: that may have been changed.
bool isBuiltin(PyObject* callable, const char* name, bool isType) {
  if (isType) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable);
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && std::strcmp(type->tp_name, name) == 0;
  }
  auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
  PyObject* module = function->m_module;
  return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "builtins") == 0 &&
         std::strcmp(function->m_ml->ml_name, name) == 0;
}

bool isNumpyValue(Value* v) { return v->kind == ValueKind::kArray || v->kind == ValueKind::kArrayScalar; }

}  // namespace

void Builtins::expect(const CallArgs& args, size_t least, size_t most) const {
  if (args.keywords.empty() && args.positional.size() >= least && args.positional.size() <= most) return;
  trace.fail(BreakReason::kUnsupportedCall, std::string(name) + "() with these arguments");
}

Value* Builtins::iterator(std::vector<Value*> items) const {
  Value* v = trace.make(ValueKind::kIterator);
  v->items = std::move(items);
  return v;
}

Value* Builtins::callLen(const CallArgs& args) {
  expect(args, 1, 1);
  return interpreter.length(args.positional[0]);
}

Value* Builtins::callRange(const CallArgs& args) {
  expect(args, 1, 3);
  Ref bounds = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i) {
    int64_t bound = trace.specialize(trace.asSym(args.positional[i]));
    PyTuple_SET_ITEM(bounds.get(), i, checked(PyLong_FromLongLong(bound)).release());
  }
  return interpreter.fold(PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), bounds.get()));
}

// ---- types ---------------------------------------------------------------------------------------------------------

Value* Builtins::callType(const CallArgs& args) {
  expect(args, 1, 1);
  return trace.constant(reinterpret_cast<PyObject*>(trace.typeOf(args.positional[0])));
}

Value* Builtins::callIsinstance(const CallArgs& args) {
  expect(args, 2, 2);
  std::vector<Value*> classes{args.positional[1]};
  bool answer = false;
  PyTypeObject* type = trace.typeOf(args.positional[0]);
  for (size_t i = 0; i < classes.size(); ++i) {
    Value* cls = classes[i];
    if (cls->kind == ValueKind::kTuple || (cls->isConstant() && PyTuple_CheckExact(cls->object.get()))) {
      std::vector<Value*> more = interpreter.iterate(cls);
      classes.insert(classes.end(), more.begin(), more.end());
      continue;
    }
    // Classes with their own __instancecheck__ (ABCs) would run Python code.
    if (!cls->isConstant() || Py_TYPE(cls->object.get()) != &PyType_Type) {
      trace.fail(BreakReason::kUnsupportedCall, "isinstance() with a class that decides itself");
    }
    auto* other = reinterpret_cast<PyTypeObject*>(cls->object.get());
    if (!answer && PyType_IsSubtype(type, other)) answer = true;
    // __class__ may be overridden by the instance's class; then isinstance asks it.
    if (!answer && args.positional[0]->kind == ValueKind::kObject) {
      Ref dunder = checked(PyUnicode_InternFromString("__class__"));
      if (_PyType_Lookup(type, dunder.get()) != _PyType_Lookup(&PyBaseObject_Type, dunder.get())) {
        trace.fail(BreakReason::kUnsupportedCall, "isinstance() of an object that overrides __class__");
      }
    }
  }
  return boolean(trace, answer);
}

Value* Builtins::callCallable(const CallArgs& args) {
  expect(args, 1, 1);
  return boolean(trace, trace.typeOf(args.positional[0])->tp_call != nullptr);
}

// ---- numbers -------------------------------------------------------------------------------------------------------

Value* Builtins::callFloat(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return interpreter.fold(PyFloat_FromDouble(0));
  Value* v = args.positional[0];
  if (isNumpyValue(v)) {
    const graph::ValueType& type = trace.graph().type(v->node);
    // A 1-element array of higher rank works too, with a warning.
    if (type.rank() != 0 || graph::isComplex(type.dtype)) {
      trace.fail(BreakReason::kUnsupportedCall, "float() of this array");
    }
    return trace.number(ValueKind::kPyFloat, trace.graph().cast(v->node, DType::kF64));
  }
  if (v->kind == ValueKind::kPyFloat) return v;
  if (v->kind == ValueKind::kPyInt || v->kind == ValueKind::kPyBool) {
    return trace.number(ValueKind::kPyFloat, interpreter.asFloat(v));
  }
  if (v->isConstant() && isPlain(v->object.get())) return interpreter.fold(PyNumber_Float(v->object.get()));
  trace.fail(BreakReason::kUnsupportedCall, std::string("float() of a ") + trace.typeOf(v)->tp_name);
}

Value* Builtins::callInt(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return interpreter.fold(PyLong_FromLong(0));
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kPyInt) return v;
  if (isNumpyValue(v)) trace.fail(BreakReason::kDataDependentShape, "int() of array data");
  Value* known = trace.specializeNumber(v);
  if (!known) {
    if (v->isNumeric()) trace.fail(BreakReason::kDataDependentShape, "int() of a number computed from array data");
    trace.fail(BreakReason::kUnsupportedCall, std::string("int() of a ") + trace.typeOf(v)->tp_name);
  }
  if (!isPlain(known->object.get())) trace.fail(BreakReason::kUnsupportedCall, "int() of this object");
  return interpreter.fold(PyNumber_Long(known->object.get()));
}

Value* Builtins::callBool(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return boolean(trace, false);
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kPyBool) return v;
  if (isNumpyValue(v)) {
    if (trace.graph().type(v->node).rank() != 0) trace.fail(BreakReason::kUnsupportedCall, "bool() of this array");
    return trace.number(ValueKind::kPyBool, trace.graph().cast(v->node, DType::kBool));
  }
  return boolean(trace, trace.truth(v));
}

Value* Builtins::callStr(const CallArgs& args) {
  expect(args, 1, 1);
  Value* known = trace.specializeNumber(args.positional[0]);
  if (!known || !isPlain(known->object.get())) trace.fail(BreakReason::kUnsupportedCall, "str() of this object");
  return interpreter.fold(PyObject_Str(known->object.get()));
}

Value* Builtins::callAbs(const CallArgs& args) {
  expect(args, 1, 1);
  Value* v = args.positional[0];
  if (isNumpyValue(v)) {
    if (auto result = numpy::callMethod(trace, v, "__abs__", {})) return *result;
    trace.fail(BreakReason::kUnsupportedNumpy, "abs() of an array");
  }
  if (v->kind == ValueKind::kPyFloat) {
    return trace.number(ValueKind::kPyFloat, trace.graph().unary(Op::kAbsolute, v->node));
  }
  if (v->kind == ValueKind::kPyInt) {
    bool negative = trace.decide(v->sym, guards::Relation::kLt, trace.syms().constant(0));
    return negative ? interpreter.unary(numpy::Unary::kNegative, v) : v;
  }
  Value* known = trace.specializeNumber(v);
  if (known && isPlain(known->object.get())) return interpreter.fold(PyNumber_Absolute(known->object.get()));
  trace.fail(BreakReason::kUnsupportedCall, std::string("abs() of a ") + trace.typeOf(v)->tp_name);
}

Value* Builtins::extreme(const CallArgs& args, int op) {
  std::vector<Value*> items = args.positional;
  if (!args.keywords.empty() || items.empty()) expect(args, 1, 0);
  if (items.size() == 1) items = interpreter.iterate(items[0]);
  if (items.empty()) interpreter.raises("ValueError: " + std::string(name) + "() of an empty sequence");
  Value* best = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    if (trace.truth(interpreter.compare(op, items[i], best))) best = items[i];
  }
  return best;
}

Value* Builtins::callMin(const CallArgs& args) { return extreme(args, Py_LT); }
Value* Builtins::callMax(const CallArgs& args) { return extreme(args, Py_GT); }

Value* Builtins::callSum(const CallArgs& args) {
  expect(args, 1, 2);
  Value* total = args.positional.size() == 2 ? args.positional[1] : trace.constant(checked(PyLong_FromLong(0)));
  std::vector<Value*> items = interpreter.iterate(args.positional[0]);
  for (Value* item : items) {
    // 3.12 sums floats with compensation; that is left to Python.
    bool isFloat = trace.typeOf(item) == &PyFloat_Type || trace.typeOf(item) == &PyComplex_Type;
    if (isFloat) trace.fail(BreakReason::kUnsupportedCall, "sum() of Python floats");
    total = interpreter.binary(cpython::kNbAdd, false, total, item);
  }
  return total;
}

Value* Builtins::callRound(const CallArgs& args) {
  expect(args, 1, 2);
  Value* number = trace.specializeNumber(args.positional[0]);
  Value* digits = args.positional.size() == 2 ? trace.specializeNumber(args.positional[1]) : nullptr;
  bool known = number && isPlain(number->object.get()) && (args.positional.size() == 1 || digits);
  if (!known) trace.fail(BreakReason::kUnsupportedCall, "round() of this object");
  Ref function = checked(PyObject_GetAttrString(number->object.get(), "__round__"));
  return interpreter.fold(digits ? PyObject_CallOneArg(function.get(), digits->object.get())
                                 : PyObject_CallNoArgs(function.get()));
}

Value* Builtins::callPow(const CallArgs& args) {
  expect(args, 2, 2);
  return interpreter.binary(cpython::kNbPower, false, args.positional[0], args.positional[1]);
}

Value* Builtins::callDivmod(const CallArgs& args) {
  expect(args, 2, 2);
  if (isNumpyValue(args.positional[0]) || isNumpyValue(args.positional[1])) expect(args, 3, 0);
  Value* quotient = interpreter.binary(cpython::kNbFloorDivide, false, args.positional[0], args.positional[1]);
  return trace.tuple({quotient, interpreter.binary(cpython::kNbRemainder, false, args.positional[0], args.positional[1])});
}

// ---- iteration and containers --------------------------------------------------------------------------------------

Value* Builtins::callAny(const CallArgs& args) {
  expect(args, 1, 1);
  for (Value* item : interpreter.iterate(args.positional[0])) {
    if (trace.truth(item)) return boolean(trace, true);
  }
  return boolean(trace, false);
}

Value* Builtins::callAll(const CallArgs& args) {
  expect(args, 1, 1);
  for (Value* item : interpreter.iterate(args.positional[0])) {
    if (!trace.truth(item)) return boolean(trace, false);
  }
  return boolean(trace, true);
}

Value* Builtins::callEnumerate(const CallArgs& args) {
  Value* start = trace.constant(checked(PyLong_FromLong(0)));
  CallArgs rest = args;
  if (rest.keywords.size() == 1 && rest.keywords[0].first == "start") {
    rest.positional.push_back(rest.keywords[0].second);
    rest.keywords.clear();
  }
  expect(rest, 1, 2);
  if (rest.positional.size() == 2) start = rest.positional[1];
  std::vector<Value*> pairs;
  Value* one = trace.constant(checked(PyLong_FromLong(1)));
  for (Value* item : interpreter.iterate(rest.positional[0])) {
    pairs.push_back(trace.tuple({start, item}));
    start = interpreter.binary(cpython::kNbAdd, false, start, one);
  }
  return iterator(std::move(pairs));
}

Value* Builtins::callZip(const CallArgs& args) {
  CallArgs rest = args;
  bool strict = false;
  if (rest.keywords.size() == 1 && rest.keywords[0].first == "strict") {
    strict = trace.truth(rest.keywords[0].second);
    rest.keywords.clear();
  }
  expect(rest, 0, SIZE_MAX);
  std::vector<std::vector<Value*>> columns;
  size_t rows = rest.positional.empty() ? 0 : SIZE_MAX;
  for (Value* iterable : rest.positional) {
    columns.push_back(interpreter.iterate(iterable));
    rows = std::min(rows, columns.back().size());
  }
  std::vector<Value*> tuples;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<Value*> row;
    for (auto& column : columns) row.push_back(column[i]);
    tuples.push_back(trace.tuple(std::move(row)));
  }
  for (auto& column : columns) {
    if (strict && column.size() != rows) interpreter.raises("ValueError: zip() of different lengths");
  }
  return iterator(std::move(tuples));
}

Value* Builtins::callReversed(const CallArgs& args) {
  expect(args, 1, 1);
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kIterator) interpreter.raises("TypeError: an iterator is not reversible");
  std::vector<Value*> items = interpreter.iterate(v);
  return iterator({items.rbegin(), items.rend()});
}

/// Applied at once: with functions that only compute, nobody can tell the difference.
Value* Builtins::callMap(const CallArgs& args) {
  expect(args, 2, SIZE_MAX);
  CallArgs columns{.positional = {args.positional.begin() + 1, args.positional.end()}, .keywords = {}};
  std::vector<Value*> results;
  for (Value* row : callZip(columns)->items) {
    results.push_back(interpreter.call(args.positional[0], {.positional = row->items, .keywords = {}}));
  }
  return iterator(std::move(results));
}

Value* Builtins::callTuple(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return trace.tuple({});
  Value* v = args.positional[0];
  bool already = v->kind == ValueKind::kTuple || (v->isConstant() && PyTuple_CheckExact(v->object.get()));
  return already ? v : trace.tuple(interpreter.iterate(v));
}

Value* Builtins::callList(const CallArgs& args) {
  expect(args, 0, 1);
  return trace.list(args.positional.empty() ? std::vector<Value*>() : interpreter.iterate(args.positional[0]));
}

Value* Builtins::callDict(const CallArgs& args) {
  Value* dict = trace.make(ValueKind::kDict);
  if (args.positional.size() > 1) expect(args, 0, 1);
  for (Value* from : args.positional) {
    if (from->kind != ValueKind::kDict) {
      for (Value* pair : interpreter.iterate(from)) {
        std::vector<Value*> two = interpreter.iterate(pair);
        if (two.size() != 2) interpreter.raises("ValueError: dictionary update sequence element");
        interpreter.setKey(dict, interpreter.key(two[0]), two[1]);
      }
      continue;
    }
    for (size_t i = 0; i < from->keys.size(); ++i) interpreter.setKey(dict, from->keys[i], from->items[i]);
  }
  for (auto& [key, value] : args.keywords) {
    interpreter.setKey(dict, trace.constant(checked(PyUnicode_InternFromString(key.c_str()))), value);
  }
  return dict;
}

Value* Builtins::callSlice(const CallArgs& args) {
  expect(args, 1, 3);
  Value* none = trace.constant(Py_None);
  const auto& a = args.positional;
  return trace.slice(a.size() == 1 ? none : a[0], a.size() == 1 ? a[0] : a[1], a.size() == 3 ? a[2] : none);
}

// ---- attributes ----------------------------------------------------------------------------------------------------

Value* Builtins::callGetattr(const CallArgs& args) {
  expect(args, 2, 3);
  Value* attribute = args.positional[1];
  if (!attribute->isConstant() || !PyUnicode_CheckExact(attribute->object.get())) {
    trace.fail(BreakReason::kUnsupportedCall, "getattr() with a computed name");
  }
  if (args.positional.size() == 3) {
    Value* has = callHasattr({.positional = {args.positional[0], attribute}, .keywords = {}});
    if (has->object.get() == Py_False) return args.positional[2];
  }
  return interpreter.getAttribute(args.positional[0], interned(attribute));
}

PyObject* Builtins::interned(Value* text) {
  Ref name = text->object;
  PyObject* raw = name.release();
  PyUnicode_InternInPlace(&raw);
  text->object = Ref::steal(raw);
  return raw;
}

Value* Builtins::callHasattr(const CallArgs& args) {
  expect(args, 2, 2);
  Value* self = args.positional[0];
  Value* attribute = args.positional[1];
  if (!attribute->isConstant() || !PyUnicode_CheckExact(attribute->object.get())) {
    trace.fail(BreakReason::kUnsupportedCall, "hasattr() with a computed name");
  }
  return boolean(trace, interpreter.hasAttribute(self, interned(attribute)));
}

Value* callBuiltin(Interpreter& interpreter, Trace& trace, PyObject* callable, const CallArgs& args) {
  if (!PyCFunction_Check(callable) && !PyType_Check(callable)) return nullptr;
  static const char* const kNames[] = {
#define FW_BUILTIN(name, handler) #name,
#include "frame_eval/builtins.def"
  };
  using Handler = Value* (Builtins::*)(const CallArgs&);
  static constexpr Handler kHandlers[] = {
#define FW_BUILTIN(name, handler) &Builtins::handler,
#include "frame_eval/builtins.def"
  };
  bool isType = PyType_Check(callable);
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (!isBuiltin(callable, kNames[i], isType)) continue;
    Builtins call{interpreter, trace, kNames[i]};
    return (call.*kHandlers[i])(args);
  }
  return nullptr;
}

}  // namespace fw::capture
