// Under the name of each function that a module publishes stands its C signature, which is compared. The fields of
// arrays are those that guards::findCupy() has tried; the others are tried here.
#include "bindings/cupy_functions.h"

namespace fw::bindings {

using cpython::Ref;

namespace {

/// What is published by module `module` as `name`; null if it is not, or of another signature.
void* published(const char* module, const char* name, const char* signature) {
  const Ref from = Ref::steal(PyImport_ImportModule(module));
  const Ref all = Ref::steal(from ? PyObject_GetAttrString(from.get(), "__pyx_capi__") : nullptr);
  PyObject* capsule = all && PyDict_Check(all.get()) ? PyDict_GetItemString(all.get(), name) : nullptr;  // borrowed
  if (!capsule || !PyCapsule_IsValid(capsule, signature)) return PyErr_Clear(), nullptr;
  return PyCapsule_GetPointer(capsule, signature);
}

bool isAsKnown(const CupyFunctions& f) {
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

}  // namespace

const CupyFunctions& cupyFunctions() {
  static const CupyFunctions* const all = [] {
    auto* f = new CupyFunctions;  // for the life of the process
    const Ref cupy = Ref::steal(PyImport_ImportModule("cupy"));
    const Ref cuda = Ref::steal(cupy ? PyObject_GetAttrString(cupy.get(), "cuda") : nullptr);
    const auto from = [&](const Ref& module, const char* name) {
      return Ref::steal(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    };
    f->currentStream = from(cuda, "get_current_stream");
    f->allocate = from(cuda, "alloc");
    f->pointer = from(cuda, "MemoryPointer");
    f->unownedMemory = from(cuda, "UnownedMemory");
    f->arrayType = from(cupy, "ndarray");
    f->noArguments = Ref::steal(PyTuple_New(0));
    if (!f->currentStream || !f->allocate || !f->pointer || !f->unownedMemory || !f->arrayType ||
        !PyType_Check(f->arrayType.get()))
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

}  // namespace fw::bindings
