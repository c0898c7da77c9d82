// What a trace changes outside of itself.
#pragma once

#include <vector>

#include "frame_eval/exit_plan.h"
#include "frame_eval/value.h"

namespace fw::capture {

/// A change of an object that exists outside the trace, in program order (Effect in exit_plan.h, on Values).
struct SideEffect {
  Effect::Kind kind;
  Value* target;
  Value* key = nullptr;
  Value* value = nullptr;     ///< null deletes
  std::vector<Value*> items;  ///< kListSlice: what stands at [lo, hi) afterwards; kCall: arguments
  int64_t lo = 0, hi = 0;
  int at = -1;        ///< instruction of the outermost frame
  bool calm = false;  ///< lets go of no object, so that no code of the user runs
};

}  // namespace fw::capture
