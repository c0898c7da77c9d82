// Builtin functions and types, and C functions of the standard library. Handlers see arguments as Values and say
// what CPython would answer; a form of call that is not understood breaks with kUnsupportedCall. The table is
// builtins.def; here are the look-up, and what concerns types, attributes and constants.
#include "frame_eval/builtins.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/iteration.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/support.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "cpython/numpy_api.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/unwind.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// "math.sqrt", "len", "itertools.chain", "dict.fromkeys"; "" for what is no C function or type. Told by C identity,
/// not by what the module holds now: that may have been changed.
std::string qualifiedName(PyObject* callable) {
  if (PyType_Check(callable)) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable);
    std::string name = type->tp_name;
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return name;
    // Heap types of C modules: what sys.modules holds under the name.
    size_t dot = name.rfind('.');
    if (dot == std::string::npos) return "";
    PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), name.substr(0, dot).c_str());
    PyObject* dict = module && PyModule_CheckExact(module) ? PyModule_GetDict(module) : nullptr;
    return dict && PyDict_GetItemString(dict, name.c_str() + dot + 1) == callable ? name : "";
  }
  if (!PyCFunction_Check(callable)) return "";
  auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
  std::string name = function->m_ml->ml_name;
  if (function->m_self && PyType_Check(function->m_self)) {
    return std::string(reinterpret_cast<PyTypeObject*>(function->m_self)->tp_name) + "." + name;
  }
  PyObject* module = function->m_module;
  if (!module || !PyUnicode_Check(module)) return "";
  std::string prefix = text(module);
  return prefix == "builtins" ? name : prefix + "." + name;
}

}  // namespace

void Builtins::expect(const CallArgs& args, size_t least, size_t most) const {
  if (args.keywords.empty() && args.positional.size() >= least && args.positional.size() <= most) return;
  refuse("with these arguments");
}

void Builtins::refuse(const std::string& why) const {
  trace.fail(BreakReason::kUnsupportedCall, std::string(name) + "() " + why);
}

/// Value of keyword `key`, which is taken out; null if it is absent.
Value* Builtins::take(CallArgs& args, std::string_view key) const {
  for (size_t i = 0; i < args.keywords.size(); ++i) {
    if (args.keywords[i].first != key) continue;
    Value* value = args.keywords[i].second;
    args.keywords.erase(args.keywords.begin() + static_cast<ptrdiff_t>(i));
    return value;
  }
  return nullptr;
}

Value* Builtins::number(int64_t value) const { return trace.constant(checked(PyLong_FromLongLong(value))); }

/// A real object equal to the value, of plain constants and fresh containers of them; null if there is none.
Ref Builtins::realObject(Value* value) {
  Nesting nesting(trace);
  trace.open(value);
  if (value->isConstant()) {
    bool known = isPlain(value->object.get()) || PyRange_Check(value->object.get());
    return known ? value->object : Ref();
  }
  if (value->isNumeric()) {
    Value* known = trace.specializeNumber(value);
    return known && isPlain(known->object.get()) ? known->object : Ref();
  }
  if (value->kind == ValueKind::kSet) return value->opened ? Ref() : value->object;
  if (value->cls) return {};
  bool tuple = value->kind == ValueKind::kTuple;
  if (!tuple && value->kind != ValueKind::kList) return {};
  Ref list = checked(PyList_New(0));
  for (Value* item : value->items) {
    Ref real = realObject(item);
    if (!real) return {};
    checked(PyList_Append(list.get(), real.get()));
  }
  return tuple ? checked(PyList_AsTuple(list.get())) : list;
}

/// A function without side effects whose arguments are known: called here and now.
Value* Builtins::callPure(const CallArgs& args) {
  Ref positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  Ref keywords = checked(PyDict_New());
  for (size_t i = 0; i < args.positional.size(); ++i) {
    Ref real = realObject(args.positional[i]);
    if (!real) refuse("of a " + std::string(trace.typeOf(args.positional[i])->tp_name));
    PyTuple_SET_ITEM(positional.get(), i, real.release());
  }
  for (auto& [key, value] : args.keywords) {
    Ref real = realObject(value);
    if (!real) refuse("with " + key);
    checked(PyDict_SetItemString(keywords.get(), key.c_str(), real.get()));
  }
  Value* result = interpreter.fold(PyObject_Call(callable, positional.get(), keywords.get()));
  return args.positional.size() == 1 && isSameObject(result, args.positional[0]) ? args.positional[0]
                                                                                 : result;  // str(s) is s
}

Value* Builtins::callLen(const CallArgs& args) {
  expect(args, 1, 1);
  return interpreter.length(args.positional[0]);
}

// ---- types --------------------------------------------------------------------------------------------------------

Value* Builtins::callType(const CallArgs& args) {
  expect(args, 1, 1);
  return trace.constant(reinterpret_cast<PyObject*>(trace.typeOf(args.positional[0])));
}

/// Whether `type` is a subclass of a class or of one of a tuple of classes, as far as no code of the user decides it.
bool Builtins::isSubclass(PyTypeObject* type, Value* cls) {
  if (isTuple(cls)) {
    for (Value* one : interpreter.iterate(cls)) {
      if (isSubclass(type, one)) return true;
    }
    return false;
  }
  if (!cls->isConstant() || !PyType_Check(cls->object.get())) refuse("with something that is no class");
  PyObject* object = cls->object.get();
  auto* other = reinterpret_cast<PyTypeObject*>(object);
  if (Py_TYPE(object) == &PyType_Type) return PyType_IsSubtype(type, other);
  Ref check = checked(PyUnicode_InternFromString("__instancecheck__")),
      hook = checked(PyUnicode_InternFromString("__subclasshook__"));
  if (lookUp(Py_TYPE(object), check.get()) == lookUp(&PyType_Type, check.get())) return PyType_IsSubtype(type, other);
  bool abstract = std::string_view(Py_TYPE(object)->tp_name) == "ABCMeta";
  if (!abstract) refuse("with a class that decides itself");
  bool ownHook = lookUp(other, hook.get()) != lookUp(&PyBaseObject_Type, hook.get());
  if (!ownHook && PyType_IsSubtype(type, other)) return true;
  // Registered classes of the standard library: builtin types do not change what they are.
  PyObject* module = PyDict_GetItemString(other->tp_dict, "__module__");
  bool standard = module && PyUnicode_Check(module) && (text(module) == "collections.abc" || text(module) == "numbers");
  // A class derived from one that is registered is what that one is, where no hook asks for methods.
  std::string_view name = other->tp_name;
  bool registered =
      standard && (name == "Mapping" || name == "MutableMapping" || name == "Sequence" || name == "MutableSequence");
  for (PyTypeObject* base = type; registered && base; base = base->tp_base) {
    if (isUserClass(base)) continue;
    if (checked(PyObject_IsSubclass(reinterpret_cast<PyObject*>(base), object))) return true;
    break;
  }
  if (!standard || (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) refuse("with an abstract class");
  return checked(PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), object)) != 0;
}

/// Whether a number of one class or another is an instance, if that is the same for all of them.
std::optional<bool> Builtins::isOfEachClass(Value* number, Value* cls) {
  if (!MixedNumbers::is(number)) return std::nullopt;
  const bool whole = trace.graph().type(number->node).dtype == graph::DType::kI64;
  const Ref scalar = Ref::steal(PyArray_TypeObjectFromType(whole ? NPY_INT64 : NPY_DOUBLE));
  std::vector<PyTypeObject*> types{&PyLong_Type, reinterpret_cast<PyTypeObject*>(scalar.get())};
  if (!whole) types.push_back(&PyFloat_Type);
  if (MixedNumbers::mayBeNone(number)) types.push_back(Py_TYPE(Py_None));
  const bool answer = isSubclass(types[0], cls);
  const auto isAlike = [&](PyTypeObject* type) { return isSubclass(type, cls) == answer; };
  return std::all_of(types.begin(), types.end(), isAlike) ? std::optional(answer) : std::nullopt;
}

Value* Builtins::callIsinstance(const CallArgs& args) {
  expect(args, 2, 2);
  if (const auto alike = isOfEachClass(args.positional[0], args.positional[1])) return boolean(trace, *alike);
  if (MixedNumbers::is(args.positional[0])) trace.branches.refuse(args.positional[0]);
  PyTypeObject* type = trace.typeOf(args.positional[0]);
  bool answer = isSubclass(type, args.positional[1]);
  // What is no instance by its type is asked for its __class__.
  if (!answer && type->tp_getattro != PyObject_GenericGetAttr) {
    bool own = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    Ref lookup = checked(PyUnicode_InternFromString("__getattribute__"));
    PyObject* found = lookUp(type, lookup.get());
    bool plain = found == lookUp(&PyBaseObject_Type, lookup.get()) || found == lookUp(&PyType_Type, lookup.get());
    if (own ? !plain : type != &PyType_Type && type != &PyModule_Type) refuse("of an object with a look-up of its own");
  }
  if (!answer && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    interpreter.guardTypeVersion(type);
    Ref dunder = checked(PyUnicode_InternFromString("__class__"));
    if (lookUp(type, dunder.get()) != lookUp(&PyBaseObject_Type, dunder.get())) {
      refuse("of an object that overrides __class__");
    }
  }
  return boolean(trace, answer);
}

Value* Builtins::callIssubclass(const CallArgs& args) {
  expect(args, 2, 2);
  Value* cls = args.positional[0];
  if (!cls->isConstant() || !PyType_Check(cls->object.get())) refuse("of something that is no class");
  interpreter.guardTypeVersion(reinterpret_cast<PyTypeObject*>(cls->object.get()));
  return boolean(trace, isSubclass(reinterpret_cast<PyTypeObject*>(cls->object.get()), args.positional[1]));
}

Value* Builtins::callCallable(const CallArgs& args) {
  expect(args, 1, 1);
  PyTypeObject* type = trace.typeOf(args.positional[0]);
  interpreter.guardTypeVersion(type);  // a class may learn to be called
  return boolean(trace, type->tp_call != nullptr);
}

// ---- attributes ---------------------------------------------------------------------------------------------------

Value* Builtins::callGetattr(const CallArgs& args) {
  expect(args, 2, 3);
  Value* attribute = args.positional[1];
  if (!attribute->isConstant() || !PyUnicode_CheckExact(attribute->object.get())) {
    trace.fail(BreakReason::kUnsupportedCall, "getattr() with a computed name");
  }
  Value* self = args.positional[0];
  if (args.positional.size() == 3 && self->kind != ValueKind::kArray) {
    CatchScope scope(interpreter.catchers_);
    try {
      return interpreter.getAttribute(self, interned(attribute));
    } catch (const VirtualRaise& raise) {
      interpreter.landed();
      if (!Interpreter::isInstanceOf(raise.exception, PyExc_AttributeError)) throw;
      return args.positional[2];
    }
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

Value* Builtins::callSetattr(const CallArgs& args) {
  expect(args, 3, 3);
  if (!isConstantOf(args.positional[1], &PyUnicode_Type)) refuse("with a computed name");
  interpreter.storeAttribute(args.positional[0], interned(args.positional[1]), args.positional[2]);
  return trace.constant(Py_None);
}

Value* Builtins::callDelattr(const CallArgs& args) {
  expect(args, 2, 2);
  if (!isConstantOf(args.positional[1], &PyUnicode_Type)) refuse("with a computed name");
  interpreter.storeAttribute(args.positional[0], interned(args.positional[1]), nullptr);
  return trace.constant(Py_None);
}

/// `method` of a builtin type taken from the type: str.upper(x).
Value* Builtins::callUnbound(PyObject* descriptor, CallArgs args) {
  if (args.positional.empty()) refuse("without self");
  Value* self = args.positional[0];
  if (!PyType_IsSubtype(trace.typeOf(self), PyDescr_TYPE(descriptor))) refuse("of another type");
  args.positional.erase(args.positional.begin());
  if (self->cls &&
      (self->kind == ValueKind::kDict || self->kind == ValueKind::kTuple)) {  // whatever its class has under the name
    if (lookUp(containerBase(trace.typeOf(self)), PyDescr_NAME(descriptor)) != descriptor) refuse("of another type");
    return interpreter.callMethod(self, text(PyDescr_NAME(descriptor)), std::move(args));
  }
  // A subclass may have its own under the name, which is not meant.
  if (lookUp(trace.typeOf(self), PyDescr_NAME(descriptor)) != descriptor) refuse("of another type");
  Value* method = interpreter.getAttribute(self, PyDescr_NAME(descriptor));
  return interpreter.call(method, std::move(args));
}

bool isKnownBuiltin(PyObject* callable) {
  static constexpr const char* kNames[] = {
#define FW_BUILTIN(name, handler) name,
#include "frame_eval/builtins.def"
#include "frame_eval/type_lookups.h"
  };
  std::string name = qualifiedName(callable);
  return name.rfind("math.", 0) == 0 || name.rfind("_operator.", 0) == 0 ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

namespace {

/// Of numbers of one of several classes, a builtin sees the value only, or nothing.
CallArgs decided(Trace& trace, const std::string& name, const CallArgs& given) {
  CallArgs args = given;
  for (Value*& v : args.positional) {
    if (!MixedNumbers::is(v) || name == "bool" || name == "isinstance") continue;
    const bool whole = trace.graph().type(v->node).dtype == graph::DType::kI64;
    const bool byValue =
        name == "int" || name == "float" || name == "min" || name == "max" || (name.rfind("math.", 0) == 0 && !whole);
    if (!byValue) trace.branches.refuse(v);
    v = MixedNumbers{trace}.present(v);
  }
  for (auto& [keyword, v] : args.keywords)
    if (MixedNumbers::is(v)) trace.branches.refuse(v);
  return args;
}

}  // namespace

Value* callBuiltin(Interpreter& interpreter, Trace& trace, PyObject* callable, const CallArgs& given) {
  using Handler = Value* (Builtins::*)(const CallArgs&);
  struct Row {
    const char* name;
    Handler handler;
  };
  static const Row kRows[] = {
#define FW_BUILTIN(name, handler) {name, &Builtins::handler},
#include "frame_eval/builtins.def"
  };
  static const auto* const kByName = [] {
    auto* map = new absl::flat_hash_map<std::string, const Row*>;
    for (const Row& row : kRows) map->emplace(row.name, &row);
    return map;
  }();
  if (Py_TYPE(callable) == &PyMethodDescr_Type) {
    Builtins call{interpreter, trace, PyUnicode_AsUTF8(PyDescr_NAME(callable)), callable};
    return call.callUnbound(callable, given);
  }
  std::string name = qualifiedName(callable);
  if (name.empty()) return nullptr;
  const CallArgs args = decided(trace, name, given);
  auto it = kByName->find(name);
  if (it != kByName->end()) {
    Builtins call{interpreter, trace, it->second->name, callable};
    return (call.*it->second->handler)(args);
  }
  if (name.rfind("math.", 0) == 0) {
    Builtins call{interpreter, trace, name.c_str(), callable};
    return call.callMath(args);
  }
  if (name.rfind("_operator.", 0) == 0) {
    Builtins call{interpreter, trace, name.c_str(), callable};
    return call.callOperator(args);
  }
  return nullptr;
}

}  // namespace fw::capture
