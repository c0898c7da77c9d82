// Where the time of one call goes, while explain() asks: native code, Python between compiled regions, Fusewire itself.
// Nobody else pays for it: stubs and variants look at one pointer. The GIL guards all of it.
#pragma once

#include <Python.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "cpython/current_frame.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

class SplicedCode;

class CallWatch {
 public:
  /// Null if no call is being watched.
  static CallWatch* current() { return current_; }
  /// Whether a call of this thread is being watched.
  static bool isWatching() { return current_ && current_->isHere(); }
  /// The next call of the function with this code in this thread is watched, until end(); its first frame if it calls
  /// itself. A watch that is on ends.
  /// Answers the number of the watch. `pauseTrials`: the call is what compiled code does, not Python's turn in a trial.
  static uint64_t begin(PyCodeObject* code, bool pauseTrials = true);
  /// Whether the watch of this number is still on.
  static bool isOn(uint64_t number) { return current_ && begun_ == number; }
  /// {ns, own_ns, native_ns, stretches: [{start, native, lines, runs, ns, native_ns}]}; null if there is no watch.
  /// `spliced`: the code of the function, null if it has no regions. Times are of all runs; those of Fusewire itself
  /// (own_ns) are in no stretch. `start`: the instruction where it begins, -1 at the beginning.
  static nlohmann::json end(const SplicedCode* spliced);

  // Called by stubs, in this order.
  /// A frame comes by an instruction at which a stub stands.
  void arrive(const cpython::CurrentFrame& frame, PyCodeObject* own, int instr);
  /// Compiled code has run it up to `target`, an instruction or ExitPlan::kReturn.
  void ran(const cpython::CurrentFrame& frame, PyCodeObject* own, int instr, int target);

  /// Native code runs as long as it lives, in the thread of the call.
  class Native {
   public:
    Native() {
      if (current_ && current_->isHere()) [[unlikely]]
        start_ = Clock::now();
    }
    ~Native() {
      if (start_ != Clock::time_point() && current_) [[unlikely]]
        current_->nativeNs_ += std::chrono::nanoseconds(Clock::now() - start_).count();
    }
    Native(const Native&) = delete;

   private:
    std::chrono::steady_clock::time_point start_{};
  };

 private:
  using Clock = std::chrono::steady_clock;
  /// What has passed by some moment.
  struct Reading {
    int64_t ns = 0, ownNs = 0, nativeNs = 0;
  };
  struct Sum {
    uint64_t runs = 0;
    int64_t ns = 0, nativeNs = 0;
  };

  explicit CallWatch(PyCodeObject* code);
  Reading read() const;
  /// Whether this is the thread of the call.
  bool isHere() const { return thread_ == PyThread_get_thread_ident(); }
  bool isWatched(const cpython::CurrentFrame& frame, PyCodeObject* own);
  void add(int to, bool native);
  nlohmann::json linesOf(const SplicedCode& spliced, int from, int to, bool native) const;

  static inline CallWatch* current_ = nullptr;
  static inline uint64_t begun_ = 0;

  PyCodeObject* code_;
  unsigned long thread_;
  Clock::time_point start_ = Clock::now();
  int64_t ownStart_, nativeNs_ = 0;
  PyObject* const* slots_ = nullptr;  ///< of the frame that is watched, once it has come by a stub
  bool returned_ = false;
  bool ran_ = false;  ///< native code has run up to `at_`, and nothing since
  int at_ = -1;
  Reading since_;
  std::map<std::tuple<int, int, bool>, Sum> stretches_;  ///< from, to, whether native
};

}  // namespace fw::bindings
