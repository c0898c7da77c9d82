// What the calls of one decorated function take, while a trace is written: every call is timed, and a few are watched
// by their lines, chosen so that this takes a hundredth of the time. The GIL guards all of it.
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

  Call begin(PyCodeObject* code);
  /// Writes an event "call" of a call that was watched. `told()` answers Told, and is asked only then.
  template <class F>
  void end(const Call& call, F&& told) {
    const int64_t ns = ended(call);
    if (call.watch) write(call, ns, told());
  }

  uint64_t calls() const { return calls_; }
  /// Wall time of all calls, those of functions that they call and of compiling included; a call from within a call is
  /// part of it.
  int64_t ns() const { return ns_; }

 private:
  int64_t ended(const Call& call);
  void write(const Call& call, int64_t ns, const Told& told);
  bool isDue(int64_t now) const;

  uint64_t calls_ = 0;
  int64_t ns_ = 0, longestNs_ = 0, firstNs_ = 0, lastWatchNs_ = 0, watchCostNs_ = 0;
  std::vector<unsigned long> inside_;  ///< threads that are in a call, once for each
};

}  // namespace fw::bindings
