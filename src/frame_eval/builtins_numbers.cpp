// Builtins that compute with numbers: what the graph computes exactly stays symbolic, what is known is computed by
// CPython itself, everything else breaks.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/builtins.h"
#include "frame_eval/complex_numbers.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;

namespace {

PyObject* typeObject(PyTypeObject& type) { return reinterpret_cast<PyObject*>(&type); }

bool isRuntimeReal(Value* v) {
  return v->kind == ValueKind::kPyFloat || v->kind == ValueKind::kPyInt || v->kind == ValueKind::kPyBool ||
         v->kind == ValueKind::kDataInt;
}

}  // namespace

/// What the method of a user's class answers, which has to be of this type; null if there is none.
Value* Builtins::ofClass(Value* value, const char* method, PyTypeObject& type) {
  Value* answer = interpreter.callSpecial(value, method, {});
  if (answer && trace.typeOf(answer) != &type) refuse(std::string("that ") + method + " answers by another class");
  return answer;
}

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
  if (v->kind == ValueKind::kPyInt || v->kind == ValueKind::kPyBool || v->kind == ValueKind::kDataInt) {
    return trace.number(ValueKind::kPyFloat, interpreter.asFloat(v));
  }
  if (v->isConstant() && isPlain(v->object.get())) return interpreter.fold(PyNumber_Float(v->object.get()));
  if (Value* answer = ofClass(v, "__float__", PyFloat_Type)) return answer;
  trace.fail(BreakReason::kUnsupportedCall, std::string("float() of a ") + trace.typeOf(v)->tp_name);
}

Value* Builtins::callInt(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return interpreter.fold(PyLong_FromLong(0));
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kPyInt || v->kind == ValueKind::kDataInt) return v;
  if (Value* answer = ofClass(v, "__int__", PyLong_Type)) return answer;
  if (v->kind == ValueKind::kArrayScalar) {
    if (Value* result = scalarAsInt(v)) return result;
  }
  if (isNumpyValue(v)) {
    const graph::ValueType& type = trace.graph().type(v->node);
    if (type.rank() == 0 && !graph::isComplex(type.dtype) && !trace.onDevice())
      return DataInts{trace}.fromNumber(v->node);
    trace.fail(BreakReason::kDataDependentShape, "int() of array data");
  }
  if (isRuntimeReal(v)) {
    if (Value* result = trace.numbers().apply(typeObject(PyLong_Type), {v})) return result;
  }
  Value* known = trace.specializeNumber(v);
  if (!known) {
    if (v->kind == ValueKind::kPyFloat || v->kind == ValueKind::kPyBool) return DataInts{trace}.fromNumber(v->node);
    if (v->isNumeric()) trace.fail(BreakReason::kDataDependentShape, "int() of a number computed from array data");
    trace.fail(BreakReason::kUnsupportedCall, std::string("int() of a ") + trace.typeOf(v)->tp_name);
  }
  if (!isPlain(known->object.get())) trace.fail(BreakReason::kUnsupportedCall, "int() of this object");
  return interpreter.fold(PyNumber_Long(known->object.get()));
}

/// int() of a NumPy scalar that was passed in.
Value* Builtins::scalarAsInt(Value* scalar) {
  auto number = trace.numbers().of(scalar);
  if (!number) return nullptr;
  auto whole = trace.numbers().type(*number) == guards::NumberType::kInt
                   ? number
                   : trace.numbers().call(typeObject(PyLong_Type), {*number});
  return whole ? trace.numbers().bind(*whole) : nullptr;
}

/// Of floats and ints; what is known is computed by Python.
Value* Builtins::callComplex(const CallArgs& args) {
  const std::vector<Value*>& given = args.positional;
  const auto isReal = [&](Value* v) {
    if (v->kind == ValueKind::kArrayScalar) return !v->which && !graph::isComplex(trace.graph().type(v->node).dtype);
    return v->kind == ValueKind::kPyFloat || DataInts::isWhole(v) || isConstantOf(v, &PyFloat_Type);
  };
  const auto isKnown = [](Value* v) { return v->isConstant(); };
  const bool known = std::all_of(given.begin(), given.end(), isKnown);
  if (known || trace.onDevice() || !args.keywords.empty() || given.size() > 2 ||
      !std::all_of(given.begin(), given.end(), isReal))
    return callPure(args);
  const auto asFloat = [&](Value* v) {
    return v->kind == ValueKind::kArrayScalar ? trace.graph().cast(v->node, DType::kF64) : interpreter.asFloat(v);
  };
  const graph::ValueId real = asFloat(given[0]);
  const graph::ValueId imag =
      given.size() == 2 ? asFloat(given[1]) : trace.graph().constant(graph::Scalar::ofDouble(DType::kF64, 0));
  return ComplexNumbers{interpreter, trace}.make(real, imag);
}

Value* Builtins::callBool(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return boolean(trace, false);
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kPyBool) return v;
  if (v->kind == ValueKind::kDataInt)
    return trace.number(ValueKind::kPyBool, trace.graph().cast(v->node, DType::kBool));
  if (isNumpyValue(v)) {
    if (trace.graph().type(v->node).rank() != 0) trace.fail(BreakReason::kUnsupportedCall, "bool() of this array");
    return trace.number(ValueKind::kPyBool, trace.graph().cast(v->node, DType::kBool));
  }
  if (Value* answer = interpreter.objectBool(v)) return answer;
  return boolean(trace, trace.truth(v));
}

Value* Builtins::callStr(const CallArgs& args) {
  expect(args, 0, 1);
  if (args.positional.empty()) return trace.constant(checked(PyUnicode_FromString("")));
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kException) return interpreter.exceptionText(v, false);
  return callPure(args);
}

Value* Builtins::callRepr(const CallArgs& args) {
  expect(args, 1, 1);
  Value* v = args.positional[0];
  if (v->kind == ValueKind::kException) return interpreter.exceptionText(v, true);
  return callPure(args);
}

Value* Builtins::callAbs(const CallArgs& args) {
  expect(args, 1, 1);
  Value* v = args.positional[0];
  if (Value* answer = interpreter.callSpecial(v, "__abs__", {})) return answer;
  if (isNumpyValue(v)) {
    if (auto result = numpy::callMethod(trace, v, "__abs__", {})) return *result;
    trace.fail(BreakReason::kUnsupportedNumpy, "abs() of an array");
  }
  if (v->kind == ValueKind::kPyFloat) {
    return trace.number(ValueKind::kPyFloat, trace.graph().unary(Op::kAbsolute, v->node));
  }
  if (v->kind == ValueKind::kDataInt) return DataInts{trace}.absolute(v);
  if (v->kind == ValueKind::kPyComplex)
    if (Value* length = ComplexNumbers{interpreter, trace}.absolute(v)) return length;
  if (v->kind == ValueKind::kPyInt) {
    bool negative = trace.decide(v->sym, guards::Relation::kLt, trace.syms().constant(0));
    return negative ? interpreter.unary(numpy::Unary::kNegative, v) : v;
  }
  Value* known = trace.specializeNumber(v);
  if (known && isPlain(known->object.get())) return interpreter.fold(PyNumber_Absolute(known->object.get()));
  trace.fail(BreakReason::kUnsupportedCall, std::string("abs() of a ") + trace.typeOf(v)->tp_name);
}

Value* Builtins::callRound(const CallArgs& args) {
  expect(args, 1, 2);
  bool numbers =
      isRuntimeReal(args.positional[0]) || (args.positional.size() == 2 && isRuntimeReal(args.positional[1]));
  if (numbers) {
    if (Value* result = trace.numbers().apply(callable, args.positional)) return result;
  }
  Value* of = args.positional[0];
  const bool whole = args.positional.size() == 1 || interpreter.isNone(args.positional[1]);
  const std::vector<Value*> rest(args.positional.begin() + 1,
                                 whole ? args.positional.begin() + 1 : args.positional.end());
  if (Value* answer = interpreter.callSpecial(of, "__round__", rest)) return answer;
  if (whole && of->kind == ValueKind::kDataInt) return of;
  const bool computed = of->kind == ValueKind::kPyFloat || of->kind == ValueKind::kArrayScalar;
  if (whole && computed && isFloat64(trace, of) && !of->which && !of->source.valid() && !trace.onDevice())
    return DataInts{trace}.fromNumber(trace.graph().unary(graph::Op::kRint, of->node));
  Value* number = trace.specializeNumber(args.positional[0]);
  Value* digits = args.positional.size() == 2 ? trace.specializeNumber(args.positional[1]) : nullptr;
  bool known = number && isPlain(number->object.get()) && (args.positional.size() == 1 || digits);
  if (!known) trace.fail(BreakReason::kUnsupportedCall, "round() of this object");
  PyObject* last = digits ? digits->object.get() : nullptr;  // null ends the arguments
  return interpreter.fold(PyObject_CallFunctionObjArgs(callable, number->object.get(), last, nullptr));
}

Value* Builtins::callPow(const CallArgs& args) {
  expect(args, 2, 2);
  return interpreter.binary(cpython::kNbPower, false, args.positional[0], args.positional[1]);
}

Value* Builtins::callDivmod(const CallArgs& args) {
  expect(args, 2, 2);
  if (isNumpyValue(args.positional[0]) || isNumpyValue(args.positional[1])) expect(args, 3, 0);
  Value* quotient = interpreter.binary(cpython::kNbFloorDivide, false, args.positional[0], args.positional[1]);
  return trace.tuple(
      {quotient, interpreter.binary(cpython::kNbRemainder, false, args.positional[0], args.positional[1])});
}

}  // namespace fw::capture
