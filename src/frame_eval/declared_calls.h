// Calls of functions that users have declared something about (policy.h), and of Fusewire's own.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

/// A function of a module of our own, which keeps it.
Ref functionOfOurs(const char* module, const char* name);

/// One call in progress.
struct DeclaredCalls {
  Interpreter& interpreter;
  Trace& trace;

  /// The call's value; null if nothing is declared that changes how it is followed.
  Value* call(Value* callable, CallArgs& args);
  /// In a loop, array[index] = value as one over the places, where they are made for it and it can be traced.
  bool storeAtPlaces(Value* array, Value* index, Value* value);

 private:
  Value* atPlaces(const char* name, Value* array, Value* index, absl::Span<Value* const> others,
                  std::vector<Value*> arguments);
  Value* methodOfUfunc(PyObject* method, const CallArgs& args);
  Value* smallCall(Value* callable, PyObject* replacement, const CallArgs& args);
  Value* assumeConstant(PyObject* function, const CallArgs& args);
  Ref constantOf(Value* value);
};

}  // namespace fw::capture
