// One pointer of ours in every code object.
#pragma once

#include <Python.h>

namespace fw::cpython {

/// Reserves our slot; `destroy` is called with the pointer when the code object dies or the pointer is replaced. Once
/// per process, with the GIL; false with a Python exception set if CPython has no slot left.
bool initCodeExtra(void (*destroy)(void*));

/// The pointer, nullptr if none. Never fails; takes 1 ns.
void* codeExtra(PyCodeObject* code);

/// False with a Python exception set if memory runs out.
bool setCodeExtra(PyCodeObject* code, void* pointer);

}  // namespace fw::cpython
