// Calls of builtin functions and types (the table is builtins.def).
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// One call in progress; the handlers are its members.
struct Builtins {
  Interpreter& interpreter;
  Trace& trace;
  const char* name;

#define FW_BUILTIN(name, handler) Value* handler(const CallArgs& args);
#include "frame_eval/builtins.def"

  /// Breaks unless there are only positional arguments, in this number.
  void expect(const CallArgs& args, size_t least, size_t most) const;
  Value* iterator(std::vector<Value*> items) const;
  Value* extreme(const CallArgs& args, int op);
  PyObject* interned(Value* text);
};

}  // namespace fw::capture
