// Attribute look-up as CPython's slots do it: tp_getattro of the type; for PyObject_GenericGetAttr data descriptor of the type,
// instance dict, other attribute of the type. A version guard on the type stands for every look-up along its MRO. Descriptors and
// hooks written in Python are inlined, of those written in C only some builtin ones are known.
#include "cpython/attributes.h"
#include "cpython/numpy_api.h"
#include "cpython/version.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Lookup;
using cpython::LookupState;
using guards::GuardKind;
using guards::SourceKind;

namespace {

std::string describeAttribute(PyTypeObject* type, PyObject* name) { return std::string(type->tp_name) + "." + text(name); }

/// The function inside a staticmethod or classmethod object.
Ref wrapped(PyObject* method) { return checked(PyObject_GetAttrString(method, "__func__")); }

}  // namespace

void Interpreter::guardTypeVersion(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)) return;
  if (!guardedTypes_.insert(type).second) return;
  unsigned int version = cpython::ensureTypeVersion(type);
  if (version == 0) trace_.fail(BreakReason::kUnsupportedAttribute, std::string(type->tp_name) + " is out of type versions");
  PyObject* object = reinterpret_cast<PyObject*>(type);
  trace_.guard({.kind = GuardKind::kTypeVersion, .source = trace_.sources().intern(SourceKind::kConst, {}, 0, object),
                .object = Ref::create(object), .lo = static_cast<int64_t>(version)});
}

void Interpreter::onLoadAttr(const Instr& instr) { push(attributeRaw(popRaw(), nameAt(instr.arg))); }

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
  bool container = unopened && (PyList_CheckExact(self->object.get()) || PyDict_CheckExact(self->object.get()));
  if (!container) trace_.open(self);
  switch (self->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar: {
      if (auto value = numpy::attribute(trace_, self, attribute)) return *value;
      trace_.fail(BreakReason::kUnsupportedAttribute, "ndarray." + attribute);
    }
    case ValueKind::kConstant:
      return constantAttribute(self, name);
    case ValueKind::kObject:
      trace_.refuseOpaque(self);
      if (!container) return objectAttribute(self, name);
      break;
    case ValueKind::kException:
      return exceptionAttribute(self, name);
    case ValueKind::kInstance:
      return objectAttribute(self, name);
    case ValueKind::kSuper:
      return superAttribute(self, name);
    case ValueKind::kFunction:
      if (self->source.valid()) break;   // may have been renamed
      if (attribute == "__name__") return trace_.constant(reinterpret_cast<PyCodeObject*>(self->code.get())->co_name);
      if (attribute == "__qualname__") return trace_.constant(self->qualname);
      break;
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
    case ValueKind::kPyFloat:
    case ValueKind::kPyInt:
      if (attribute == "real") return self;
      break;
    default:
      break;
  }
  PyTypeObject* type = trace_.typeOf(self);
  if (attribute == "__class__") return trace_.constant(reinterpret_cast<PyObject*>(type));
  PyObject* found = _PyType_Lookup(type, name);
  container |= self->kind == ValueKind::kSet || self->kind == ValueKind::kIterator || self->kind == ValueKind::kTuple ||
               self->kind == ValueKind::kList || self->kind == ValueKind::kDict;
  if (!container || !found || !PyObject_TypeCheck(found, &PyMethodDescr_Type)) {
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
  PyTypeObject* type = Py_TYPE(object);
  if (isPlain(object) || PyRange_Check(object)) {
    PyObject* found = _PyType_Lookup(type, name);
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
  if (PyArray_DescrCheck(object) || typeName == "numpy.ufunc" || typeName == "finfo" || typeName == "iinfo") {
    Ref value = Ref::steal(PyObject_GetAttr(object, name));
    if (!value) raisesPending();
    return trace_.constant(std::move(value));
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
}

Value* Interpreter::moduleAttribute(Value* module, PyObject* name) {
  PyObject* object = module->object.get();
  if (auto written = writtenGlobal(PyModule_GetDict(object), name)) {
    if (*written) return *written;
    trace_.fail(BreakReason::kUnsupportedAttribute, "a deleted global");
  }
  PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(object), name);
  if (!found) {
    if (PyErr_Occurred()) throw cpython::PythonError();
    const char* moduleName = PyModule_GetName(object);
    if (!moduleName) PyErr_Clear();
    trace_.fail(BreakReason::kUnsupportedAttribute, std::string(moduleName ? moduleName : "module") + "." + text(name));
  }
  trace_.readNamespace(trace_.sources().intern(SourceKind::kConst, {}, 0, PyModule_GetDict(object)), PyModule_GetDict(object));
  SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, object);
  return setting(trace_.sources().intern(SourceKind::kAttr, base, 0, name), found);
}

/// type.__getattribute__: data descriptors of the metatype, then the MRO of the type. Metatypes may add attributes of their own.
Value* Interpreter::typeAttribute(Value* self, PyObject* name) {
  auto* type = reinterpret_cast<PyTypeObject*>(self->object.get());
  PyTypeObject* meta = Py_TYPE(type);
  if (isClassAttribute(name, _PyType_Lookup(meta, name))) return trace_.constant(reinterpret_cast<PyObject*>(meta));
  if (meta != &PyType_Type) {
    static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
    if (_PyType_Lookup(meta, getattribute) != _PyType_Lookup(&PyType_Type, getattribute)) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
    guardTypeVersion(meta);
  }
  PyObject* above = _PyType_Lookup(meta, name);
  if (above && Py_TYPE(above)->tp_descr_set && !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    return fold(PyObject_GetAttr(self->object.get(), name));   // __name__ and the like of a static type
  }
  PyObject* found = above && Py_TYPE(above)->tp_descr_set ? nullptr : _PyType_Lookup(type, name);
  if (!found) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  guardTypeVersion(type);
  if (PyFunction_Check(found)) return trace_.constant(found);
  return bindDescriptor(nullptr, self, type, name, found);
}

/// What an attribute found in the type means for an instance, or for the type itself when `self` is null. `cls` is the type that a
/// class method gets.
Value* Interpreter::bindDescriptor(Value* self, Value* cls, PyTypeObject* type, PyObject* name, PyObject* found) {
  auto method = [&](Value* function, Value* receiver) {
    Value* v = trace_.make(ValueKind::kMethod);
    v->items = {function, receiver};
    return v;
  };
  if (Py_TYPE(found) == &PyStaticMethod_Type) return trace_.constant(wrapped(found));
  if (Py_TYPE(found) == &PyClassMethod_Type) {
    Ref function = wrapped(found);
    if (!PyFunction_Check(function.get())) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    return method(trace_.constant(function), cls);
  }
  if (self && (PyFunction_Check(found) || Py_TYPE(found) == &PyWrapperDescr_Type)) return method(trace_.constant(found), self);
  // The version guard pins the binding, not what a mutable object holds: it is read as a source.
  auto asIs = [&] {
    SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, reinterpret_cast<PyObject*>(type));
    return setting(trace_.sources().intern(SourceKind::kTypeAttr, base, 0, name), found);
  };
  bool own = Py_TYPE(found) == &PyClassMethodDescr_Type && reinterpret_cast<PyObject*>(PyDescr_TYPE(found)) == cls->object.get();
  if (!self && own) return fold(PyObject_GetAttr(cls->object.get(), name));   // dict.fromkeys of dict itself
  if (!Py_TYPE(found)->tp_descr_get) return asIs();
  bool itself = !self && (Py_TYPE(found) == &PyProperty_Type || Py_TYPE(found) == &PyMemberDescr_Type ||
                          Py_TYPE(found) == &PyWrapperDescr_Type || Py_TYPE(found) == &PyMethodDescr_Type);
  if (itself) return trace_.constant(found);
  if (Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    static PyObject* const get = PyUnicode_InternFromString("__get__");
    PyObject* getter = _PyType_Lookup(Py_TYPE(found), get);
    if (getter && PyFunction_Check(getter)) {
      guardTypeVersion(Py_TYPE(found));
      return callRaw(trace_.constant(getter),
                     {.positional = {asIs(), self ? self : trace_.constant(Py_None), cls}, .keywords = {}});
    }
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
}

/// Whether this is object.__class__ itself.
bool Interpreter::isClassAttribute(PyObject* name, PyObject* found) {
  static PyObject* const dunder = PyUnicode_InternFromString("__class__");
  return found && PyUnicode_CompareWithASCIIString(name, "__class__") == 0 && found == _PyType_Lookup(&PyBaseObject_Type, dunder);
}

Value* Interpreter::objectAttribute(Value* self, PyObject* name) {
  PyTypeObject* type = trace_.typeOf(self);
  PyObject* hook = nullptr;
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    static PyObject* const getattribute = PyUnicode_InternFromString("__getattribute__");
    static PyObject* const getattr = PyUnicode_InternFromString("__getattr__");
    PyObject* own = _PyType_Lookup(type, getattribute);
    hook = _PyType_Lookup(type, getattr);
    bool python = own && PyFunction_Check(own) && !hook;
    bool generic = own == _PyType_Lookup(&PyBaseObject_Type, getattribute) && hook && PyFunction_Check(hook);
    if (!python && !generic) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name) + " (the class has its own look-up)");
    }
    guardTypeVersion(type);
    if (python) return callRaw(trace_.constant(own), {.positional = {self, trace_.constant(name)}, .keywords = {}});
    PyObject* found = _PyType_Lookup(type, name);
    if (found && Py_TYPE(found) == &PyProperty_Type) {   // may raise AttributeError inside, which calls the hook too
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
  }
  if (Value* value = genericAttribute(self, type, name)) return value;
  if (!hook) raises("AttributeError: " + describeAttribute(type, name));
  return callRaw(trace_.constant(hook), {.positional = {self, trace_.constant(name)}, .keywords = {}});
}

/// PyObject_GenericGetAttr; null if there is no such attribute.
Value* Interpreter::genericAttribute(Value* self, PyTypeObject* type, PyObject* name) {
  PyObject* found = _PyType_Lookup(type, name);
  guardTypeVersion(type);
  Value* cls = trace_.constant(reinterpret_cast<PyObject*>(type));
  if (isClassAttribute(name, found)) return cls;
  if (found && Py_TYPE(found)->tp_descr_set) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      Ref getter = checked(PyObject_GetAttrString(found, "fget"));
      if (!PyFunction_Check(getter.get())) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
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
  for (auto& [key, value] : self->overlay) {
    if (key.get() == name) return value;
  }
  if (self->kind == ValueKind::kInstance) return nullptr;
  PyTypeObject* type = trace_.typeOf(self);
  cpython::AttributeCell cell(name);
  PyObject* object = self->object.get();
  Lookup own = slot ? cpython::instanceAttribute(object, cell) : cpython::instanceDictItem(object, cell);
  switch (own.state) {
    case LookupState::kFound:
      return trace_.fromSource(trace_.sources().intern(SourceKind::kAttr, self->source, 0, name), own.value);
    case LookupState::kRefused:
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    case LookupState::kAbsent:
      break;
  }
  if (slot) trace_.fail(BreakReason::kPythonException, "AttributeError: " + describeAttribute(type, name));
  if (hasInstanceDict(type) && absentAttributes_.insert({self->source, name}).second) {
    trace_.guard({.kind = GuardKind::kNoInstanceAttr, .source = self->source, .object = Ref::create(name)});
  }
  return nullptr;
}

bool Interpreter::hasAttribute(Value* self, PyObject* name) {
  trace_.open(self);
  if (self->kind == ValueKind::kArray) {
    // NumPy's own type: what its MRO holds is all there is.
    return _PyType_Lookup(&PyArray_Type, name) != nullptr;
  }
  trace_.refuseOpaque(self);
  if (self->kind != ValueKind::kObject && self->kind != ValueKind::kInstance) {
    trace_.fail(BreakReason::kUnsupportedCall, std::string("hasattr() of a ") + trace_.typeOf(self)->tp_name);
  }
  PyTypeObject* type = trace_.typeOf(self);
  PyObject* found = _PyType_Lookup(type, name);
  if (type->tp_getattro != PyObject_GenericGetAttr || (found && Py_TYPE(found)->tp_descr_set)) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));   // may raise AttributeError inside
  }
  guardTypeVersion(type);
  return found || storedAttribute(self, name, false);
}

}  // namespace fw::capture
