// Whether compiled code is faster than the bytecode that it stands for. After some calls, a variant and Python take
// turns for a few more, and the fastest times of both decide. Sizes decide with them: each class of sizes has a trial
// of its own, so that small arrays say nothing about large ones. In doubt the compiled code stays.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>

namespace fw::bindings {

class Trial {
 public:
  enum class Arm : uint8_t {
    kUntimed,   ///< the compiled code runs
    kCompiled,  ///< ... and is timed
    kPython,    ///< Python runs and is timed
    kGivenUp,   ///< Python runs
  };
  enum class Verdict : uint8_t { kNone, kKept, kGivenUp };

  /// What is known about one class of sizes. Times in ns, 0 if there is none.
  struct Case {
    Verdict verdict = Verdict::kNone;
    uint8_t calls = 0;
    std::array<uint8_t, 2> samples{};  ///< of compiled code, of Python
    std::array<float, 2> best{};
    bool cut = false;   ///< Python's best run was cut short: it takes at least this
    uint64_t runs = 0;  ///< calls of the class, whoever has run them
  };

  /// Twice as many elements, counted over all arrays, come to half a class.
  static constexpr unsigned kClasses = 32;
  static unsigned bitsOf(int64_t size) {
    return static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(size, 0))));
  }
  static unsigned sizeClass(unsigned bits) { return std::min(bits / 2, kClasses - 1); }

  /// `entryNs`: what is saved besides where a variant that loses is not asked again, or not for each call.
  Trial(double entryNs, bool region) : meeting(region ? kUnknown : kAtReturn), entryNs_(static_cast<float>(entryNs)) {}

  /// What the next call of a class of sizes does.
  Arm next(unsigned sizeClass) {
    Case& one = cases_[sizeClass];
    return one.verdict == Verdict::kKept ? Arm::kUntimed : judge(one);
  }
  void count(unsigned sizeClass) { ++cases_[sizeClass].runs; }
  /// `cut`: the run goes on.
  void add(unsigned sizeClass, Arm arm, double ns, bool cut = false);
  /// Whether a run of Python that has taken this long is slower than the compiled code, however it goes on.
  bool isClearlyLost(unsigned sizeClass, double ns) const;
  /// A run has been timed whose end nobody has seen.
  void lose(unsigned sizeClass);

  /// Until it ends, the compiled code runs untimed where nothing is decided.
  static void pause(bool on) { paused_ = on; }

  const std::array<Case, kClasses>& cases() const { return cases_; }
  /// Regions: where control comes by after both ways, an instruction or kAtReturn. Unknown until a timed run of the
  /// compiled code has told.
  static constexpr int kUnknown = -1, kAtReturn = -2;
  int meeting;

 private:
  Arm judge(Case& one);

  static inline bool paused_ = false;

  float entryNs_;
  int lost_ = 0;
  std::array<Case, kClasses> cases_;
};

/// A run that is being timed. Empty if it is not.
struct TimedRun {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<Trial> trial;
  unsigned sizeClass = 0;
  Trial::Arm arm = Trial::Arm::kUntimed;
  Clock::time_point start{};

  /// Guards of other variants came before the ones of this.
  void addMisses(size_t count) {
    constexpr std::chrono::nanoseconds kMiss{15};
    if (arm == Trial::Arm::kCompiled) start -= count * kMiss;
  }

  explicit operator bool() const { return trial != nullptr; }
  double ns() const { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }
  void end(bool cut = false) {
    if (trial) trial->add(sizeClass, arm, ns(), cut);
    trial.reset();
  }
};

}  // namespace fw::bindings
