// The PEP 523 hook: sees the frames of Python functions before they run, and lets them run as they are, answers for
// them, or re-targets them in place at other code. It is installed only while somebody needs it.
//
// Nothing may depend for correctness on the hook being called: CPython inlines some frames past it (specialised calls
// of __init__ on 3.13.0, of __getitem__ on 3.11).
#pragma once

#include <Python.h>

#include <memory>

#include "cpython/ref.h"

namespace fw::cpython {

/// A call that has not begun. Everything is borrowed and valid during onFrame() only.
struct FrameView {
  PyFunctionObject* function;
  PyCodeObject* code;
  PyObject* const*
      args;  ///< bound arguments in the order of co_varnames: positional, keyword-only, *args, **kwargs; none is null.
             ///< Arguments that are cell variables are raw values; free variables are in func_closure.
  int argCount;
};

/// Whoever wants to know when a frame has ended.
class FrameWatch {
 public:
  virtual ~FrameWatch() = default;
  /// It has returned, without an exception.
  virtual void returned() = 0;
};

struct HookDecision {
  enum class Kind : uint8_t {
    kDefault,  ///< run the frame as it is
    kReturn,   ///< the call answers `value`; an empty value means that a Python exception is set
    kReplace,  ///< run `code` with the same arguments, globals and closure
  };
  Kind kind = Kind::kDefault;
  Ref value;
  /// Needs the same argument slots and the same free variables in the same order; more locals, cells, stack and other
  /// constants are free. The frame runs as it is if the code does not meet that or does not fit into the thread's stack
  /// chunk.
  Ref code;
  std::unique_ptr<FrameWatch> watch;  ///< kDefault and kReplace; may be null

  static HookDecision runAsIs() { return {}; }
  static HookDecision answer(Ref value) { return {Kind::kReturn, std::move(value), {}, {}}; }
  static HookDecision replace(Ref code) { return {Kind::kReplace, {}, std::move(code), {}}; }
};

class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  /// Called with the GIL for every fresh frame of an optimised, non-generator function in any thread, unless the thread
  /// is being traced or profiled. Frames that run during onFrame() in the same thread are not reported. Must not throw;
  /// an exception left set together with kDefault is cleared.
  virtual HookDecision onFrame(const FrameView& frame) = 0;
};

/// Sets who is asked; nullptr for nobody. The handler must outlive its installation.
void setFrameHandler(FrameHandler* handler);

/// Counted: the hook is installed in the current interpreter from the first install to the last uninstall. An
/// evaluation function that somebody else has installed before is called for frames that run; one installed after us
/// stays, and ours then only passes frames on. With the GIL.
void installHook();
void uninstallHook();
int hookInstallCount();

/// A vectorcall of a Python function from C that costs as much of CPython's recursion budgets as a call from Python
/// does: the recursion limit that users see stays, and RecursionError comes before the C stack ends.
PyObject* callNested(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* keywordNames);

class HookScope {
 public:
  HookScope() { installHook(); }
  ~HookScope() { uninstallHook(); }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
};

}  // namespace fw::cpython
