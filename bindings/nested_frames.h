// Frames of functions that nobody has decorated, seen by the frame-evaluation hook: compiled when a compiled function
// with breaks calls them, or always with the setting compile_all.
#pragma once

#include <Python.h>

#include <cstdint>

namespace fw::bindings {

/// Once per process. Reserves the slot in code objects; with `compileAll` the hook stays installed from here on. False
/// with a Python exception set.
bool initializeNestedFrames(bool compileAll);

/// Frames of this code object run as they are: it has been taken care of elsewhere.
void leaveAlone(PyObject* code);

/// For the time of a call that may reach other Python functions through its breaks.
class NestedScope {
 public:
  /// `useful`: in and out, false once it has turned out that nothing below this caller is ever compiled.
  NestedScope(bool wanted, bool* useful);
  ~NestedScope();
  NestedScope(const NestedScope&) = delete;

 private:
  bool installed_;
  bool* useful_;
  uint64_t seen_, compiled_;
};

}  // namespace fw::bindings
