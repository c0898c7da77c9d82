#include "bindings/overhead.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "graph/support/deadline.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

namespace {

using Clock = std::chrono::steady_clock;

/// What a program may lose by code that nobody has decorated, and which part of its time beyond that.
constexpr int64_t kProcessAllowanceNs = 200'000'000, kProcessShare = 10;
constexpr size_t kMostNames = 100;

struct Process {
  Clock::time_point start = Clock::now();
  int64_t spentNs = 0, lostUnaskedNs = 0, wallNs = 0;
  std::vector<std::string> left;
};

Process& totals() {
  static auto* one = new Process;  // for the life of the process
  return *one;
}

}  // namespace

bool Overhead::isOpenToAll() const {
  const Process& all = totals();
  if (asked_ || all.lostUnaskedNs < kProcessAllowanceNs) return true;
  const int64_t ran = std::chrono::nanoseconds(Clock::now() - all.start).count();
  return all.lostUnaskedNs < kProcessAllowanceNs + ran / kProcessShare;
}

void Overhead::tell(const std::string& name) {
  if (std::exchange(told_, true)) return;
  std::vector<std::string>& left = totals().left;
  if (left.size() < kMostNames) left.push_back(name);
  constexpr double kMs = 1e6;
  emit(Channel::kPerf, "left_to_python",
       absl::StrFormat("%s: left to Python, which has run it for %.0f ms, while it was looked into for %.0f ms in vain",
                       name, ranNs_ / kMs, lostNs_ / kMs),
       {{"function", name}, {"ran_ms", ranNs_ / kMs}, {"in_vain_ms", lostNs_ / kMs}});
}

Overhead::Charge::Charge(Overhead& account)
    : account_(account),
      wallStart_(Clock::now()),
      start_(threadCpuNs()),
      toldStart_(toldCpuNs()) {
  account_.pulse();
}

Overhead::Charge::~Charge() {
  const int64_t ns = std::max<int64_t>(threadCpuNs() - start_ - (toldCpuNs() - toldStart_), 0);
  account_.spentNs_ += ns;
  totals().spentNs += ns;
  totals().wallNs += std::chrono::nanoseconds(Clock::now() - wallStart_).count();
  if (!paid_) {
    account_.lostNs_ += ns;
    if (!account_.asked_) totals().lostUnaskedNs += ns;
  }
  account_.begin();  // what has passed meanwhile was no run
}

const std::vector<std::string>& leftToPython() { return totals().left; }
int64_t overheadNs() { return totals().spentNs; }
int64_t overheadWallNs() { return totals().wallNs; }

}  // namespace fw::bindings
