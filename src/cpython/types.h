// Types as they come from any C extension. PyType_Ready, which fills in the MRO, the bases and the dict, may never have
// been called for one: CPython calls it at the first look-up in the type, and instances can be made without any. A
// class that its metaclass is still making and one that the collector has cleared lack them, too. Nothing here readies
// a type: that would change what its instances do.
#pragma once

#include <Python.h>

#include <span>

#include "cpython/version.h"

namespace fw::cpython {

/// The classes along the MRO, borrowed; none if the type is not ready.
inline std::span<PyTypeObject* const> mroOf(PyTypeObject* type) {
  PyObject* mro = type->tp_mro;
  if (!mro) return {};
  auto* classes = reinterpret_cast<PyTypeObject* const*>(reinterpret_cast<PyTupleObject*>(mro)->ob_item);
  return {classes, static_cast<size_t>(PyTuple_GET_SIZE(mro))};
}

/// Whether the type has a dict. From 3.12 on, those of builtin types lie elsewhere.
inline bool hasDict(PyTypeObject* type) {
  if (type->tp_dict) return true;
#if FW_PY_MINOR == 11
  return false;
#else
  PyObject* dict = PyType_GetDict(type);
  Py_XDECREF(dict);
  return dict != nullptr;
#endif
}

/// Whether look-ups in the type find what they need.
inline bool isReady(PyTypeObject* type) {
  if (!type->tp_mro || !type->tp_bases) return false;
  for (PyTypeObject* one : mroOf(type))
    if (!hasDict(one)) return false;
  return true;
}

}  // namespace fw::cpython
