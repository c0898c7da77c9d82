// Binding of call arguments to the slots of a Python function, as CPython binds them.
#pragma once

#include <Python.h>

#include <array>
#include <vector>

#include "cpython/ref.h"

namespace fw::bindings {

/// What binding needs of a function's code object, read once.
struct Signature {
  int positional = 0;  ///< co_argcount (positional-only included)
  int positionalOnly = 0;
  int keywordOnly = 0;
  bool varArgs = false, varKeywords = false;
  cpython::Ref names;  ///< co_varnames

  static Signature of(PyFunctionObject* function);
  int slots() const { return positional + keywordOnly + varArgs + varKeywords; }
};

/// Arguments bound to slots in the order of co_varnames: positional, keyword-only, *args, **kwargs.
class BoundArguments {
 public:
  /// False if the call does not fit the signature (Python then raises the TypeError itself). Throws PythonError.
  bool bind(const Signature& signature, PyFunctionObject* function, PyObject* const* args, Py_ssize_t count,
            PyObject* keywordNames);
  PyObject* const* slots() const { return slots_; }

 private:
  bool bindKeywords(const Signature& signature, PyObject* const* values, PyObject* names, PyObject* extra);
  static constexpr int kInline = 16;
  std::array<PyObject*, kInline> inline_;
  std::vector<PyObject*> heap_;
  PyObject** slots_ = nullptr;
  cpython::Ref varArgs_, varKeywords_;  ///< the only slots that own anything
};

}  // namespace fw::bindings
