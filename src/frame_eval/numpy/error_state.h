// np.errstate inside of compiled code. Its own Python code is traced; here are the two things that it is made of: a
// state that says what becomes of floating-point conditions, and the context variable that holds the one in force. A
// state is known by what it changes of the error state that the call begins with (graph/error_rules.h).
#pragma once

#include <Python.h>

#include <string>

#include "frame_eval/numpy/numpy_ops.h"

namespace fw::capture::numpy {

/// Whether it is NumPy's context variable.
bool holdsErrorState(PyObject* object);
/// variable.set or variable.reset, as a method to call.
Value* errorStateMethod(Trace& trace, Value* variable, const std::string& name);
/// variable.set(state) and variable.reset(token).
Value* callErrorState(Trace& trace, const std::string& method, const CallArgs& args);

/// Breaks where the trace ends under a state of its own: Python then enters that.
void checkErrorState(Trace& trace);

}  // namespace fw::capture::numpy
