// Look-ups in dicts and sets by keys of any type that run no Python code. CPython's own look-up calls __eq__ of
// whatever key has the same hash; these walk the table themselves, compare builtin types natively and refuse to answer
// where only a user's __eq__ could.
#pragma once

#include <Python.h>

#include <optional>

#include "cpython/attributes.h"

namespace fw::cpython {

/// None, Ellipsis, exact bool, int, float, complex, str, bytes, and tuples and frozensets of these: hash and == are
/// builtin code.
bool isPlainKey(PyObject* key);
/// Plain, or of a type without an == of its own (functions, types, enum members ...): such an object equals only
/// itself.
bool isTableKey(PyObject* key);

/// PyObject_Hash where it runs no Python code: of plain keys and of objects hashed by their address.
std::optional<Py_hash_t> nativeHash(PyObject* key);
/// The hash under which the dict or set holds this very object; finds it without hashing.
std::optional<Py_hash_t> storedHash(PyObject* container, PyObject* key);

/// a == b as containers see it (an object equals itself), for a table key and any object.
enum class KeyMatch : uint8_t { kDifferent, kEqual, kUnknown };
KeyMatch matchKeys(PyObject* a, PyObject* b);

/// Where an exact dict holds a key of this hash; index is that of the entry, -1 unless found.
struct DictProbe {
  LookupState state;
  PyObject* value;  ///< borrowed
  Py_ssize_t index;
};
DictProbe probeDict(PyObject* dict, PyObject* key, Py_hash_t hash);
/// The same for the table of a dict of any class, whatever its methods would answer.
DictProbe probeTable(PyObject* dict, PyObject* key, Py_hash_t hash);
/// Index of the entry in the keys of a dict or of a type, -1 if absent, -2 if it cannot be told.
Py_ssize_t probeKeys(const PyDictKeysObject* keys, PyObject* key, Py_hash_t hash);

/// kFound or kAbsent in an exact set or frozenset, else kRefused.
LookupState probeSet(PyObject* set, PyObject* key, Py_hash_t hash);

/// Members of a set or frozenset in the order of iteration, nullptr after the last; `pos` starts at 0.
PyObject* nextMember(PyObject* set, Py_ssize_t* pos);

}  // namespace fw::cpython
