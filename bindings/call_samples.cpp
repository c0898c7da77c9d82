// The first calls are watched, then one per fiftieth of the time that has passed since the first: what a function does
// early is seen closely, and an hour of calls fills no disk.
#include "bindings/call_samples.h"

#include <algorithm>

#include "bindings/call_watch.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

namespace {

constexpr uint64_t kFirst = 4;
constexpr int64_t kShare = 50, kCostShare = 100;
/// Trials wait while a call is watched. A call that may last does not hold them up.
constexpr int64_t kLongNs = 1'000'000'000;
/// What two reads of the clock and the rest of a timed call take, about.
constexpr int64_t kClockNs = 80;
constexpr int64_t kMostPassing = 63;

int64_t nowNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool CallSamples::isDue(int64_t now) const {
  if (CallWatch::current()) return false;  // explain(), or another function's turn
  if (calls_ < kFirst) return true;
  return now - lastWatchNs_ > std::max((now - firstNs_) / kShare, watchCostNs_ * kCostShare);
}

CallSamples::Call CallSamples::begin(PyCodeObject* code) {
  const unsigned long thread = PyThread_get_thread_ident();
  Call call = {nowNs(), 0, std::find(inside_.begin(), inside_.end(), thread) == inside_.end()};
  inside_.push_back(thread);
  isRecursive_ |= !call.outermost;
  if (calls_ == 0) firstNs_ = call.startNs;
  if (!call.outermost || !isDue(call.startNs)) return call;
  call.watch = CallWatch::begin(code, /*pauseTrials=*/calls_ > 0 && longestNs_ < kLongNs);
  lastWatchNs_ = call.startNs;
  return call;
}

int64_t CallSamples::ended(const Call& call) {
  inside_.erase(std::find(inside_.rbegin(), inside_.rend(), PyThread_get_thread_ident()).base() - 1);
  const int64_t ns = nowNs() - call.startNs;
  if (!call.outermost) return ns;
  ++calls_;
  // A call that is watched takes longer, and one that compiles is one of a kind: those stand for themselves.
  const bool usual = !call.watch && calls_ > kFirst;
  ns_ += usual ? ns * (1 + passed_) : ns;
  if (usual) passed_ = 0;
  passing_ = 0;
  if (calls_ >= kFirst && !isRecursive_)
    passing_ = static_cast<uint32_t>(std::min(kClockNs * kCostShare / std::max<int64_t>(ns, 1), kMostPassing));
  longestNs_ = std::max(longestNs_, ns);
  return ns;
}

void CallSamples::write(const Call& call, int64_t ns, const Told& told) {
  if (!CallWatch::isOn(call.watch)) return;  // explain() was asked for within the call
  const int64_t start = nowNs();
  nlohmann::json data = CallWatch::end(told.spliced);
  const char* file = PyUnicode_AsUTF8(told.code->co_filename);
  if (!file) PyErr_Clear();
  data.update({{"function", told.name},
               {"file", file ? file : ""},
               {"line", told.code->co_firstlineno},
               {"thread", PyThread_get_thread_ident()},
               {"number", calls_},
               {"start_ns", call.startNs},
               {"ns", ns},
               {"compiled", told.compiled}});
  recordEvent("call", data);
  watchCostNs_ = nowNs() - start;
}

}  // namespace fw::bindings
