// What the calls of one decorated function take, while a trace is written: calls are timed, of short ones so few that
// reading clocks takes a hundredth of the time; and a few are watched by their lines, which takes as much again. The
// GIL guards all of it.
#pragma once

#include <Python.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fw::bindings {

class SplicedCode;

class CallSamples {
 public:
  struct Call {
    int64_t startNs;
    uint64_t watch;  ///< number of its CallWatch, 0 if it has none
    bool outermost;
  };
  /// What end() tells of the function.
  struct Told {
    std::string name;
    PyCodeObject* code;
    const SplicedCode* spliced;  ///< null if it has no regions
    bool compiled;               ///< native code has run the whole call
  };

  /// Whether the next call is one of those that run without a clock; it is counted.
  bool passes() {
    if (passing_ == 0 || !inside_.empty()) return false;
    --passing_;
    ++passed_;
    ++calls_;
    return true;
  }
  Call begin(PyCodeObject* code);
  /// Writes an event "call" of a call that was watched. `told()` answers Told, and is asked only then.
  template <class F>
  void end(const Call& call, F&& told) {
    const int64_t ns = ended(call);
    if (call.watch) write(call, ns, told());
  }

  uint64_t calls() const { return calls_; }
  /// Wall time of all calls, those that had no clock by the one behind them; those of functions that they call and of
  /// compiling included; a call from within a call is part of it.
  int64_t ns() const { return ns_; }

 private:
  int64_t ended(const Call& call);
  void write(const Call& call, int64_t ns, const Told& told);
  bool isDue(int64_t now) const;

  uint64_t calls_ = 0;
  uint32_t passing_ = 0;      ///< calls that are still to pass without a clock
  uint32_t passed_ = 0;       ///< calls that have, for which the next timed one stands
  bool isRecursive_ = false;  ///< calls inside of calls are no calls of their own, so all have to be seen
  int64_t ns_ = 0, longestNs_ = 0, firstNs_ = 0, lastWatchNs_ = 0, watchCostNs_ = 0;
  std::vector<unsigned long> inside_;  ///< threads that are in a call, once for each
};

}  // namespace fw::bindings
