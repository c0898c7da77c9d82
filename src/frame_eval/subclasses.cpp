// Instances of classes derived from tuple and dict. A class is followed if it leaves the slots alone by which C code
// reads such an instance without asking the class (iteration, length); the others are asked for first, as CPython's
// slots do.
#include <algorithm>

#include "cpython/elements.h"
#include "cpython/hash_tables.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/keys.h"
#include "frame_eval/reading.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

bool keepsMethod(PyTypeObject* type, PyTypeObject* base, const char* name) {
  Ref key = checked(PyUnicode_InternFromString(name));
  return lookUp(type, key.get()) == lookUp(base, key.get());
}

/// collections._tuplegetter, behind the fields of namedtuples: its index, -1 for other objects.
Py_ssize_t fieldOf(PyObject* descriptor) {
  std::string_view type = Py_TYPE(descriptor)->tp_name;
  if (type != "_collections._tuplegetter" && type != "collections._tuplegetter") return -1;
  Ref parts = checked(PyObject_CallMethod(descriptor, "__reduce__", nullptr));  // (type, (index, doc))
  return PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(parts.get(), 1), 0));
}

}  // namespace

bool isDefaultdict(PyTypeObject* type) {
  PyTypeObject* base = cpython::defaultdictType();
  return base && PyType_IsSubtype(type, base);
}

PyTypeObject* containerBase(PyTypeObject* type) {
  PyTypeObject* base = type;
  while (base && isUserClass(base)) base = base->tp_base;
  bool dict = base == &PyDict_Type || base == &PyODict_Type || (base && isDefaultdict(base));
  if (!dict && base != &PyTuple_Type) return nullptr;
  if (type == base && (base == &PyTuple_Type || base == &PyDict_Type)) return nullptr;
  // Mixed-in classes have to be Python's as well.
  for (PyTypeObject* one : mroOf(type))
    if (!isUserClass(one) && one != &PyBaseObject_Type && !PyType_IsSubtype(base, one)) return nullptr;
  if (type == base) return base;
  static PyObject* const finalize = interned("__del__");
  bool same = type->tp_alloc == PyType_GenericAlloc && !(type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) &&
              !lookUp(type, finalize) && keepsMethod(type, base, "__iter__") && keepsMethod(type, base, "__len__");
  if (!dict) {
    for (const char* name :
         {"__getitem__", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}) {
      same = same && keepsMethod(type, base, name);
    }
  }
  return same ? base : nullptr;
}

bool isCounter(const PyTypeObject* type) {
  static PyObject* const counter = [] {
    Ref module = Ref::steal(PyImport_ImportModule("collections"));
    PyObject* found = module ? PyObject_GetAttrString(module.get(), "Counter") : nullptr;
    PyErr_Clear();
    return found;
  }();
  return reinterpret_cast<const PyObject*>(type) == counter;
}

bool isOwnOfCounter(const PyTypeObject* type, const char* name) {
  if (!isCounter(type)) return false;
  static PyObject* const module = checked(PyImport_ImportModule("collections")).release();
  PyObject* found = lookUp(const_cast<PyTypeObject*>(type), interned(name));
  return found && PyFunction_Check(found) && PyFunction_GET_GLOBALS(found) == PyModule_GetDict(module);
}

// ---- making -------------------------------------------------------------------------------------------------------

Value* Collections::create(PyTypeObject* cls, const CallArgs& args) {
  PyTypeObject* base = containerBase(cls);
  FW_CHECK(base);
  Value* self = nullptr;
  if (base == &PyTuple_Type) {
    if (!args.keywords.empty() || args.positional.size() > 1)
      trace.fail(BreakReason::kUnsupportedCall, "tuple.__new__");
    self = trace.tuple(args.positional.empty() ? std::vector<Value*>() : in.iterate(args.positional[0]));
  } else {
    self = trace.make(ValueKind::kDict);
  }
  self->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  return self;
}

Value* Collections::construct(Value* cls, CallArgs args) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls->object.get());
  static PyObject* const constructor = interned("__new__");
  static PyObject* const init = interned("__init__");
  PyTypeObject* base = Py_TYPE(type)->tp_call == PyType_Type.tp_call ? containerBase(type) : nullptr;
  if (!base) return nullptr;
  in.guardTypeVersion(Py_TYPE(type));
  in.guardTypeVersion(type);
  PyObject* make = lookUp(type, constructor);
  bool python = make && Py_TYPE(make) == &PyStaticMethod_Type;
  Value* self = nullptr;
  if (python) {
    Ref function = checked(PyObject_GetAttrString(make, "__func__"));
    CallArgs all = args;
    all.positional.insert(all.positional.begin(), cls);
    self = in.call(trace.constant(function), std::move(all));
    if (!PyType_IsSubtype(trace.typeOf(self), type)) return self;
  } else {
    if (make != lookUp(base, constructor)) return nullptr;
    self = create(type, args);
  }
  const bool isPlainCounter = isOwnOfCounter(type, "__init__") && isOwnOfCounter(type, "update");
  if (isPlainCounter && args.positional.size() == 1 && args.keywords.empty()) {
    Value* given = args.positional[0];
    if (Value* items = given->kind == ValueKind::kIterator ? in.collected(given) : nullptr) args.positional[0] = items;
    static PyObject* const module = checked(PyImport_ImportModule("collections")).release();
    const Value* counts = in.getAttribute(trace.constant(module), interned("_count_elements"));
    if (isLong(args.positional[0]) && counts->isConstant() && PyCFunction_Check(counts->object.get())) {
      workTable(self);
      (void)bySteps("_count_elements", {self, args.positional[0]});
      return self;
    }
  }
  PyObject* initializer = lookUp(type, init);
  if (initializer && PyFunction_Check(initializer)) {
    args.positional.insert(args.positional.begin(), self);
    Value* result = in.call(trace.constant(initializer), std::move(args));
    if (!in.isNone(result)) in.raises("TypeError: __init__() should return None");
  } else if (initializer != lookUp(base, init)) {
    trace.fail(BreakReason::kUnsupportedCall, std::string(type->tp_name) + ".__init__");
  } else if (base != &PyTuple_Type) {
    fill(self, std::move(args));
  }
  if (isCounter(type)) workTable(self);
  return self;
}

/// dict.__init__, OrderedDict.__init__, defaultdict.__init__.
void Collections::fill(Value* dict, CallArgs args) {
  PyTypeObject* type = trace.typeOf(dict);
  if (isDefaultdict(type)) {
    if (!args.positional.empty()) {
      dict->base = in.isNone(args.positional[0]) ? nullptr : args.positional[0];
      args.positional.erase(args.positional.begin());
    }
  }
  // OrderedDict asks the class for __setitem__, the others do not.
  if (isOrdered(dict) && !keepsMethod(type, &PyODict_Type, "__setitem__")) {
    trace.fail(BreakReason::kUnsupportedCall, std::string(type->tp_name) + ".__init__");
  }
  if (args.positional.size() > 1) trace.fail(BreakReason::kUnsupportedCall, std::string(type->tp_name) + "()");
  in.updateDict(dict, args);
  if (type == cpython::defaultdictType()) workTable(dict);
}

// ---- attributes and slots -----------------------------------------------------------------------------------------

Value* Collections::bind(Value* self, PyObject* found) {
  if (!isSubclassValue(self)) return nullptr;
  if (PyObject_TypeCheck(found, &PyMethodDescr_Type)) {
    Value* method = trace.make(ValueKind::kMethod);
    method->items = {nullptr, self};
    method->name = text(PyDescr_NAME(found));
    return method;
  }
  Py_ssize_t field = self->kind == ValueKind::kTuple ? fieldOf(found) : -1;
  if (field < 0) return nullptr;
  if (field >= static_cast<Py_ssize_t>(self->items.size())) in.raises("IndexError: tuple index out of range");
  return self->items[static_cast<size_t>(field)];
}

Value* Collections::callSlot(PyObject* wrapper, CallArgs args) {
  if (Py_TYPE(wrapper) != &PyWrapperDescr_Type || args.positional.empty()) return nullptr;
  Value* self = trace.open(args.positional[0]);
  bool container = self->kind == ValueKind::kDict || self->kind == ValueKind::kTuple;
  if (!container || !PyType_IsSubtype(trace.typeOf(self), PyDescr_TYPE(wrapper))) return nullptr;
  // A slot that the class's builtin base replaces is another function.
  std::string name = text(PyDescr_NAME(wrapper));
  Ref key = checked(PyUnicode_InternFromString(name.c_str()));
  PyTypeObject* base = self->cls ? containerBase(trace.typeOf(self)) : trace.typeOf(self);
  if (!base || lookUp(base, key.get()) != wrapper) return nullptr;
  args.positional.erase(args.positional.begin());
  const std::vector<Value*>& a = args.positional;
  bool dict = self->kind == ValueKind::kDict;
  if (name == "__init__" && dict) {
    fill(self, std::move(args));
    return trace.constant(Py_None);
  }
  if (!args.keywords.empty()) return nullptr;
  if (name == "__init__") return trace.constant(Py_None);
  if (name == "__setitem__" && dict && a.size() == 2) {
    in.setKey(self, in.key(trace.open(a[0])), trace.open(a[1]));
    return trace.constant(Py_None);
  }
  if (name == "__delitem__" && dict && a.size() == 1) {
    int at = in.findKey(self, in.key(trace.open(a[0])));
    if (at < 0) in.raiseError(PyExc_KeyError, {a[0]});
    in.eraseKey(self, at);
    return trace.constant(Py_None);
  }
  if (name == "__len__" && a.empty()) return in.length(self);
  if (name == "__iter__" && a.empty()) return in.iteratorOf(self);
  if (name == "__getitem__" && a.size() == 1) return in.plainItem(self, trace.open(a[0]));
  return nullptr;
}

Value* Collections::orderedMethod(Value* self, const std::string& name, const CallArgs& original) {
  CallArgs args = original;
  bool last = true;
  bool ordering = name == "popitem" || name == "move_to_end";
  bool mapping = name == "update" || name == "pop" || name == "setdefault";
  // These ask a subclass for __getitem__ and __setitem__.
  if (mapping && isSubclassValue(self))
    trace.fail(BreakReason::kUnsupportedCall, "OrderedDict." + name + " of a subclass");
  if (!ordering) return nullptr;
  for (auto& [key, value] : args.keywords) {
    if (key != "last") trace.fail(BreakReason::kUnsupportedCall, "OrderedDict." + name);
    args.positional.push_back(value);
  }
  size_t fixed = name == "popitem" ? 0 : 1;
  if (args.positional.size() < fixed || args.positional.size() > fixed + 1)
    trace.fail(BreakReason::kUnsupportedCall, "OrderedDict." + name);
  if (args.positional.size() > fixed) last = trace.truth(args.positional[fixed]);
  if (name == "popitem") {
    if (self->keys.empty()) in.raiseError(PyExc_KeyError, "dictionary is empty");
    size_t at = last ? self->keys.size() - 1 : 0;
    Value* pair = trace.tuple({self->keys[at], self->items[at]});
    in.eraseKey(self, static_cast<int>(at));
    return pair;
  }
  Value* key = in.key(args.positional[0]);
  int at = in.findKey(self, key);
  if (at < 0) in.raiseError(PyExc_KeyError, {key});
  trace.effectCall(self, "move_to_end", {key, trace.constant(last ? Py_True : Py_False)});
  auto move = [&](std::vector<Value*>& values) {
    if (last) {
      std::rotate(values.begin() + at, values.begin() + at + 1, values.end());
    } else {
      std::rotate(values.begin(), values.begin() + at, values.begin() + at + 1);
    }
  };
  move(self->keys);
  move(self->items);
  return trace.constant(Py_None);
}

bool Collections::equalDicts(Value* left, Value* right) {
  if (left->items.size() != right->items.size()) return false;
  bool ordered = isOrdered(left) && isOrdered(right);
  for (size_t i = 0; i < left->keys.size(); ++i) {
    int at = in.findKey(right, left->keys[i]);
    if (at < 0) return false;
    if (ordered && static_cast<size_t>(at) != i) return false;
    Value *a = left->items[i], *b = right->items[static_cast<size_t>(at)];
    if (!isSameObject(a, b) && !trace.truth(in.compare(Py_EQ, a, b))) return false;
  }
  return true;
}

Value* Collections::metaSpecial(Value* cls, const char* name, CallArgs args) {
  if (!cls->isConstant() || !PyType_Check(cls->object.get()) || Py_TYPE(cls->object.get()) == &PyType_Type)
    return nullptr;
  PyTypeObject* meta = Py_TYPE(cls->object.get());
  Ref key = checked(PyUnicode_InternFromString(name));
  PyObject* found = lookUp(meta, key.get());
  if (!found || !PyFunction_Check(found)) return nullptr;
  in.guardTypeVersion(meta);
  args.positional.insert(args.positional.begin(), cls);
  return in.call(trace.constant(found), std::move(args));
}

// ---- from outside -------------------------------------------------------------------------------------------------

namespace {

Value* openTuple(Trace& trace, SourceId source, PyObject* object) {
  Py_ssize_t size = PyTuple_GET_SIZE(object);
  trace.guard({.kind = guards::GuardKind::kElements, .source = source, .lo = size, .hi = -1});
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < size; ++i) {
    items.push_back(trace.open(trace.fromSource(trace.sources().intern(guards::SourceKind::kElement, source, i),
                                                PyTuple_GET_ITEM(object, i))));
  }
  return trace.tuple(std::move(items));
}

Value* openDeque(Trace& trace, SourceId source, PyObject* object) {
  Py_ssize_t size = Py_SIZE(object);
  int64_t limit = cpython::maxlenOf(object);
  trace.guard({.kind = guards::GuardKind::kElements, .source = source, .lo = size, .hi = limit});
  Value* v = trace.make(ValueKind::kDeque);
  v->position = limit < 0 ? SIZE_MAX : static_cast<size_t>(limit);
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* item = cpython::elementOf(object, i);
    v->items.push_back(
        trace.open(trace.fromSource(trace.sources().intern(guards::SourceKind::kElement, source, i), item)));
  }
  return v;
}

Value* openDict(Trace& trace, SourceId source, PyObject* object, const char** refusal) {
  Ref keys = checked(PyList_New(0));
  cpython::DictWalk walk(object);
  while (PyObject* key = walk.next()) {
    if (!isGuardedKey(key)) return *refusal = kRefusedKeys, nullptr;
    checked(PyList_Append(keys.get(), key));
  }
  Ref tuple = checked(PyList_AsTuple(keys.get()));
  trace.guard({.kind = guards::GuardKind::kElements,
               .source = source,
               .object = tuple,
               .lo = PyTuple_GET_SIZE(tuple.get()),
               .hi = -1});
  Value* v = trace.make(ValueKind::kDict);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(tuple.get(), i);
    auto native = cpython::nativeHash(key), hash = native ? native : cpython::storedHash(object, key);
    PyObject* item = hash ? cpython::probeTable(object, key, *hash).value : nullptr;
    if (!item) return *refusal = kRefusedKeys, nullptr;
    SourceId held = trace.sources().intern(guards::SourceKind::kHeldItem, source, native ? 0 : *hash, key);
    v->keys.push_back(keyFromOutside(trace, key));
    v->items.push_back(trace.open(trace.fromSource(held, item)));
  }
  if (isDefaultdict(Py_TYPE(object))) {
    SourceId factory = trace.sources().intern(guards::SourceKind::kElement, source, 0);
    Value* value = trace.open(trace.fromSource(factory, cpython::elementOf(object, 0)));
    v->base = value->isNone() ? nullptr : value;
  }
  return v;
}

}  // namespace

Value* openCollection(Trace& trace, SourceId source, PyObject* object, const char** refusal) {
  PyTypeObject* type = Py_TYPE(object);
  bool deque = cpython::isDeque(object);
  PyTypeObject* base = deque ? nullptr : containerBase(type);
  if (!deque && !base) return nullptr;
  Py_ssize_t size = deque || base == &PyTuple_Type ? Py_SIZE(object) : PyDict_GET_SIZE(object);
  if (!mayRead(trace, size)) return *refusal = kRefusedSize, nullptr;
  trace.guard(
      {.kind = guards::GuardKind::kType, .source = source, .object = Ref::create(reinterpret_cast<PyObject*>(type))});
  Value* v = deque                   ? openDeque(trace, source, object)
             : base == &PyTuple_Type ? openTuple(trace, source, object)
                                     : openDict(trace, source, object, refusal);
  if (v && !deque) v->cls = Ref::create(reinterpret_cast<PyObject*>(type));
  return v;
}

Value* Collections::missingItem(Value* dict) {
  if (!dict->base) return isCounter(trace.typeOf(dict)) ? trace.constant(checked(PyLong_FromLong(0))) : nullptr;
  const auto isBase = [&](PyTypeObject& type) {
    return dict->base->object.get() == reinterpret_cast<PyObject*>(&type);
  };
  const bool isPlain = dict->base->isConstant() && (isBase(PyLong_Type) || isBase(PyFloat_Type));
  return isPlain ? in.call(dict->base, {}) : nullptr;
}

}  // namespace fw::capture
