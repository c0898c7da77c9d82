// Fresh arrays in C order are filled by hand, which takes a tenth of the time of CuPy's constructor. Everything else
// goes through the constructor.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "bindings/array_factory.h"
#include "bindings/cupy_functions.h"
#include "bindings/cupy_memory.h"
#include "cpython/numpy_api.h"
#include "graph/support/check.h"

namespace fw::bindings {

using cpython::Ref;

namespace {

Ref tupleOf(const int64_t* numbers, int count) {
  Ref tuple = Ref::steal(PyTuple_New(count));
  for (int i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(numbers[i]));
  return tuple;
}

/// An array with strides, filled by hand.
PyObject* filledAt(const ArrayShape& shape, Ref place, Ref dtype, int index32) {
  const CupyFunctions& f = cupyFunctions();
  Ref made = Ref::steal(f.makeArray(reinterpret_cast<PyTypeObject*>(f.arrayType.get()), f.noArguments.get(), nullptr));
  if (!made) return nullptr;
  auto* array = reinterpret_cast<CupyArray*>(made.get());
  array->shape.assign(shape.sizes, shape.sizes + shape.rank);
  array->strides.assign(shape.strides, shape.strides + shape.rank);
  const npy_intp itemSize = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(dtype.get()));
  array->size = 1;
  for (int i = 0; i < shape.rank; ++i) array->size *= shape.sizes[i];
  const auto isPacked = [&](bool fortran) {
    npy_intp step = itemSize;
    for (int i = 0; i < shape.rank; ++i) {
      const int axis = fortran ? i : shape.rank - 1 - i;
      if (shape.sizes[axis] == 1) continue;
      if (shape.strides[axis] != step) return false;
      step *= shape.sizes[axis];
    }
    return true;
  };
  array->cOrder = array->size == 0 || isPacked(false);
  array->fOrder = array->size == 0 || isPacked(true);
  array->index32 = index32;
  Py_SETREF(array->dtype, dtype.release());
  Py_SETREF(array->data, place.release());
  return made.release();
}

class CupyFactory final : public ArrayFactory {
 public:
  PyObject* allocate(const ArrayShape& shape, size_t bytes) const override {
    Ref memory = allocateResult(bytes);
    if (!memory) return nullptr;
    if (cupyFunctions().filled && !shape.strides && !shape.fortran) return filled(shape, std::move(memory));
    return cupyArrayAt(shape, memory.get());
  }

  /// As CuPy makes views: over the memory of the array, whose base is theirs.
  PyObject* view(const ArrayShape& shape, void* data, PyObject* base, bool) const override {
    FW_CHECK(base);
    const auto* whole = reinterpret_cast<CupyArray*>(base);
    if (cupyFunctions().filled) return filledView(shape, data, base);
    const Ref memory = Ref::steal(PyObject_GetAttrString(whole->data, "mem"));
    if (!memory) return nullptr;
    const Ref begin = Ref::steal(PyObject_GetAttrString(memory.get(), "ptr"));
    if (!begin) return nullptr;
    const int64_t offset = reinterpret_cast<int64_t>(data) - PyLong_AsLongLong(begin.get());
    const Ref pointer = Ref::steal(PyObject_CallFunction(cupyFunctions().pointer.get(), "OL", memory.get(), offset));
    PyObject* result = pointer ? cupyArrayAt(shape, pointer.get()) : nullptr;
    if (!result) return nullptr;
    PyObject* owner = whole->base == Py_None ? base : whole->base;
    Py_SETREF(reinterpret_cast<CupyArray*>(result)->base, Py_NewRef(owner));
    return result;
  }

  void* dataOf(PyObject* array) const override { return addressOf(reinterpret_cast<CupyArray*>(array)->data); }
  bool isWriteable(PyObject*) const override { return true; }
  bool onHost() const override { return false; }
  PyObject* copy(PyObject* array) const override { return PyObject_CallMethod(array, "copy", "s", "K"); }

 private:
  static PyObject* filled(const ArrayShape& shape, Ref memory) {
    const CupyFunctions& f = cupyFunctions();
    PyObject* made = f.makeArray(reinterpret_cast<PyTypeObject*>(f.arrayType.get()), f.noArguments.get(), nullptr);
    if (!made) return nullptr;
    auto* array = reinterpret_cast<CupyArray*>(made);
    array->shape.assign(shape.sizes, shape.sizes + shape.rank);
    array->strides.resize(static_cast<size_t>(shape.rank));
    Py_ssize_t step = static_cast<Py_ssize_t>(shape.itemSize), count = 1;
    int longer = 0;
    for (int i = shape.rank; i-- > 0;) {
      array->strides[static_cast<size_t>(i)] = step;
      step *= shape.sizes[i];
      count *= shape.sizes[i];
      longer += shape.sizes[i] != 1;
    }
    // An array without elements has the strides of one with.
    if (count == 0) {
      step = static_cast<Py_ssize_t>(shape.itemSize);
      for (int i = shape.rank; i-- > 0;) {
        array->strides[static_cast<size_t>(i)] = step;
        step *= shape.sizes[i] == 0 ? 1 : shape.sizes[i];
      }
    }
    array->size = count;
    array->cOrder = 1;
    array->fOrder = count == 0 || longer <= 1;
    array->index32 = count * static_cast<Py_ssize_t>(shape.itemSize) <= (Py_ssize_t{1} << 31);
    Py_SETREF(array->dtype, reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
    Py_SETREF(array->data, memory.release());
    return made;
  }

  static PyObject* filledView(const ArrayShape& shape, void* data, PyObject* base) {
    const auto* whole = reinterpret_cast<CupyArray*>(base);
    Ref place = pointIntoMemory(*reinterpret_cast<CupyPointer*>(whole->data), reinterpret_cast<intptr_t>(data));
    const PyArray_Descr* descr = reinterpret_cast<PyArray_Descr*>(whole->dtype);
    Ref own = descr->type_num == shape.typeNumber
                  ? Ref::create(whole->dtype)
                  : Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
    PyObject* made = place ? filledAt(shape, std::move(place), std::move(own), whole->index32) : nullptr;
    if (!made) return nullptr;
    auto* array = reinterpret_cast<CupyArray*>(made);
    Py_SETREF(array->base, Py_NewRef(whole->base == Py_None ? base : whole->base));
    return made;
  }
};

}  // namespace

PyObject* cupyWindow(const ArrayShape& shape, PyObject* memory, intptr_t data, int device) {
  const CupyFunctions& f = cupyFunctions();
  if (f.filled) {
    Ref place =
        Ref::steal(f.makePointer(reinterpret_cast<PyTypeObject*>(f.pointer.get()), f.noArguments.get(), nullptr));
    Ref dtype = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
    if (!place || !dtype) return nullptr;
    auto* pointer = reinterpret_cast<CupyPointer*>(place.get());
    pointer->address = data;
    pointer->device = device;
    Py_SETREF(pointer->memory, Py_NewRef(memory));
    int64_t reach = static_cast<int64_t>(shape.itemSize);
    for (int i = 0; i < shape.rank; ++i) reach += std::abs(shape.strides[i]) * std::max<int64_t>(shape.sizes[i] - 1, 0);
    return filledAt(shape, std::move(place), std::move(dtype), reach <= (int64_t{1} << 31));
  }
  const Ref begin = Ref::steal(PyObject_GetAttrString(memory, "ptr"));
  if (!begin) return nullptr;
  const auto offset = static_cast<long long>(data - PyLong_AsLongLong(begin.get()));
  const Ref pointer = Ref::steal(PyObject_CallFunction(f.pointer.get(), "OL", memory, offset));
  return pointer ? cupyArrayAt(shape, pointer.get()) : nullptr;
}

PyObject* cupyArrayAt(const ArrayShape& shape, PyObject* pointer) {
  const CupyFunctions& f = cupyFunctions();
  const Ref sizes = tupleOf(shape.sizes, shape.rank);
  const Ref dtype = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
  const Ref strides = shape.strides ? tupleOf(shape.strides, shape.rank) : Ref::create(Py_None);
  if (!sizes || !dtype || !strides) return nullptr;
  return PyObject_CallFunction(f.arrayType.get(), "OOOOs", sizes.get(), dtype.get(), pointer, strides.get(),
                               shape.fortran ? "F" : "C");
}

const ArrayFactory* cupyFactory() {
  static const CupyFactory factory;
  if (cupyFunctions().problem.empty()) return &factory;
  PyErr_SetString(PyExc_RuntimeError, cupyFunctions().problem.c_str());
  return nullptr;
}

}  // namespace fw::bindings
