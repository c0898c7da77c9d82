// Facts about functions that users declare: which are never compiled, and Fusewire's own functions that capture knows.
#pragma once

#include <Python.h>

namespace fw::capture {

/// fusewire.disable: functions of this code object are neither compiled nor inlined. Held for the life of the process.
void disableCode(PyObject* code);
bool isDisabled(PyObject* code);

/// fusewire.is_compiling, which capture evaluates to True. Set once at import.
void setIsCompiling(PyObject* function);
bool isIsCompiling(PyObject* object);

/// The function behind a decorated one (borrowed), or nullptr: a compiled function called inside another is inlined like the
/// function that was decorated. The hook is set once at import by the room that owns the type.
using UnwrapHook = PyObject* (*)(PyObject* object);
void setUnwrapHook(UnwrapHook hook);
PyObject* unwrapCompiled(PyObject* object);

}  // namespace fw::capture
