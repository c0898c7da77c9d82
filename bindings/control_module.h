// Entry points of the extension for control: stance, settings, declarations, backends, events from Python.
#pragma once

#include <Python.h>

namespace fw::bindings {

/// Adds them to the module. False with an exception set.
bool addControlFunctions(PyObject* module);

}  // namespace fw::bindings
