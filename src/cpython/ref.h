// References typed by ownership. A raw PyObject* appears only in signatures that CPython dictates.
#pragma once

#include <Python.h>

#include <exception>
#include <utility>

namespace fw::cpython {

/// A Python exception is pending in the thread state; whoever catches this either clears it or returns nullptr to
/// CPython.
class PythonError : public std::exception {
 public:
  const char* what() const noexcept override { return "a Python exception is set"; }
};

/// Owns one reference (or none).
class Ref {
 public:
  Ref() = default;
  static Ref steal(PyObject* object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  static Ref create(PyObject* borrowed) {
    Py_XINCREF(borrowed);
    return steal(borrowed);
  }
  Ref(const Ref& o) : object_(o.object_) { Py_XINCREF(object_); }
  Ref(Ref&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  PyObject* object_ = nullptr;
};

/// Takes a new reference from a C API call; nullptr becomes PythonError.
inline Ref checked(PyObject* fresh) {
  if (!fresh) throw PythonError();
  return Ref::steal(fresh);
}
/// For C API calls that answer -1 on error.
inline int checked(int result) {
  if (result < 0) throw PythonError();
  return result;
}

}  // namespace fw::cpython
