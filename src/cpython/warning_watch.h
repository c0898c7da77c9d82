// Whether code that runs here gives warnings: while one of these lives, warnings of its thread are noted instead of
// shown. What filters ignore is no warning, and what they make an error is raised.
#pragma once

#include <Python.h>

namespace fw::cpython {

/// Made and destroyed with the GIL held, by one thread. Throws PythonError if the warnings module is not as we know it.
class WarningWatch {
 public:
  WarningWatch();
  ~WarningWatch();
  WarningWatch(const WarningWatch&) = delete;

  /// If so, filters are made to forget what they have seen, so that the same warning is given again where it belongs.
  bool hasWarned() const { return warned_; }

 private:
  static PyObject* note(PyObject*, PyObject* message);
  WarningWatch* outer_;
  bool warned_ = false;
};

}  // namespace fw::cpython
