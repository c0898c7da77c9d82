// A call is cut where it comes by a stub: from there it runs as native code up to an end of the region, or as Python up
// to the next stub. Which lines those are is read from the flow of control between the two places.
#include "bindings/call_watch.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "bindings/overhead.h"
#include "bindings/spliced_code.h"
#include "bindings/trial.h"
#include "frame_eval/exit_plan.h"
#include "frame_eval/splice/control_flow.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using nlohmann::json;

namespace {

constexpr int kEnd = capture::ExitPlan::kReturn;

using Edges = std::vector<std::vector<int>>;

/// Instructions that are reached from `from` without passing one of `walls`; those of `from` are passed.
std::vector<bool> reached(const Edges& edges, const std::vector<int>& from, const std::vector<bool>& walls) {
  std::vector<bool> seen(edges.size());
  std::vector<int> open = from;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const int to : edges[static_cast<size_t>(at)]) {
      if (seen[static_cast<size_t>(to)]) continue;
      seen[static_cast<size_t>(to)] = true;
      if (!walls[static_cast<size_t>(to)]) open.push_back(to);
    }
  }
  for (const int at : from) seen[static_cast<size_t>(at)] = true;
  return seen;
}

}  // namespace

CallWatch::CallWatch(PyCodeObject* code)
    : code_(code),
      thread_(PyThread_get_thread_ident()),
      ownStart_(overheadWallNs()) {}

uint64_t CallWatch::begin(PyCodeObject* code, bool pauseTrials) {
  delete std::exchange(current_, nullptr);
  current_ = new CallWatch(code);
  Trial::pause(pauseTrials);
  return ++begun_;
}

CallWatch::Reading CallWatch::read() const {
  return {std::chrono::nanoseconds(Clock::now() - start_).count(), overheadWallNs() - ownStart_, nativeNs_};
}

bool CallWatch::isWatched(const cpython::CurrentFrame& frame, PyCodeObject* own) {
  if (own != code_ || returned_ || !isHere()) return false;
  if (!slots_) slots_ = frame.slots;
  return slots_ == frame.slots;
}

/// What has passed since the last place belongs to the stretch that ends here.
void CallWatch::add(int to, bool native) {
  const Reading now = read();
  Sum& sum = stretches_[{at_, to, native}];
  ++sum.runs;
  sum.ns += now.ns - since_.ns - (now.ownNs - since_.ownNs);
  sum.nativeNs += now.nativeNs - since_.nativeNs;
  since_ = now;
  at_ = to;
}

void CallWatch::arrive(const cpython::CurrentFrame& frame, PyCodeObject* own, int instr) {
  if (isWatched(frame, own) && !(std::exchange(ran_, false) && at_ == instr)) add(instr, false);
}

void CallWatch::ran(const cpython::CurrentFrame& frame, PyCodeObject* own, int instr, int target) {
  if (!isWatched(frame, own)) return;
  at_ = instr;
  add(target, true);
  ran_ = true;
  returned_ = target == kEnd;
}

/// In order; those that lie on a way from one place to the other on which no stub stands that was met.
json CallWatch::linesOf(const SplicedCode& spliced, int from, int to, bool native) const {
  const auto& code = spliced.map().code().instructions;
  const capture::ControlFlow flow = capture::flowOf(spliced.map().code()).flow;
  Edges forward(code.size()), backward(code.size());
  std::vector<int> ends;
  for (int i = 0; i < flow.size(); ++i) {
    bool last = true;
    for (const int next : flow.next[static_cast<size_t>(i)]) {
      if (next < 0 || next >= flow.size()) continue;
      last = false;
      forward[static_cast<size_t>(i)].push_back(next);
      backward[static_cast<size_t>(next)].push_back(i);
    }
    if (last) ends.push_back(i);
  }
  std::vector<bool> walls(code.size());
  if (native) {
    for (const int stop : spliced.pythonStops()) walls[static_cast<size_t>(stop)] = true;
  } else {
    for (const auto& [stretch, sum] : stretches_) {
      const auto [begin, end, ran] = stretch;
      if (const int stub = ran ? begin : end; stub >= 0) walls[static_cast<size_t>(stub)] = true;
    }
  }
  if (to >= 0) walls[static_cast<size_t>(to)] = true;
  from = std::max(from, 0);
  const std::vector<bool> there = reached(forward, {from}, walls);
  walls[static_cast<size_t>(from)] = true;
  const std::vector<bool> back = reached(backward, to < 0 ? ends : std::vector<int>{to}, walls);
  std::set<int> lines;
  for (size_t i = 0; i < code.size(); ++i) {
    const bool within = there[i] && back[i] && (static_cast<int>(i) != to || from == to);
    if (within && code[i].op != cpython::Opcode::kResume && code[i].position.line > 0)
      lines.insert(code[i].position.line);
  }
  if (lines.empty()) lines.insert(code[static_cast<size_t>(from)].position.line);
  return lines;
}

json CallWatch::end(const SplicedCode* spliced) {
  if (!current_) return nullptr;
  const std::unique_ptr<CallWatch> watch(current_);
  current_ = nullptr;
  Trial::pause(false);
  if (!watch->returned_) watch->add(kEnd, false);
  const Reading all = watch->read();
  json stretches = json::array();
  for (const auto& [stretch, sum] : watch->stretches_) {
    const auto [from, to, native] = stretch;
    const bool known = spliced && (watch->slots_ || from >= 0);
    stretches.push_back({{"start", from},
                         {"native", native},
                         {"lines", known ? watch->linesOf(*spliced, from, to, native) : json::array()},
                         {"runs", sum.runs},
                         {"ns", std::max<int64_t>(sum.ns, 0)},
                         {"native_ns", sum.nativeNs}});
  }
  return {{"ns", all.ns}, {"own_ns", all.ownNs}, {"native_ns", all.nativeNs}, {"stretches", stretches}};
}

}  // namespace fw::bindings
