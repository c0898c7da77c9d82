// Probing of hash tables as dictobject.c and setobject.c do it in 3.11 to 3.13, minus the calls to __eq__.
// checkRuntimeVersion() tries both on live objects.
#include "cpython/hash_tables.h"

#include <cstring>

#include "cpython/dict_layout.h"

namespace fw::cpython {

namespace {

constexpr int kMaxDepth = 32;  // of nested keys; deeper ones are not plain
constexpr int kPerturbShift = 5, kLinearProbes = 9;

bool isNumber(PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyComplex_Type;
}

/// Types whose == against any of each other is builtin code, given that items are plain.
bool isPlainType(PyTypeObject* type) {
  return isNumber(type) || type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyTuple_Type ||
         type == &PyFrozenSet_Type || type == Py_TYPE(Py_None) || type == Py_TYPE(Py_Ellipsis);
}

bool comparesByIdentity(PyTypeObject* type) {
  return !type->tp_richcompare || type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/// Members in the order of iteration; nullptr after the last.
const setentry* nextSetEntry(PyObject* object, Py_ssize_t* pos) {
  auto* set = reinterpret_cast<PySetObject*>(object);
  while (*pos <= set->mask) {
    const setentry* entry = &set->table[(*pos)++];
    if (entry->key && entry->hash != -1) return entry;  // deleted entries have the hash -1, which no key has
  }
  return nullptr;
}

bool isPlain(PyObject* key, int depth) {
  if (depth > kMaxDepth || !isPlainType(Py_TYPE(key))) return false;
  if (PyTuple_CheckExact(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (!isPlain(PyTuple_GET_ITEM(key, i), depth + 1)) return false;
  }
  if (PyFrozenSet_CheckExact(key)) {
    Py_ssize_t pos = 0;
    while (const setentry* entry = nextSetEntry(key, &pos))
      if (!isPlain(entry->key, depth + 1)) return false;
  }
  return true;
}

KeyMatch match(PyObject* a, PyObject* b, int depth);

KeyMatch matchTuples(PyObject* a, PyObject* b, int depth) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return KeyMatch::kDifferent;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    KeyMatch items = match(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), depth + 1);
    if (items != KeyMatch::kEqual) return items;
  }
  return KeyMatch::kEqual;
}

LookupState probeSetAt(PyObject* set, PyObject* key, Py_hash_t hash, int depth);

KeyMatch matchFrozenSets(PyObject* a, PyObject* b, int depth) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return KeyMatch::kDifferent;
  Py_ssize_t pos = 0;
  while (const setentry* entry = nextSetEntry(a, &pos)) {
    LookupState state = probeSetAt(b, entry->key, entry->hash, depth + 1);
    if (state != LookupState::kFound) return state == LookupState::kAbsent ? KeyMatch::kDifferent : KeyMatch::kUnknown;
  }
  return KeyMatch::kEqual;
}

KeyMatch match(PyObject* a, PyObject* b, int depth) {
  if (a == b) return KeyMatch::kEqual;
  if (depth > kMaxDepth) return KeyMatch::kUnknown;
  PyTypeObject *ta = Py_TYPE(a), *tb = Py_TYPE(b);
  if (isNumber(ta) && isNumber(tb)) {
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);  // builtin numbers: no Python code
    if (equal < 0) PyErr_Clear();
    return equal < 0 ? KeyMatch::kUnknown : equal ? KeyMatch::kEqual : KeyMatch::kDifferent;
  }
  if (ta == tb && ta == &PyUnicode_Type) return strEqual(a, b) ? KeyMatch::kEqual : KeyMatch::kDifferent;
  if (ta == tb && ta == &PyBytes_Type) {
    bool equal = Py_SIZE(a) == Py_SIZE(b) &&
                 std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), static_cast<size_t>(Py_SIZE(a))) == 0;
    return equal ? KeyMatch::kEqual : KeyMatch::kDifferent;
  }
  if (ta == tb && ta == &PyTuple_Type) return matchTuples(a, b, depth);
  if (ta == tb && ta == &PyFrozenSet_Type) return matchFrozenSets(a, b, depth);
  auto native = [](PyTypeObject* type) { return isPlainType(type) || comparesByIdentity(type); };
  // A set equals a frozenset, and may hold anything.
  if (native(ta) && native(tb)) return KeyMatch::kDifferent;
  return KeyMatch::kUnknown;
}

Py_ssize_t indexAt(const KeysObject* keys, size_t slot) {
  const char* at = keys->indices;
  auto read = [&](auto zero) {
    std::memcpy(&zero, at + slot * sizeof(zero), sizeof(zero));
    return static_cast<Py_ssize_t>(zero);
  };
  if (keys->log2Size < 8) return read(int8_t{0});
  if (keys->log2Size < 16) return read(int16_t{0});
  if (keys->log2Size < 32) return read(int32_t{0});
  return read(int64_t{0});
}

/// Does entry `index` hold a key equal to `key`?
KeyMatch matchEntry(const KeysObject* keys, Py_ssize_t index, PyObject* key, Py_hash_t hash, bool isStr) {
  if (keys->kind != kGeneralKeys) {
    PyObject* own = entriesOf(keys)[index].key;
    if (own == key) return KeyMatch::kEqual;
    if (!own || reinterpret_cast<PyASCIIObject*>(own)->hash != hash)
      return KeyMatch::kDifferent;  // keys have been hashed
    return isStr ? strEqual(own, key) ? KeyMatch::kEqual : KeyMatch::kDifferent : match(own, key, 0);
  }
  const GeneralEntry& entry = generalEntriesOf(keys)[index];
  if (entry.key == key) return KeyMatch::kEqual;
  return entry.key && entry.hash == hash ? match(entry.key, key, 0) : KeyMatch::kDifferent;
}

LookupState probeSetAt(PyObject* object, PyObject* key, Py_hash_t hash, int depth) {
  if (!PyAnySet_CheckExact(object)) return LookupState::kRefused;
  auto* set = reinterpret_cast<PySetObject*>(object);
  size_t mask = static_cast<size_t>(set->mask), perturb = static_cast<size_t>(hash), i = perturb & mask;
  while (true) {
    const setentry* entry = &set->table[i];
    size_t probes = i + kLinearProbes <= mask ? kLinearProbes : 0;
    do {
      if (entry->hash == 0 && !entry->key) return LookupState::kAbsent;
      if (entry->hash == hash && entry->key) {  // deleted entries have the hash -1, which no key has
        KeyMatch same = match(entry->key, key, depth);
        if (same != KeyMatch::kDifferent) return same == KeyMatch::kEqual ? LookupState::kFound : LookupState::kRefused;
      }
      ++entry;
    } while (probes--);
    perturb >>= kPerturbShift;
    i = (i * 5 + 1 + perturb) & mask;
  }
}

}  // namespace

bool isPlainKey(PyObject* key) { return isPlain(key, 0); }

bool isTableKey(PyObject* key) { return comparesByIdentity(Py_TYPE(key)) || isPlainKey(key); }

std::optional<Py_hash_t> nativeHash(PyObject* key) {
  PyTypeObject* type = Py_TYPE(key);
  bool byAddress = comparesByIdentity(type) && type->tp_hash == PyBaseObject_Type.tp_hash;
  if (!byAddress && !isPlainKey(key)) return std::nullopt;
  Py_hash_t hash = PyObject_Hash(key);
  if (hash != -1) return hash;
  PyErr_Clear();
  return std::nullopt;
}

std::optional<Py_hash_t> storedHash(PyObject* container, PyObject* key) {
  if (PyAnySet_CheckExact(container)) {
    Py_ssize_t pos = 0;
    while (const setentry* entry = nextSetEntry(container, &pos))
      if (entry->key == key) return entry->hash;
  } else if (PyDict_Check(container)) {
    const KeysObject* keys = keysOf(reinterpret_cast<PyDictObject*>(container)->ma_keys);
    bool isGeneral = keys->kind == kGeneralKeys;
    for (Py_ssize_t i = 0; i < keys->entryCount; ++i) {
      if (isGeneral && generalEntriesOf(keys)[i].key == key) return generalEntriesOf(keys)[i].hash;
      if (!isGeneral && entriesOf(keys)[i].key == key) return PyObject_Hash(key);
    }
  }
  return std::nullopt;
}

PyObject* nextMember(PyObject* set, Py_ssize_t* pos) {
  const setentry* entry = nextSetEntry(set, pos);
  return entry ? entry->key : nullptr;
}

KeyMatch matchKeys(PyObject* a, PyObject* b) { return match(a, b, 0); }

Py_ssize_t probeKeys(const PyDictKeysObject* table, PyObject* key, Py_hash_t hash) {
  const KeysObject* keys = keysOf(table);
  bool isStr = PyUnicode_CheckExact(key);
  size_t mask = (size_t{1} << keys->log2Size) - 1, perturb = static_cast<size_t>(hash), slot = perturb & mask;
  while (true) {
    Py_ssize_t index = indexAt(keys, slot);
    if (index == -1) return -1;
    if (index >= 0) {  // below: deleted
      KeyMatch same = matchEntry(keys, index, key, hash, isStr);
      if (same != KeyMatch::kDifferent) return same == KeyMatch::kEqual ? index : -2;
    }
    perturb >>= kPerturbShift;
    slot = mask & (slot * 5 + perturb + 1);
  }
}

DictProbe probeDict(PyObject* object, PyObject* key, Py_hash_t hash) {
  if (!object || !PyDict_CheckExact(object)) return {LookupState::kRefused, nullptr, -1};
  return probeTable(object, key, hash);
}

DictProbe probeTable(PyObject* object, PyObject* key, Py_hash_t hash) {
  if (!object || !PyDict_Check(object)) return {LookupState::kRefused, nullptr, -1};
  auto* dict = reinterpret_cast<PyDictObject*>(object);
  Py_ssize_t index = probeKeys(dict->ma_keys, key, hash);
  if (index == -2) return {LookupState::kRefused, nullptr, -1};
  PyObject* value = index < 0 ? nullptr : entryValue(dict, index);
  if (!value) return {LookupState::kAbsent, nullptr, -1};  // a split dict need not have all of its type's names
  return {LookupState::kFound, value, index};
}

LookupState probeSet(PyObject* set, PyObject* key, Py_hash_t hash) { return probeSetAt(set, key, hash, 0); }

}  // namespace fw::cpython
