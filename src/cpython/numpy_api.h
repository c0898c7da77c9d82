// NumPy's C API, imported once for the whole extension. Include this, never <numpy/...> directly.
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL fusewire_numpy_api
#ifndef FW_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

namespace fw::cpython {

/// Loads NumPy's API table. False with a Python exception set if NumPy is missing or too old. Call once, with the GIL.
bool importNumpy();

}  // namespace fw::cpython
