// Results as arrays of a library: allocation, views, copies. One per library.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace fw::bindings {

/// Of an array to be made. Strides are in bytes; null: packed, in C order or, if `fortran`, in F order.
struct ArrayShape {
  int typeNumber;
  size_t itemSize;
  int rank;
  const int64_t* sizes;
  const int64_t* strides = nullptr;
  bool fortran = false;
};

/// Everything needs the GIL, answers new references, and null with a Python exception set.
class ArrayFactory {
 public:
  virtual ~ArrayFactory() = default;
  virtual PyObject* allocate(const ArrayShape& shape, size_t bytes) const = 0;
  /// Over memory at `data`, which `base`, if there is one, keeps alive.
  virtual PyObject* view(const ArrayShape& shape, void* data, PyObject* base, bool writeable) const = 0;
  virtual void* dataOf(PyObject* array) const = 0;
  virtual bool isWriteable(PyObject* array) const = 0;
  /// Whether memory of the host's can be an array, so that copies of results have their place before they are computed.
  virtual bool onHost() const = 0;
  /// An array of its own, in the order of `array`; its elements are copied, in the order of the device's stream.
  virtual PyObject* copy(PyObject* array) const = 0;
};

const ArrayFactory& numpyFactory();
/// While arrays of CuPy are compiled (guards::findCupy() has found it): null with an exception set if CuPy lacks what
/// is needed.
const ArrayFactory* cupyFactory();
/// An array of CuPy's over the memory that a MemoryPointer points to.
PyObject* cupyArrayAt(const ArrayShape& shape, PyObject* pointer);
/// One with strides at an address of a device, which `memory`, one of CuPy's objects for memory, stands for.
PyObject* cupyWindow(const ArrayShape& shape, PyObject* memory, intptr_t data, int device);

}  // namespace fw::bindings
