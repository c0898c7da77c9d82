// Which keys are the same follows dictobject.c: an object is itself; other objects are compared if their hashes are
// equal. Hashes of objects with a __hash__ in Python are asked for once and remembered, as a dict remembers them.
#include "frame_eval/keys.h"

#include <algorithm>

#include "cpython/hash_tables.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/nesting.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// The class Enum of the standard library, once it has been imported; borrowed.
PyTypeObject* enumBase(PyTypeObject* type) {
  std::string_view meta = Py_TYPE(type)->tp_name;
  if (meta != "EnumType" && meta != "EnumMeta") return nullptr;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "enum");
  PyObject* base =
      module && PyModule_CheckExact(module) ? PyDict_GetItemString(PyModule_GetDict(module), "Enum") : nullptr;
  bool derived = base && PyType_Check(base) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base));
  return derived ? reinterpret_cast<PyTypeObject*>(base) : nullptr;
}

}  // namespace

bool isIdentityType(PyTypeObject* type) {
  bool compares = type->tp_richcompare && type->tp_richcompare != PyBaseObject_Type.tp_richcompare;
  return !compares && type->tp_hash == PyBaseObject_Type.tp_hash;
}

bool isEnumMember(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyTypeObject* base = enumBase(type);
  if (!base || !type->tp_richcompare || type->tp_richcompare != PyBaseObject_Type.tp_richcompare) return false;
  Ref name = checked(PyUnicode_InternFromString("__hash__"));
  return lookUp(type, name.get()) == lookUp(base, name.get());
}

bool isGuardedKey(PyObject* key) {
  return cpython::isPlainKey(key) || Py_TYPE(key) == &PyType_Type || isEnumMember(key);
}

Value* keyFromOutside(Trace& trace, PyObject* key) {
  if (!isEnumMember(key)) return trace.constant(key);
  return trace.open(trace.fromSource(guards::constantSource(trace.sources(), key), key));
}

bool isHashedNatively(Trace& trace, Value* key) {
  if (key->kind == ValueKind::kTuple) {
    for (Value* item : key->items) {
      if (!isHashedNatively(trace, item)) return false;
    }
    return true;
  }
  if (isPlainConstant(key)) return true;
  if (key->kind == ValueKind::kObject && isEnumMember(key->object.get())) return true;
  return isIdentityType(trace.typeOf(key)) || (key->isConstant() && Py_TYPE(key->object.get()) == &PyType_Type) ||
         key->kind == ValueKind::kFunction || isConstantOf(key, &PyFunction_Type);
}

/// What stands for the value among the keys of a dict, or break.
Value* Interpreter::key(Value* value) {
  trace_.open(value);
  if (value->kind == ValueKind::kPyInt || value->kind == ValueKind::kPyFloat || value->kind == ValueKind::kPyBool) {
    if (Value* known = trace_.specializeNumber(value)) return known;
  }
  if (isPlainConstant(value)) return value;
  if (value->kind == ValueKind::kTuple) {
    Nesting nesting(trace_);
    for (Value*& item : value->items) (void)key(item);
    Ref object = trace_.asObject(value);
    return object && isPlain(object.get()) ? trace_.constant(object) : value;
  }
  bool unhashable = value->kind == ValueKind::kList || isLongList(value) || PooledList::is(value) ||
                    value->kind == ValueKind::kDict || value->kind == ValueKind::kSet ||
                    value->kind == ValueKind::kArray || value->kind == ValueKind::kDeque;
  if (unhashable) raiseAbout(PyExc_TypeError, std::string("unhashable type: '") + trace_.typeOf(value)->tp_name + "'");
  trace_.refuseOpaque(value);
  (void)trace_.typeOf(value);  // guarded: what it is not equal to follows from it
  bool user = isUserObject(value) && !isSubclassValue(value);
  if (user || isHashedNatively(trace_, value)) {
    // Every look-up asks for the hash again, what a dict holds keeps the one that it came with.
    auto before = keyHashes_.find(value);
    std::optional<Py_hash_t> was;
    if (before != keyHashes_.end()) {
      was = before->second;
      keyHashes_.erase(before);
    }
    if (std::optional<Py_hash_t> now = keyHash(value); was && now != was) {
      trace_.fail(BreakReason::kUnsupportedObject,
                  std::string("a ") + trace_.typeOf(value)->tp_name + " whose hash changes");
    }
    return value;
  }
  trace_.fail(BreakReason::kUnsupportedObject, std::string("dict key of type ") + trace_.typeOf(value)->tp_name);
}

/// Hash of a key; none for those that equal only themselves, and for tuples of others.
std::optional<Py_hash_t> Interpreter::keyHash(Value* key) {
  if (isPlainConstant(key)) {
    Py_hash_t hash = PyObject_Hash(key->object.get());
    if (hash == -1) raisesPending();
    return hash;
  }
  if (!isUserObject(key) || key->kind == ValueKind::kTuple || isHashedNatively(trace_, key)) return std::nullopt;
  auto it = keyHashes_.find(key);
  if (it != keyHashes_.end()) return it->second;
  Value* answer = callSpecial(key, "__hash__", {});
  if (!answer) trace_.fail(BreakReason::kUnsupportedObject, std::string("hash of a ") + trace_.typeOf(key)->tp_name);
  if (trace_.typeOf(answer) != &PyLong_Type) raises("TypeError: __hash__ method should return an integer");
  Value* known = trace_.specializeNumber(answer);
  if (!known) trace_.fail(BreakReason::kDataDependentBranch, "a hash computed from array data");
  Py_hash_t hash = PyObject_Hash(known->object.get());  // reduces big ones
  return keyHashes_[key] = hash;
}

/// Whether a dict that holds `held` finds it when asked for `wanted`.
bool Interpreter::sameKey(Value* held, Value* wanted) {
  if (isSameObject(held, wanted)) return true;
  if (isTuple(held) && isTuple(wanted) && !(isPlainConstant(held) && isPlainConstant(wanted))) {
    std::vector<Value*> a = iterate(held), b = iterate(wanted);
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!sameKey(a[i], b[i])) return false;
    }
    return true;
  }
  if (isTuple(held) != isTuple(wanted)) {
    Value* other = isTuple(held) ? wanted : held;
    if (isPlainConstant(other) || isHashedNatively(trace_, other)) return false;
  }
  auto ofHeld = keyHash(held), ofWanted = keyHash(wanted);
  if (isPlainConstant(held) && isPlainConstant(wanted)) {
    return *ofHeld == *ofWanted &&
           checked(PyObject_RichCompareBool(held->object.get(), wanted->object.get(), Py_EQ)) != 0;
  }
  // What equals only itself; its class is guarded where it was opened.
  if (!ofHeld && !ofWanted) return is(held, wanted);
  bool plain = isPlainConstant(held) || isPlainConstant(wanted);
  if (plain && (!ofHeld || !ofWanted)) return false;
  if (!ofHeld || !ofWanted)
    trace_.fail(BreakReason::kUnsupportedObject, "keys with and without a __hash__ of their own");
  return *ofHeld == *ofWanted && trace_.truth(compare(Py_EQ, held, wanted));
}

namespace {

/// A dict of the trace with at least so many keys has an index.
constexpr size_t kIndexed = 16;

/// Brings the index of a dict up to date; false if some of its keys are no plain constants.
bool bringUpToDate(KeyIndex& index, const std::vector<Value*>& keys) {
  const bool longer =
      index.keys.size() <= keys.size() && std::equal(index.keys.begin(), index.keys.end(), keys.begin());
  if (!longer || !index.positions) index = {.keys = {}, .positions = checked(PyDict_New())};
  for (size_t i = index.keys.size(); i < keys.size(); ++i) {
    if (!isPlainConstant(keys[i])) return false;
    Ref position = checked(PyLong_FromSize_t(i));
    checked(PyDict_SetItem(index.positions.get(), keys[i]->object.get(), position.get()));
    index.keys.push_back(keys[i]);
  }
  return true;
}

}  // namespace

int Interpreter::findKey(Value* dict, Value* key) {
  // A dict from outside may be the own one of an instance that got an attribute of that name.
  const bool outside = dict->source.valid() && dict->kind == ValueKind::kDict && isConstantOf(key, &PyUnicode_Type);
  const std::vector<SideEffect>& effects = trace_.effects();
  for (size_t i = 0; outside && i < effects.size(); ++i) {
    const SideEffect& effect = effects[i];
    bool attribute = effect.key && effect.target->kind == ValueKind::kObject;
    if (attribute && isConstantOf(effect.key, &PyUnicode_Type) &&
        PyUnicode_Compare(effect.key->object.get(), key->object.get()) == 0)
      trace_.fail(BreakReason::kUnsupportedObject, "a dict that may be the instance's own");
  }
  if (dict->keys.size() >= kIndexed && isPlainConstant(key)) {
    KeyIndex& index = keyIndices_[dict];
    if (bringUpToDate(index, dict->keys)) {
      PyObject* position = PyDict_GetItemWithError(index.positions.get(), key->object.get());
      if (!position && PyErr_Occurred()) raisesPending();
      return position ? static_cast<int>(PyLong_AsLong(position)) : -1;
    }
  }
  for (size_t i = 0; i < dict->keys.size(); ++i) {
    if (sameKey(dict->keys[i], key)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace fw::capture
