// Private layouts of dict keys and values. CPython's headers for them do not compile as C++, so that they are declared
// here; checkRuntimeVersion() tries them on live objects. Included by attributes.cpp and hash_tables.cpp only.
#pragma once

#include <Python.h>

#include "cpython/attributes.h"
#include "cpython/version.h"

namespace fw::cpython {

/// pycore_dict.h: struct _dictkeysobject, equal in 3.11, 3.12 and 3.13 with the GIL. The index follows
/// (2^log2IndexBytes bytes, entries of 1, 2, 4 or 8 bytes by log2Size), then the entries.
struct KeysObject {
  Py_ssize_t refcnt;
  uint8_t log2Size, log2IndexBytes, kind;
  uint32_t version;
  Py_ssize_t usable, entryCount;
  char indices[1];
};
static_assert(offsetof(KeysObject, entryCount) == DictLayout::kEntryCount && offsetof(KeysObject, indices) == 32 &&
              offsetof(KeysObject, log2IndexBytes) == DictLayout::kKeysTag &&
              offsetof(KeysObject, kind) == DictLayout::kKeysTag + 1);
inline constexpr uint8_t kGeneralKeys = 0;  ///< keys of any type; the other kinds hold exact str only

struct StrEntry {
  PyObject *key, *value;
};
struct GeneralEntry {
  Py_hash_t hash;
  PyObject *key, *value;
};
static_assert(offsetof(GeneralEntry, value) - offsetof(GeneralEntry, key) == offsetof(StrEntry, value));

inline const KeysObject* keysOf(const PyDictKeysObject* keys) { return reinterpret_cast<const KeysObject*>(keys); }

inline const StrEntry* entriesOf(const KeysObject* keys) {
  return reinterpret_cast<const StrEntry*>(keys->indices + (size_t{1} << keys->log2IndexBytes));
}
inline const GeneralEntry* generalEntriesOf(const KeysObject* keys) {
  return reinterpret_cast<const GeneralEntry*>(keys->indices + (size_t{1} << keys->log2IndexBytes));
}

/// pycore_dict.h: struct _dictvalues.
struct Values {
#if FW_PY_MINOR == 13
  uint8_t capacity, size, embedded, valid;
#endif
  PyObject* values[1];
};

/// Value of entry `index` of a dict; the names of a split dict are its type's, its values its own.
inline PyObject* entryValue(const PyDictObject* dict, Py_ssize_t index) {
  if (dict->ma_values) return reinterpret_cast<const Values*>(dict->ma_values)->values[index];
  const KeysObject* keys = keysOf(dict->ma_keys);
  return keys->kind == kGeneralKeys ? generalEntriesOf(keys)[index].value : entriesOf(keys)[index].value;
}

}  // namespace fw::cpython
