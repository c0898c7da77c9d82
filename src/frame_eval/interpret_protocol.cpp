// The object protocol of classes written in Python: special methods are looked up in the type, as slots are, and
// inlined. Reflected operators and their order follow binary_op1 (abstract.c), slot_nb_* (typeobject.c) and
// do_richcompare (object.c). Slots written in C behind such classes (subclasses of list, int ...) are not known: those
// break.
#include <array>

#include "frame_eval/branching.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

constexpr const char* kBinary[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                                   "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
constexpr const char* kComparison[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

bool isNotImplemented(const Value* v) { return v->isConstant() && v->object.get() == Py_NotImplemented; }

/// Values of exact builtin types: their operators know nothing of foreign classes and answer NotImplemented.
bool isBuiltinValue(const Value* v) {
  switch (v->kind) {
    case ValueKind::kConstant: return isPlain(v->object.get());
    case ValueKind::kPyFloat:
    case ValueKind::kPyInt:
    case ValueKind::kDataInt:
    case ValueKind::kPyBool:
    case ValueKind::kPyComplex:
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kDict:
    case ValueKind::kSlice: return true;
    default: return false;
  }
}

}  // namespace

Ref Interpreter::internedName(const std::string& name) { return checked(PyUnicode_InternFromString(name.c_str())); }

/// The special method along the MRO of a user object's class (borrowed), guarded; null if there is none.
PyObject* Interpreter::specialMethod(Value* self, const std::string& name) {
  PyTypeObject* type = trace_.typeOf(self);
  guardTypeVersion(type);
  return lookUp(type, internedName(name).get());
}

/// type(self).name(self, args...) if that is written in Python; null if there is no such method. Breaks if it is
/// written in C.
Value* Interpreter::callSpecial(Value* self, const std::string& name, std::vector<Value*> args) {
  if (!isUserObject(self)) return nullptr;
  PyObject* found = specialMethod(self, name);
  if (!found) return nullptr;
  if (found == Py_None) raises("TypeError: " + name + " is None");
  // What the builtin base does with its items is not the class's doing.
  if (isSubclassValue(self) && !PyFunction_Check(found) &&
      found == lookUp(containerBase(trace_.typeOf(self)), internedName(name).get()))
    return nullptr;
  args.insert(args.begin(), self);
  if (PyFunction_Check(found)) return call(trace_.constant(found), {.positional = std::move(args), .keywords = {}});
  trace_.fail(BreakReason::kUnsupportedCall, std::string(trace_.typeOf(self)->tp_name) + "." + name);
}

/// As callSpecial(), for operators that every object has from `object`: null if the class has no other.
Value* Interpreter::callOwnSpecial(Value* self, const std::string& name, std::vector<Value*> args) {
  if (!isUserObject(self)) return nullptr;
  if (specialMethod(self, name) == lookUp(&PyBaseObject_Type, internedName(name).get())) return nullptr;
  return callSpecial(self, name, std::move(args));
}

/// left op right where one of them is a user object; null if neither is.
Value* Interpreter::objectBinary(int op, bool inplace, Value* left, Value* right) {
  bool ofLeft = isUserObject(left), ofRight = isUserObject(right);
  if (!ofLeft && !ofRight) return nullptr;
  if ((!ofLeft && !isBuiltinValue(left)) || (!ofRight && !isBuiltinValue(right))) return nullptr;
  std::string name = kBinary[op];
  std::string forward = "__" + name + "__", reflected = "__r" + name + "__";
  auto tried = [&](Value* self, const std::string& method, Value* other) -> Value* {
    Value* result = callSpecial(self, method, {other});
    return result && !isNotImplemented(result) ? result : nullptr;
  };
  if (inplace && ofLeft) {
    if (Value* result = tried(left, "__i" + name + "__", right)) return result;
  }
  PyTypeObject *tl = trace_.typeOf(left), *tr = trace_.typeOf(right);
  bool reflect = ofRight && tl != tr;
  // A subclass on the right that overrides the reflected method goes first.
  if (reflect && ofLeft && PyType_IsSubtype(tr, tl) &&
      specialMethod(right, reflected) != specialMethod(left, reflected)) {
    if (Value* result = tried(right, reflected, left)) return result;
    reflect = false;
  }
  if (ofLeft) {
    if (Value* result = tried(left, forward, right)) return result;
  }
  if (reflect) {
    if (Value* result = tried(right, reflected, left)) return result;
  }
  if (isSubclassValue(left) || isSubclassValue(right)) return nullptr;  // the base may know
  // What sequences do when numbers have given up: only they know.
  if (!ofLeft && (op == cpython::kNbAdd || op == cpython::kNbMultiply)) return nullptr;
  raises("TypeError: unsupported operand types");
}

/// One side of a comparison: the answer of self's tp_richcompare, null for NotImplemented.
Value* Interpreter::compareSide(int op, Value* self, Value* other) {
  if (!isUserObject(self)) return nullptr;  // builtin values do not know user objects
  if (Value* result = callOwnSpecial(self, kComparison[op], {other}))
    return isNotImplemented(result) ? nullptr : result;
  if (isSubclassValue(self))
    trace_.fail(BreakReason::kUnsupportedObject, std::string("comparison of a ") + trace_.typeOf(self)->tp_name);
  if (op == Py_EQ) return self == other ? trace_.constant(Py_True) : nullptr;
  if (op != Py_NE) return nullptr;
  Value* equal = compareSide(Py_EQ, self, other);  // object.__ne__ inverts the class's __eq__
  if (!equal) return nullptr;
  if (const auto data = Branching{*this, trace_}.condition(equal))
    return trace_.number(ValueKind::kPyBool, trace_.graph().unary(graph::Op::kLogicalNot, *data));
  return trace_.constant(trace_.truth(equal) ? Py_False : Py_True);
}

/// Comparison where one operand is a user object; null if none is.
Value* Interpreter::objectCompare(int op, Value* left, Value* right) {
  auto compares = [&](Value* v) {  // by code of its class
    if (!isSubclassValue(v)) return isUserObject(v);
    PyTypeObject* type = trace_.typeOf(v);
    Ref name = internedName(kComparison[op]);
    return lookUp(type, name.get()) != lookUp(containerBase(type), name.get());
  };
  bool ofLeft = compares(left), ofRight = compares(right);
  if (!ofLeft && !ofRight) return nullptr;
  bool derived = isSubclassValue(left) || isSubclassValue(right);
  if (!derived && ((!ofLeft && !isBuiltinValue(left)) || (!ofRight && !isBuiltinValue(right)))) return nullptr;
  PyTypeObject *tl = trace_.typeOf(left), *tr = trace_.typeOf(right);
  bool swapped = tl != tr && PyType_IsSubtype(tr, tl);
  if (swapped) {
    if (Value* result = compareSide(kSwapped[op], right, left)) return result;
  }
  if (Value* result = compareSide(op, left, right)) return result;
  if (!swapped) {
    if (Value* result = compareSide(kSwapped[op], right, left)) return result;
  }
  if (op != Py_EQ && op != Py_NE) raises("TypeError: these types cannot be ordered");
  if (derived) trace_.fail(BreakReason::kUnsupportedObject, std::string(tl->tp_name) + " == " + tr->tp_name);
  return trace_.constant(is(left, right) == (op == Py_EQ) ? Py_True : Py_False);
}

Value* Interpreter::objectUnary(numpy::Unary op, Value* value) {
  const char* name = "";
  switch (op) {
    case numpy::Unary::kNegative: name = "__neg__"; break;
    case numpy::Unary::kPositive: name = "__pos__"; break;
    case numpy::Unary::kInvert: name = "__invert__"; break;
  }
  return callSpecial(value, name, {});
}

/// What the class of a user object says, which array data may decide; null if it says nothing.
Value* Interpreter::objectBool(Value* value) {
  Value* answer = callSpecial(value, "__bool__", {});
  if (answer && trace_.typeOf(answer) != &PyBool_Type) raises("TypeError: __bool__ should return bool");
  return answer;
}

/// Truth of a user object.
bool Interpreter::objectTruth(Value* value) {
  if (!isUserObject(value)) {
    trace_.refuseOpaque(value);
    trace_.fail(BreakReason::kUnsupportedObject,
                std::string("truth of a ") + trace_.typeOf(value)->tp_name + " object");
  }
  if (Value* answer = objectBool(value)) return trace_.truth(answer);
  if (specialMethod(value, "__len__")) return trace_.truth(length(value));
  PyTypeObject* type = trace_.typeOf(value);
  bool plain = !(type->tp_as_number && type->tp_as_number->nb_bool) &&
               !(type->tp_as_mapping && type->tp_as_mapping->mp_length) &&
               !(type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (!plain) trace_.fail(BreakReason::kUnsupportedObject, std::string("truth of a ") + type->tp_name + " object");
  return true;
}

/// `item in container` of a user object that says so itself.
std::optional<bool> Interpreter::objectContains(Value* container, Value* item) {
  Value* answer = callSpecial(container, "__contains__", {item});
  if (!answer) return std::nullopt;
  return trace_.truth(answer);
}

}  // namespace fw::capture
