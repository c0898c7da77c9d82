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

/// The next frame of this thread runs as it is if it is of this code: who has decorated the function sees to its calls.
/// Others, of the same function by its own name, are frames like any.
void runsAsItIs(PyObject* code);

/// What looking at the frames that one caller's calls reach has come to.
struct NestedUse {
  uint64_t seen = 0;  ///< frames since one was compiled
  uint64_t rest = 0;  ///< calls that do without the hook
  uint64_t nextRest = 64;
};

/// For the time of a call that may reach other Python functions through its breaks.
class NestedScope {
 public:
  NestedScope(bool wanted, NestedUse& use);
  ~NestedScope();
  NestedScope(const NestedScope&) = delete;

  /// Frames that the call has reached, of any thread, have run compiled code.
  bool hasReachedCompiled() const;

 private:
  bool installed_;
  NestedUse& use_;
  uint64_t seen_, compiled_;
};

}  // namespace fw::bindings
