// Runs at capture, never in a stub; asks the look-ups that the guards will use.
#include "guards/builders.h"

#include <string_view>

#include "cpython/hash_tables.h"
#include "cpython/numpy_names.h"

namespace fw::guards {

using cpython::LookupState;
using cpython::Ref;

namespace {

/// The hash to store beside a key: 0 for plain ones, which hash themselves. None: not a key for guards.
std::optional<int64_t> hashBeside(PyObject* container, PyObject* key) {
  if (cpython::nativeHash(key)) return 0;
  if (!cpython::isTableKey(key)) return std::nullopt;
  std::optional<Py_hash_t> stored = cpython::storedHash(container, key);
  return stored ? std::optional<int64_t>(*stored) : std::nullopt;
}

/// Names are looked up by identity first: the interned str finds them fastest.
Ref interned(PyObject* key) {
  PyObject* own = key;
  Py_INCREF(own);
  if (PyUnicode_CheckExact(own)) PyUnicode_InternInPlace(&own);
  return Ref::steal(own);
}

/// Modules that nobody unloads: those written in C, and NumPy's own.
bool isLasting(PyObject* module) {
  if (PyModule_GetDef(module)) return true;
  PyErr_Clear();
  const char* name = PyModule_GetName(module);
  if (!name) return PyErr_Clear(), false;
  return cpython::isNumpyName(name);
}

}  // namespace

bool mayHoldStrongly(PyObject* object) {
  if (PyType_Check(object)) return !(reinterpret_cast<PyTypeObject*>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (PyModule_Check(object)) return isLasting(object);
  if (PyCFunction_Check(object)) {  // of a module, or a method of some object
    PyObject* self = PyCFunction_GET_SELF(object);
    if (!self || !PyModule_Check(self) || !isLasting(self)) return false;
    const char* name = reinterpret_cast<PyCFunctionObject*>(object)->m_ml->ml_name;  // another one may be made for it
    return PyDict_GetItemString(PyModule_GetDict(self), name) == object;
  }
  return Py_TYPE(object)->tp_weaklistoffset == 0;
}

SourceId constantSource(SourceTable& sources, PyObject* object) {
  if (mayHoldStrongly(object)) return sources.intern(SourceKind::kConst, {}, 0, object);
  Ref weak = cpython::checked(PyWeakref_NewRef(object, nullptr));  // the same one each time
  return sources.intern(SourceKind::kWeak, {}, 0, weak.get());
}

Guard identityGuard(SourceId source, PyObject* object) {
  if (mayHoldStrongly(object)) return {.kind = GuardKind::kIdentity, .source = source, .object = Ref::create(object)};
  return {.kind = GuardKind::kWeakIdentity,
          .source = source,
          .object = cpython::checked(PyWeakref_NewRef(object, nullptr))};
}

std::optional<SourceId> dictItemSource(SourceTable& sources, SourceId base, PyObject* dict, PyObject* key) {
  std::optional<int64_t> hash = hashBeside(dict, key);
  if (!hash) return std::nullopt;
  return sources.intern(SourceKind::kDictItem, base, *hash, interned(key).get());
}

std::optional<Guard> membershipGuard(SourceId source, PyObject* container, PyObject* key) {
  std::optional<int64_t> hash = hashBeside(container, key);
  if (!hash) return std::nullopt;
  Py_hash_t full = cpython::nativeHash(key).value_or(*hash);
  bool isDict = PyDict_CheckExact(container);
  LookupState state = isDict ? cpython::probeDict(container, key, full).state : cpython::probeSet(container, key, full);
  if (state == LookupState::kRefused) return std::nullopt;
  bool in = state == LookupState::kFound;
  GuardKind kind = isDict ? (in ? GuardKind::kDictContains : GuardKind::kDictNotContains)
                          : (in ? GuardKind::kSetContains : GuardKind::kSetNotContains);
  return Guard{.kind = kind, .source = source, .object = interned(key), .lo = *hash};
}

}  // namespace fw::guards
