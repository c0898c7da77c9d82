// Writing of attributes, instances made by the traced code, super().
#include <Python.h>
#include <structmember.h>

#include "cpython/attributes.h"
#include "cpython/version.h"
#include "frame_eval/caches.h"
#include "frame_eval/classes.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using guards::SourceKind;

namespace {

constexpr char kCellVariable = 0x40;  ///< in co_localspluskinds (CO_FAST_CELL of CPython's internal headers)

/// Every class along the MRO but `object` is written in Python, so that instances are laid out as plain objects.
bool hasPlainLayout(PyTypeObject* type) {
  for (PyTypeObject* base : mroOf(type)) {
    if (base != &PyBaseObject_Type && !isUserClass(base)) return false;
  }
  return true;
}

/// What stands in the class's own dict under this name, or none.
Ref ownAttribute(PyTypeObject* type, PyObject* name) {
  (void)lookUp(type, name);  // would answer it, too
  static PyObject* const dunder = interned("__dict__");
  Ref dict = checked(PyType_Type.tp_getattro(reinterpret_cast<PyObject*>(type), dunder));
  Ref found = Ref::steal(PyObject_GetItem(dict.get(), name));
  if (!found) PyErr_Clear();
  return found;
}

}  // namespace

// ---- writing ------------------------------------------------------------------------------------------------------

void Interpreter::onStoreAttr(const Instr& instr) {
  Value* self = pop();
  Value* value = popRaw();
  storeAttribute(self, nameAt(instr.arg), value);
}

void Interpreter::onDeleteAttr(const Instr& instr) { storeAttribute(pop(), nameAt(instr.arg), nullptr); }

/// self.name = value, or del self.name if it is null.
void Interpreter::storeAttribute(Value* self, PyObject* name, Value* value) {
  if (self->kind == ValueKind::kException && value) return setExceptionAttribute(self, name, value);
  if (isFunction(self)) return setFunctionAttribute(self, name, value);
  if (isMadeClass(trace_, self) && value) return Classes{*this, trace_}.setAttribute(self, name, value);
  if (!isUserObject(self)) {
    trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + describeAttribute(trace_.typeOf(self), name));
  }
  PyTypeObject* type = trace_.typeOf(self);
  guardTypeVersion(type);
  if (type->tp_setattro != PyObject_GenericSetAttr) {
    static PyObject* const set = interned("__setattr__");
    static PyObject* const remove = interned("__delattr__");
    PyObject* own = lookUp(type, value ? set : remove);
    if (own && PyFunction_Check(own)) {
      std::vector<Value*> args{self, trace_.constant(name)};
      if (value) args.push_back(value);
      (void)callRaw(trace_.constant(own), {.positional = std::move(args), .keywords = {}});
      return;
    }
    if (own != lookUp(&PyBaseObject_Type, value ? set : remove)) {
      trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + describeAttribute(type, name));
    }
  }
  genericStore(self, type, name, value);
}

/// PyObject_GenericSetAttr.
void Interpreter::genericStore(Value* self, PyTypeObject* type, PyObject* name, Value* value) {
  PyObject* found = lookUp(type, name);
  bool slot = found && Py_TYPE(found) == &PyMemberDescr_Type;
  if (found && Py_TYPE(found)->tp_descr_set && !slot) return descriptorStore(self, type, name, found, value);
  if (slot) {
    const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
    bool plain = member->type == T_OBJECT_EX && !(member->flags & READONLY);  // that is what __slots__ makes
    if (!plain) trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + describeAttribute(type, name));
  }
  if (!slot && !hasInstanceDict(type)) raises("AttributeError: " + describeAttribute(type, name));
  if (!value && !storedAttribute(self, name, slot)) raises("AttributeError: " + describeAttribute(type, name));
  const auto isIt = [&](const auto& attribute) { return attribute.first.get() == name; };
  if (self->source.valid()) {
    cpython::AttributeCell cell(name);
    auto own = slot ? cpython::instanceAttribute(self->object.get(), cell)
                    : cpython::instanceDictItem(self->object.get(), cell);
    if (own.state == cpython::LookupState::kRefused) {
      trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + describeAttribute(type, name));
    }
    // Who may go back has to find what there was.
    const bool unread = trace_.watchers > 0 && own.state == cpython::LookupState::kFound &&
                        std::none_of(self->overlay.begin(), self->overlay.end(), isIt);
    if (Value* was = unread ? storedAttribute(self, name, slot) : nullptr)
      self->overlay.emplace_back(Ref::create(name), was);
  }
  trace_.effectAttr(self, trace_.constant(name), value);
  for (size_t i = 0; i < self->overlay.size(); ++i) {
    if (self->overlay[i].first.get() != name) continue;
    // A deleted attribute that comes back stands last.
    if (self->overlay[i].second && value) {
      self->overlay[i].second = value;
      return;
    }
    self->overlay.erase(self->overlay.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  if (value || self->source.valid()) self->overlay.emplace_back(Ref::create(name), value);
}

void Interpreter::descriptorStore(Value* self, PyTypeObject* type, PyObject* name, PyObject* found, Value* value) {
  if (Py_TYPE(found) == &PyProperty_Type) {
    Ref setter = checked(PyObject_GetAttrString(found, value ? "fset" : "fdel"));
    if (setter.get() == Py_None) raises("AttributeError: " + describeAttribute(type, name));
    if (PyFunction_Check(setter.get())) {
      std::vector<Value*> args{self};
      if (value) args.push_back(value);
      (void)callRaw(trace_.constant(setter), {.positional = std::move(args), .keywords = {}});
      return;
    }
  }
  static PyObject* const set = interned("__set__");
  PyObject* own = value ? lookUp(Py_TYPE(found), set) : nullptr;
  if (!own || !PyFunction_Check(own))
    trace_.fail(BreakReason::kUnsupportedWrite, "attribute " + describeAttribute(type, name));
  guardTypeVersion(Py_TYPE(found));
  SourceId base = trace_.sources().intern(SourceKind::kConst, {}, 0, reinterpret_cast<PyObject*>(type));
  Value* descriptor = trace_.fromSource(trace_.sources().intern(SourceKind::kTypeAttr, base, 0, name), found);
  (void)callRaw(trace_.constant(own), {.positional = {descriptor, self, value}, .keywords = {}});
}

// ---- instances ----------------------------------------------------------------------------------------------------

/// cls(...) of a class written in Python whose instances are plain objects; null if it is none.
Value* Interpreter::makeInstance(Value* cls, CallArgs args) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls->object.get());
  static PyObject* const construct = interned("__new__");
  static PyObject* const init = interned("__init__");
  static PyObject* const finalize = interned("__del__");
  bool plain = Py_TYPE(type)->tp_call == PyType_Type.tp_call && hasPlainLayout(type) &&
               type->tp_alloc == PyType_GenericAlloc && type != &PyBaseObject_Type &&
               !(type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) && !lookUp(type, finalize) &&
               lookUp(type, construct) == lookUp(&PyBaseObject_Type, construct);
  if (!plain) return nullptr;
  guardTypeVersion(Py_TYPE(type));  // ABCMeta and the like may get a __call__
  guardTypeVersion(type);
  PyObject* initializer = lookUp(type, init);
  bool own = initializer && PyFunction_Check(initializer);
  if (!own && initializer != lookUp(&PyBaseObject_Type, init)) return nullptr;
  if (!own && !(args.positional.empty() && args.keywords.empty())) {
    raises("TypeError: " + std::string(type->tp_name) + "() takes no arguments");
  }
  Value* self = trace_.make(ValueKind::kInstance);
  self->object = cls->object;
  if (!own) return self;
  args.positional.insert(args.positional.begin(), self);
  Value* result = callRaw(trace_.constant(initializer), std::move(args));
  if (!isNone(result)) raises("TypeError: __init__() should return None");
  return self;
}

/// Calls of the slot wrappers of `object`, which classes reach through super(); null if it is another.
Value* Interpreter::callObjectSlot(PyObject* wrapper, const CallArgs& args) {
  static PyObject* const init = interned("__init__");
  static PyObject* const set = interned("__setattr__");
  static PyObject* const remove = interned("__delattr__");
  static PyObject* const get = interned("__getattribute__");
  auto isObjects = [&](PyObject* name) { return wrapper == lookUp(&PyBaseObject_Type, name); };
  size_t count = args.positional.size();
  if (!args.keywords.empty() || count == 0 || !isUserObject(args.positional[0])) return nullptr;
  Value* self = args.positional[0];
  PyTypeObject* type = trace_.typeOf(self);
  if (isObjects(init) && count == 1) return trace_.constant(Py_None);
  if (count < 2 || !args.positional[1]->isConstant() || !PyUnicode_CheckExact(args.positional[1]->object.get()))
    return nullptr;
  Ref name = args.positional[1]->object;
  PyObject* raw = name.release();
  PyUnicode_InternInPlace(&raw);
  name = Ref::steal(raw);
  guardTypeVersion(type);
  if (isObjects(set) && count == 3) {
    genericStore(self, type, name.get(), args.positional[2]);
    return trace_.constant(Py_None);
  }
  if (isObjects(remove) && count == 2) {
    genericStore(self, type, name.get(), nullptr);
    return trace_.constant(Py_None);
  }
  if (isObjects(get) && count == 2) {
    Value* value = genericAttribute(self, type, name.get());
    if (!value) raises("AttributeError: " + describeAttribute(type, name.get()));
    return value;
  }
  return nullptr;
}

// ---- super() ------------------------------------------------------------------------------------------------------

/// super(cls, self). Without arguments they come from the running frame.
Value* Interpreter::makeSuper(const CallArgs& args) {
  Value *cls = nullptr, *self = nullptr;
  if (args.positional.size() == 2 && args.keywords.empty()) {
    cls = args.positional[0];
    self = args.positional[1];
  } else if (args.positional.empty() && args.keywords.empty()) {
    PyCodeObject* code = frame_->object();
    if (code->co_argcount == 0) raises("RuntimeError: super(): no arguments");
    self = local(0);
    bool cell = PyBytes_AS_STRING(code->co_localspluskinds)[0] & kCellVariable;  // and no cell object that was passed
    if (self && cell && trace_.open(self)->kind == ValueKind::kCell) self = contentOf(self);
    for (int i = 0; i < code->co_nlocalsplus; ++i) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i), "__class__") != 0) continue;
      if (Value* cell = local(i)) cls = trace_.open(cell)->kind == ValueKind::kCell ? contentOf(cell) : nullptr;
    }
  }
  if (!cls || !self) trace_.fail(BreakReason::kUnsupportedCall, "super() with these arguments");
  trace_.open(cls);
  trace_.open(self);
  if (!cls->isConstant() || !PyType_Check(cls->object.get()))
    trace_.fail(BreakReason::kUnsupportedCall, "super() of this class");
  auto* start = reinterpret_cast<PyTypeObject*>(cls->object.get());
  bool ofType = self->isConstant() && PyType_Check(self->object.get()) &&
                PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->object.get()), start);
  if (!ofType && !PyType_IsSubtype(trace_.typeOf(self), start)) {
    trace_.fail(BreakReason::kUnsupportedCall, "super() of an object of another class");
  }
  Value* v = trace_.make(ValueKind::kSuper);
  v->items = {cls, self};
  return v;
}

/// Looks along the MRO behind the class that super() was given.
Value* Interpreter::superAttribute(Value* super, PyObject* name) {
  Value *cls = super->items[0], *self = super->items[1];
  auto* start = reinterpret_cast<PyTypeObject*>(cls->object.get());
  bool ofType = self->isConstant() && PyType_Check(self->object.get());
  PyTypeObject* type = ofType ? reinterpret_cast<PyTypeObject*>(self->object.get()) : trace_.typeOf(self);
  if (!PyType_IsSubtype(type, start) || isClassAttribute(name, lookUp(&PyBaseObject_Type, name))) {
    trace_.fail(BreakReason::kUnsupportedAttribute, "super()." + text(name));
  }
  guardTypeVersion(type);
  const std::span<PyTypeObject* const> mro = mroOf(type);
  const auto at = std::find(mro.begin(), mro.end(), start);
  for (PyTypeObject* base : std::span(at == mro.end() ? at : at + 1, mro.end())) {
    Ref held = ownAttribute(base, name);
    PyObject* found = held.get();
    if (!found) continue;
    if (Py_TYPE(found) == &PyProperty_Type && !ofType) {
      Ref getter = checked(PyObject_GetAttrString(found, "fget"));
      if (PyFunction_Check(getter.get()))
        return callRaw(trace_.constant(getter), {.positional = {self}, .keywords = {}});
    }
    if (!ofType && Caches::isCachedProperty(found))
      return bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(type)), base, name, found);
    if (ofType && PyFunction_Check(found)) return trace_.constant(found);
    if (PyCFunction_Check(found)) return trace_.constant(found);  // __new__ of a type in C
    if (!ofType && isSubclassValue(self) && PyObject_TypeCheck(found, &PyMethodDescr_Type))
      return bindDescriptor(self, cls, base, name, found);
    bool known = PyFunction_Check(found) || Py_TYPE(found) == &PyClassMethod_Type ||
                 Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyWrapperDescr_Type;
    if (!known) break;
    Value* receiver = ofType ? self : trace_.constant(reinterpret_cast<PyObject*>(type));
    return bindDescriptor(ofType ? nullptr : self, receiver, base, name, found);
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, "super()." + text(name));
}

/// 3.12 on: super, class and self on the stack.
void Interpreter::onLoadSuperAttr(const Instr& instr) {
  Value* self = popRaw();
  Value* cls = popRaw();
  Value* global = pop();
  if (!global->isConstant() || global->object.get() != reinterpret_cast<PyObject*>(&PySuper_Type)) unsupported(instr);
  Value* value = superAttribute(makeSuper({.positional = {cls, self}, .keywords = {}}), nameAt(instr.arg));
  push(value);
  if (!(instr.flags & 1)) return;
  Value* null = trace_.make(ValueKind::kNull);
  push(null);
  if (cpython::kNullBeforeCallable) onSwap({.arg = 2});
}

}  // namespace fw::capture
