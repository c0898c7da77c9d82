// Whether a decorated function with compiled regions is faster than the user's own code, as a whole. Trials of regions
// compare stretches of bytecode, all of which run with the hook installed, with stubs around and callees compiled by
// themselves; what these cost, only a call without any of it tells. So calls of the two kinds take turns now and then,
// and a function that loses is left to Python until it is asked again.
#pragma once

#include <chrono>
#include <cstdint>

namespace fw::bindings {

class Duel {
 public:
  enum class Arm : uint8_t {
    kSpliced,       ///< compiled regions run
    kTimedSpliced,  ///< ... and are timed
    kTimedPython,   ///< the user's own code runs and is timed
    kPython,        ///< the user's own code runs
  };
  struct Side {
    int count = 0;
    double best = 0, worst = 0, logs = 0;  ///< ns; sum of their logarithms
    void add(double ns);
    double mean() const;  ///< geometric
  };

  /// What the next call does. `ready`: no region of the function is on trial.
  Arm next(bool ready);
  void add(Arm arm, double ns);
  /// A timed call has been no fair one: something has been compiled in it.
  void spoil();

  bool isLost() const { return lost_; }
  /// Of the last duel that has been decided: ns of a call in the geometric mean, 0 if there was none.
  double splicedNs() const { return splicedNs_; }
  double pythonNs() const { return pythonNs_; }

 private:
  void decide(bool lost);

  bool begun_ = false, decided_ = false, lost_ = false;
  uint64_t calls_ = 0, next_ = kFirst, rest_ = kFirstRest;
  int spoilt_ = 0;
  Side spliced_, python_;
  double splicedNs_ = 0, pythonNs_ = 0;
  static constexpr uint64_t kFirst = 24, kFirstRest = 512;
};

/// A timed call of a duel, or none.
class DuelRun {
 public:
  DuelRun(Duel& duel, Duel::Arm arm);
  /// The call has returned a result.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  Duel* duel_;
  Duel::Arm arm_;
  int64_t overheadNs_ = 0;
  Clock::time_point start_{};
};

}  // namespace fw::bindings
