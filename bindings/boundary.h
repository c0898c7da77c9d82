// The one place where C++ exceptions end before they could reach CPython.
#pragma once

#include <Python.h>

#include <new>
#include <utility>

#include "cpython/ref.h"
#include "graph/support/check.h"

namespace fw::bindings {

/// Runs `body`; false with a Python exception set if it threw.
template <class F>
bool guarded(F&& body) {
  try {
    std::forward<F>(body)();
    return true;
  } catch (const cpython::PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "fusewire: a C API call failed without an exception");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_Format(PyExc_SystemError, "fusewire: internal error: %s", error.what());
  }
  return false;
}

}  // namespace fw::bindings
