// A whole function is tried first, since it runs without a Python frame. When its capture ends in a break, the function
// gets spliced code, and the place of the break is its first stop; or, where breaks are errors, the call ends here.
#include "bindings/code_state.h"

#include <algorithm>
#include <optional>

#include "bindings/call_watch.h"
#include "bindings/claim.h"
#include "bindings/describe.h"
#include "bindings/internal_failures.h"
#include "bindings/plain_calls.h"
#include "bindings/refusal.h"
#include "bindings/stance.h"
#include "guards/array_library.h"
#include "cpython/code_facts.h"
#include "cpython/version.h"
#include "cpython/numpy_api.h"
#include "frame_eval/policy.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using capture::BreakReason;

namespace {

/// After this many kinds of arguments have failed and none was compiled, whole calls are not captured any more.
constexpr int kFailureLimit = 32;
/// With spliced code at hand this comes sooner: its regions do the work.
constexpr int kFailureLimitSpliced = 4;
/// Calls that raise during capture before the place counts as a break.
constexpr int kExceptionLimit = 3;

}  // namespace

CodeState::CodeState(PyCodeObject* code, FunctionSettings settings, bool decorated)
    : code_(code),
      settings_(std::move(settings)),
      slotCount_(cpython::boundArguments(code)),
      overhead_(std::make_shared<Overhead>(decorated)),
      decorated_(decorated) {}

std::string CodeState::name() const { return cpython::qualifiedName(code()); }

RunOutcome CodeState::run(PyFunctionObject* function, PyObject* const* slots, PyObject** result) {
  if (isHopeless() || compiling_) return RunOutcome::kMiss;
  if (CallWatch::current()) [[unlikely]]
    variants_.awaitCode(*overhead_);
  Variant* variant = nullptr;
  TimedRun timed;
  Invocation call{.args = slots, .function = reinterpret_cast<PyObject*>(function), .timed = &timed};
  const RunOutcome outcome = variants_.run(call, result, &variant);
  if (outcome == RunOutcome::kMiss) return miss(function, slots, result);
  if (timed && outcome == RunOutcome::kDone) timed.end();
  if (outcome == RunOutcome::kDeclined) {
    if (timed.arm == Trial::Arm::kPython) pythonRun_ = std::move(timed);
    if (variant && !variants_.givesWay(variant) && variant->hasGivenUp())
      variants_.leaveToPython(kindKey(slots, slotCount_));
    if (std::string failure = variants_.takeFailure(); !failure.empty()) fail(function, slots, std::move(failure));
    if (auto lost = variants_.takeLost()) fail(function, slots, *std::move(lost));
  }
  return outcome;
}

RunOutcome CodeState::miss(PyFunctionObject* function, PyObject* const* slots, PyObject** result) {
  failIfPlanted(Planted::kLookUp);
  const bool refusing = metRefused();  // every call is to be refused with its own breaks
  const int failureLimit = spliced_ ? kFailureLimitSpliced : kFailureLimit;
  if (!refusing && failures_ >= failureLimit && variants_.variants().empty()) return RunOutcome::kMiss;
  if (!refusing && variants_.passes(kindKey(slots, slotCount_))) return RunOutcome::kMiss;
  if (!refusing && !mayCapture()) return RunOutcome::kMiss;
  switch (onMiss(variants_.variants().size(), misses_++)) {
    case MissDecision::kCompile: break;
    case MissDecision::kPython: return RunOutcome::kMiss;
    case MissDecision::kFail: return forbidden(function, slots);
  }
  Variant* added;
  {
    const Claim compiling(compiling_);
    added = compile(function, slots);
  }
  if (!added) return RunOutcome::kMiss;
  Variant* variant = nullptr;
  Invocation again{slots, reinterpret_cast<PyObject*>(function)};
  const RunOutcome outcome = variants_.run(again, result, &variant);
  if (outcome == RunOutcome::kMiss) {
    const std::string why = added->explainMiss(slots, reinterpret_cast<PyObject*>(function));
    fail(function, slots, "a new variant rejects its own arguments: " + why);
  }
  if (std::string failure = variants_.takeFailure(); !failure.empty()) fail(function, slots, std::move(failure));
  if (auto lost = variants_.takeLost()) fail(function, slots, *std::move(lost));
  return outcome;
}

/// set_stance("fail_on_recompile").
RunOutcome CodeState::forbidden(PyFunctionObject* function, PyObject* const* slots) const {
  raiseRecompileError(name(), variants_.misses({slots, reinterpret_cast<PyObject*>(function)}));
  return RunOutcome::kError;
}

Variant* CodeState::compile(PyFunctionObject* function, PyObject* const* slots) {
  const std::shared_ptr<const Config> config = settings_.current();
  if (!config->flag(Setting::kEnable) || cpython::isFinalizing()) return nullptr;
  Overhead::Charge charge(*overhead_);
  const bool profiled = !capture::profiledStops(reinterpret_cast<PyObject*>(code_)).empty();
  if (profiled && !refusesBreaks(*config) && makeSpliced()) {  // it is known that Python must run some of it
    failures_ = kFailureLimitSpliced;
    return nullptr;
  }
  variants_.logMisses(name(), {slots, reinterpret_cast<PyObject*>(function)});
  if (stopsChurn(function, slots, *config)) return nullptr;
  const size_t limit = variants_.limit(*config, decorated_);
  if (variants_.isFull(limit)) {
    fallBack({BreakReason::kRecompileLimit, name() + " has " + std::to_string(limit) + " variants", "", 0}, slots,
             *config);
    if (decorated_ && !std::exchange(limitReported_, true)) warnRecompileLimit(name(), limit, "arguments");
    return nullptr;
  }
  auto built = buildVariant(*config, [&](const capture::CaptureOptions& options) {
    return capture::capture({function, slots}, variants_.learned(options));
  });
  if (auto* variant = std::get_if<std::unique_ptr<Variant>>(&built)) {
    if ((*variant)->kernelCount() > 0) charge.paid();
    noteVariant(name(), **variant, function, slots);
    if (wantsTrials(*config)) (*variant)->beginTrial(false);
    std::erase_if(breaks_,
                  [](const RecordedBreak& known) { return known.what.reason == BreakReason::kNothingToCompile; });
    return variants_.add(std::move(*variant));
  }
  auto& stop = std::get<Break>(built);
  if (isInternalFailure(stop.reason)) reportInternalFailure(stop, function, slots);
  if (isRefused(stop, *config)) {
    const std::vector<Break> refused = refusedBreaks(stop, {function, slots}, *config);
    for (const Break& what : refused) recordBreak(breaks_, what, name());
    refuse(name(), refused);
  }
  fallBack(std::move(stop), slots, *config);
  return nullptr;
}

bool CodeState::stopsChurn(PyFunctionObject* function, PyObject* const* slots, const Config& config) {
  const bool stops = !refusesBreaks(config) && config.flag(Setting::kSplice) && !unspliceable_;
  const auto limit = stops ? static_cast<int>(config.number(Setting::kChurnLimit)) : 0;
  std::optional<Churn::Blame> blame = variants_.blame({slots, reinterpret_cast<PyObject*>(function)}, limit);
  if (!blame || !makeSpliced() || spliced_->map().stopFor(blame->at) < 0) return false;
  fallBack(spliced_->breakAt(BreakReason::kChangingValue, std::move(blame->why), blame->at), slots, config);
  return true;
}

/// Whether a break that is known is an error for this caller.
bool CodeState::metRefused() const {
  const std::shared_ptr<const Config> config = settings_.current();
  if (!refusesBreaks(*config)) return false;
  auto refused = [&](const RecordedBreak& known) { return isRefused(known.what, *config); };
  return std::any_of(breaks_.begin(), breaks_.end(), refused) ||
         (spliced_ && std::any_of(spliced_->breaks().begin(), spliced_->breaks().end(), refused));
}

void CodeState::fail(PyFunctionObject* function, PyObject* const* slots, std::string failure) {
  fail(function, slots, Break{BreakReason::kInternalError, std::move(failure), "", 0});
}

void CodeState::fail(PyFunctionObject* function, PyObject* const* slots, Break what) {
  if (isInternalFailure(what.reason)) reportInternalFailure(what, function, slots);
  fallBack(std::move(what), slots, *settings_.current());
}

void CodeState::giveUp(PyFunctionObject* function, PyObject* const* slots, const char* failure) {
  hopeless_ = gaveUp_ = true;
  Break what{BreakReason::kInternalError, failure, "", 0};
  reportInternalFailure(what, function, slots);
  recordBreak(breaks_, std::move(what), name());
}

void CodeState::fallBack(Break what, PyObject* const* slots, const Config& config) {
  // An exception, or a branch without arrays, may be due to the values of this call: the next ones are tried again.
  const bool ofValues = what.reason == BreakReason::kPythonException || what.reason == BreakReason::kCacheMiss ||
                        what.reason == BreakReason::kNothingToCompile;
  const bool raised = ofValues && ++exceptions_ < kExceptionLimit;
  if (!raised) {
    const bool nothing = what.reason == BreakReason::kNothingToCompile && (what.mayGrow || hasArrays(slots));
    const uint64_t kind = kindKey(slots, slotCount_);
    nothing ? variants_.postpone(kind) : variants_.leaveToPython(kind);
  }
  if (!what.mayGrow) ++failures_;
  const bool limit = what.reason == BreakReason::kRecompileLimit;
  const bool generator = what.reason == BreakReason::kGenerator && what.at < 0;
  if (!raised && (limit || generator || what.at >= 0) && what.reason != BreakReason::kNothingToCompile)
    return splice(std::move(what), config);
  // Nobody has asked for code that has no arrays and is not decorated.
  if (decorated_ || what.reason != BreakReason::kNothingToCompile) recordBreak(breaks_, std::move(what), name());
  if (variants_.variants().empty() && !spliced_ && failures_ >= kFailureLimit) hopeless_ = true;
}

bool CodeState::hasArrays(PyObject* const* slots) const {
  return std::any_of(slots, slots + slotCount_,
                     [](PyObject* o) { return o && (PyArray_Check(o) || guards::isArray(o)); });
}

uint32_t CodeState::plainCalls(PyObject* const* slots) {
  if (spliced_ || anyThreadRefusesBreaks()) return 0;
  if (hopeless_ || !settings_.current()->flag(Setting::kEnable)) return PlainCalls::kForever;
  if (hasArrays(slots) || !variants_.allGaveUp() || refusesBreaks(*settings_.current())) return 0;
  return variants_.takeRest(kindKey(slots, slotCount_));
}

/// Whether captures may cost time now.
bool CodeState::mayCapture() {
  if (overhead_->isOpen() || !settings_.current()->flag(Setting::kEconomy)) return true;
  overhead_->tell(name());
  return false;
}

bool CodeState::makeSpliced() {
  if (!spliced_ && !unspliceable_) spliced_ = SplicedCode::create(code(), settings_, overhead_, decorated_);
  unspliceable_ = !spliced_;
  return !unspliceable_;
}

void CodeState::splice(Break what, const Config& config) {
  const int at = what.at;
  // With fullgraph, what still comes here runs as Python altogether.
  if (config.flag(Setting::kSplice) && !config.flag(Setting::kFullgraph) && makeSpliced() && at >= 0) {
    spliced_->addStop(at, std::move(what));  // which keeps the break, too
  } else {
    recordBreak(breaks_, std::move(what), name());
  }
}

PyObject* CodeState::codeForCall() {
  if (!spliced_ || gaveUp_) return reinterpret_cast<PyObject*>(code_);
  spliced_->setCold(false);
  return spliced_->codeForCall();
}

PyObject* CodeState::codeForColdCall() {
  std::optional<Overhead::Charge> charge;
  if (!spliced_) charge.emplace(*overhead_);
  const std::shared_ptr<const Config> config = settings_.current();
  const bool allowed =
      config->flag(Setting::kEnable) && config->flag(Setting::kSplice) && !config->flag(Setting::kFullgraph);
  if (!allowed || gaveUp_ || !cpython::hasLoop(code_) || !makeSpliced()) return reinterpret_cast<PyObject*>(code_);
  charge.reset();
  spliced_->setCold(true);
  return spliced_->codeForCall();
}

void CodeState::reset() {
  variants_.clear();
  breaks_.clear();
  spliced_.reset();
  hopeless_ = gaveUp_ = limitReported_ = unspliceable_ = false;
  exceptions_ = failures_ = 0;
  misses_ = 0;
}

}  // namespace fw::bindings
