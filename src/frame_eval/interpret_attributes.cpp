// Attribute look-up as CPython's slots do it: tp_getattro of the type; for PyObject_GenericGetAttr data descriptor of
// the type, instance dict, other attribute of the type. A version guard on the type stands for every look-up along its
// MRO. Descriptors and hooks written in Python are inlined, of those written in C only some builtin ones are known.
#include "cpython/attributes.h"
#include "cpython/elements.h"
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "cpython/version.h"
#include "frame_eval/caches.h"
#include "frame_eval/classes.h"
#include "frame_eval/choices.h"
#include "frame_eval/collections.h"
#include "frame_eval/complex_numbers.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/locks.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/numpy/error_state.h"
#include "frame_eval/numpy/random.h"
#include "frame_eval/policy.h"
#include "frame_eval/sets.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/unwind.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;
using cpython::Lookup;
using cpython::LookupState;
using guards::GuardKind;
using guards::SourceKind;

namespace {

/// numpy imports some of its submodules when they are first asked for; nothing but the import happens then.
bool importsSubmodule(PyObject* module, PyObject* name) {
  if (!cpython::isNumpyModule(module)) return false;
  const std::string wanted = text(name);
  for (const char* known : {"fft", "linalg", "random", "polynomial", "ma"}) {
    if (wanted != known) continue;
    Ref imported = Ref::steal(PyImport_ImportModule(("numpy." + wanted).c_str()));
    if (!imported) PyErr_Clear();
    return static_cast<bool>(imported);
  }
  return false;
}

/// The function inside a staticmethod or classmethod object.
Ref wrapped(PyObject* method) { return checked(PyObject_GetAttrString(method, "__func__")); }

}  // namespace

void Interpreter::guardTypeVersion(PyTypeObject* type) {
  if (!isUserClass(type)) return;
  if (!guardedTypes_.insert(type).second) return;
  if (madeClass(trace_, reinterpret_cast<PyObject*>(type))) {  // nobody else knows it; its bases may change
    for (PyTypeObject* base : mroOf(type).subspan(1)) guardTypeVersion(base);
    return;
  }
  (void)mroOf(type);
  PyObject* object = reinterpret_cast<PyObject*>(type);
  trace_.guard({.kind = GuardKind::kTypeVersion,
                .source = trace_.sources().intern(SourceKind::kConst, {}, 0, object),
                .object = Ref::create(object),
                .lo = static_cast<int64_t>(cpython::ensureTypeVersion(type))});
}

void Interpreter::onLoadAttr(const Instr& instr) {
  PyObject* name = nameAt(instr.arg);
  Value* of = popRaw();
  push(Choices::is(of) ? Choices{trace_}.ofEach(*this, of, [&](Value* thing) { return getAttribute(thing, name); })
                       : attributeRaw(of, name));
}

void Interpreter::onLoadMethod(const Instr& instr) {
  Value* method = attributeRaw(popRaw(), nameAt(instr.arg));
  Value* null = trace_.make(ValueKind::kNull);
  push(cpython::kNullBeforeCallable ? null : method);
  push(cpython::kNullBeforeCallable ? method : null);
}

Value* Interpreter::attributeRaw(Value* self, PyObject* name) {
  std::string attribute = text(name);
  bool unopened = self->kind == ValueKind::kObject && !self->opened;
  // Methods of lists and dicts may not need to know what is in them.
  bool container = unopened && (PyList_CheckExact(self->object.get()) || PyDict_CheckExact(self->object.get()) ||
                                (cpython::isDeque(self->object.get()) && attribute != "maxlen"));
  container |= isForeignSet(self);
  if (!container) trace_.open(self);
  numpy::settled(trace_, self);
  if (isSubclassValue(self)) return objectAttribute(self, name);
  switch (self->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar: {
      if (auto value = numpy::attribute(trace_, self, attribute)) return *value;
      trace_.fail(BreakReason::kUnsupportedAttribute, "ndarray." + attribute);
    }
    case ValueKind::kConstant: return constantAttribute(self, name);
    case ValueKind::kObject:
      trace_.refuseOpaque(self);
      if (numpy::holdsErrorState(self->object.get())) return numpy::errorStateMethod(trace_, self, attribute);
      if (Locks::isLock(Py_TYPE(self->object.get()))) return Locks{*this, trace_}.method(self, attribute);
      if (Value* draw = numpy::drawMethod(trace_, self, attribute, false)) return draw;
      if (!container) return objectAttribute(self, name);
      break;
    case ValueKind::kException: return exceptionAttribute(self, name);
    case ValueKind::kInstance: return objectAttribute(self, name);
    case ValueKind::kSuper: return superAttribute(self, name);
    case ValueKind::kFunction: return functionAttribute(self, name);
    case ValueKind::kDeque:
      if (attribute != "maxlen") break;
      return self->position == SIZE_MAX ? trace_.constant(Py_None)
                                        : trace_.constant(checked(PyLong_FromSize_t(self->position)));
    case ValueKind::kDict:
      if (attribute != "default_factory" || !isDefaultdict(trace_.typeOf(self))) break;
      return self->base ? self->base : trace_.constant(Py_None);
    case ValueKind::kSlice:
      if (attribute == "start") return self->items[0];
      if (attribute == "stop") return self->items[1];
      if (attribute == "step") return self->items[2];
      break;
    case ValueKind::kMethod:
      if (!self->name.empty() || self->items.size() != 2) break;
      if (attribute == "__func__") return self->items[0];
      if (attribute == "__self__") return self->items[1];
      break;
    case ValueKind::kOpaque:
      if (self->name == "functools.partial" && attribute == "func") return self->items[0];
      if (self->name == "property" && (attribute == "setter" || attribute == "getter" || attribute == "deleter")) {
        Value* change = trace_.make(ValueKind::kMethod);
        change->items = {nullptr, self};
        change->name = attribute;
        return change;
      }
      break;
    case ValueKind::kPyComplex:
      if (attribute == "real" || attribute == "imag")
        return ComplexNumbers{*this, trace_}.part(self, attribute == "real");
      break;
    case ValueKind::kPyFloat:
    case ValueKind::kPyInt:
      if (attribute == "real") return self;
      if (attribute == "imag") {
        bool whole = self->kind == ValueKind::kPyInt;
        return trace_.constant(checked(whole ? PyLong_FromLong(0) : PyFloat_FromDouble(0)));
      }
      if (self->kind == ValueKind::kPyInt && attribute == "numerator") return self;
      if (self->kind == ValueKind::kPyInt && attribute == "denominator")
        return trace_.constant(checked(PyLong_FromLong(1)));
      break;
    default: break;
  }
  PyTypeObject* type = trace_.typeOf(self);
  if (attribute == "__class__") return trace_.constant(reinterpret_cast<PyObject*>(type));
  PyObject* found = lookUp(type, name);
  container |= self->kind == ValueKind::kSet || self->kind == ValueKind::kDeque || self->kind == ValueKind::kIterator ||
               self->kind == ValueKind::kTuple || self->kind == ValueKind::kList || self->kind == ValueKind::kDict ||
               isLongList(self) || PooledList::is(self) || self->kind == ValueKind::kWorkTable ||
               self->kind == ValueKind::kPyFloat || self->kind == ValueKind::kPyInt ||
               self->kind == ValueKind::kPyBool || self->kind == ValueKind::kDataInt;
  const bool counts =
      self->kind == ValueKind::kWorkTable && attribute == "most_common" && isOwnOfCounter(type, "most_common");
  if (counts) guardTypeVersion(type);
  if (!counts && (!container || !found || !PyObject_TypeCheck(found, &PyMethodDescr_Type))) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  }
  Value* method = trace_.make(ValueKind::kMethod);
  method->items = {nullptr, self};
  method->name = attribute;
  return method;
}

Value* Interpreter::constantAttribute(Value* self, PyObject* name) {
  PyObject* object = self->object.get();
  if (PyModule_CheckExact(object)) return moduleAttribute(self, name);
  if (PyType_Check(object)) return typeAttribute(self, name);
  if (PyFunction_Check(object)) return functionAttribute(self, name);
  PyTypeObject* type = Py_TYPE(object);
  if (isPlain(object) || PyRange_Check(object)) {
    PyObject* found = lookUp(type, name);
    if (found && PyObject_TypeCheck(found, &PyMethodDescr_Type)) {
      Value* method = trace_.make(ValueKind::kMethod);
      method->items = {nullptr, self};
      method->name = text(name);
      return method;
    }
    if (isClassAttribute(name, found)) return trace_.constant(reinterpret_cast<PyObject*>(type));
    if (found && (Py_TYPE(found) == &PyMemberDescr_Type || Py_TYPE(found) == &PyGetSetDescr_Type)) {
      return fold(PyObject_GetAttr(object, name));
    }
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  }
  std::string_view typeName = type->tp_name;
  // Facts of NumPy's own immutable objects; finfo computes some of them when asked, by its own code.
  bool code = PyCode_Check(object) && text(name).rfind("co_", 0) == 0;
  if (code || PyArray_DescrCheck(object) || cpython::isUfunc(object) || typeName == "finfo" || typeName == "iinfo") {
    Ref value = Ref::steal(PyObject_GetAttr(object, name));
    if (!value) raisesPending();
    return trace_.constant(std::move(value));
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
}

Value* Interpreter::moduleAttribute(Value* module, PyObject* name) {
  PyObject* object = module->object.get();
  PyObject* dict = PyModule_GetDict(object);
  SourceId base = guards::constantSource(trace_.sources(), object);
  SourceId names = trace_.sources().intern(SourceKind::kModuleDict, base);
  if (auto written = writtenGlobal(dict, name)) {
    (void)trace_.fromSource(names, dict);  // that it is the dict written
    if (*written) return *written;
    trace_.fail(BreakReason::kUnsupportedAttribute, "a deleted global");
  }
  PyObject* found = PyDict_GetItemWithError(dict, name);
  if (!found && !PyErr_Occurred() && importsSubmodule(object, name)) found = PyDict_GetItemWithError(dict, name);
  if (!found) {
    if (PyErr_Occurred()) throw cpython::PythonError();
    const char* moduleName = PyModule_GetName(object);
    if (!moduleName) PyErr_Clear();
    trace_.fail(BreakReason::kUnsupportedAttribute, std::string(moduleName ? moduleName : "module") + "." + text(name));
  }
  trace_.readNamespace(names, dict);
  return setting(trace_.sources().intern(SourceKind::kAttr, base, 0, name), found);
}

/// type.__getattribute__: data descriptors of the metatype, then the MRO of the type. Metatypes may add attributes of
/// their own.
Value* Interpreter::typeAttribute(Value* self, PyObject* name) {
  auto* type = reinterpret_cast<PyTypeObject*>(self->object.get());
  PyTypeObject* meta = Py_TYPE(type);
  if (isClassAttribute(name, lookUp(meta, name))) return trace_.constant(reinterpret_cast<PyObject*>(meta));
  if (meta != &PyType_Type) {
    static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
    if (lookUp(meta, getattribute) != lookUp(&PyType_Type, getattribute)) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
    guardTypeVersion(meta);
  }
  PyObject* above = lookUp(meta, name);
  if (isReadFirst(above)) return typeFact(self, name, above);
  PyObject* found = lookUp(type, name);
  guardTypeVersion(type);
  if (!found) {
    bool hook = above || meta->tp_getattro != PyType_Type.tp_getattro;
    if (hook) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    raiseAbout(PyExc_AttributeError,
               "type object '" + std::string(type->tp_name) + "' has no attribute '" + text(name) + "'");
  }
  if (PyFunction_Check(found)) return trace_.constant(found);
  return bindDescriptor(nullptr, self, type, name, found);
}

/// __name__, __doc__ and the like, by data descriptors of `type`.
Value* Interpreter::typeFact(Value* self, PyObject* name, PyObject* descriptor) {
  auto* type = reinterpret_cast<PyTypeObject*>(self->object.get());
  (void)mroOf(type);  // asking for the attribute would ready the type
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return fold(PyObject_GetAttr(self->object.get(), name));
  std::string attribute = text(name);
  bool own = descriptor == lookUp(&PyType_Type, name);
  guardTypeVersion(type);
  const bool told = attribute == "__name__" || attribute == "__qualname__" || attribute == "__doc__";
  if (own && told && madeClass(trace_, self->object.get()))
    return trace_.constant(checked(PyObject_GetAttr(self->object.get(), name)));
  own &= !madeClass(trace_, self->object.get());
  if (own && (attribute == "__name__" || attribute == "__qualname__")) {  // setting them changes no version
    Ref value = checked(PyObject_GetAttr(self->object.get(), name));
    SourceId base = guards::constantSource(trace_.sources(), self->object.get());
    return trace_.fromSource(trace_.sources().intern(SourceKind::kAttr, base, 0, name), value.get());
  }
  // A metaclass may look at its class while the bases are being changed, before the version is.
  own &= Py_TYPE(type) == &PyType_Type;
  if (own && (attribute == "__bases__" || attribute == "__mro__"))
    return trace_.constant(checked(PyObject_GetAttr(self->object.get(), name)));
  if (own && (attribute == "__doc__" || attribute == "__module__")) {
    (void)lookUp(type, name);  // notes what the class holds
    PyObject* value = PyDict_GetItemWithError(type->tp_dict, name);
    if (!value && attribute == "__doc__") return trace_.constant(Py_None);
    if (value && isPlain(value)) return trace_.constant(value);
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
}

/// What an attribute found in the type means for an instance, or for the type itself when `self` is null. `cls` is the
/// type that a class method gets.
Value* Interpreter::bindDescriptor(Value* self, Value* cls, PyTypeObject* type, PyObject* name, PyObject* found) {
  auto method = [&](Value* function, Value* receiver) {
    Value* v = trace_.make(ValueKind::kMethod);
    v->items = {function, receiver};
    return v;
  };
  if (self) {
    if (Value* bound = Collections{*this, trace_}.bind(self, found)) return bound;
    const bool native = Py_TYPE(found) == &PyMethodDescr_Type;
    if (Value* bound = native ? numpy::drawMethod(trace_, self, text(name), true) : nullptr) return bound;
  }
  if (Py_TYPE(found) == &PyStaticMethod_Type) {
    Value* function = trace_.constant(wrapped(found));
    if (!function->isConstant()) return function;
    PyObject* object = function->object.get();  // the class owns it, and may go
    if (!PyFunction_Check(object) && !guards::mayHoldStrongly(object))
      function->source = guards::constantSource(trace_.sources(), object);
    return function;
  }
  if (Py_TYPE(found) == &PyClassMethod_Type) {
    Ref function = wrapped(found);
    if (!PyFunction_Check(function.get()))
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    return method(trace_.constant(function), cls);
  }
  if (self && (PyFunction_Check(found) || Py_TYPE(found) == &PyWrapperDescr_Type))
    return method(trace_.constant(found), self);
  // The version guard pins the binding, not what a mutable object holds: it is read as a source.
  auto asIs = [&] {
    PyTypeObject* holder = type;
    const std::span<PyTypeObject* const> mro = mroOf(type);
    for (size_t i = 1; madeClass(trace_, reinterpret_cast<PyObject*>(holder)); ++i) {
      if (i == mro.size()) return trace_.constant(found);
      if (lookUp(mro[i], name) == found) holder = mro[i];
    }
    SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, reinterpret_cast<PyObject*>(holder));
    trace_.lookups.readAsSource(type, name);
    return setting(trace_.sources().intern(SourceKind::kTypeAttr, base, 0, name), found);
  };
  if (unwrapCompiled(found)) return self ? method(asIs(), self) : asIs();  // binds as the function in it
  bool own = Py_TYPE(found) == &PyClassMethodDescr_Type &&
             reinterpret_cast<PyObject*>(PyDescr_TYPE(found)) == cls->object.get();
  if (!self && own) return fold(PyObject_GetAttr(cls->object.get(), name));  // dict.fromkeys of dict itself
  if (!Py_TYPE(found)->tp_descr_get) return asIs();
  bool itself = !self && (Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyMemberDescr_Type ||
                          Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type);
  if (itself) return trace_.constant(found);
  if (self && Caches::isCachedProperty(found)) return Caches{*this, trace_}.property(self, type, asIs(), name);
  if (Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    static PyObject* const get = PyUnicode_InternFromString("__get__");
    PyObject* getter = lookUp(Py_TYPE(found), get);
    if (getter && PyFunction_Check(getter)) {
      guardTypeVersion(Py_TYPE(found));
      return callRaw(trace_.constant(getter),
                     {.positional = {asIs(), self ? self : trace_.constant(Py_None), cls}, .keywords = {}});
    }
  }
  bool stream = std::string_view(type->tp_name).substr(0, 4) == "_io.";
  trace_.fail(stream ? BreakReason::kInputOutput : BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
}

/// Whether this is object.__class__ itself.
bool Interpreter::isClassAttribute(PyObject* name, PyObject* found) {
  static PyObject* const dunder = PyUnicode_InternFromString("__class__");
  return found && PyUnicode_CompareWithASCIIString(name, "__class__") == 0 &&
         found == lookUp(&PyBaseObject_Type, dunder);
}

Value* Interpreter::objectAttribute(Value* self, PyObject* name) {
  PyTypeObject* type = trace_.typeOf(self);
  PyObject* hook = nullptr;
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
    static PyObject* const getattr = PyUnicode_InternFromString("__getattr__");
    PyObject* own = lookUp(type, getattribute);
    hook = lookUp(type, getattr);
    bool generic = own == lookUp(&PyBaseObject_Type, getattribute) && hook;
    bool python = own && PyFunction_Check(own);
    if ((!python && !generic) || (hook && !PyFunction_Check(hook))) {
      trace_.fail(BreakReason::kUnsupportedAttribute,
                  describeAttribute(type, name) + " (the class has its own look-up)");
    }
    guardTypeVersion(type);
    if (python) {
      auto ask = [&] {
        return callRaw(trace_.constant(own), {.positional = {self, trace_.constant(name)}, .keywords = {}});
      };
      Value* value = hook ? orMissing(ask) : ask();
      return value ? value
                   : callRaw(trace_.constant(hook), {.positional = {self, trace_.constant(name)}, .keywords = {}});
    }
  }
  Value* value =
      hook ? orMissing([&] { return genericAttribute(self, type, name); }) : genericAttribute(self, type, name);
  if (value) return value;
  if (!hook)
    raiseAbout(PyExc_AttributeError,
               "'" + std::string(type->tp_name) + "' object has no attribute '" + text(name) + "'");
  return callRaw(trace_.constant(hook), {.positional = {self, trace_.constant(name)}, .keywords = {}});
}

/// What `ask` answers, or null if that raises AttributeError.
Value* Interpreter::orMissing(const std::function<Value*()>& ask) {
  CatchScope scope(catchers_);
  try {
    return ask();
  } catch (const VirtualRaise& raise) {
    landed();
    if (!isInstanceOf(raise.exception, PyExc_AttributeError)) throw;
    return nullptr;
  }
}

/// PyObject_GenericGetAttr; null if there is no such attribute.
Value* Interpreter::genericAttribute(Value* self, PyTypeObject* type, PyObject* name) {
  PyObject* found = lookUp(type, name);
  guardTypeVersion(type);
  Value* cls = trace_.constant(reinterpret_cast<PyObject*>(type));
  if (isClassAttribute(name, found)) return cls;
  if (isReadFirst(found)) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      Ref getter = checked(PyObject_GetAttrString(found, "fget"));
      if (!PyFunction_Check(getter.get()))
        trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
      return callRaw(trace_.constant(getter), {.positional = {self}, .keywords = {}});
    }
    if (Py_TYPE(found) != &PyMemberDescr_Type) return bindDescriptor(self, cls, type, name, found);
    return storedAttribute(self, name, true);
  }
  if (Value* own = storedAttribute(self, name, false)) return own;
  return found ? bindDescriptor(self, cls, type, name, found) : nullptr;
}

/// The attribute in the instance dict (or in the slot of that name), as the trace has left it; null if there is none.
Value* Interpreter::storedAttribute(Value* self, PyObject* name, bool slot) {
  // A dict from outside that got an item of that name may be the instance's own.
  for (const SideEffect& effect : trace_.effects()) {
    bool item = !slot && self->source.valid() && effect.key && effect.target->kind == ValueKind::kDict;
    if (item && isConstantOf(effect.key, &PyUnicode_Type) && PyUnicode_Compare(effect.key->object.get(), name) == 0)
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(trace_.typeOf(self), name));
  }
  for (auto& [key, value] : self->overlay) {
    if (key.get() == name) return value;
  }
  if (!self->source.valid()) return nullptr;
  PyTypeObject* type = trace_.typeOf(self);
  cpython::AttributeCell cell(name);
  PyObject* object = self->object.get();
  Lookup own = slot ? cpython::instanceAttribute(object, cell) : cpython::instanceDictItem(object, cell);
  switch (own.state) {
    case LookupState::kFound:
      return trace_.fromSource(trace_.sources().intern(SourceKind::kAttr, self->source, 0, name), own.value);
    case LookupState::kRefused: trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    case LookupState::kAbsent: break;
  }
  if (slot) trace_.fail(BreakReason::kPythonException, "AttributeError: " + describeAttribute(type, name));
  if (hasInstanceDict(type) && absentAttributes_.insert({self->source, name}).second) {
    trace_.guard({.kind = GuardKind::kNoInstanceAttr, .source = self->source, .object = Ref::create(name)});
  }
  return nullptr;
}

/// Of a class whose metaclass looks attributes up as `type` does.
bool Interpreter::typeHasAttribute(Value* self, PyObject* name) {
  auto* type = reinterpret_cast<PyTypeObject*>(self->object.get());
  PyTypeObject* meta = Py_TYPE(type);
  if (meta->tp_getattro != PyType_Type.tp_getattro)
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  PyObject *above = lookUp(meta, name), *found = lookUp(type, name);
  // What is asked might raise AttributeError itself.
  bool asked = (above && Py_TYPE(above)->tp_descr_get) ||
               (found && (Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE) && Py_TYPE(found)->tp_descr_get);
  if (asked && !(found && PyFunction_Check(found)))
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  guardTypeVersion(meta);
  guardTypeVersion(type);
  return above || found;
}

bool Interpreter::hasAttribute(Value* self, PyObject* name) {
  trace_.open(self);
  if (self->kind == ValueKind::kArray) {
    // A library's own type: what its MRO holds is all there is.
    return lookUp(trace_.arrays().type, name) != nullptr;
  }
  trace_.refuseOpaque(self);
  if (isFunction(self)) return orMissing([&] { return functionAttribute(self, name); });
  if (self->isConstant() && PyType_Check(self->object.get())) return typeHasAttribute(self, name);
  bool builtin = !self->cls &&
                 (self->kind == ValueKind::kTuple || self->kind == ValueKind::kList || self->kind == ValueKind::kDict);
  if (builtin || self->kind == ValueKind::kArrayScalar || (self->isConstant() && isPlain(self->object.get())))
    return lookUp(trace_.typeOf(self), name) != nullptr;
  if (self->kind != ValueKind::kObject && self->kind != ValueKind::kInstance && !isSubclassValue(self)) {
    trace_.fail(BreakReason::kUnsupportedCall, std::string("hasattr() of a ") + trace_.typeOf(self)->tp_name);
  }
  PyTypeObject* type = trace_.typeOf(self);
  PyObject* found = lookUp(type, name);
  const bool computed = found && Py_TYPE(found)->tp_descr_get && isUserClass(Py_TYPE(found));  // and may raise
  bool asks = type->tp_getattro != PyObject_GenericGetAttr || isReadFirst(found) || computed;
  if (asks) return orMissing([&] { return attributeRaw(self, name); });
  guardTypeVersion(type);
  return found || storedAttribute(self, name, false);
}

}  // namespace fw::capture
