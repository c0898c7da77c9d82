// Native code reads the counter of the processor, which takes a few nanoseconds. What a cycle of it lasts is found by
// the clock, from the first run to the moment of asking. Work is looked into when somebody asks, not beside the run.
#include "runtime/part_meter.h"

#include <x86intrin.h>

#include <chrono>
#include <thread>

namespace fw::runtime {

namespace {

/// Different sizes that are told apart; of more, only the time counts.
constexpr size_t kSizes = 256;

struct Moment {
  int64_t ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  uint64_t cycles = __rdtsc();
};

const Moment& firstRun() {
  static const Moment moment;
  return moment;
}

double nsPerCycle() {
  const Moment& first = firstRun();
  Moment now;
  if (now.ns - first.ns < 1'000'000) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    now = Moment();
  }
  return static_cast<double>(now.ns - first.ns) / static_cast<double>(now.cycles - first.cycles);
}

}  // namespace

PartMeter::Run::Run(PartMeter& meter, Context& context)
    : meter_(meter),
      context_(context),
      times_(meter.parts_.size()) {
  firstRun();
  context_.times = times_.data();
}

PartMeter::Run::~Run() {
  context_.times = nullptr;
  meter_.add(context_, times_);
}

void PartMeter::add(const Context& context, absl::Span<const PartTime> times) {
  last_.assign(context.symbols, context.symbols + symbols_);
  std::vector<int64_t> key = bySymbols_.size() < kSizes || bySymbols_.contains(last_) ? last_ : std::vector<int64_t>();
  std::vector<Times>& sums = bySymbols_[std::move(key)];
  sums.resize(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (times[i].runs == 0) continue;
    sums[i].all.cycles += times[i].cycles;
    sums[i].all.runs += times[i].runs;
    const double one = static_cast<double>(times[i].cycles) / static_cast<double>(times[i].runs);
    if (sums[i].best == 0 || one < sums[i].best) sums[i].best = one;
  }
}

std::vector<PartMeter::Sum> PartMeter::sums() const {
  std::vector<Sum> result;
  if (bySymbols_.empty()) return result;
  const double scale = nsPerCycle();
  for (size_t i = 0; i < parts_.size(); ++i) {
    Sum sum = {&parts_[i]};
    sum.isKnown = parts_[i].work != nullptr;
    int64_t most = 0;
    for (const auto& [symbols, times] : bySymbols_) {
      const auto& [all, best] = times[i];
      if (all.runs == 0) continue;
      sum.runs += all.runs;
      sum.ns += static_cast<double>(all.cycles) * scale;
      if (!parts_[i].work) continue;
      const std::optional<Work> work =
          symbols.empty() && symbols_ > 0 ? std::nullopt : parts_[i].work(symbols);  // sizes that were too many
      sum.isKnown = sum.isKnown && work.has_value();
      if (!work) continue;
      sum.work.bytes += work->bytes * static_cast<double>(all.runs);
      sum.work.operations += work->operations * static_cast<double>(all.runs);
      if (all.runs <= most) continue;
      most = all.runs;
      sum.bestNs = best * scale;
      sum.bestWork = *work;
    }
    if (sum.runs) result.push_back(sum);
  }
  return result;
}

}  // namespace fw::runtime
