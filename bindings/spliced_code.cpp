// Splicing anew costs some 0.1 ms, so it is done for calls only, and less and less often as calls go on, unless a
// region has become reachable or has got an end that the running stubs do not know.
#include "bindings/spliced_code.h"

#include <algorithm>
#include <climits>

#include "bindings/describe.h"
#include "cpython/code_facts.h"
#include "cpython/version.h"
#include "frame_eval/policy.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using cpython::Opcode;
using cpython::Ref;

namespace {

/// How many entries into a loop weigh as much as one call of the function that it stands in.
constexpr uint64_t kLoopFactor = 256;

}  // namespace

std::shared_ptr<SplicedCode> SplicedCode::create(PyCodeObject* code, FunctionSettings settings,
                                                 std::shared_ptr<Overhead> overhead, bool decorated) {
  std::shared_ptr<SplicedCode> result(new SplicedCode(code, std::move(settings), std::move(overhead), decorated));
  for (int start : result->map_.candidates()) result->addRegion(start);
  for (int stop : capture::profiledStops(reinterpret_cast<PyObject*>(code)))
    if (stop >= 0 && stop < static_cast<int>(result->stops_.size())) result->addPythonStop(stop);
  return result->regions_.empty() ? nullptr : result;
}

SplicedCode::SplicedCode(PyCodeObject* code, FunctionSettings settings, std::shared_ptr<Overhead> overhead,
                         bool decorated)
    : settings_(std::move(settings)),
      overhead_(std::move(overhead)),
      map_(code),
      stops_(map_.code().instructions.size()),
      python_(stops_.size()),
      decorated_(decorated) {}

std::string SplicedCode::name() const { return cpython::qualifiedName(map_.object()); }

void SplicedCode::addRegion(int start) {
  if (start < 0 || regions_.contains(start)) return;
  const int depth = map_.depth(start);
  if (depth < 0) return;
  Region::Place place{start, map_.slotCount() + depth, {}};
  for (int header : map_.headersOf(start))
    if (int boundary = map_.stopFor(header); boundary >= 0) place.boundaries.push_back(boundary);
  regions_[start] = std::make_shared<Region>(weak_from_this(), std::move(place), predictEnds(start));
  resplice();
}

/// In a loop, where the first call may stay for long, stubs are made before anything is known: a region there will end
/// at a call, a loop or a branch that Python has to run, or at the end of the body.
std::vector<capture::StubEnd> SplicedCode::predictEnds(int start) const {
  constexpr size_t kMost = 16;
  std::vector<capture::StubEnd> ends;
  const std::vector<int> headers = map_.headersOf(start);
  if (headers.empty()) return ends;
  auto add = [&](int instr) {
    const int stop = map_.stopFor(instr);
    if (stop < 0 || stop == start || map_.depth(stop) < 0 || ends.size() == kMost) return;
    for (const capture::StubEnd& known : ends)
      if (known.target == stop) return;
    ends.push_back({stop, map_.depth(stop)});
  };
  add(headers.front());
  const auto& code = map_.code().instructions;
  for (int i = start + 1; i < static_cast<int>(code.size()) && ends.size() < kMost; ++i) {
    const Opcode op = code[i].op;
    if (op == Opcode::kReturnValue) break;
    if (op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx || op == Opcode::kForIter ||
        op == Opcode::kPopJumpIfFalse || op == Opcode::kPopJumpIfTrue)
      add(i);
  }
  return ends;
}

/// Of a probe all ends that it may have, of a compiled region those that it has.
capture::Stub SplicedCode::stubFor(const std::shared_ptr<Region>& region) const {
  if (region->status() == Region::Status::kProbe) expectStops(*region);
  capture::Stub stub{region->start(), Ref(), {}};
  Region::Port port;
  port.answers.assign(region->ends().size(), -1);
  auto use = [&](size_t end) {
    if (port.answers[end] >= 0) return;
    port.answers[end] = static_cast<int>(stub.ends.size());
    stub.ends.push_back(region->ends()[end]);
  };
  if (region->status() == Region::Status::kProbe)
    for (size_t end = 0; end < region->ends().size(); ++end) use(end);
  for (const auto& variant : region->variants().variants()) use(static_cast<size_t>(variant->endIndex));
  port.headroom = capture::stubHeadroom(map_, stub);
  stub.callable = newRegionEntry(region, std::move(port));
  return stub;
}

/// A region ends at a stop, if it comes to one: the first of those that are known.
void SplicedCode::expectStops(Region& region) const {
  int most = 4;
  for (size_t stop = static_cast<size_t>(region.start()) + 1; stop < stops_.size() && most > 0; ++stop) {
    const int at = static_cast<int>(stop);
    if (!stops_[stop] || map_.depth(at) < 0) continue;
    region.expect({at, map_.depth(at)});
    --most;
  }
}

bool SplicedCode::addStop(int at, Break what) {
  const bool tooLong = what.reason == capture::BreakReason::kGraphLimit;
  record(std::move(what));
  const bool news = addPythonStop(at);
  if (news && tooLong) cutBehind(at);
  return news;
}

/// Code that is too long for one region up to `at` goes on like that: with the further stops known now, all pieces are
/// compiled in this call, and not one in each of many. Up to the next loop, whose body may be a piece as it is.
void SplicedCode::cutBehind(int at) {
  constexpr int kLeast = 400;  // instructions of a piece; fewer are long for another reason, as calls that are inlined
  int from = at - 1;
  while (from > 0 && !python_[static_cast<size_t>(from)]) --from;
  const int step = (at - from) / 8 * 7;  // or the limit would be met just before the next one
  if (step < kLeast) return;
  for (int next = at + step; next < static_cast<int>(stops_.size()) && map_.headersOf(next).empty(); next += step)
    addPythonStop(next);
}

std::vector<int> SplicedCode::pythonStops() const {
  std::vector<int> stops;
  for (size_t i = 0; i < python_.size(); ++i)
    if (python_[i]) stops.push_back(static_cast<int>(i));
  return stops;
}

bool SplicedCode::addPythonStop(int at) {
  const int stop = map_.stopFor(at);
  if (stop < 0 || python_[stop]) return false;
  python_[stop] = stops_[stop] = true;
  const Opcode op = map_.code().instructions[at].op;
  callsOut_ |= op == Opcode::kCall || op == Opcode::kCallKw || op == Opcode::kCallEx;
  for (int start : map_.startsAfter(at)) addRegion(start);
  for (int header : map_.headersOf(at)) stopAtLoop(header);
  if (op == Opcode::kGetIter) stopAtLoopOver(at);
  return true;
}

/// The loop behind a GET_ITER walks an iterator that Python has made: its body is what can be compiled.
void SplicedCode::stopAtLoopOver(int getIter) {
  constexpr int kFurthest = 8;  // comprehensions make their list in between
  const auto& code = map_.code().instructions;
  const int end = std::min(getIter + kFurthest, static_cast<int>(code.size()));
  for (int i = getIter + 1; i < end; ++i)
    if (code[i].op == Opcode::kForIter) return stopAtLoop(i);
}

/// No region runs through the loop any more: regions in front of it end there, and new ones stand in its body.
void SplicedCode::stopAtLoop(int header) {
  const int boundary = map_.stopFor(header);
  if (boundary < 0 || stops_[boundary]) return;
  stops_[boundary] = true;
  resplice();
  if (map_.code().instructions[header].op == Opcode::kForIter) {
    python_[boundary] = true;
    for (int start : map_.startsAfter(header)) addRegion(start);
  } else {
    addRegion(boundary);
  }
}

void SplicedCode::setCold(bool cold) {
  if (std::exchange(cold_, cold) != cold) resplice();
}

/// The rest of a stretch that has been compiled in this very call, and which its stub could not run yet: a region for
/// each place behind it would compile the same again and again.
bool SplicedCode::isCovered(const Region& region) const {
  const int start = region.start();
  return coveredIn_ == calls_ && std::any_of(covered_.begin(), covered_.end(), [&](const Stretch& stretch) {
           return stretch.start < start && start < stretch.end;
         });
}

bool SplicedCode::isDue(const Region& region, uint64_t entry) {
  if (isCovered(region)) return false;
  if (decorated_) return true;
  const std::shared_ptr<const Config> settings = config();
  if (settings->flag(Setting::kCompileAll)) return true;
  const auto warmUp = static_cast<uint64_t>(settings->number(Setting::kWarmUp));
  if (entry < (cold_ ? warmUp * kLoopFactor : warmUp)) return false;
  if (cold_)  // too long to run through as a whole, or nothing would have come here
    for (int header : map_.headersOf(region.start())) stopAtLoop(header);
  return true;
}

bool SplicedCode::mayCapture() {
  if (cpython::isFinalizing()) return false;
  if (overhead_->isOpen() || !config()->flag(Setting::kEconomy)) return true;
  overhead_->tell(name());
  return false;
}

bool SplicedCode::isOpen(const Region& region) const {
  const std::vector<int>& boundaries = region.place().boundaries;
  return std::all_of(boundaries.begin(), boundaries.end(), [&](int boundary) { return stops_[boundary]; });
}

void SplicedCode::record(Break what) { recordBreak(breaks_, std::move(what), name()); }

Break SplicedCode::breakAt(capture::BreakReason reason, std::string detail, int at) const {
  auto* code = reinterpret_cast<PyCodeObject*>(map_.object());
  return {reason, std::move(detail), cpython::fileName(code), lineOf(at), at};
}

void SplicedCode::added(const Region& region, Variant& variant, PyFunctionObject* function, PyObject* const* slots) {
  pays_ |= variant.kernelCount() > 0;
  noteVariant(name() + " line " + std::to_string(lineOf(region.start())), variant, function, slots);
  const auto& others = region.variants().variants();
  auto sameEnd = [&](const auto& other) { return other->endIndex == variant.endIndex; };
  const bool known = std::any_of(others.begin(), others.end(), sameEnd);
  if (map_.headersOf(region.start()).empty()) {  // in a loop the call may go on for long
    if (std::exchange(coveredIn_, calls_) != calls_) covered_.clear();
    const int end = variant.exit().end;
    covered_.push_back({region.start(), end == capture::ExitPlan::kReturn ? INT_MAX : end});
  }
  // Stubs know the ends of the variants that there were, and a trial wants markers.
  if (!known || wantsTrials(*config())) resplice();
}

void SplicedCode::reportLimit(int start, size_t limit) {
  record({capture::BreakReason::kRecompileLimit, "the region from here has " + std::to_string(limit) + " variants", "",
          lineOf(start)});
}

PyObject* SplicedCode::codeForCall() {
  ++calls_;
  overhead_->begin();
  if (!pays_ && !mayCapture()) return reinterpret_cast<PyObject*>(map_.object());  // stubs would only cost
  if (dirty_ && calls_ >= nextSplice_) splice();
  return code_ ? code_.get() : reinterpret_cast<PyObject*>(map_.object());
}

bool SplicedCode::isOnTrial() const {
  return std::any_of(regions_.begin(), regions_.end(), [](const auto& entry) {
    return entry.second->status() == Region::Status::kActive && entry.second->isOnTrial();
  });
}

/// Markers where the ways of compiled code and of Python through a region on trial meet again, if no stub is there.
std::vector<capture::Stub> SplicedCode::markers(const std::vector<capture::Stub>& stubs) {
  std::map<int, bool> places;  // instruction, and whether it stands in front of a return
  for (const auto& [start, region] : regions_) {
    if (region->status() != Region::Status::kActive || !region->isOnTrial()) continue;
    for (const auto& variant : region->variants().variants()) {
      const int target = region->ends()[static_cast<size_t>(variant->endIndex)].target;
      if (target != capture::ExitPlan::kReturn) {
        places.emplace(target, false);
        continue;
      }
      const auto& code = map_.code().instructions;
      for (int i = 0; i < static_cast<int>(code.size()); ++i)
        if (code[i].op == Opcode::kReturnValue && map_.stopFor(i) >= 0) places.emplace(map_.stopFor(i), true);
    }
  }
  for (const capture::Stub& stub : stubs) places.erase(stub.start);
  std::vector<capture::Stub> result;
  for (const auto& [at, atReturn] : places) {
    if (!map_.allows(at) || map_.depth(at) < 0) continue;
    Region::Place place{at, map_.slotCount() + map_.depth(at), {}};
    capture::Stub stub{at, newRegionEntry(Region::marker(weak_from_this(), std::move(place), atReturn), {}), {}};
    result.push_back(std::move(stub));
  }
  return result;
}

void SplicedCode::splice() {
  Overhead::Charge charge(*overhead_);
  if (pays_) charge.paid();
  dirty_ = false;
  nextSplice_ = calls_ * 2;
  std::vector<capture::Stub> stubs;
  for (const auto& [start, region] : regions_) {
    if (region->status() == Region::Status::kDead) continue;
    if (python_[start]) continue;  // Python runs the very first instruction
    if (cold_ ? region->place().boundaries.empty() : calls_ > 1 && !isOpen(*region)) continue;
    stubs.push_back(stubFor(region));
  }
  if (stubs.empty()) {
    code_ = Ref();
    return;
  }
  for (capture::Stub& marker : markers(stubs)) stubs.push_back(std::move(marker));
  std::sort(stubs.begin(), stubs.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  code_ = capture::splice(map_, stubs);
  for (const capture::Stub& stub : stubs) setRegionHome(stub.callable.get(), code_.get());
}

void recordBreak(std::vector<RecordedBreak>& breaks, Break what, const std::string& function) {
  for (RecordedBreak& known : breaks)
    if (known.what.reason == what.reason && known.what.detail == what.detail && known.what.line == what.line) {
      ++known.count;
      return;
    }
  // Python reads a method, and then calls it: told once.
  const bool told = std::any_of(breaks.begin(), breaks.end(), [&](const RecordedBreak& known) {
    return !what.detail.empty() && known.what.detail == what.detail && known.what.line == what.line;
  });
  if (!told) logBreak(function, what);
  breaks.push_back({std::move(what), 1});
}

}  // namespace fw::bindings
