// Every code object has at most one record, in CPython's own extra slot, so that the look-up for a frame is one load.
#include "bindings/nested_frames.h"

#include <algorithm>

#include "bindings/boundary.h"
#include "bindings/code_state.h"
#include "bindings/internal_failures.h"
#include "bindings/stance.h"
#include "cpython/code_extra.h"
#include "cpython/hook.h"
#include "frame_eval/policy.h"

namespace fw::bindings {

using cpython::FrameView;
using cpython::HookDecision;
using cpython::Ref;

namespace {

/// Frames in a row that calls of one function reach, none of them compiled, after which its calls do without the hook:
/// more of them after each look in vain.
constexpr uint64_t kFewFrames = 2000, kMostCalls = uint64_t{1} << 20;

struct Record {
  std::unique_ptr<CodeState> state;
  uint64_t frames = 0;
  uint64_t nextLook = 0;  ///< frames until which nothing is looked at
  uint64_t inVain = 0;    ///< looks in a row that found nothing compiled
  bool skip = false;
};

/// Times Python for a trial.
class PythonRun : public cpython::FrameWatch {
 public:
  explicit PythonRun(TimedRun run) : run_(std::move(run)) {}
  void returned() override { run_.end(); }

 private:
  TimedRun run_;
};

uint64_t framesSeen = 0, framesCompiled = 0;  // guarded by the GIL
/// Looks in vain, in a row, after which a function is let run for as many frames, up to a limit.
constexpr uint64_t kPatience = 16, kLongestRest = 1 << 12;

/// Calls of this thread that want their callees compiled: the hook sees all threads.
thread_local int scopes = 0;
/// See runsAsItIs().
thread_local PyObject* beginning = nullptr;
bool compilesAll = false;

void destroy(void* record) { delete static_cast<Record*>(record); }

/// Code that is not the user's: the standard library, installed packages, our own package.
bool isLibrary(PyCodeObject* code, bool compileAll) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) return PyErr_Clear(), true;
  const std::string_view path = file;
  if (path.rfind("<frozen", 0) == 0 || path.find("/fusewire/") != path.npos) return true;
  if (compileAll) return false;
  static const std::string library = [] {
    Ref os = Ref::steal(PyImport_ImportModule("os"));
    Ref name = os ? Ref::steal(PyObject_GetAttrString(os.get(), "__file__")) : Ref();
    const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
    PyErr_Clear();
    const std::string file = text ? text : "/os.py";
    return file.substr(0, file.rfind('/') + 1);
  }();
  return path.find("/site-packages/") != path.npos || path.find("/dist-packages/") != path.npos ||
         (library.size() > 1 && path.rfind(library, 0) == 0);
}

class NestedFrames : public cpython::FrameHandler {
 public:
  explicit NestedFrames(bool compileAll) : compileAll_(compileAll) {}

  HookDecision onFrame(const FrameView& frame) override {
    HookDecision decision;
    if ((scopes == 0 && !compileAll_) || everythingRunsAsPython() || isReportingFailure()) return decision;
    if (std::exchange(beginning, nullptr) == reinterpret_cast<PyObject*>(frame.code)) return decision;
    auto failed = [&](const char* what) { return guarded([&] { giveUp(frame, what); }); };
    guarded([&] { decision = decide(frame); }, failed);
    return decision;
  }

 private:
  static void giveUp(const FrameView& frame, const char* failure) {
    auto* record = static_cast<Record*>(cpython::codeExtra(frame.code));
    if (!record) return;
    record->skip = true;
    if (record->state) record->state->giveUp(frame.function, frame.args, failure);
  }

  HookDecision decide(const FrameView& frame) {
    ++framesSeen;
    auto* record = static_cast<Record*>(cpython::codeExtra(frame.code));
    if (!record) record = add(frame.code);
    if (record->skip || ++record->frames < record->nextLook) return HookDecision::runAsIs();
    if (!record->state)
      record->state = std::make_unique<CodeState>(frame.code, FunctionSettings(), /*decorated=*/false);
    CodeState& state = *record->state;
    // Most functions run once.
    if (static_cast<int64_t>(record->frames) < processSettings()->number(Setting::kWarmUp) && !compileAll_)
      return run(frame, state.codeForColdCall());
    PyObject* result = nullptr;
    switch (state.run(frame.function, frame.args, &result)) {
      case RunOutcome::kDone: record->inVain = 0; return ++framesCompiled, HookDecision::answer(Ref::steal(result));
      case RunOutcome::kError: return HookDecision::answer(Ref());
      case RunOutcome::kMiss:
      case RunOutcome::kNotYet:
      case RunOutcome::kDeclined: break;
    }
    PyObject* code = state.codeForCall();
    const bool own = code == reinterpret_cast<PyObject*>(frame.code);
    if (own && state.isHopeless()) record->skip = true;
    if (!own) {
      ++framesCompiled;
      record->inVain = 0;
    } else if (++record->inVain >= kPatience) {
      record->nextLook = record->frames + std::min(record->inVain, kLongestRest);
    }
    HookDecision decision = run(frame, code);
    if (TimedRun timed = state.takePythonRun()) decision.watch = std::make_unique<PythonRun>(std::move(timed));
    return decision;
  }

  static HookDecision run(const FrameView& frame, PyObject* code) {
    if (code == reinterpret_cast<PyObject*>(frame.code)) return HookDecision::runAsIs();
    leaveAlone(code);
    return HookDecision::replace(Ref::create(code));
  }

  Record* add(PyCodeObject* code) {
    auto record = std::make_unique<Record>();
    record->skip = isLibrary(code, compileAll_) || capture::isDisabled(reinterpret_cast<PyObject*>(code));
    if (!cpython::setCodeExtra(code, record.get())) throw cpython::PythonError();
    return record.release();
  }

  bool compileAll_;
};

}  // namespace

bool initializeNestedFrames(bool compileAll) {
  static bool done = false;
  if (std::exchange(done, true)) return true;
  if (!cpython::initCodeExtra(destroy)) return false;
  cpython::setFrameHandler(new NestedFrames(compileAll));  // for the life of the process
  compilesAll = compileAll;
  if (compileAll) cpython::installHook();
  return true;
}

void runsAsItIs(PyObject* code) {
  if (scopes > 0 || compilesAll) beginning = code;
}

void leaveAlone(PyObject* code) {
  auto* object = reinterpret_cast<PyCodeObject*>(code);
  auto* record = static_cast<Record*>(cpython::codeExtra(object));
  if (!record) {
    record = new Record;
    if (!cpython::setCodeExtra(object, record)) {
      delete record;
      return PyErr_Clear();  // without the record the frame is looked at again, which is slower but right
    }
  }
  record->skip = true;
}

NestedScope::NestedScope(bool wanted, NestedUse& use)
    : installed_(wanted && use.rest == 0),
      use_(use),
      seen_(framesSeen),
      compiled_(framesCompiled) {
  if (use.rest > 0) --use.rest;
  if (!installed_) return;
  ++scopes;
  cpython::installHook();
}

bool NestedScope::hasReachedCompiled() const { return installed_ && framesCompiled != compiled_; }

/// While the hook is installed, CPython calls Python functions by way of C, which all of them pay for.
NestedScope::~NestedScope() {
  if (!installed_) return;
  --scopes;
  cpython::uninstallHook();
  if (framesCompiled != compiled_) {
    use_ = {};
    return;
  }
  use_.seen += framesSeen - seen_;
  if (use_.seen <= kFewFrames) return;
  use_.rest = use_.nextRest;
  use_.nextRest = std::min(use_.nextRest * 4, kMostCalls);
  use_.seen = kFewFrames;  // the next look is a short one
}

}  // namespace fw::bindings
