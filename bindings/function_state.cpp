// Dispatch of a decorated call. Hit: bind, guards, native code. Otherwise Python runs the function, with compiled
// regions in its bytecode if there are any.
#include "bindings/function_state.h"

#include "bindings/boundary.h"
#include "bindings/call_watch.h"
#include "bindings/describe.h"
#include "bindings/nested_frames.h"
#include "bindings/stance.h"
#include "bindings/to_python.h"
#include "cpython/hook.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::checked;
using cpython::Ref;

FunctionState::FunctionState(PyObject* callable, FunctionSettings settings)
    : callable_(Ref::create(callable)),
      settings_(std::move(settings)) {
  if (PyFunction_Check(callable)) adoptCode();
}

/// The function's code is new (at first) or was assigned to: what was compiled from the old code is dropped.
void FunctionState::adoptCode() {
  signature_ = Signature::of(function());
  // Until what was compiled from it is gone.
  const Ref before = std::exchange(code_, Ref::create(function()->func_code));
  state_.emplace(reinterpret_cast<PyCodeObject*>(code_.get()), settings_, /*decorated=*/true);
  spliced_ = Ref();
  plainCalls_.forget();
}

PyObject* FunctionState::call(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (isTracing() && state_ && !samples_.passes()) [[unlikely]]
    return callTimed(args, nargsf, keywordNames);
  return callUntimed(args, nargsf, keywordNames);
}

PyObject* FunctionState::callTimed(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  const CallSamples::Call call = samples_.begin(state_->code());
  const uint64_t before = pythonCalls_;
  PyObject* result = callUntimed(args, nargsf, keywordNames);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  const bool ended = guarded([&] {
    samples_.end(call, [&]() -> CallSamples::Told {
      auto* code = reinterpret_cast<PyCodeObject*>(code_.get());
      return {state_ ? state_->name() : "", code, state_ ? state_->spliced() : nullptr, pythonCalls_ == before};
    });
  });
  if (!ended) PyErr_Clear();  // nothing of the call depends on it
  PyErr_Restore(type, value, trace);
  return result;
}

PyObject* FunctionState::callUntimed(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (state_ && plainCalls_.take(args, nargsf, keywordNames, function()->func_code))
    return callPlain(args, nargsf, keywordNames);
  PyObject* result = nullptr;
  const uint64_t before = pythonCalls_;
  auto failed = [&](const char* what) {
    if (pythonCalls_ != before) return raiseFailure(what);  // Python has run the call already
    return guarded([&] { result = callAfter(what, args, nargsf, keywordNames); });
  };
  return guarded([&] { result = dispatch(args, nargsf, keywordNames); }, failed) ? result : nullptr;
}

/// Something of ours has failed before anything of the call has run.
PyObject* FunctionState::callAfter(const char* failure, PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (state_) {
    BoundArguments bound;
    const bool binds = bound.bind(signature_, function(), args, PyVectorcall_NARGS(nargsf), keywordNames);
    const std::vector<PyObject*> none(static_cast<size_t>(state_->slotCount()), nullptr);
    state_->giveUp(function(), binds ? bound.slots() : none.data(), failure);
  }
  return callPlain(args, nargsf, keywordNames);
}

PyObject* FunctionState::dispatch(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (!state_) return callPlain(args, nargsf, keywordNames);
  if (function()->func_code != reinterpret_cast<PyObject*>(state_->code())) {
    if (state_->isCompiling()) return callPlain(args, nargsf, keywordNames);  // in another thread
    adoptCode();
  }
  if (everythingRunsAsPython()) return callPlain(args, nargsf, keywordNames);
  if (state_->isHopeless()) return callAsPython(args, nargsf, keywordNames);
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  BoundArguments bound;
  PyObject* const* slots = args;
  if (keywordNames || count != signature_.positional || signature_.slots() != signature_.positional) {
    if (!bound.bind(signature_, function(), args, count, keywordNames)) return callAsPython(args, nargsf, keywordNames);
    slots = bound.slots();
  }
  PyObject* result = nullptr;
  switch (state_->run(function(), slots, &result)) {
    case RunOutcome::kDone: return result;
    case RunOutcome::kError: return nullptr;
    case RunOutcome::kMiss:
      if (plainCalls_.canRemember(nargsf, keywordNames))
        if (const uint32_t times = state_->plainCalls(slots)) plainCalls_.remember(args, nargsf, code_.get(), times);
      break;
    case RunOutcome::kNotYet: break;
    case RunOutcome::kDeclined:
      if (TimedRun timed = state_->takePythonRun()) {
        result = callAsPython(args, nargsf, keywordNames);
        if (result) timed.end();
        return result;
      }
      break;
  }
  return callAsPython(args, nargsf, keywordNames);
}

/// Without a trace of us.
PyObject* FunctionState::callPlain(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  ++pythonCalls_;
  if (!callable_) return PyErr_Format(PyExc_ReferenceError, "the compiled function has been collected");
  if (!state_) return PyObject_Vectorcall(callable_.get(), args, nargsf, keywordNames);
  runsAsItIs(function()->func_code);
  return cpython::callNested(callable_.get(), args, nargsf, keywordNames);
}

/// With compiled regions, if there are any.
PyObject* FunctionState::callAsPython(PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  if (!state_) return callPlain(args, nargsf, keywordNames);
  state_->overhead().begin();
  DuelRun run = nextRun();
  PyObject* result = run.isPython() ? callPlain(args, nargsf, keywordNames)
                                    : callCode(state_->codeForCall(), args, nargsf, keywordNames);
  if (result) run.end();
  if (state_) state_->overhead().end();  // not if the call has come to the end of this function
  return result;
}

DuelRun FunctionState::nextRun() {
  const SplicedCode* spliced = state_->spliced();
  if (!spliced || partlyCalls_ == 0 || !duel_.count()) return DuelRun(Duel::Arm::kSpliced);
  constexpr int kSuspends = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;  // the call only makes what runs later
  if (state_->code()->co_flags & kSuspends || !wantsTrials(*settings_.current())) return DuelRun(Duel::Arm::kSpliced);
  if (CallWatch::current()) return DuelRun(duel_.untimed());
  return DuelRun(duel_, !spliced->isOnTrial());
}

PyObject* FunctionState::callCode(PyObject* code, PyObject* const* args, size_t nargsf, PyObject* keywordNames) {
  // Where nothing of the function itself is worth compiling, what it calls may be.
  const bool own = code == function()->func_code;
  if (own && !state_->wantsHook()) return callPlain(args, nargsf, keywordNames);
  ++pythonCalls_;
  Ref callable =
      Ref::create(own ? callable_.get() : splicedFunction(code));  // a reset from within must not take it away
  NestedScope nested(state_->wantsHook(), nestedUse_);
  runsAsItIs(code);
  const uint64_t before = Region::allHits();
  PyObject* result = cpython::callNested(callable.get(), args, nargsf, keywordNames);
  partlyCalls_ += Region::allHits() != before || nested.hasReachedCompiled();
  return result;
}

PyObject* FunctionState::splicedFunction(PyObject* code) {
  PyFunctionObject* mine = function();
  auto* known = reinterpret_cast<PyFunctionObject*>(spliced_.get());
  if (!known || known->func_code != code) {
    leaveAlone(code);
    Ref fresh = checked(PyFunction_NewWithQualName(code, mine->func_globals, mine->func_qualname));
    known = reinterpret_cast<PyFunctionObject*>(fresh.get());
    known->func_closure = Py_XNewRef(mine->func_closure);
    Py_XSETREF(known->func_module, Py_XNewRef(mine->func_module));
    Py_XSETREF(known->func_name, Py_NewRef(mine->func_name));
    spliced_ = std::move(fresh);
  }
  if (known->func_defaults != mine->func_defaults)
    checked(PyFunction_SetDefaults(spliced_.get(), mine->func_defaults ? mine->func_defaults : Py_None));
  if (known->func_kwdefaults != mine->func_kwdefaults)
    checked(PyFunction_SetKwDefaults(spliced_.get(), mine->func_kwdefaults ? mine->func_kwdefaults : Py_None));
  return spliced_.get();
}

void FunctionState::reset() {
  if (state_) state_->reset();
  spliced_ = Ref();
  plainCalls_.forget();
  pythonCalls_ = partlyCalls_ = 0;
  nestedUse_ = {};
  duel_ = {};
}

PyObject* FunctionState::describe() const {
  if (state_)
    return describeFunction({state_->name(), callable_.get(), true, state_->variants().variants(), state_->breaks(),
                             pythonCalls_, partlyCalls_, state_->spliced(), &state_->overhead(), &samples_, &duel_});
  const std::string type = Py_TYPE(callable_.get())->tp_name;
  const std::vector<std::unique_ptr<Variant>> none;
  const std::string why = "a " + type + " is not a Python function";
  const capture::Break refusal{capture::BreakReason::kUnsupportedCall, why, "", 0};
  const std::vector<RecordedBreak> breaks = {{refusal, 0}};
  return describeFunction({type, callable_.get(), false, none, breaks, pythonCalls_, 0, nullptr});
}

void FunctionState::watch() const {
  if (state_) CallWatch::begin(state_->code());
}

PyObject* FunctionState::watched() const {
  const nlohmann::json what = CallWatch::end(state_ ? state_->spliced() : nullptr);
  return toPython(what);
}

double FunctionState::timeGuards(PyObject* const* args, Py_ssize_t count, int64_t repeats) {
  BoundArguments bound;
  if (!state_ || !bound.bind(signature_, function(), args, count, nullptr)) return -1;
  for (const auto& variant : state_->variants().variants())
    if (double ns = variant->timeGuards(bound.slots(), callable_.get(), repeats); ns >= 0) return ns;
  return -1;
}

int FunctionState::visit(visitproc visit, void* arg) {
  Py_VISIT(callable_.get());
  Py_VISIT(spliced_.get());
  return 0;
}

/// The collector breaks a cycle: a last call from a finalizer finds nothing to run.
void FunctionState::clear() {
  state_.reset();
  spliced_ = Ref();
  callable_ = Ref();
}

}  // namespace fw::bindings
