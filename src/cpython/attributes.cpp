// How dicts and instances are read without running Python code.
//
// A str key is looked up by remembering the index of its entry: if the entry at that index still holds the same
// interned str, its value is the answer, otherwise CPython's hash look-up is asked and the index refreshed. An absent
// key is remembered with the dict's version. Stubs do the common case inline.
//
// Measured on 3.12, ten globals in one stub: 1.0 ns each this way, 5.8 ns through _PyDict_GetItem_KnownHash. A dict
// watcher (3.12+) could save no more than that 1 ns per global and would cost a Python-level callback on every change
// of every watched dict and bookkeeping of who watches what, so there are none.
//
// Key objects and inline values are private to CPython and their headers do not compile as C++, so that their layouts
// are declared here; checkRuntimeVersion() tries them on live objects.
#include "cpython/attributes.h"

#include <structmember.h>

#include <cstring>

#include "cpython/version.h"

namespace fw::cpython {

namespace {

/// pycore_dict.h: struct _dictkeysobject, equal in 3.11, 3.12 and 3.13 with the GIL.
struct KeysObject {
  Py_ssize_t refcnt;
  uint8_t log2Size, log2IndexBytes, kind;
  uint32_t version;
  Py_ssize_t usable, entryCount;
  char indices[1];
};
static_assert(offsetof(KeysObject, entryCount) == DictLayout::kEntryCount && offsetof(KeysObject, indices) == 32 &&
              offsetof(KeysObject, log2IndexBytes) == DictLayout::kKeysTag && offsetof(KeysObject, kind) == DictLayout::kKeysTag + 1);
constexpr uint8_t kGeneralKeys = 0;   // keys of any type; the other kinds hold exact str only

struct StrEntry { PyObject *key, *value; };

const KeysObject* keysOf(PyDictKeysObject* keys) { return reinterpret_cast<const KeysObject*>(keys); }

const StrEntry* entriesOf(const KeysObject* keys) {
  return reinterpret_cast<const StrEntry*>(keys->indices + (size_t{1} << keys->log2IndexBytes));
}

/// pycore_dict.h: struct _dictvalues.
struct Values {
#if FW_PY_MINOR == 13
  uint8_t capacity, size, embedded, valid;
#endif
  PyObject* values[1];
};

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
  if (word & 1) return {nullptr, reinterpret_cast<const Values*>(word + 1)};   // tagged: one byte before the values
  return {reinterpret_cast<PyObject*>(word), nullptr};
#else
  PyObject* dict = reinterpret_cast<PyObject**>(object)[-3];
  if (dict || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) return {dict, nullptr};
  auto* values = reinterpret_cast<const Values*>(reinterpret_cast<char*>(object) + Py_TYPE(object)->tp_basicsize);
  return {nullptr, values->valid ? values : nullptr};
#endif
}

bool isSafeKeyType(PyTypeObject* type) {
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
         type == &PyBytes_Type || type == Py_TYPE(Py_None) || type == &PyComplex_Type;
}

/// Dict with keys of any type: a scan, because the hash look-up may call a key's __eq__.
Lookup scanGeneralDict(PyObject* dict, PyObject* key) {
  Py_ssize_t pos = 0;
  PyObject *k, *v, *found = nullptr;
  while (PyDict_Next(dict, &pos, &k, &v)) {
    if (k == key || (Py_TYPE(k) == &PyUnicode_Type && strEqual(k, key))) found = v;
    else if (!isSafeKeyType(Py_TYPE(k))) return {LookupState::kRefused, nullptr};
  }
  return {found ? LookupState::kFound : LookupState::kAbsent, found};
}

/// Index of `key` in keys that hold only str, or -1.
Py_ssize_t scanStrKeys(const KeysObject* keys, PyObject* key) {
  const StrEntry* entries = entriesOf(keys);
  for (Py_ssize_t i = 0; i < keys->entryCount; ++i) if (entries[i].key == key) return i;
  for (Py_ssize_t i = 0; i < keys->entryCount; ++i) if (entries[i].key && strEqual(entries[i].key, key)) return i;
  return -1;
}

Lookup found(PyObject* value) { return {value ? LookupState::kFound : LookupState::kAbsent, value}; }

/// Offset of the __slots__ member `key` of the type, 0 if the attribute is not a member. Remembered per type version.
Py_ssize_t slotOffset(PyTypeObject* type, AttributeCell& cell) {
  if (cell.slotType == type && cell.slotVersion != 0 && cell.slotVersion == type->tp_version_tag) return cell.slotOffset;
  PyObject* member = _PyType_Lookup(type, cell.key.get());
  Py_ssize_t offset = 0;
  if (member && Py_TYPE(member) == &PyMemberDescr_Type) {
    PyMemberDef* def = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
#if FW_PY_MINOR == 11
    bool isObject = def->type == T_OBJECT_EX && !(def->flags & PY_AUDIT_READ);
#else
    bool isObject = def->type == Py_T_OBJECT_EX && !(def->flags & (Py_AUDIT_READ | Py_RELATIVE_OFFSET));
#endif
    if (isObject) offset = def->offset;
  }
  cell.slotType = type;
  cell.slotVersion = type->tp_version_tag;
  cell.slotOffset = offset;
  return offset;
}

uint64_t versionOf(PyObject* dict) {
  uint64_t version;
  std::memcpy(&version, reinterpret_cast<char*>(dict) + DictLayout::kVersion, sizeof(version));
  return version;
}

/// Remembers entry `index` of a combined dict.
void remember(AttributeCell& cell, const KeysObject* keys, Py_ssize_t index) {
  cell.hint = index;
  std::memcpy(&cell.keysTag, &keys->log2IndexBytes, sizeof(cell.keysTag));
  cell.entryOffset = reinterpret_cast<const char*>(entriesOf(keys) + index) - reinterpret_cast<const char*>(keys);
}

Lookup absent(AttributeCell& cell, PyObject* dict) {
  cell.absentVersion = versionOf(dict);
  return {LookupState::kAbsent, nullptr};
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"   // ma_version_tag, which 3.14 removes
const int DictLayout::kVersion = offsetof(PyDictObject, ma_version_tag);
#pragma GCC diagnostic pop
const int DictLayout::kKeys = offsetof(PyDictObject, ma_keys);
const int DictLayout::kValues = offsetof(PyDictObject, ma_values);

AttributeCell::AttributeCell(PyObject* interned) : key(Ref::create(interned)), hash(PyObject_Hash(interned)) {}

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
  if (keys->kind == kGeneralKeys) {
    Lookup scanned = d->ma_used == 0 ? found(nullptr) : scanGeneralDict(dict, cell.key.get());
    return scanned.state == LookupState::kAbsent ? absent(cell, dict) : scanned;
  }
  const StrEntry* entries = entriesOf(keys);
  if (cell.hint < keys->entryCount && entries[cell.hint].key == cell.key.get()) {
    if (d->ma_values) return found(reinterpret_cast<Values*>(d->ma_values)->values[cell.hint]);
    remember(cell, keys, cell.hint);
    return found(entries[cell.hint].value);
  }
  PyObject* value = _PyDict_GetItem_KnownHash(dict, cell.key.get(), cell.hash);
  if (!value) return absent(cell, dict);
  // Large dicts are searched for the new index only while that is cheaper than what it saves.
  for (Py_ssize_t i = 0; i < keys->entryCount && i < 4096; ++i) {
    if (entries[i].key != cell.key.get()) continue;
    cell.hint = i;
    if (!d->ma_values) remember(cell, keys, i);
    break;
  }
  return found(value);
}

Lookup instanceDictItem(PyObject* object, AttributeCell& cell) {
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    Managed managed = managedAttributes(object);
    if (managed.dict) return dictItem(managed.dict, cell);
    if (!managed.values) return found(nullptr);
    const KeysObject* keys = keysOf(reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys);
    Py_ssize_t index = cell.hint;
    if (index >= keys->entryCount || entriesOf(keys)[index].key != cell.key.get()) {
      index = scanStrKeys(keys, cell.key.get());
      if (index < 0) return found(nullptr);
      cell.hint = index;
    }
    return found(managed.values->values[index]);
  }
  if (type->tp_dictoffset == 0) return found(nullptr);
  PyObject** where = _PyObject_GetDictPtr(object);   // computes an address; allocates only for managed dicts
  if (!where || !*where) return found(nullptr);
  return dictItem(*where, cell);
}

Lookup instanceAttribute(PyObject* object, AttributeCell& cell) {
  if (Py_ssize_t offset = slotOffset(Py_TYPE(object), cell)) {
    PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
    return found(value);
  }
  return instanceDictItem(object, cell);
}

PyObject* typeAttribute(PyObject* type, PyObject* name) {
  return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), name);
}

bool dictHasKeys(PyObject* dict, PyObject* keysTuple) {
  if (Py_TYPE(dict) != &PyDict_Type || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keysTuple)) return false;
  Py_ssize_t pos = 0, i = 0;
  PyObject *k, *v;
  while (PyDict_Next(dict, &pos, &k, &v)) {
    if (Py_TYPE(k) != &PyUnicode_Type || !strEqual(k, PyTuple_GET_ITEM(keysTuple, i++))) return false;
  }
  return true;
}

}  // namespace fw::cpython
