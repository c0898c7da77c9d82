// Array libraries: what guards, capture and results read of an array object, whichever library it is of. NumPy is the
// first, CuPy the second.
#pragma once

#include <string>

#include "cpython/numpy_api.h"
#include "graph/target.h"

namespace fw::guards {

/// What an array object says of itself; `flags` are NumPy's. Valid as long as the object and while nobody changes it.
struct ArrayView {
  char* data;
  PyArray_Descr* descr;
  const npy_intp *shape, *strides;
  int rank;
  int flags;

  npy_intp itemSize() const { return PyDataType_ELSIZE(descr); }
  bool isWriteable() const { return flags & NPY_ARRAY_WRITEABLE; }
  bool isAligned() const { return flags & NPY_ARRAY_ALIGNED; }
};

/// Where objects of a library keep it, in bytes from their beginning.
struct ArrayFields {
  int shape, strides;  ///< pointers to sizes and strides in bytes
  int descr;
  int data;        ///< pointer to the first element, or to an object that has it
  int dataIn;      ///< where in that object; -1: there is none in between
  int deviceIn;    ///< likewise: int, number of the device; -1: the host
  int rank;        ///< int; -1: from the end of the sizes
  int shapeEnd;    ///< pointer behind the sizes
  int contiguous;  ///< ints: C order, F order; -1: bits of `flags`
  int flags;
};

class ArrayLibrary {
 public:
  std::string name;              ///< of the module: "numpy"
  std::string typeName;          ///< "numpy.ndarray"
  PyTypeObject* type = nullptr;  ///< exact type of its arrays; lives for ever
  graph::MemorySpace space = graph::MemorySpace::kHost;
  ArrayFields fields{};

  bool onDevice() const { return space == graph::MemorySpace::kDevice; }
  /// Of an array of this library.
  ArrayView view(PyObject* array) const;
  /// Number of the device that the array is on; -1: the host.
  int device(PyObject* array) const;
};

const ArrayLibrary& numpyArrays();
/// CuPy, once it has been imported by somebody and its objects have turned out to be laid out as we know them; null
/// otherwise. Runs Python code when it is first found.
const ArrayLibrary* findCupy();
/// Why CuPy was found and cannot be used: its arrays are not laid out as known. "" if that is not so.
const std::string& cupyMismatch();

/// The library whose exact array type this is; null if there is none. Finds nothing new.
const ArrayLibrary* arrayLibraryOf(PyTypeObject* type);
inline bool isArray(PyObject* object) { return arrayLibraryOf(Py_TYPE(object)) != nullptr; }

/// Of an array of a known library.
ArrayView viewOf(PyObject* array);

/// What keeps arrays of devices from being compiled in this process ("" if nothing does). Set by who opens drivers;
/// asked when such an array is first met.
using DeviceRefusal = const std::string& (*)();
void setDeviceRefusal(DeviceRefusal refusal);
const std::string& deviceRefusal();

}  // namespace fw::guards
