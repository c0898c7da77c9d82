// functools.cached_property and functools.lru_cache: what they keep is read where they keep it, through guarded
// sources.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

struct Caches {
  Interpreter& in;
  Trace& trace;

  /// A functools.cached_property as the standard library has it.
  static bool isCachedProperty(PyObject* descriptor);
  /// self.name where the instance dict does not have it: computed, and stored there. `property` is the descriptor.
  Value* property(Value* self, PyTypeObject* type, Value* property, PyObject* name);

  /// The type of functions decorated by functools.lru_cache or cache.
  static bool isCachedFunction(PyTypeObject* type);
  /// A call of one with an argument that it has been called with before. Breaks if its result is not kept.
  Value* call(Value* cached, const CallArgs& args);
};

}  // namespace fw::capture
