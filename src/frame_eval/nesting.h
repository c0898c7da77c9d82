#pragma once

#include "frame_eval/trace.h"

namespace fw::capture {

/// One step down into nested containers, which may be deep, or contain themselves: breaks before the C stack ends.
class Nesting {
 public:
  explicit Nesting(Trace& trace) : trace_(trace) {
    if (trace_.nesting >= kMost) trace_.fail(BreakReason::kUnsupportedObject, "containers nested too deeply");
    ++trace_.nesting;
  }
  ~Nesting() { --trace_.nesting; }
  Nesting(const Nesting&) = delete;

 private:
  static constexpr int kMost = 100;
  Trace& trace_;
};

}  // namespace fw::capture
