// Noise only ever adds time, so that the fastest of several runs counts, taken in turns. Python has to win clearly, and
// its runs are few where it loses clearly.
#include "bindings/trial.h"

#include <algorithm>

namespace fw::bindings {

namespace {

/// Calls of a class before its trial begins, and how many a trial may take: runs whose end is not seen leave no time.
constexpr int kBefore = 32, kLongest = 160;
constexpr int kMostLost = 4;
/// Runs of the compiled code before Python's first, and of each after which a clear case is decided, one that leans to
/// the compiled code, and any. CPython specialises instructions that have run about ten times.
constexpr int kFirst = 3, kClear = 4, kLeaning = 12, kAll = 18;
/// Python's time in parts of the compiled code's: it loses clearly, it may win, it wins.
constexpr float kClearLoss = 3, kMayWin = 1, kWin = 0.95f;
/// A difference that is worth anything.
constexpr float kLeastGainNs = 10;
/// Code that runs for this long has much to do, and Python may take a thousand times as long.
constexpr float kLongNs = 200'000;

}  // namespace

Trial::Arm Trial::judge(Case& one) {
  if (one.verdict == Verdict::kGivenUp) return Arm::kGivenUp;
  if (++one.calls < kBefore) return Arm::kUntimed;
  if (one.calls >= kLongest) return one.verdict = Verdict::kKept, Arm::kUntimed;
  return one.samples[0] >= kFirst && one.samples[1] < one.samples[0] ? Arm::kPython : Arm::kCompiled;
}

void Trial::add(unsigned sizeClass, Arm arm, double ns) {
  Case& one = cases_[sizeClass];
  if (one.verdict != Verdict::kNone) return;
  const int way = arm == Arm::kPython;
  float& best = one.best[way];
  best = one.samples[way] == 0 ? static_cast<float>(ns) : std::min(best, static_cast<float>(ns));
  ++one.samples[way];
  const float compiled = one.best[0] + entryNs_, python = one.best[1];
  const int runs = one.samples[1];
  if (!way) {
    if (one.samples[0] >= kFirst && compiled > kLongNs) one.verdict = Verdict::kKept;
    return;
  }
  const float limit = runs >= kAll ? kWin : runs >= kLeaning ? kMayWin : kClearLoss;
  if (runs >= kClear && python > limit * compiled) one.verdict = Verdict::kKept;
  if (runs >= kAll && one.verdict == Verdict::kNone)
    one.verdict = python + kLeastGainNs < compiled ? Verdict::kGivenUp : Verdict::kKept;
}

void Trial::lose(unsigned sizeClass) {
  meeting = -1;  // regions come and go
  if (++lost_ >= kMostLost) cases_[sizeClass].verdict = Verdict::kKept;
}

}  // namespace fw::bindings
