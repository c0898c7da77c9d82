// Memory of CuPy's current allocator.
#pragma once

#include <Python.h>

#include "cpython/ref.h"

namespace fw::bindings {

struct CupyPointer;

/// A MemoryPointer of that many bytes; null with an exception set.
cpython::Ref allocateMemory(size_t bytes);
/// A MemoryPointer for a result of that many bytes on the current stream; null with an exception set.
cpython::Ref allocateResult(size_t bytes);
/// A MemoryPointer to part of the memory that another one points into.
cpython::Ref pointIntoMemory(const CupyPointer& whole, intptr_t address);
/// Where a MemoryPointer points.
void* addressOf(PyObject* pointer);

}  // namespace fw::bindings
