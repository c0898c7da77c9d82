// Calls of functions that users have declared something about (policy.h), and of Fusewire's own.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// One call in progress.
struct DeclaredCalls {
  Interpreter& interpreter;
  Trace& trace;

  /// The call's value; null if nothing is declared that changes how it is followed.
  Value* call(Value* callable, CallArgs& args);

 private:
  Value* smallCall(Value* callable, PyObject* replacement, const CallArgs& args);
  Value* assumeConstant(PyObject* function, const CallArgs& args);
  Ref constantOf(Value* value);
};

}  // namespace fw::capture
