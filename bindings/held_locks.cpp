// By the methods of the locks themselves, which are C functions: the thread that runs the region owns what is taken.
#include "bindings/held_locks.h"

namespace fw::bindings {

using cpython::Ref;

namespace {

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

bool giveBack(PyObject* lock) {
  static PyObject* const name = interned("release");
  return static_cast<bool>(Ref::steal(PyObject_VectorcallMethod(name, &lock, 1, nullptr)));
}

}  // namespace

HeldLocks::~HeldLocks() {
  if (locks_.empty()) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (size_t i = locks_.size(); i-- > 0;)
    if (locks_[i] && !giveBack(locks_[i].get())) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

bool HeldLocks::take(PyObject* const* objects, absl::Span<const int> which) {
  static PyObject* const name = interned("acquire");
  for (int index : which) {
    PyObject* args[] = {objects[index], Py_False};
    Ref taken = Ref::steal(PyObject_VectorcallMethod(name, args, 2, nullptr));
    if (taken.get() != Py_True) {
      PyErr_Clear();
      return false;
    }
    locks_.push_back(Ref::create(objects[index]));
  }
  return true;
}

bool HeldLocks::release(size_t index) {
  Ref lock = std::move(locks_.at(index));
  locks_[index] = Ref();
  return !lock || giveBack(lock.get());
}

}  // namespace fw::bindings
