// The Python frame that called the C function which is running: compiled regions read and write its slots.
#pragma once

#include <Python.h>

namespace fw::cpython {

struct CurrentFrame {
  PyFunctionObject* function;  ///< borrowed
  PyCodeObject* code;          ///< borrowed: the code that runs, which may be a spliced copy
  PyObject** slots;            ///< localsplus, followed by the value stack
};

/// Of this thread; code is null if no Python function is running.
CurrentFrame currentFrame();

/// Whether a tracer, profiler or monitoring callback watches this thread.
bool isThreadTraced();

}  // namespace fw::cpython
