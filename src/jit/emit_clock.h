// Reads of the clock before and behind a part of native code, for PartMeter.
#pragma once

#include "jit/emit_function.h"

namespace fw::jit {

/// What is emitted while one lives is timed as part number `part`, if the module is. Not inside of loops over numbers,
/// where a read takes longer than what it would measure.
class EmitClock {
 public:
  EmitClock(FunctionState& fn, size_t part);
  ~EmitClock();
  EmitClock(const EmitClock&) = delete;

 private:
  FunctionState& fn_;
  const size_t part_;
  llvm::Value* start_ = nullptr;  ///< null: not timed
};

}  // namespace fw::jit
