// How dicts and instances are read without running Python code.
//
// A key is looked up by remembering the index of its entry: if the entry at that index still holds the same object, its
// value is the answer, otherwise the table is probed (hash_tables.cpp) and the index refreshed. An absent key is
// remembered with the dict's version. Stubs do the common case inline.
//
// Measured on 3.12, ten globals in one stub: 1.0 ns each this way, 5.8 ns through _PyDict_GetItem_KnownHash. A dict
// watcher (3.12+) could save no more than that 1 ns per global and would cost a Python-level callback on every change
// of every watched dict and bookkeeping of who watches what, so there are none.
//
// Where instances keep their attributes is private to CPython: its headers for that do not compile as C++, so that the
// layouts are declared here and in dict_layout.h; checkRuntimeVersion() tries them on live objects.
#include "cpython/attributes.h"

#include <structmember.h>

#include <cstring>
#include <utility>

#include "cpython/dict_layout.h"
#include "cpython/hash_tables.h"
#include "cpython/types.h"
#include "cpython/version.h"

namespace fw::cpython {

namespace {

/// Where an instance of a type with Py_TPFLAGS_MANAGED_DICT keeps its attributes: in a dict, or in values whose names
/// are the type's shared keys, or nowhere yet (both null).
struct Managed {
  PyObject* dict;
  const Values* values;
};

Managed managedAttributes(PyObject* object) {
#if FW_PY_MINOR == 11
  auto** words = reinterpret_cast<PyObject**>(object);
  return {words[-3], reinterpret_cast<Values**>(object)[-4]};
#elif FW_PY_MINOR == 12
  uintptr_t word = reinterpret_cast<uintptr_t*>(object)[-3];
  if (word & 1) return {nullptr, reinterpret_cast<const Values*>(word + 1)};  // tagged: one byte before the values
  return {reinterpret_cast<PyObject*>(word), nullptr};
#else
  PyObject* dict = reinterpret_cast<PyObject**>(object)[-3];
  if (dict || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) return {dict, nullptr};
  auto* values = reinterpret_cast<const Values*>(reinterpret_cast<char*>(object) + Py_TYPE(object)->tp_basicsize);
  return {nullptr, values->valid ? values : nullptr};
#endif
}

Lookup found(PyObject* value) { return {value ? LookupState::kFound : LookupState::kAbsent, value}; }

/// Whether no look-up along the MRO can meet a key with a user's __eq__ in the dict of a class.
bool hasStrKeysOnly(PyTypeObject* type) {
  const std::span<PyTypeObject* const> mro = mroOf(type);
  for (PyTypeObject* base : mro) {
    if (!hasDict(base)) return false;
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;  // builtin classes; from 3.12 on their dicts lie elsewhere
    if (keysOf(reinterpret_cast<PyDictObject*>(base->tp_dict)->ma_keys)->kind == kGeneralKeys) return false;
  }
  return !mro.empty();
}

/// Attributes that a function keeps in fields of its own, behind descriptors that add nothing but a check or a default:
/// offset of the field, 0 if there is none.
Py_ssize_t functionField(PyObject* name) {
  static const std::pair<const char*, size_t> kFields[] = {
      {"__name__", offsetof(PyFunctionObject, func_name)},
      {"__qualname__", offsetof(PyFunctionObject, func_qualname)},
      {"__doc__", offsetof(PyFunctionObject, func_doc)},
      {"__module__", offsetof(PyFunctionObject, func_module)},
      {"__defaults__", offsetof(PyFunctionObject, func_defaults)},
      {"__kwdefaults__", offsetof(PyFunctionObject, func_kwdefaults)},
      {"__closure__", offsetof(PyFunctionObject, func_closure)},
      {"__annotations__", offsetof(PyFunctionObject, func_annotations)},
      {"__dict__", offsetof(PyFunctionObject, func_dict)},
#if FW_PY_MINOR >= 12
      {"__type_params__", offsetof(PyFunctionObject, func_typeparams)},
#endif
  };
  for (auto [text, offset] : kFields)
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) return static_cast<Py_ssize_t>(offset);
  return 0;
}

/// The same of a class, where it is written in Python.
Py_ssize_t classField(PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "__name__") == 0) return offsetof(PyHeapTypeObject, ht_name);
  return PyUnicode_CompareWithASCIIString(name, "__qualname__") == 0 ? offsetof(PyHeapTypeObject, ht_qualname) : 0;
}

/// Offset of the member `key` of the type (as __slots__ makes them) or of a field as above, 0 if the attribute is
/// neither, -1 if that cannot be told. Remembered per type version.
Py_ssize_t slotOffset(PyTypeObject* type, AttributeCell& cell) {
  if (cell.slotType == type && cell.slotVersion != 0 && cell.slotVersion == type->tp_version_tag)
    return cell.slotOffset;
  Lookup inType = lookUpType(type, cell.key.get());
  if (inType.state == LookupState::kRefused) return -1;
  PyObject* member = inType.value;
  Py_ssize_t offset = 0;
  bool emptyIsNone = false;
  if (member && Py_TYPE(member) == &PyMemberDescr_Type) {
    PyMemberDef* def = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
#if FW_PY_MINOR == 11
    bool isObject = (def->type == T_OBJECT_EX || def->type == T_OBJECT) && !(def->flags & PY_AUDIT_READ);
#else
    bool isObject =
        (def->type == Py_T_OBJECT_EX || def->type == T_OBJECT) && !(def->flags & (Py_AUDIT_READ | Py_RELATIVE_OFFSET));
#endif
    if (isObject) offset = def->offset;
    emptyIsNone = def->type == T_OBJECT;
  }
  if (type == &PyFunction_Type) {
    offset = functionField(cell.key.get());
    emptyIsNone = PyUnicode_CompareWithASCIIString(cell.key.get(), "__type_params__") == 0;
  }
  if (PyType_HasFeature(type, Py_TPFLAGS_TYPE_SUBCLASS)) offset = classField(cell.key.get());
  cell.slotType = type;
  cell.slotVersion = type->tp_version_tag;
  cell.slotOffset = offset;
  cell.emptyIsNone = emptyIsNone;
  return offset;
}

/// Remembers entry `index` of a combined dict. Holding its key runs no Python code when it is let go: a key equal to a
/// plain one is plain, any other is the very key of the cell.
void remember(AttributeCell& cell, const KeysObject* keys, Py_ssize_t index) {
  PyObject* const* key = keys->kind == kGeneralKeys ? &generalEntriesOf(keys)[index].key : &entriesOf(keys)[index].key;
  if (cell.stored.get() != *key) cell.stored = Ref::create(*key);
  cell.hint = index;
  std::memcpy(&cell.keysTag, &keys->log2IndexBytes, sizeof(cell.keysTag));
  cell.entryOffset = reinterpret_cast<const char*>(key) - reinterpret_cast<const char*>(keys);
}

Lookup absent(AttributeCell& cell, PyObject* dict) {
  cell.absentVersion = dictVersion(dict);
  return {LookupState::kAbsent, nullptr};
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ma_version_tag, which 3.14 removes
const int DictLayout::kVersion = offsetof(PyDictObject, ma_version_tag);
#pragma GCC diagnostic pop
const int DictLayout::kKeys = offsetof(PyDictObject, ma_keys);
const int DictLayout::kValues = offsetof(PyDictObject, ma_values);

AttributeCell::AttributeCell(PyObject* k, Py_hash_t given)
    : key(Ref::create(k)),
      stored(key),
      hash(nativeHash(k).value_or(given)) {}

uint64_t dictVersion(PyObject* dict) {
  uint64_t version;
  std::memcpy(&version, reinterpret_cast<char*>(dict) + DictLayout::kVersion, sizeof(version));
  return version;
}

bool isInternedStr(PyObject* object) {
  return object && PyUnicode_CheckExact(object) && PyUnicode_CHECK_INTERNED(object);
}

bool strEqual(PyObject* a, PyObject* b) {
  if (a == b) return true;
  Py_ssize_t n = PyUnicode_GET_LENGTH(a);
  if (n != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return false;
  return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), static_cast<size_t>(n) * PyUnicode_KIND(a)) == 0;
}

Lookup dictItem(PyObject* dict, AttributeCell& cell) {
  if (!dict || Py_TYPE(dict) != &PyDict_Type) return {LookupState::kRefused, nullptr};
  auto* d = reinterpret_cast<PyDictObject*>(dict);
  const KeysObject* keys = keysOf(d->ma_keys);
  if (cell.hint < keys->entryCount) {
    PyObject* there =
        keys->kind == kGeneralKeys ? generalEntriesOf(keys)[cell.hint].key : entriesOf(keys)[cell.hint].key;
    if (there && (there == cell.stored.get() || there == cell.key.get())) {
      if (!d->ma_values) remember(cell, keys, cell.hint);
      return found(entryValue(d, cell.hint));
    }
  }
  DictProbe probe = probeDict(dict, cell.key.get(), cell.hash);
  if (probe.state == LookupState::kAbsent) return absent(cell, dict);
  if (probe.state == LookupState::kFound) {
    cell.hint = probe.index;
    if (!d->ma_values) remember(cell, keys, probe.index);
  }
  return {probe.state, probe.value};
}

Lookup instanceDictItem(PyObject* object, AttributeCell& cell) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    Managed managed = managedAttributes(object);
    if (managed.dict) return dictItem(managed.dict, cell);
    if (!managed.values) return found(nullptr);
    const PyDictKeysObject* cached = reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
    const KeysObject* keys = keysOf(cached);
    Py_ssize_t index = cell.hint;
    if (index >= keys->entryCount || entriesOf(keys)[index].key != cell.key.get()) {
      index = probeKeys(cached, cell.key.get(), cell.hash);  // str only: never unknown
      if (index < 0) return found(nullptr);
      cell.hint = index;
    }
    return found(managed.values->values[index]);
  }
  if (type->tp_dictoffset == 0) return found(nullptr);
  PyObject** where = _PyObject_GetDictPtr(object);  // computes an address; allocates only for managed dicts
  if (!where || !*where) return found(nullptr);
  return dictItem(*where, cell);
}

Lookup instanceAttribute(PyObject* object, AttributeCell& cell) {
  if (Py_ssize_t offset = slotOffset(Py_TYPE(object), cell)) {
    bool builtin =
        PyType_Check(object) && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object), Py_TPFLAGS_HEAPTYPE);
    if (offset < 0 || builtin) return {LookupState::kRefused, nullptr};
    PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
    return found(value || !cell.emptyIsNone ? value : Py_None);
  }
  return instanceDictItem(object, cell);
}

Lookup lookUpType(PyTypeObject* type, PyObject* name) {
  if (!hasStrKeysOnly(type)) return {LookupState::kRefused, nullptr};
  return found(_PyType_Lookup(type, name));
}

PyObject* typeAttribute(PyObject* type, PyObject* name) {
  return lookUpType(reinterpret_cast<PyTypeObject*>(type), name).value;
}

LookupState plainAttribute(PyObject* object, AttributeCell& cell) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_getattro == PyType_Type.tp_getattro && PyType_Check(object)) {
    Lookup own = lookUpType(reinterpret_cast<PyTypeObject*>(object), cell.key.get());
    return own.state == LookupState::kAbsent ? lookUpType(type, cell.key.get()).state : own.state;
  }
  bool isModule = type->tp_getattro == PyModule_Type.tp_getattro && PyModule_Check(object);
  if (!isModule && type->tp_getattro != PyObject_GenericGetAttr) return LookupState::kRefused;
  bool field = slotOffset(type, cell) != 0;
  if (field && type == &PyFunction_Type) return LookupState::kFound;  // None where the field is empty
  if (field) return instanceAttribute(object, cell).state;
  Lookup own = instanceDictItem(object, cell);
  if (own.state != LookupState::kAbsent) return own.state;
  LookupState inherited = lookUpType(type, cell.key.get()).state;
  if (inherited != LookupState::kAbsent || !isModule) return inherited;
  static PyObject* const getattr = PyUnicode_InternFromString("__getattr__");
  AttributeCell fallback(getattr);
  return instanceDictItem(object, fallback).state == LookupState::kAbsent ? LookupState::kAbsent
                                                                          : LookupState::kRefused;
}

}  // namespace fw::cpython
