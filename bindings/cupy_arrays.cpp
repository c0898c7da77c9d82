// CuPy's own functions, through the pointers that its modules publish: under the name of each stands its C signature,
// which is compared. Fresh arrays in C order are filled by hand, which takes a tenth of the time of CuPy's constructor;
// the fields are those that guards::findCupy() has tried. Everything else goes through the constructor.
#include <cstring>
#include <string_view>
#include <utility>

#include "bindings/array_factory.h"
#include "bindings/cuda_device.h"
#include "bindings/cupy_memory.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"
#include "graph/support/check.h"
#include "guards/array_library.h"
#include "runtime/memory.h"

namespace fw::bindings {
namespace {

using cpython::Ref;

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

/// What is published by module `module` as `name`; null if it is not, or of another signature.
void* published(const char* module, const char* name, const char* signature) {
  const Ref from = Ref::steal(PyImport_ImportModule(module));
  const Ref all = Ref::steal(from ? PyObject_GetAttrString(from.get(), "__pyx_capi__") : nullptr);
  PyObject* capsule = all && PyDict_Check(all.get()) ? PyDict_GetItemString(all.get(), name) : nullptr;  // borrowed
  if (!capsule || !PyCapsule_IsValid(capsule, signature)) return PyErr_Clear(), nullptr;
  return PyCapsule_GetPointer(capsule, signature);
}

struct Functions {
  intptr_t (*streamPointer)() = nullptr;
  PyObject* (*alloc)(PyObject* bytes, int) = nullptr;
  PyObject* (*allocator)(int) = nullptr;            ///< in force
  Ref currentStream, allocate, pointer, arrayType;  ///< cupy.cuda: get_current_stream, alloc, MemoryPointer; ndarray
  newfunc makeArray = nullptr, makePointer = nullptr;
  Ref noArguments;
  bool filled = false;  ///< arrays can be filled by hand
  std::string problem;
};

bool isAsKnown(const Functions& f) {
  Ref made = Ref::steal(f.makeArray(reinterpret_cast<PyTypeObject*>(f.arrayType.get()), f.noArguments.get(), nullptr));
  if (!made) return PyErr_Clear(), false;
  auto* array = reinterpret_cast<CupyArray*>(made.get());
  PyTypeObject* pointer = reinterpret_cast<PyTypeObject*>(f.pointer.get());
  if (pointer->tp_basicsize != sizeof(CupyPointer)) return false;
  Ref place = Ref::steal(f.makePointer(pointer, f.noArguments.get(), nullptr));
  if (!place) return PyErr_Clear(), false;
  if (reinterpret_cast<CupyPointer*>(place.get())->memory != Py_None) return false;
  return array->shape.empty() && array->strides.empty() && array->dtype == Py_None && array->data == Py_None &&
         array->base == Py_None;
}

const Functions& functions() {
  static const Functions* const all = [] {
    auto* f = new Functions;  // for the life of the process
    const Ref cupy = Ref::steal(PyImport_ImportModule("cupy"));
    const Ref cuda = Ref::steal(cupy ? PyObject_GetAttrString(cupy.get(), "cuda") : nullptr);
    const auto from = [&](const Ref& module, const char* name) {
      return Ref::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    };
    f->currentStream = from(cuda, "get_current_stream");
    f->allocate = from(cuda, "alloc");
    f->pointer = from(cuda, "MemoryPointer");
    f->arrayType = from(cupy, "ndarray");
    f->noArguments = Ref::steal(PyTuple_New(0));
    if (!f->currentStream || !f->allocate || !f->pointer || !f->arrayType || !PyType_Check(f->arrayType.get()))
      f->problem = "CuPy lacks a function that memory or streams are asked of";
    PyErr_Clear();
    if (!f->problem.empty()) return f;
    f->streamPointer = reinterpret_cast<intptr_t (*)()>(
        published("cupy_backends.cuda.stream", "get_current_stream_ptr", "intptr_t (void)"));
    f->alloc = reinterpret_cast<PyObject* (*)(PyObject*, int)>(
        published("cupy.cuda.memory", "alloc",
                  "struct __pyx_obj_4cupy_4cuda_6memory_MemoryPointer *(PyObject *, int __pyx_skip_dispatch)"));
    f->allocator = reinterpret_cast<PyObject* (*)(int)>(
        published("cupy.cuda.memory", "get_allocator", "PyObject *(int __pyx_skip_dispatch)"));
    PyTypeObject* base = reinterpret_cast<PyTypeObject*>(f->arrayType.get())->tp_base;
    f->makeArray = base ? base->tp_new : nullptr;
    f->makePointer =
        PyType_Check(f->pointer.get()) ? reinterpret_cast<PyTypeObject*>(f->pointer.get())->tp_new : nullptr;
    f->filled = f->makeArray && f->makePointer && isAsKnown(*f);
    return f;
  }();
  return *all;
}

/// A MemoryPointer of that many bytes.
Ref allocateMemory(size_t bytes) {
  if (!runtime::mayAllocate()) return PyErr_NoMemory(), Ref();
  const Functions& f = functions();
  const Ref size = Ref::steal(PyLong_FromSize_t(bytes));
  if (!size) return {};
  return Ref::steal(f.alloc ? f.alloc(size.get(), 0) : PyObject_CallOneArg(f.allocate.get(), size.get()));
}

/// A MemoryPointer to part of the memory that another one points into.
Ref pointInto(const CupyPointer& whole, intptr_t address) {
  const Functions& f = functions();
  Ref made = Ref::steal(f.makePointer(reinterpret_cast<PyTypeObject*>(f.pointer.get()), f.noArguments.get(), nullptr));
  if (!made) return {};
  auto* pointer = reinterpret_cast<CupyPointer*>(made.get());
  pointer->address = address;
  pointer->device = whole.device;
  Py_SETREF(pointer->memory, Py_NewRef(whole.memory));
  return made;
}

/// Small results are cut from larger pieces of CuPy's pool, each for one stream, which is the order in which the pool
/// gives memory out again. A piece goes back to the pool with the last result in it. Only where the default pool is in
/// force: who sets an allocator wants to see every allocation. Guarded by the GIL.
class Slabs {
 public:
  static constexpr intptr_t kLargest = 1024;

  /// Null without an exception: memory comes from elsewhere.
  Ref cut(size_t bytes) {
    const Functions& f = functions();
    if (!f.filled || !f.streamPointer || !f.allocator || !f.alloc || !isDefault()) return {};
    const intptr_t stream = f.streamPointer();
    const int device = currentDevice();
    if (device < 0 || stream == kPerThread || PyErr_Occurred()) return PyErr_Clear(), Ref();
    Slab* slab = &slabs_[0];
    for (Slab& one : slabs_) {
      if (one.whole && one.stream == stream && one.pointer().device == device) {
        slab = &one;
        break;
      }
      if (one.used < slab->used) slab = &one;
    }
    const bool known = slab->whole && slab->stream == stream && slab->pointer().device == device;
    const intptr_t size = (static_cast<intptr_t>(bytes) + kUnit - 1) / kUnit * kUnit;
    if (!known || slab->next + size > kBytes) {
      const Ref wanted = Ref::steal(PyLong_FromSsize_t(kBytes));
      Ref whole = Ref::steal(wanted ? f.alloc(wanted.get(), 0) : nullptr);
      if (!whole) return PyErr_Clear(), Ref();  // a little may be left
      *slab = {std::move(whole), stream, 0, 0};
      if (slab->pointer().device != device) return slab->whole = Ref(), Ref();
    }
    slab->used = ++cuts_;
    const intptr_t address = slab->pointer().address + slab->next;
    slab->next += size;
    return pointInto(slab->pointer(), address);
  }

 private:
  static constexpr intptr_t kBytes = 64 << 10, kUnit = 512, kPerThread = 2;
  struct Slab {
    Ref whole;
    intptr_t stream = 0, next = 0;
    uint64_t used = 0;
    const CupyPointer& pointer() const { return *reinterpret_cast<const CupyPointer*>(whole.get()); }
  };

  /// Whether CuPy's allocator in force is its default pool's; looked into when it has changed.
  bool isDefault() {
    Ref now = Ref::steal(functions().allocator(0));
    if (!now) return PyErr_Clear(), false;
    if (now.get() == allocator_.get()) return default_;
    const Ref cupy = Ref::steal(PyImport_ImportModule("cupy"));
    const Ref pool = Ref::steal(cupy ? PyObject_CallMethod(cupy.get(), "get_default_memory_pool", nullptr) : nullptr);
    const Ref owner = Ref::steal(PyObject_GetAttrString(now.get(), "__self__"));
    PyErr_Clear();
    default_ = pool && owner && pool.get() == owner.get();
    allocator_ = std::move(now);
    return default_;
  }

  Ref allocator_;
  bool default_ = false;
  uint64_t cuts_ = 0;
  Slab slabs_[4];
};

Slabs& slabs() {
  static auto* all = new Slabs;  // for the life of the process
  return *all;
}

void* addressOf(PyObject* pointer) {
  const guards::ArrayFields& fields = guards::findCupy()->fields;
  void* address;
  std::memcpy(&address, reinterpret_cast<char*>(pointer) + fields.dataIn, sizeof address);
  return address;
}

Ref tupleOf(const int64_t* numbers, int count) {
  Ref tuple = Ref::steal(PyTuple_New(count));
  for (int i = 0; tuple && i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(numbers[i]));
  return tuple;
}

class CupyFactory final : public ArrayFactory {
 public:
  PyObject* allocate(const ArrayShape& shape, size_t bytes) const override {
    Ref memory;
    if (bytes > 0 && bytes <= Slabs::kLargest && runtime::mayAllocate()) memory = slabs().cut(bytes);
    if (!memory) memory = allocateMemory(bytes);
    if (!memory) return nullptr;
    if (functions().filled && !shape.strides && !shape.fortran) return filled(shape, std::move(memory));
    return constructed(shape, memory.get());
  }

  /// As CuPy makes views: over the memory of the array, whose base is theirs.
  PyObject* view(const ArrayShape& shape, void* data, PyObject* base, bool) const override {
    FW_CHECK(base);
    const auto* whole = reinterpret_cast<CupyArray*>(base);
    if (functions().filled) return filledView(shape, data, base);
    const Ref memory = Ref::steal(PyObject_GetAttrString(whole->data, "mem"));
    if (!memory) return nullptr;
    const Ref begin = Ref::steal(PyObject_GetAttrString(memory.get(), "ptr"));
    if (!begin) return nullptr;
    const int64_t offset = reinterpret_cast<int64_t>(data) - PyLong_AsLongLong(begin.get());
    const Ref pointer = Ref::steal(PyObject_CallFunction(functions().pointer.get(), "OL", memory.get(), offset));
    PyObject* result = pointer ? constructed(shape, pointer.get()) : nullptr;
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
    const Functions& f = functions();
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
    const Functions& f = functions();
    auto* whole = reinterpret_cast<CupyArray*>(base);
    auto* memory = reinterpret_cast<CupyPointer*>(whole->data);
    Ref place = pointInto(*memory, reinterpret_cast<intptr_t>(data));
    Ref made =
        Ref::steal(f.makeArray(reinterpret_cast<PyTypeObject*>(f.arrayType.get()), f.noArguments.get(), nullptr));
    if (!place || !made) return nullptr;
    auto* array = reinterpret_cast<CupyArray*>(made.get());
    array->shape.assign(shape.sizes, shape.sizes + shape.rank);
    array->strides.assign(shape.strides, shape.strides + shape.rank);
    const PyArray_Descr* descr = reinterpret_cast<PyArray_Descr*>(whole->dtype);
    Ref own = descr->type_num == shape.typeNumber
                  ? Ref::create(whole->dtype)
                  : Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
    const npy_intp itemSize = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(own.get()));
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
    array->index32 = whole->index32;
    Py_SETREF(array->dtype, own.release());
    Py_SETREF(array->data, place.release());
    Py_SETREF(array->base, Py_NewRef(whole->base == Py_None ? base : whole->base));
    return made.release();
  }

  static PyObject* constructed(const ArrayShape& shape, PyObject* memory) {
    const Functions& f = functions();
    const Ref sizes = tupleOf(shape.sizes, shape.rank);
    const Ref dtype = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(shape.typeNumber)));
    const Ref strides = shape.strides ? tupleOf(shape.strides, shape.rank) : Ref::create(Py_None);
    if (!sizes || !dtype || !strides) return nullptr;
    return PyObject_CallFunction(f.arrayType.get(), "OOOOs", sizes.get(), dtype.get(), memory, strides.get(),
                                 shape.fortran ? "F" : "C");
  }
};

}  // namespace

const ArrayFactory* cupyFactory() {
  static const CupyFactory factory;
  if (functions().problem.empty()) return &factory;
  PyErr_SetString(PyExc_RuntimeError, functions().problem.c_str());
  return nullptr;
}

CupyHost::CupyHost() {
  const Functions& f = functions();
  if (f.streamPointer) {
    stream_ = reinterpret_cast<void*>(f.streamPointer());
    ok_ = !PyErr_Occurred();
    PyErr_Clear();
    return;
  }
  const Ref stream = Ref::steal(PyObject_CallNoArgs(f.currentStream.get()));
  const Ref pointer = Ref::steal(stream ? PyObject_GetAttrString(stream.get(), "ptr") : nullptr);
  stream_ = pointer ? PyLong_AsVoidPtr(pointer.get()) : nullptr;
  ok_ = pointer && !PyErr_Occurred();
  PyErr_Clear();
}

CupyHost::~CupyHost() {
  for (PyObject* pointer : held_) Py_DECREF(pointer);
  Py_XDECREF(error_);
}

void* CupyHost::allocate(int64_t bytes) {
  Ref pointer = allocateMemory(static_cast<size_t>(bytes));
  if (!pointer) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    Py_XSETREF(error_, value);
    return nullptr;
  }
  held_.push_back(pointer.release());
  return addressOf(held_.back());
}

void CupyHost::release(void* data) {
  for (size_t i = held_.size(); i-- > 0;) {
    if (addressOf(held_[i]) != data) continue;
    Py_DECREF(held_[i]);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

bool CupyHost::restoreError() {
  if (!error_) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_)), error_);
  return true;
}

}  // namespace fw::bindings
