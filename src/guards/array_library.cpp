// CuPy's objects are read where its extension types keep things. Where that is nobody promises, so that it is tried on
// arrays of known shape before it is relied on: over memory that is never touched, which needs no device.
#include "guards/array_library.h"

#include <cstring>

#include "cpython/ref.h"
#include "graph/support/check.h"

namespace fw::guards {
namespace {

using cpython::Ref;

template <class T>
T fieldOf(const void* object, int offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

ArrayView numpyView(PyObject* object) {
  auto* a = reinterpret_cast<PyArrayObject*>(object);
  return {PyArray_BYTES(a), PyArray_DESCR(a), PyArray_DIMS(a), PyArray_STRIDES(a), PyArray_NDIM(a), PyArray_FLAGS(a)};
}

/// CuPy 12 to 14: cupy/_core/core.pxd, cupy/cuda/memory.pxd.
constexpr ArrayFields kCupyFields = {.shape = 40,
                                     .strides = 64,
                                     .descr = 104,
                                     .data = 112,
                                     .dataIn = 24,
                                     .deviceIn = 32,
                                     .rank = -1,
                                     .shapeEnd = 48,
                                     .contiguous = 88,
                                     .flags = -1};
constexpr Py_ssize_t kCupyArraySize = 128, kCupyPointerSize = 48;

struct Cupy {
  bool looked = false;
  bool usable = false;
  ArrayLibrary library;
  std::string mismatch;
};

/// Under the GIL. Never destroyed: it holds a type that outlives the interpreter's end.
Cupy& cupy() {
  static auto* found = new Cupy;
  return *found;
}

Ref attribute(PyObject* object, const char* name) {
  return Ref::steal(object ? PyObject_GetAttrString(object, name) : nullptr);
}

/// An array over memory at `address` that nobody reads.
Ref probeArray(PyObject* module, int64_t address, const char* dtype, std::initializer_list<int64_t> shape,
               std::initializer_list<int64_t> strides) {
  const auto tuple = [](std::initializer_list<int64_t> numbers) {
    Ref made = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
    Py_ssize_t i = 0;
    for (const int64_t n : numbers) PyTuple_SET_ITEM(made.get(), i++, PyLong_FromLongLong(n));
    return made;
  };
  const Ref cuda = attribute(module, "cuda"), unowned = attribute(cuda.get(), "UnownedMemory"),
            pointer = attribute(cuda.get(), "MemoryPointer"), type = attribute(module, "ndarray");
  if (!unowned || !pointer || !type) return {};
  const Ref memory =
      Ref::steal(PyObject_CallFunction(unowned.get(), "LiOi", static_cast<long long>(address), 1 << 16, Py_None, 3));
  if (!memory) return {};
  const Ref place = Ref::steal(PyObject_CallFunction(pointer.get(), "Oi", memory.get(), 256));
  if (!place) return {};
  const Ref sizes = tuple(shape), steps = tuple(strides);
  return Ref::steal(PyObject_CallFunction(type.get(), "OsOO", sizes.get(), dtype, place.get(), steps.get()));
}

/// Whether the array is where `fields` says, with these facts.
bool reads(const ArrayLibrary& library, PyObject* array, int64_t address, int typeNumber,
           std::initializer_list<int64_t> shape, std::initializer_list<int64_t> strides, int contiguous) {
  const ArrayFields& f = library.fields;
  if (Py_TYPE(array) != library.type) return false;
  // Nothing is followed that is not what it should be.
  const auto begin = fieldOf<intptr_t>(array, f.shape), end = fieldOf<intptr_t>(array, f.shapeEnd),
             first = fieldOf<intptr_t>(array, f.strides);
  const auto bytes = static_cast<intptr_t>(shape.size() * sizeof(npy_intp));
  if (!begin || !first || end - begin != bytes) return false;
  const Ref data = attribute(array, "data"), descr = attribute(array, "dtype");
  if (!data || !descr) return false;
  if (fieldOf<PyObject*>(array, f.data) != data.get() || fieldOf<PyObject*>(array, f.descr) != descr.get())
    return false;
  if (Py_TYPE(data.get())->tp_basicsize != kCupyPointerSize) return false;
  const ArrayView view = library.view(array);
  constexpr int kOrders = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
  return view.descr->type_num == typeNumber && reinterpret_cast<int64_t>(view.data) == address + 256 &&
         std::memcmp(view.shape, shape.begin(), shape.size() * 8) == 0 &&
         std::memcmp(view.strides, strides.begin(), strides.size() * 8) == 0 && (view.flags & kOrders) == contiguous &&
         library.device(array) == 3;
}

/// "" if arrays are laid out as known.
std::string calibrate(PyObject* module, ArrayLibrary& library) {
  if (library.type->tp_basicsize != kCupyArraySize)
    return "objects of cupy.ndarray have " + std::to_string(library.type->tp_basicsize) + " bytes";
  constexpr int64_t kAddress = int64_t{1} << 40;
  const struct {
    const char* dtype;
    int number;
    std::initializer_list<int64_t> shape, strides;
    int contiguous;
  } kProbes[] = {{"f4", NPY_FLOAT, {3, 5}, {24, 4}, 0},
                 {"f8", NPY_DOUBLE, {2, 3, 4}, {96, 32, 8}, NPY_ARRAY_C_CONTIGUOUS},
                 {"i2", NPY_SHORT, {6, 7}, {2, 12}, NPY_ARRAY_F_CONTIGUOUS},
                 {"c16", NPY_CDOUBLE, {9}, {16}, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS}};
  for (const auto& probe : kProbes) {
    const Ref array = probeArray(module, kAddress, probe.dtype, probe.shape, probe.strides);
    if (!array || !reads(library, array.get(), kAddress, probe.number, probe.shape, probe.strides, probe.contiguous)) {
      PyErr_Clear();
      return "this version of CuPy keeps arrays in another form than those that are known";
    }
  }
  return "";
}

DeviceRefusal deviceRefusal_ = nullptr;

}  // namespace

ArrayView ArrayLibrary::view(PyObject* array) const {
  if (!onDevice()) return numpyView(array);
  const auto *begin = fieldOf<const npy_intp*>(array, fields.shape),
             *end = fieldOf<const npy_intp*>(array, fields.shapeEnd);
  const auto* orders = reinterpret_cast<const int*>(reinterpret_cast<const char*>(array) + fields.contiguous);
  const int flags = (orders[0] ? NPY_ARRAY_C_CONTIGUOUS : 0) | (orders[1] ? NPY_ARRAY_F_CONTIGUOUS : 0) |
                    NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE;
  return {fieldOf<char*>(fieldOf<PyObject*>(array, fields.data), fields.dataIn),
          fieldOf<PyArray_Descr*>(array, fields.descr),
          begin,
          fieldOf<const npy_intp*>(array, fields.strides),
          static_cast<int>(end - begin),
          flags};
}

int ArrayLibrary::device(PyObject* array) const {
  return onDevice() ? fieldOf<int>(fieldOf<PyObject*>(array, fields.data), fields.deviceIn) : -1;
}

const ArrayLibrary& numpyArrays() {
  static const auto* library = [] {
    auto* numpy = new ArrayLibrary;
    numpy->name = "numpy";
    numpy->typeName = "numpy.ndarray";
    numpy->type = &PyArray_Type;
    numpy->fields = {.shape = offsetof(PyArrayObject_fields, dimensions),
                     .strides = offsetof(PyArrayObject_fields, strides),
                     .descr = offsetof(PyArrayObject_fields, descr),
                     .data = offsetof(PyArrayObject_fields, data),
                     .dataIn = -1,
                     .deviceIn = -1,
                     .rank = offsetof(PyArrayObject_fields, nd),
                     .shapeEnd = -1,
                     .contiguous = -1,
                     .flags = offsetof(PyArrayObject_fields, flags)};
    return numpy;
  }();
  return *library;
}

namespace {

/// Python's own mark: whoever calls into a module meanwhile, from its import or from another thread, finds parts of it.
bool isBeingImported(PyObject* module) {
  const Ref spec = attribute(module, "__spec__"), mark = spec ? attribute(spec.get(), "_initializing") : Ref();
  PyErr_Clear();
  return mark && mark.get() == Py_True;
}

}  // namespace

const ArrayLibrary* findCupy() {
  Cupy& c = cupy();
  if (c.looked) return c.usable ? &c.library : nullptr;
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "cupy");  // borrowed
  if (!module) return nullptr;
  const Ref held = Ref::create(module), type = attribute(module, "ndarray"), cuda = attribute(module, "cuda");
  if (!type || !cuda || !PyType_Check(type.get()) || isBeingImported(module)) {
    PyErr_Clear();
    return nullptr;
  }
  c.looked = true;
  c.library.name = "cupy";
  c.library.typeName = "cupy.ndarray";
  c.library.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type.get()));
  c.library.space = graph::MemorySpace::kDevice;
  c.library.fields = kCupyFields;
  c.mismatch = calibrate(module, c.library);
  c.usable = c.mismatch.empty();
  return c.usable ? &c.library : nullptr;
}

const std::string& cupyMismatch() { return cupy().mismatch; }

const ArrayLibrary* arrayLibraryOf(PyTypeObject* type) {
  if (type == &PyArray_Type) return &numpyArrays();
  const Cupy& c = cupy();
  return c.usable && type == c.library.type ? &c.library : nullptr;
}

ArrayView viewOf(PyObject* array) {
  return Py_TYPE(array) == &PyArray_Type ? numpyView(array) : cupy().library.view(array);
}

void setDeviceRefusal(DeviceRefusal refusal) { deviceRefusal_ = refusal; }

const std::string& deviceRefusal() {
  static const std::string none = "cannot be compiled: no code for devices is generated here";
  return deviceRefusal_ ? deviceRefusal_() : none;
}

}  // namespace fw::guards
