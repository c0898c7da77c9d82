// Look-ups that run no Python code: dicts by str key, instance attributes, slots, type attributes. The reads of
// CPython's private dict and instance layouts are in attributes.cpp.
#pragma once

#include <Python.h>

#include "cpython/ref.h"

namespace fw::cpython {

enum class LookupState : uint8_t {
  kFound,
  kAbsent,
  kRefused,  ///< cannot be told without running Python code: not an exact dict, a key with its own __eq__
};

struct Lookup {
  LookupState state;
  PyObject* value;  ///< borrowed; nullptr unless kFound
};

/// A key with memory of where it was found last. Every use checks the remembered place, so a stale hint only costs
/// time. Written under the GIL.
struct AttributeCell {
  /// An interned str, or any table key (hash_tables.h); `hash` is for keys that cannot be hashed without Python code.
  explicit AttributeCell(PyObject* key, Py_hash_t hash = 0);
  Ref key;
  Ref stored;  ///< the equal key, maybe another object, that the dict hit last holds
  Py_hash_t hash;
  Py_ssize_t hint = 0;               ///< index into the keys of the dict or of the type's shared keys
  uint16_t keysTag = 0xffff;         ///< DictLayout::kKeysTag word of the dict that was hit last
  Py_ssize_t entryOffset = 0;        ///< of entry `hint` from the start of keys with this tag
  uint64_t absentVersion = 0;        ///< version of the dict in which the key was last seen to be absent; 0 for none
  PyTypeObject* slotType = nullptr;  ///< not owned, compared together with slotVersion
  unsigned int slotVersion = 0;
  Py_ssize_t slotOffset = -1;  ///< of the member descriptor in slotType; 0 for none
  bool emptyIsNone = false;    ///< what an empty slot reads as, if it is readable
};

/// What machine code reads of a dict. A hit: the word kKeysTag of the keys (size class of the index, kind of keys) is
/// the cell's keysTag, hint < entry count, no split values, and the entry at entryOffset holds the cell's stored key;
/// its value follows the key. An absence: the dict's version is absentVersion. Versions are never given twice and
/// change with the dict (PEP 509).
struct DictLayout {
  static const int kKeys, kValues, kVersion;            ///< in the dict
  static constexpr int kKeysTag = 9, kEntryCount = 24;  ///< in the keys
};

/// Whether a key is an exact, interned str: names of attributes must be.
bool isInternedStr(PyObject* object);

/// Of an exact dict: a number that changes whenever the dict does and that no other dict ever has (PEP 509).
uint64_t dictVersion(PyObject* dict);

/// dict[key] of an exact dict.
Lookup dictItem(PyObject* dict, AttributeCell& cell);

/// The value in the __slots__ member `key` of type(object), else in the instance dict. No other descriptor is
/// considered.
Lookup instanceAttribute(PyObject* object, AttributeCell& cell);

/// As instanceAttribute, but in the instance dict only.
Lookup instanceDictItem(PyObject* object, AttributeCell& cell);

/// As _PyType_Lookup: an attribute along the MRO as it lies there, borrowed. Refused where a class holds keys with an
/// __eq__ of their own.
Lookup lookUpType(PyTypeObject* type, PyObject* name);

/// Attribute along the MRO as it lies there; borrowed, nullptr if absent or not to be told without Python code. `type`
/// must be a type.
PyObject* typeAttribute(PyObject* type, PyObject* name);

/// Whether getattr(object, name) finds something: in the instance dict, a slot, the MRO or a module's dict. A property
/// or other descriptor counts as found, it is not asked. kRefused if the type looks attributes up in a way of its own
/// (__getattr__, __getattribute__, a module's __getattr__ ...) and the answer would depend on it.
LookupState plainAttribute(PyObject* object, AttributeCell& cell);

/// Both exact str.
bool strEqual(PyObject* a, PyObject* b);

}  // namespace fw::cpython
