// The one place where C++ exceptions end before they could reach CPython.
#pragma once

#include <Python.h>

#include <new>
#include <string>
#include <utility>

#include "cpython/ref.h"
#include "graph/support/check.h"

namespace fw::bindings {

[[noreturn]] inline void raise(PyObject* type, const std::string& what) {
  PyErr_SetString(type, what.c_str());
  throw cpython::PythonError();
}

/// Runs `body`; false with a Python exception set if it threw. What is a failure of ours goes to `failed`, as a text,
/// whose answer counts.
template <class F, class G>
bool guarded(F&& body, G&& failed) {
  try {
    std::forward<F>(body)();
    return true;
  } catch (const cpython::PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "fusewire: a C API call failed without an exception");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    return failed(error.what());
  }
  return false;
}

/// The SystemError where the call cannot be left to Python any more.
inline bool raiseFailure(const char* what) {
  return PyErr_Format(PyExc_SystemError, "fusewire: internal error: %s", what), false;
}

template <class F>
bool guarded(F&& body) {
  return guarded(std::forward<F>(body), raiseFailure);
}

}  // namespace fw::bindings
