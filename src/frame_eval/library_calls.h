// Calls of functions and methods of an array library, in one of the ways that library_ways.h tells.
#pragma once

#include <functional>
#include <string>

#include "frame_eval/interpreter.h"
#include "frame_eval/library_ways.h"

namespace fw::capture {

/// One call in progress.
struct LibraryCalls {
  Interpreter& interpreter;
  Trace& trace;

  /// The call's value; null if the function belongs to no library.
  Value* call(PyObject* callable, const CallArgs& args);
  Value* callMethod(Value* self, const std::string& name, CallArgs args);

 private:
  /// `name`: what breaks if the last way does; empty: what that way says.
  Value* takeWays(PyObject* callable, size_t count, const std::function<Value*(size_t way)>& take,
                  const std::string& name);
};

}  // namespace fw::capture
