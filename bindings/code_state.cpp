// A whole function is tried first, since it runs without a Python frame. When its capture ends in a break, the function gets
// spliced code, and the place of the break is its first stop.
#include "bindings/code_state.h"

#include "bindings/describe.h"
#include "bindings/stance.h"
#include "frame_eval/policy.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using capture::BreakReason;
using cpython::Ref;

namespace {

/// After this many kinds of arguments have failed and none was compiled, whole calls are not captured any more.
constexpr int kFailureLimit = 32;
/// With spliced code at hand this comes sooner: its regions do the work.
constexpr int kFailureLimitSpliced = 4;
/// Calls that raise during capture before the place counts as a break.
constexpr int kExceptionLimit = 3;

int argumentSlots(PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

}  // namespace

CodeState::CodeState(PyCodeObject* code, FunctionSettings settings, bool loud)
    : code_(Ref::create(reinterpret_cast<PyObject*>(code))), settings_(std::move(settings)), slotCount_(argumentSlots(code)), loud_(loud) {}

std::string CodeState::name() const {
  const char* text = PyUnicode_AsUTF8(code()->co_qualname);
  if (!text) PyErr_Clear();
  return text ? text : "<code>";
}

RunOutcome CodeState::run(PyFunctionObject* function, PyObject* const* slots, PyObject** result) {
  if (hopeless_ || compiling_) return RunOutcome::kMiss;
  Variant* variant = nullptr;
  const RunOutcome outcome = variants_.run({slots, reinterpret_cast<PyObject*>(function)}, result, &variant);
  if (outcome == RunOutcome::kMiss) return miss(function, slots, result);
  if (outcome == RunOutcome::kDeclined)
    if (std::string failure = variants_.takeFailure(); !failure.empty())
      fallBack({BreakReason::kInternalError, failure, "", 0}, kindKey(slots, slotCount_), *settings_.current());
  return outcome;
}

RunOutcome CodeState::miss(PyFunctionObject* function, PyObject* const* slots, PyObject** result) {
  if (failures_ >= (spliced_ ? kFailureLimitSpliced : kFailureLimit) && variants_.variants().empty()) return RunOutcome::kMiss;
  const uint64_t kind = kindKey(slots, slotCount_);
  if (variants_.isLeftToPython(kind)) return RunOutcome::kMiss;
  switch (onMiss(variants_.variants().size(), misses_++)) {
    case MissDecision::kCompile: break;
    case MissDecision::kPython: return RunOutcome::kMiss;
    case MissDecision::kFail: return forbidden(function, slots);
  }
  compiling_ = true;
  struct Done {
    bool& flag;
    ~Done() { flag = false; }
  };
  bool added;
  {
    Done done{compiling_};
    added = compile(function, slots, kind);
  }
  if (!added) return RunOutcome::kMiss;
  Variant* variant = nullptr;
  const RunOutcome outcome = variants_.run({slots, reinterpret_cast<PyObject*>(function)}, result, &variant);
  if (outcome == RunOutcome::kMiss && !variants_.variants().empty())   // the guards reject the very arguments they were made from
    fallBack({BreakReason::kInternalError, "a new variant rejects its own arguments: " + variants_.variants().back()->explainMiss(
              slots, reinterpret_cast<PyObject*>(function)), "", 0}, kind, *settings_.current());
  return outcome;
}

/// set_stance("fail_on_recompile").
RunOutcome CodeState::forbidden(PyFunctionObject* function, PyObject* const* slots) const {
  raiseRecompileError(name(), variants_.misses({slots, reinterpret_cast<PyObject*>(function)}));
  return RunOutcome::kError;
}

bool CodeState::compile(PyFunctionObject* function, PyObject* const* slots, uint64_t kind) {
  const std::shared_ptr<const Config> config = settings_.current();
  if (!config->flag(Setting::kEnable)) return false;
  if (!capture::profiledStops(code_.get()).empty() && makeSpliced()) {   // it is known that Python must run some of it
    failures_ = kFailureLimitSpliced;
    return false;
  }
  const auto limit = static_cast<size_t>(config->number(Setting::kRecompileLimit));
  if (variants_.variants().size() >= limit) {
    fallBack({BreakReason::kRecompileLimit, name() + " has " + std::to_string(limit) + " variants", "", 0}, kind, *config);
    if (loud_ && !std::exchange(limitReported_, true) &&
        PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "fusewire: %s reached its recompile limit of %zu variants; other kinds of arguments run as Python "
                         "(FUSEWIRE_LOGS=recompiles explains)", name().c_str(), limit) < 0)
      throw cpython::PythonError();
    return false;
  }
  variants_.logMisses(name(), {slots, reinterpret_cast<PyObject*>(function)});
  auto built = buildVariant(*config, [&](const capture::CaptureOptions& options) {
    return capture::capture({function, slots}, options);
  });
  if (auto* variant = std::get_if<std::unique_ptr<Variant>>(&built)) {
    logVariant(name(), **variant, function, slots);
    variants_.add(std::move(*variant));
    return true;
  }
  fallBack(std::move(std::get<Break>(built)), kind, *config);
  return false;
}

void CodeState::fallBack(Break what, uint64_t kind, const Config& config) {
  refuseBreaks(name(), what);
  // An exception may be due to the values of this call: the next ones are tried again.
  const bool raised = what.reason == BreakReason::kPythonException && ++exceptions_ < kExceptionLimit;
  if (!raised) variants_.leaveToPython(kind);
  ++failures_;
  const bool limit = what.reason == BreakReason::kRecompileLimit;
  const bool generator = what.reason == BreakReason::kGenerator && what.at < 0;
  if (!raised && (limit || generator || what.at >= 0) && what.reason != BreakReason::kNothingToCompile)
    return splice(std::move(what), config);
  recordBreak(breaks_, std::move(what), name());
  if (variants_.variants().empty() && !spliced_ && failures_ >= kFailureLimit) hopeless_ = true;
}

bool CodeState::makeSpliced() {
  if (!spliced_ && !unspliceable_) spliced_ = SplicedCode::create(code(), settings_, loud_);
  unspliceable_ = !spliced_;
  return !unspliceable_;
}

void CodeState::splice(Break what, const Config& config) {
  const int at = what.at;
  if (config.flag(Setting::kSplice) && makeSpliced() && at >= 0) {
    spliced_->addStop(at, std::move(what));   // which keeps the break, too
  } else {
    recordBreak(breaks_, std::move(what), name());
  }
}

PyObject* CodeState::codeForCall() { return spliced_ ? spliced_->codeForCall() : code_.get(); }

void CodeState::reset() {
  variants_.clear();
  breaks_.clear();
  spliced_.reset();
  hopeless_ = limitReported_ = unspliceable_ = false;
  exceptions_ = failures_ = 0;
  misses_ = 0;
}

}  // namespace fw::bindings
