// Calls of one function may do more or less work each, as its numbers say. So the fastest calls of both kinds and the
// means of all have to agree before compiled code is given up, more calls are looked at where they differ among
// themselves, and the turns follow no period that the work of calls may have. A duel is over at once where every call
// of Python's has taken clearly longer than any of the spliced code.
#include "bindings/duel.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "bindings/overhead.h"

namespace fw::bindings {

namespace {

constexpr int kTurns = 8, kTurnsOfUneven = 32, kMostSpoilt = 128;
/// Calls as long as this wait for less until they are compared, longer ones for nothing.
constexpr double kLongishNs = 5e4, kImpatientNs = 1e6;
constexpr uint64_t kLongestRest = uint64_t{1} << 20;
/// Calls of spliced code that are longer are judged by less.
constexpr double kLongNs = 20e6, kTooLongNs = 1e9;
/// Python's time in parts of the spliced code's: it wins; it loses so clearly that nobody has to ask again.
constexpr double kWin = 0.96, kClearLoss = 1.5;
constexpr double kLeastGainNs = 100;
/// The longest call of one kind in parts of the shortest: beyond that the calls are not alike.
constexpr double kUneven = 1.5;

}  // namespace

void Duel::Side::add(double ns) {
  best = count == 0 ? ns : std::min(best, ns);
  worst = std::max(worst, ns);
  logs += std::log(std::max(ns, 1.0));
  ++count;
}

double Duel::Side::mean() const { return std::exp(logs / std::max(count, 1)); }

bool Duel::isDue(bool ready) {
  if (running_) return false;
  if (begun_) return true;
  if (calls_ < next_) return false;
  if (!ready && calls_ < next_ + patience_) return calls_ == next_;  // to see how long a call is
  begun_ = true;
  spoilt_ = 0;
  spliced_ = python_ = {};
  return true;
}

/// Two calls of the spliced code before the first of Python's; then by the parity of bits (Thue and Morse).
Duel::Arm Duel::turn() const {
  const auto turn = static_cast<unsigned>(spliced_.count + python_.count);
  return turn >= 2 && std::popcount(turn) % 2 == 0 ? Arm::kPython : Arm::kSpliced;
}

void Duel::add(Arm arm, double ns) {
  if (!begun_) {
    patience_ = ns > kImpatientNs ? 0 : ns > kLongishNs ? kSomePatience : kPatience;
    return;
  }
  (arm == Arm::kPython ? python_ : spliced_).add(ns);
  if (spliced_.best > kTooLongNs) return decide(false);
  if (python_.count == 0) return;
  const bool clear = python_.best > kClearLoss * spliced_.worst;
  if (clear && (python_.count >= 2 || python_.best > kLongNs)) return decide(false);
  const double perSpliced = spliced_.mean(), perPython = python_.mean();
  const bool uneven = std::max(spliced_.worst / spliced_.best, python_.worst / python_.best) > kUneven;
  const int turns = perSpliced > kLongNs ? kTurns / 2 : uneven ? kTurnsOfUneven : kTurns;
  if (std::min(spliced_.count, python_.count) < turns) return;
  decide(python_.best + kLeastGainNs < kWin * spliced_.best && perPython < kWin * perSpliced);
}

void Duel::spoil() {
  if (begun_ && ++spoilt_ >= kMostSpoilt) decide(lost_);
}

/// Who has won twice in a row is asked less often.
void Duel::decide(bool lost) {
  rest_ = decided_ && lost == lost_ ? std::min(rest_ * 4, kLongestRest) : kFirstRest;
  decided_ = true;
  if (python_.count) {
    splicedNs_ = spliced_.mean();
    pythonNs_ = python_.mean();
  }
  lost_ = lost;
  begun_ = false;
  next_ = calls_ + rest_;
}

DuelRun::DuelRun(Duel& duel, bool ready) : arm_(duel.untimed()) {
  if (!duel.isDue(ready)) return;
  duel_ = &duel;
  arm_ = duel.turn();
  duel.running_ = arm_;
  overheadNs_ = bindings::overheadNs();
  start_ = Clock::now();
}

DuelRun::~DuelRun() {
  if (duel_) duel_->running_.reset();
}

void DuelRun::end() {
  if (!duel_) return;
  const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
  if (bindings::overheadNs() != overheadNs_) return duel_->spoil();
  duel_->add(arm_, ns);
}

}  // namespace fw::bindings
