// A generator of the trace.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

struct GeneratorIterator : VirtualIterator {
  Value* value = nullptr;        ///< the kIterator that owns this
  std::unique_ptr<Frame> frame;  ///< while suspended; null while running and when finished
  bool started = false, running = false;
  std::vector<Value*> handled;  ///< exceptions that it was handling when it yielded
  Value* returned = nullptr;    ///< by `return`, once finished; told once
  Value* function = nullptr;    ///< whose call with `args` has made it
  CallArgs args;

  /// Whether nobody has taken anything from it.
  bool isNew() const { return frame && !started && !running; }
  Value* next(Interpreter& interpreter) override;
};

}  // namespace fw::capture
