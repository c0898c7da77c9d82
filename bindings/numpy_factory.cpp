#include "bindings/array_factory.h"
#include "bindings/output_memory.h"
#include "cpython/numpy_api.h"
#include "runtime/memory.h"

namespace fw::bindings {
namespace {

class NumpyFactory final : public ArrayFactory {
 public:
  PyObject* allocate(const ArrayShape& shape, size_t bytes) const override {
    if (bytes < kPooledBytes) return allocate(shape);
    const PooledAllocation pooled;
    return pooled.ok() ? allocate(shape) : nullptr;
  }
  PyObject* view(const ArrayShape& shape, void* data, PyObject* base, bool writeable) const override {
    PyObject* result = make(shape, data, writeable ? NPY_ARRAY_WRITEABLE : 0);
    if (result && base && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(result), Py_NewRef(base)) < 0)
      Py_CLEAR(result);
    return result;
  }
  void* dataOf(PyObject* array) const override { return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)); }
  bool isWriteable(PyObject* array) const override {
    return PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(array));
  }
  bool onHost() const override { return true; }
  PyObject* copy(PyObject* array) const override {
    return PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array), NPY_KEEPORDER);
  }

 private:
  static PyObject* allocate(const ArrayShape& shape) {
    if (!runtime::mayAllocate()) return PyErr_NoMemory();
    return make(shape, nullptr, shape.fortran ? NPY_ARRAY_F_CONTIGUOUS : 0);
  }
  static PyObject* make(const ArrayShape& shape, void* data, int flags) {
    PyArray_Descr* descr = PyArray_DescrFromType(shape.typeNumber);  // which the array takes over
    return PyArray_NewFromDescr(&PyArray_Type, descr, shape.rank, reinterpret_cast<const npy_intp*>(shape.sizes),
                                reinterpret_cast<const npy_intp*>(shape.strides), data, flags, nullptr);
  }
};

}  // namespace

const ArrayFactory& numpyFactory() {
  static const NumpyFactory factory;
  return factory;
}

}  // namespace fw::bindings
