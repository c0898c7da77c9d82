// The Python type CompiledFunction: what fusewire.compile answers for a function.
#pragma once

#include <Python.h>

#include <memory>

#include "bindings/settings.h"

namespace fw::bindings {

/// Creates the type and adds it to `module`. False with an exception set.
bool addCompiledFunctionType(PyObject* module);

/// New CompiledFunction around a callable; nullptr with an exception set.
PyObject* newCompiledFunction(PyObject* callable, FunctionSettings settings);

bool isCompiledFunction(PyObject* object);
/// Borrowed: the callable that was decorated.
PyObject* wrappedCallable(PyObject* compiledFunction);
const FunctionSettings& settingsOf(PyObject* compiledFunction);
void resetCompiledFunction(PyObject* compiledFunction);
PyObject* describeCompiledFunction(PyObject* compiledFunction);
/// See FunctionState::watch() and watched(). nullptr with an exception set.
PyObject* watchCallOf(PyObject* compiledFunction);
PyObject* watchedCallOf(PyObject* compiledFunction);
/// ns of the guards on a tuple of positional arguments as a Python float, negative if no variant fits.
PyObject* timeGuardsOf(PyObject* compiledFunction, PyObject* arguments, int64_t repeats);

}  // namespace fw::bindings
