// A run: guards, native code, exit plan; the frame then stands as CPython would have left it at the end of the region.
// A miss captures from the live frame. What capture cannot follow becomes a stop of the code, and the capture starts
// over: the region then ends there, and new regions begin behind it.
#include "bindings/region.h"

#include <structmember.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "bindings/boundary.h"
#include "bindings/call_watch.h"
#include "bindings/claim.h"
#include "bindings/internal_failures.h"
#include "bindings/refusal.h"
#include "bindings/spliced_code.h"
#include "bindings/stance.h"
#include "graph/support/check.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::BreakReason;
using cpython::CurrentFrame;

namespace {

/// Runs without a variant after which a region is taken for dead.
constexpr int kIdleLimit = 8;
/// Runs that no variant fits, after which a region that is used less is taken for dead, too.
constexpr uint64_t kMaxDeclines = 512, kMaxDeclinesWithoutArrays = 64;
/// Entries in a row that Python runs, after which a region rests for as many, up to a limit; a lower one where a
/// variant fits, which may have left only this value or size to Python.
constexpr uint32_t kPatience = 16, kLongestRest = 1 << 12, kShortRest = 64;
/// Stops that one capture may discover.
constexpr int kMaxRetries = 32;
/// Ends by which variants of a region may leave.
constexpr size_t kMaxEnds = 32;
/// Captures that end in an exception of the user's code, or in a branch without arrays, before that counts.
constexpr int kExceptionLimit = 3;

/// The run of a region that is being timed: until its frame enters the region, or another one, or comes by a marker,
/// where compiled code and Python both come by. One at a time; the GIL guards it.
struct OpenRun {
  TimedRun run;
  PyObject* const* slots;
  const PyCodeObject* code;
  std::weak_ptr<SplicedCode> owner;
  int entries = 0;  ///< of other frames, or elsewhere, since then
};
OpenRun openRun;

/// Entries into regions after which the end of a run is not waited for any more; Python's passes by those that lie
/// within the stretch of its own, perhaps in a loop.
constexpr int kMostEntries = 64, kMostWithin = 4096;

/// What a stub takes that leaves its frame to Python: without the region it would not be there.
constexpr std::chrono::nanoseconds kStub{80};

void endOpenRun(bool cut = false) {
  if (openRun.run.arm == Trial::Arm::kPython) openRun.run.start += (openRun.entries + 1) * kStub;
  const std::shared_ptr<Trial> trial = openRun.run.trial;
  const unsigned sizeClass = openRun.run.sizeClass;
  openRun.run.end(cut);
  if (trial->cases()[sizeClass].verdict == Trial::Verdict::kNone) return;
  if (const auto owner = openRun.owner.lock()) owner->trialDecided();
}

/// A frame enters a region or comes by a marker. Answers true where it is within a run of Python's that is being timed:
/// bytecode is what is compared, so that nothing compiled may run then.
bool passOpenRun(const CurrentFrame& frame, int here) {
  Trial& trial = *openRun.run.trial;
  const bool own = frame.slots == openRun.slots && frame.code == openRun.code;
  const bool python = openRun.run.arm == Trial::Arm::kPython;
  if (own) {
    if (trial.meeting == Trial::kUnknown && !python) trial.meeting = here;
    if (trial.meeting == here) return endOpenRun(), false;
    if (python && trial.isClearlyLost(openRun.run.sizeClass, openRun.run.ns())) return endOpenRun(true), false;
  }
  if (++openRun.entries <= (own && python ? kMostWithin : kMostEntries)) return own && python;
  trial.lose(openRun.run.sizeClass);
  openRun.run = {};
  return false;
}

/// Entries in a row that trials have left to Python, after which the stub goes.
constexpr uint32_t kGivenUpLimit = 64;

}  // namespace

int Region::run(const CurrentFrame& frame, const Port& port) {
  if (openRun.run && passOpenRun(frame, atReturn_ ? Trial::kAtReturn : place_.start)) return kDeclined;
  if (status_ == Status::kDead) return kDeclined;
  if (rest_ > 0) return --rest_, ++declines_, kDeclined;
  if (variants_.variants().empty()) return miss(frame, port);
  if (CallWatch::current()) [[unlikely]]
    if (const auto owner = owner_.lock()) variants_.awaitCode(owner->overhead());
  PyObject* result = nullptr;
  Variant* variant = nullptr;
  auto* function = reinterpret_cast<PyObject*>(frame.function);
  TimedRun timed;
  Invocation invocation{frame.slots, function, frame.slots, &port.answers, openRun.run ? nullptr : &timed};
  const RunOutcome outcome = variants_.run(invocation, &result, &variant);
  if (outcome == RunOutcome::kMiss) return miss(frame, port);
  const int answer = finish(outcome, variant, result, frame, port);
  const bool done = outcome == RunOutcome::kDone;
  if (timed.arm == Trial::Arm::kGivenUp) {
    gaveWay();
  } else if (done) {
    givenUpInARow_ = 0;
  }
  if (!timed || outcome == RunOutcome::kError || done != (timed.arm == Trial::Arm::kCompiled)) return answer;
  openRun = {std::move(timed), frame.slots, frame.code, owner_};
  if (done && ends_[variant->endIndex].target == capture::ExitPlan::kReturn) {  // no marker on the stub's way out
    openRun.run.trial->meeting = Trial::kAtReturn;
    endOpenRun();
  }
  return answer;
}

std::shared_ptr<Region> Region::marker(std::weak_ptr<SplicedCode> owner, Place place, bool atReturn) {
  auto region = std::make_shared<Region>(std::move(owner), std::move(place), std::vector<capture::StubEnd>());
  region->status_ = Status::kDead;
  region->atReturn_ = atReturn;
  return region;
}

bool Region::isOnTrial() const {
  const auto undecided = [](const auto& variant) {
    if (!variant->trial() || variant->hasGivenUp()) return false;
    const auto& cases = variant->trial()->cases();
    const auto decided = [](const Trial::Case& one) { return one.verdict != Trial::Verdict::kNone; };
    const auto begun = [&](const Trial::Case& one) { return one.calls > 0 && !decided(one); };
    return std::none_of(cases.begin(), cases.end(), decided) || std::any_of(cases.begin(), cases.end(), begun);
  };
  return std::any_of(variants_.variants().begin(), variants_.variants().end(), undecided);
}

/// Python is faster for what comes: without the stub it is faster still. Sizes for which that is not so do not come.
void Region::gaveWay() {
  if (++givenUpInARow_ < kGivenUpLimit) return;
  status_ = Status::kDead;
  if (const auto owner = owner_.lock()) owner->changed();
}

/// Leaves the stack as the stub expects it at the end: nothing that it drops is NULL.
int Region::finish(RunOutcome outcome, const Variant* variant, PyObject* result, const CurrentFrame& frame,
                   const Port& port) {
  if (outcome == RunOutcome::kError) return kFailed;
  if (outcome == RunOutcome::kNotYet) return kDeclined;
  if (outcome != RunOutcome::kDone) {
    passed(kShortRest);
    if (variant && !variants_.givesWay(variant) && variant->hasGivenUp())
      variants_.leaveToPython(kindKey(frame.slots, place_.stackBase));
    if (std::string failure = variants_.takeFailure(); !failure.empty()) {
      variants_.leaveToPython(kindKey(frame.slots, place_.stackBase));
      failed(frame, std::move(failure));
    }
    if (std::optional<capture::Break> lost = variants_.takeLost()) {
      variants_.leaveToPython(kindKey(frame.slots, place_.stackBase));
      failed(frame, *std::move(lost));
    }
    return kDeclined;
  }
  ++hits_;
  ++allHits_;
  missesInARow_ = 0;
  const capture::StubEnd& end = ends_[variant->endIndex];
  const int bottom = frame.code->co_nlocalsplus;
  PyObject** const stack = frame.slots + bottom;
  const int height = place_.stackBase - bottom + port.headroom;
  if (end.target == capture::ExitPlan::kReturn) {
    FW_CHECK(height > 0);
    Py_XSETREF(stack[0], result);
  }
  for (int i = end.depth; i < height; ++i)
    if (!stack[i]) stack[i] = Py_NewRef(Py_None);
  return port.answers[variant->endIndex];
}

void Region::failed(const CurrentFrame& frame, std::string failure) {
  failed(frame, capture::Break{BreakReason::kInternalError, std::move(failure), "", 0});
}

void Region::failed(const CurrentFrame& frame, capture::Break what) {
  const auto owner = owner_.lock();
  if (!owner) return;
  what = owner->breakAt(what.reason, std::move(what.detail), place_.start);
  if (isInternalFailure(what.reason)) reportInternalFailure(what, frame.function, frame.slots);
  what.at = -1;
  owner->record(std::move(what));
}

bool Region::giveUp(const CurrentFrame& frame, const char* failure, uint64_t hitsBefore) {
  if (hits_ != hitsBefore) return raiseFailure(failure);
  status_ = Status::kDead;
  return guarded([&] { failed(frame, failure); });
}

/// Nothing compiled runs. The more often that happens in a row, the fewer entries are looked at.
int Region::passed(uint32_t longestRest) {
  ++declines_;
  if (++missesInARow_ >= kPatience) rest_ = std::min(missesInARow_, longestRest);
  return kDeclined;
}

/// Whether its misses cost more than its runs bring in. Without array work a run brings in little.
bool Region::isUseless(const SplicedCode& owner) const {
  if (variants_.variants().empty()) return idle_ >= kIdleLimit;
  const auto& all = variants_.variants();
  const bool arrays =
      std::any_of(all.begin(), all.end(), [](const auto& variant) { return variant->kernelCount() > 0; });
  if (arrays || owner.isDecorated() || !owner.config()->flag(Setting::kEconomy))
    return declines_ >= kMaxDeclines && declines_ > 2 * hits_;
  return declines_ >= kMaxDeclinesWithoutArrays && 4 * declines_ > hits_;
}

void Region::declined() {
  passed(kLongestRest);
  idle_ += variants_.variants().empty();
  const auto owner = owner_.lock();
  if (!owner || !isUseless(*owner)) return;
  status_ = Status::kDead;
  owner->changed();
}

int Region::miss(const CurrentFrame& frame, const Port& port) {
  failIfPlanted(Planted::kRegion);
  auto owner = owner_.lock();
  // The code object of the user owns all of this, while the frame runs a copy of it.
  const cpython::Ref code = cpython::Ref::create(owner ? reinterpret_cast<PyObject*>(owner->map().object()) : nullptr);
  const bool due = !variants_.variants().empty() || !owner || owner->isDue(*this, ++entries_);
  if (!due || (owner && !owner->isOpen(*this))) {
    ++declines_;
    return kDeclined;
  }
  Invocation invocation{frame.slots, reinterpret_cast<PyObject*>(frame.function), frame.slots, &port.answers};
  if (variants_.fitsElsewhere(invocation)) return kDeclined;  // stubs of later calls know that end
  const uint64_t kind = kindKey(frame.slots, place_.stackBase);
  if (!owner || variants_.isLeftToPython(kind)) {
    declined();
    return kDeclined;
  }
  Variant* added;
  {
    const Claim compiling = owner->claimCompiling();
    if (!compiling) return kDeclined;  // another thread is at it: says nothing about this region
    switch (onMiss(variants_.variants().size(), declines_)) {
      case MissDecision::kCompile: break;
      case MissDecision::kPython: return kDeclined;
      case MissDecision::kFail: return raiseRecompileError(owner->name(), variants_.misses(invocation)), kFailed;
    }
    owner->overhead().pulse();
    if (!owner->mayCapture()) return passed(kLongestRest);
    added = compile(*owner, frame, kind);
  }
  if (!added) {
    declined();
    return kDeclined;
  }
  idle_ = 0;
  PyObject* result = nullptr;
  Variant* variant = nullptr;
  const RunOutcome outcome = variants_.run(invocation, &result, &variant);
  if (outcome != RunOutcome::kMiss) return finish(outcome, variant, result, frame, port);
  // The new variant leaves by an end that this stub does not know yet, or rejects the frame that it was made from.
  if (invocation.knows(added->endIndex)) variants_.leaveToPython(kind);
  ++declines_;
  return kDeclined;
}

void Region::expect(capture::StubEnd end) {
  const auto isSame = [&](const capture::StubEnd& known) { return known.target == end.target; };
  if (ends_.size() < kMaxEnds && std::none_of(ends_.begin(), ends_.end(), isSame)) ends_.push_back(end);
}

int Region::endFor(const capture::ExitPlan& exit) {
  const bool returns = exit.end == capture::ExitPlan::kReturn;
  const capture::StubEnd end{exit.end, returns ? 1 : exit.depth};
  for (size_t i = 0; i < ends_.size(); ++i)
    if (ends_[i].target == end.target) return static_cast<int>(i);
  if (ends_.size() == kMaxEnds) return -1;
  ends_.push_back(end);
  return static_cast<int>(ends_.size()) - 1;
}

Variant* Region::compile(SplicedCode& owner, const CurrentFrame& frame, uint64_t kind) {
  std::optional<Overhead::Charge> charge(owner.overhead());
  const std::shared_ptr<const Config> settings = owner.config();
  const Config& config = *settings;
  auto* function = reinterpret_cast<PyObject*>(frame.function);
  variants_.logMisses(owner.name() + " line " + std::to_string(owner.lineOf(place_.start)), {frame.slots, function});
  const auto churnLimit = refusesBreaks(config) ? 0 : static_cast<int>(config.number(Setting::kChurnLimit));
  if (auto blame = variants_.blame({frame.slots, function}, churnLimit)) {
    owner.addStop(blame->at, owner.breakAt(BreakReason::kChangingValue, std::move(blame->why), blame->at));
    if (owner.map().stopFor(blame->at) == place_.start) return variants_.leaveToPython(kind), nullptr;
  }
  const size_t limit = variants_.limit(config, owner.isDecorated());
  if (variants_.isFull(limit)) {
    variants_.leaveToPython(kind);
    if (!std::exchange(limitReported_, true)) owner.reportLimit(place_.start, limit);
    return nullptr;
  }
  for (int retry = 0; retry < kMaxRetries; ++retry) {
    if (retry > 0) {
      charge.emplace(owner.overhead());
      if (!owner.mayCapture()) return nullptr;
    }
    auto built = buildVariant(config, [&](const capture::CaptureOptions& options) {
      return capture::captureRegion({frame.function, &owner.map(), frame.slots, place_.start, &owner.stops()},
                                    variants_.learned(options));
    });
    if (auto* variant = std::get_if<std::unique_ptr<Variant>>(&built)) {
      if ((*variant)->kernelCount() == 0 && !config.flag(Setting::kCompileAll)) break;
      const int end = endFor((*variant)->exit());
      if (end < 0) break;
      (*variant)->endIndex = end;
      if ((*variant)->kernelCount() > 0) charge->paid();
      status_ = Status::kActive;
      owner.added(*this, **variant, frame.function, frame.slots);
      if (wantsTrials(config)) (*variant)->beginTrial(true);
      return variants_.add(std::move(*variant));
    }
    auto& stop = std::get<capture::Break>(built);
    if (isInternalFailure(stop.reason)) reportInternalFailure(stop, frame.function, frame.slots);
    if (isRefused(stop, config)) refuse(owner.name(), {stop});
    const int at = stop.at;
    const bool ofValues = stop.reason == BreakReason::kPythonException || stop.reason == BreakReason::kCacheMiss ||
                          (stop.reason == BreakReason::kNothingToCompile && owner.isDecorated());
    if (ofValues && ++exceptions_ < kExceptionLimit) return nullptr;  // this time only: the next may go another way
    const bool news = at >= 0 && owner.addStop(at, std::move(stop));
    if (!news) {
      if (at < 0 && stop.reason != BreakReason::kNothingToCompile) owner.record(std::move(stop));
      break;
    }
    if (owner.map().stopFor(at) == place_.start) break;
  }
  variants_.leaveToPython(kind);
  return nullptr;
}

// ---- the callable in the stub -------------------------------------------------------------------------------------

namespace {

struct RegionEntry {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Region* region;  ///< of `owned`, for speed
  PyObject* home;  ///< borrowed: the code object whose constants hold this entry
  Region::Port port;
  std::shared_ptr<Region> owned;
};

PyTypeObject* regionEntryType = nullptr;  // owned for the life of the process

void watchArrival(const RegionEntry& entry, const CurrentFrame& frame) {
  if (const auto owner = entry.region->owner())
    CallWatch::current()->arrive(frame, owner->map().object(), entry.region->start());
}

void watchRun(const RegionEntry& entry, const CurrentFrame& frame, int answer) {
  const auto owner = entry.region->owner();
  const std::vector<int>& answers = entry.port.answers;
  const auto end = static_cast<size_t>(std::find(answers.begin(), answers.end(), answer) - answers.begin());
  if (owner && end < answers.size())
    CallWatch::current()->ran(frame, owner->map().object(), entry.region->start(), entry.region->ends()[end].target);
}

PyObject* enter(PyObject* self, PyObject* const*, size_t nargsf, PyObject* keywordNames) {
  auto* entry = reinterpret_cast<RegionEntry*>(self);
  if (PyVectorcall_NARGS(nargsf) != 0 || keywordNames)
    return PyErr_Format(PyExc_TypeError, "a region takes no arguments");
  const CurrentFrame frame = cpython::currentFrame();
  if (reinterpret_cast<PyObject*>(frame.code) != entry->home || everythingRunsAsPython()) Py_RETURN_NONE;
  int end = Region::kDeclined;
  const uint64_t hits = entry->region->hits();
  if (CallWatch::current()) [[unlikely]]
    watchArrival(*entry, frame);
  auto failed = [&](const char* what) { return entry->region->giveUp(frame, what, hits); };
  if (!guarded([&] { end = entry->region->run(frame, entry->port); }, failed)) return nullptr;
  if (end == Region::kDeclined) Py_RETURN_NONE;
  if (CallWatch::current() && end >= 0) [[unlikely]]
    watchRun(*entry, frame, end);
  return end < 0 ? nullptr : PyLong_FromLong(end);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* entry = reinterpret_cast<RegionEntry*>(self);
  entry->port.~Port();
  entry->owned.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

bool addRegionEntryType(PyObject* module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(RegionEntry, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_members, members},
                         {0, nullptr}};
  PyType_Spec spec = {"fusewire.Region", sizeof(RegionEntry), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  regionEntryType = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return regionEntryType != nullptr;
}

cpython::Ref newRegionEntry(std::shared_ptr<Region> region, Region::Port port) {
  auto* self = reinterpret_cast<RegionEntry*>(regionEntryType->tp_alloc(regionEntryType, 0));
  if (!self) throw cpython::PythonError();
  self->vectorcall = enter;
  self->region = region.get();
  self->home = nullptr;
  new (&self->port) Region::Port(std::move(port));
  new (&self->owned) std::shared_ptr<Region>(std::move(region));
  return cpython::Ref::steal(reinterpret_cast<PyObject*>(self));
}

void setRegionHome(PyObject* entry, PyObject* code) { reinterpret_cast<RegionEntry*>(entry)->home = code; }

}  // namespace fw::bindings
