// CuPy's own functions, through the pointers that its modules publish, and its objects where they are filled by hand.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "cpython/ref.h"

namespace fw::bindings {

/// CuPy 12 to 14 (cupy/_core/core.pxd); the fields that guards read are tried before, the others by isAsKnown().
struct CupyArray {
  PyObject_HEAD
  void* functions;
  PyObject* weak;
  Py_ssize_t size;
  std::vector<Py_ssize_t> shape, strides;
  int cOrder, fOrder, index32;
  PyObject* dtype;
  PyObject* data;
  PyObject* base;
};
static_assert(sizeof(CupyArray) == 128 && sizeof(std::vector<Py_ssize_t>) == 24);

struct CupyPointer {
  PyObject_HEAD
  void* functions;
  intptr_t address;
  int device;
  PyObject* memory;
};
static_assert(sizeof(CupyPointer) == 48);

struct CupyFunctions {
  using Ref = cpython::Ref;
  intptr_t (*streamPointer)() = nullptr;
  PyObject* (*alloc)(PyObject* bytes, int) = nullptr;
  PyObject* (*allocator)(int) = nullptr;  ///< in force
  /// cupy.cuda: get_current_stream, alloc, MemoryPointer, UnownedMemory; ndarray
  Ref currentStream, allocate, pointer, unownedMemory, arrayType;
  newfunc makeArray = nullptr, makePointer = nullptr;
  Ref noArguments;
  bool filled = false;  ///< arrays can be filled by hand
  std::string problem;
};

/// Looked up once; `problem` says what is missing. Needs the GIL, and CuPy to be imported or importable.
const CupyFunctions& cupyFunctions();

}  // namespace fw::bindings
