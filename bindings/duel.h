// Whether a decorated function with compiled regions is faster than the user's own code, as a whole. Trials of regions
// compare stretches of bytecode, all of which run with the hook installed, with stubs around and callees compiled by
// themselves; what these cost, only a call without any of it tells. So calls of the two kinds take turns now and then,
// and a function that loses is left to Python until it is asked again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace fw::bindings {

class Duel {
 public:
  enum class Arm : uint8_t {
    kSpliced,  ///< compiled regions run
    kPython,   ///< the user's own code runs
  };
  struct Side {
    int count = 0;
    double best = 0, worst = 0, logs = 0;  ///< ns; sum of their logarithms
    void add(double ns);
    double mean() const;  ///< geometric
  };

  /// One more call. Whether the duel has anything to say about it: else it is spliced code's, and costs nothing here.
  bool count() { return ++calls_ >= next_ || lost_ || running_; }
  /// Who runs a call that is not timed: within a timed one, whoever runs that.
  Arm untimed() const { return running_ ? *running_ : lost_ ? Arm::kPython : Arm::kSpliced; }

  bool isLost() const { return lost_; }
  /// Of the last duel that has been decided: ns of a call in the geometric mean, 0 if there was none.
  double splicedNs() const { return splicedNs_; }
  double pythonNs() const { return pythonNs_; }

 private:
  friend class DuelRun;
  /// Whether the next call is to be timed. `ready`: no region of the function is on trial.
  bool isDue(bool ready);
  Arm turn() const;
  void add(Arm arm, double ns);
  /// A timed call has been no fair one: something has been compiled in it.
  void spoil();
  void decide(bool lost);

  /// It waits for less where calls are long.
  static constexpr uint64_t kPatience = 400, kSomePatience = 64;
  static constexpr uint64_t kFirst = 24, kFirstRest = 512;

  std::optional<Arm> running_;  ///< in a timed call
  bool begun_ = false, decided_ = false, lost_ = false;
  uint64_t calls_ = 0, next_ = kFirst, rest_ = kFirstRest;
  uint64_t patience_ = kPatience;  ///< calls for which it waits until no region is on trial
  int spoilt_ = 0;
  Side spliced_, python_;
  double splicedNs_ = 0, pythonNs_ = 0;
};

/// A call, which is timed if the duel is due.
class DuelRun {
 public:
  /// A call that is not timed.
  explicit DuelRun(Duel::Arm arm) : arm_(arm) {}
  DuelRun(Duel& duel, bool ready);
  ~DuelRun();
  DuelRun(const DuelRun&) = delete;

  bool isPython() const { return arm_ == Duel::Arm::kPython; }
  /// It has returned a result.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  Duel* duel_ = nullptr;  ///< none: not timed
  Duel::Arm arm_;
  int64_t overheadNs_ = 0;
  Clock::time_point start_{};
};

}  // namespace fw::bindings
