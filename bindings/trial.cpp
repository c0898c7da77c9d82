// Noise only ever adds time, so that the fastest of several runs counts. They are taken in turns of a few: the first
// runs of a turn find caches and branch predictors that the other way has left. Python has to win clearly, and its runs
// are few where it loses clearly. Code that runs for long is told apart by one early run: there a trial begins at once,
// noise matters less, and a few runs decide.
#include "bindings/trial.h"

#include <algorithm>

namespace fw::bindings {

namespace {

/// Calls of a class before its trial begins, and how many a trial may take: runs whose end is not seen leave no time.
constexpr int kBefore = 32, kLongest = 160;
constexpr int kMostLost = 16;
/// Runs of the compiled code before Python's first, of one turn, and of each after which a clear case is decided, one
/// that leans to the compiled code, and any. CPython specialises instructions that have run about ten times.
struct Runs {
  int first, turn, clear, leaning, all;
};
constexpr Runs kShort = {6, 6, 4, 12, 18}, kLong = {2, 1, 1, 2, 4};
/// The call that is timed to see whether the code runs for long, and from when on that is.
constexpr int kPeek = 4;
constexpr float kLongNs = 200'000;
/// Python's time in parts of the compiled code's: it loses clearly, it may win, it wins.
constexpr float kClearLoss = 3, kMayWin = 1, kWin = 0.95f;
/// Python loses so clearly that one run of it tells, which would be missed if there were more.
constexpr float kEvidentLoss = 12, kEvidentNs = 200'000;
/// A difference that is worth anything.
constexpr float kLeastGainNs = 10;

bool isLong(const Trial::Case& one) { return one.samples[0] > 0 && one.best[0] > kLongNs; }
const Runs& runsOf(const Trial::Case& one) { return isLong(one) ? kLong : kShort; }

}  // namespace

Trial::Arm Trial::judge(Case& one) {
  if (one.verdict == Verdict::kGivenUp) return Arm::kGivenUp;
  if (paused_) return Arm::kUntimed;
  ++one.calls;
  if (one.calls < kBefore && !isLong(one)) return one.calls == kPeek ? Arm::kCompiled : Arm::kUntimed;
  if (one.calls >= kLongest) return one.verdict = Verdict::kKept, Arm::kUntimed;
  const Runs& runs = runsOf(one);
  if (meeting == kUnknown || one.samples[0] < runs.first) return Arm::kCompiled;
  return one.samples[1] < one.samples[0] / runs.turn * runs.turn ? Arm::kPython : Arm::kCompiled;
}

void Trial::add(unsigned sizeClass, Arm arm, double ns, bool cut) {
  Case& one = cases_[sizeClass];
  if (one.verdict != Verdict::kNone) return;
  const int way = arm == Arm::kPython;
  float& best = one.best[way];
  if (way && (one.samples[way] == 0 || static_cast<float>(ns) < best)) one.cut = cut;
  best = one.samples[way] == 0 ? static_cast<float>(ns) : std::min(best, static_cast<float>(ns));
  ++one.samples[way];
  if (!way) return;
  const float compiled = one.best[0] + entryNs_, python = one.best[1];
  const int count = one.samples[1];
  const Runs& runs = runsOf(one);
  const float limit = count >= runs.all ? kWin : count >= runs.leaning ? kMayWin : kClearLoss;
  if (python > kEvidentLoss * compiled && python > kEvidentNs) one.verdict = Verdict::kKept;
  if (count >= runs.clear && python > limit * compiled) one.verdict = Verdict::kKept;
  if (count >= runs.all && one.verdict == Verdict::kNone)
    one.verdict = python + kLeastGainNs < compiled ? Verdict::kGivenUp : Verdict::kKept;
}

bool Trial::isClearlyLost(unsigned sizeClass, double ns) const {
  return ns > kClearLoss * (static_cast<double>(cases_[sizeClass].best[0]) + entryNs_);
}

void Trial::lose(unsigned sizeClass) {
  meeting = kUnknown;  // regions come and go
  if (++lost_ >= kMostLost) cases_[sizeClass].verdict = Verdict::kKept;
}

}  // namespace fw::bindings
