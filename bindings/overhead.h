// What Fusewire takes for itself. Code is looked into in the hope of array work; where none is found, the time is lost.
// Every code object has an account, and so has the process. What a code object loses may come to a small share of the
// time for which Python has run it; beyond that it is left to Python until it has run for longer. So no call hangs
// because it is compiled, whatever it is that takes long. The GIL guards all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fw::bindings {

class Overhead {
  using Clock = std::chrono::steady_clock;

 public:
  /// `asked`: a user has decorated the code. What nobody has asked for is limited by the account of the process, too.
  explicit Overhead(bool asked) : asked_(asked) {}
  Overhead(const Overhead&) = delete;

  /// Whether more may be spent on the code now.
  bool isOpen() const { return (lostNs_ < kAllowanceNs || lostNs_ < kAllowanceNs + ranNs_ / kShare) && isOpenToAll(); }
  /// isOpen() has been found false: leftToPython() and the log hear of it, once.
  void tell(const std::string& name);
  bool isTold() const { return told_; }

  // How long Python has run the code. This is measured where it may come to matter; else it costs a comparison.
  /// Python runs the code from here on.
  void begin() {
    if (matters()) since_ = Clock::now();
  }
  /// It has run the code since begin(), or since the last pulse or charge.
  void pulse() {
    if (!matters()) return;
    const Clock::time_point now = Clock::now();
    if (since_ != Clock::time_point()) ranNs_ += std::chrono::nanoseconds(now - since_).count();
    since_ = now;
  }
  void end() {
    pulse();
    since_ = {};
  }

  /// The time until its end is spent, by the thread's own clock; it is lost unless there is something to show for it.
  class Charge {
   public:
    explicit Charge(Overhead& account);
    ~Charge();
    Charge(const Charge&) = delete;
    void paid() { paid_ = true; }

   private:
    Overhead& account_;
    Clock::time_point wallStart_;
    int64_t start_, toldStart_;
    bool paid_ = false;
  };

  int64_t spentNs() const { return spentNs_; }
  int64_t lostNs() const { return lostNs_; }
  int64_t ranNs() const { return ranNs_; }

 private:
  /// What may be lost in any case, about what a few looks at a large function take; and which part of the time that
  /// Python runs it beyond that.
  static constexpr int64_t kAllowanceNs = 30'000'000, kShare = 10;

  bool matters() const { return lostNs_ > kAllowanceNs / 4; }
  bool isOpenToAll() const;

  bool asked_, told_ = false;
  int64_t spentNs_ = 0, lostNs_ = 0, ranNs_ = 0;
  Clock::time_point since_{};
};

/// Code that has been found to cost more than its share, in the order in which that came out; no more than a hundred.
const std::vector<std::string>& leftToPython();
/// Of the process: by the clocks of the threads, and as it has passed for those who waited.
int64_t overheadNs();
int64_t overheadWallNs();

}  // namespace fw::bindings
