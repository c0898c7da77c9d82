// Attribute look-up as PyObject_GenericGetAttr does it: data descriptor of the type, instance dict, other attribute of the
// type. A version guard on the type stands for every look-up along its MRO. Only descriptors written in C are run.
#include "cpython/attributes.h"
#include "cpython/numpy_api.h"
#include "cpython/version.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Lookup;
using cpython::LookupState;
using guards::GuardKind;
using guards::SourceKind;

namespace {

std::string text(PyObject* str) {
  const char* s = PyUnicode_AsUTF8(str);
  if (!s) throw cpython::PythonError();
  return s;
}

std::string describeAttribute(PyTypeObject* type, PyObject* name) { return std::string(type->tp_name) + "." + text(name); }

bool hasInstanceDict(PyTypeObject* type) { return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT); }

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

void Interpreter::onLoadAttr(const Instr& instr) { push(getAttribute(pop(), nameAt(instr.arg))); }

void Interpreter::onLoadMethod(const Instr& instr) {
  push(getAttribute(pop(), nameAt(instr.arg)));
  push(trace_.make(ValueKind::kNull));
}

void Interpreter::onLoadSuperAttr(const Instr& instr) { unsupported(instr); }

void Interpreter::onStoreAttr(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + text(nameAt(instr.arg)));
}
void Interpreter::onDeleteAttr(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + text(nameAt(instr.arg)));
}

Value* Interpreter::getAttribute(Value* self, PyObject* name) {
  std::string attribute = text(name);
  switch (self->kind) {
    case ValueKind::kArray:
    case ValueKind::kArrayScalar: {
      if (auto value = numpy::attribute(trace_, self, attribute)) return *value;
      trace_.fail(BreakReason::kUnsupportedAttribute, "ndarray." + attribute);
    }
    case ValueKind::kConstant:
      return constantAttribute(self, name);
    case ValueKind::kObject:
      return objectAttribute(self, name);
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
  PyObject* found = _PyType_Lookup(type, name);
  bool container = self->kind == ValueKind::kTuple || self->kind == ValueKind::kList || self->kind == ValueKind::kDict;
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
  PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(object), name);
  if (!found) {
    if (PyErr_Occurred()) throw cpython::PythonError();
    const char* moduleName = PyModule_GetName(object);
    if (!moduleName) PyErr_Clear();
    trace_.fail(BreakReason::kUnsupportedAttribute, std::string(moduleName ? moduleName : "module") + "." + text(name));
  }
  SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, object);
  return setting(trace_.sources().intern(SourceKind::kAttr, base, 0, name), found);
}

Value* Interpreter::typeAttribute(Value* self, PyObject* name) {
  PyObject* object = self->object.get();
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  bool meta = Py_TYPE(object) != &PyType_Type || _PyType_Lookup(&PyType_Type, name);
  PyObject* found = meta ? nullptr : _PyType_Lookup(type, name);
  if (!found) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  guardTypeVersion(type);
  if (PyFunction_Check(found)) return trace_.constant(found);
  return bindDescriptor(nullptr, type, name, found);
}

/// What an attribute found in the type means for an instance (or for the type itself when `self` is null).
Value* Interpreter::bindDescriptor(Value* self, PyTypeObject* type, PyObject* name, PyObject* found) {
  if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type) {
    Ref function = wrapped(found);
    if (!PyFunction_Check(function.get())) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
    if (Py_TYPE(found) == &PyStaticMethod_Type) return trace_.constant(function);
    Value* method = trace_.make(ValueKind::kMethod);
    method->items = {trace_.constant(function), trace_.constant(reinterpret_cast<PyObject*>(type))};
    return method;
  }
  if (self && PyFunction_Check(found)) {
    Value* method = trace_.make(ValueKind::kMethod);
    method->items = {trace_.constant(found), self};
    return method;
  }
  if (Py_TYPE(found)->tp_descr_get) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  }
  // The version guard pins the binding, not what a mutable object holds: it is read as a source.
  SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, reinterpret_cast<PyObject*>(type));
  return setting(trace_.sources().intern(SourceKind::kTypeAttr, base, 0, name), found);
}

Value* Interpreter::objectAttribute(Value* self, PyObject* name) {
  PyObject* object = self->object.get();
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_getattro != PyObject_GenericGetAttr) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name) + " (the class has its own look-up)");
  }
  PyObject* found = _PyType_Lookup(type, name);
  guardTypeVersion(type);
  SourceId source = trace_.sources().intern(SourceKind::kAttr, self->source, 0, name);
  cpython::AttributeCell cell(name);
  if (found && Py_TYPE(found)->tp_descr_set) {
    if (Py_TYPE(found) == &PyProperty_Type) {
      Ref getter = checked(PyObject_GetAttrString(found, "fget"));
      if (!PyFunction_Check(getter.get())) {
        trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
      }
      return call(trace_.constant(getter), {.positional = {self}, .keywords = {}});
    }
    if (Py_TYPE(found) != &PyMemberDescr_Type) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
    Lookup slot = cpython::instanceAttribute(object, cell);
    if (slot.state == LookupState::kAbsent) raises("AttributeError: " + describeAttribute(type, name));
    if (slot.state == LookupState::kRefused) {
      trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
    }
    return trace_.fromSource(source, slot.value);
  }
  Lookup own = cpython::instanceDictItem(object, cell);
  if (own.state == LookupState::kRefused) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  }
  if (own.state == LookupState::kFound) return trace_.fromSource(source, own.value);
  if (!found) raises("AttributeError: " + describeAttribute(type, name));
  if (hasInstanceDict(type) && absentAttributes_.insert({self->source, name}).second) {
    trace_.guard({.kind = GuardKind::kNoInstanceAttr, .source = self->source, .object = Ref::create(name)});
  }
  return bindDescriptor(self, type, name, found);
}

bool Interpreter::hasAttribute(Value* self, PyObject* name) {
  if (self->kind == ValueKind::kArray) {
    // NumPy's own type: what its MRO holds is all there is.
    return _PyType_Lookup(&PyArray_Type, name) != nullptr;
  }
  if (self->kind != ValueKind::kObject) {
    trace_.fail(BreakReason::kUnsupportedCall, std::string("hasattr() of a ") + trace_.typeOf(self)->tp_name);
  }
  PyTypeObject* type = Py_TYPE(self->object.get());
  PyObject* found = _PyType_Lookup(type, name);
  if (type->tp_getattro != PyObject_GenericGetAttr || (found && Py_TYPE(found)->tp_descr_set)) {
    trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));   // may raise AttributeError inside
  }
  guardTypeVersion(type);
  if (found) return true;
  cpython::AttributeCell cell(name);
  Lookup own = cpython::instanceDictItem(self->object.get(), cell);
  if (own.state == LookupState::kRefused) trace_.fail(BreakReason::kUnsupportedAttribute, describeAttribute(type, name));
  if (own.state == LookupState::kFound) {
    trace_.fromSource(trace_.sources().intern(SourceKind::kAttr, self->source, 0, name), own.value);
    return true;
  }
  if (hasInstanceDict(type) && absentAttributes_.insert({self->source, name}).second) {
    trace_.guard({.kind = GuardKind::kNoInstanceAttr, .source = self->source, .object = Ref::create(name)});
  }
  return false;
}

}  // namespace fw::capture
