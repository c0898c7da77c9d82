// Building a variant: passes, plan, native code, stub. Running one: a scratch area on the stack, the stub, output
// arrays, the native function, the result. The run path allocates nothing but the outputs, up to kInlineScratchWords of
// scratch.
#include "bindings/variant.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "bindings/error_state.h"
#include "bindings/held_locks.h"
#include "bindings/stance.h"
#include "bindings/workspace.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/check.h"
#include "guards/builders.h"
#include "guards/set_index.h"

namespace fw::bindings {
namespace {

constexpr size_t kInlineScratchWords = 512;
/// Misses after which the guards are put in the order of their failures, and again after its square.
constexpr uint64_t kReorderAfter = 64;
/// After this many declined calls in a row, only one call in kRetryEvery still tries the native code.
constexpr uint32_t kDeclineStreak = 8, kRetryEvery = 64;
/// Deferred commits of at least this many bytes are watched rather than computed twice; those of one operation, where
/// there is nothing to save, from fewer on, where asking for NumPy's error state costs less.
constexpr int64_t kWatchedBytes = 32 << 10, kWholeBytes = 4 << 10;
/// Memory for what a part of a watched commit overwrites; longer rows are computed twice.
constexpr int64_t kMaxSavedBytes = 1 << 20;
/// Native calls over at least this many bytes of results release the GIL.
constexpr int64_t kReleaseGilBytes = 256 << 10;

class Stopwatch {
 public:
  double lapMs() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<std::string_view> splitList(const std::string& text) {
  std::vector<std::string_view> names;
  for (size_t at = 0; at < text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    names.push_back(std::string_view(text).substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

std::chrono::nanoseconds plantedDelay{0};
/// Expressions that are at least 0 in every call that passes the guards: for the proof of accesses.
std::vector<graph::SymId> guardedExpressions(const guards::GuardSet& guards, graph::SymContext& syms) {
  std::vector<graph::SymId> result;
  for (const guards::Guard& g : guards.guards) {
    if (g.kind != guards::GuardKind::kSymRelation) continue;
    const graph::SymId difference = syms.sub(g.right, g.left);
    switch (g.relation) {
      case guards::Relation::kLe: result.push_back(difference); break;
      case guards::Relation::kLt: result.push_back(syms.sub(difference, syms.constant(1))); break;
      case guards::Relation::kEq: result.insert(result.end(), {difference, syms.neg(difference)}); break;
      case guards::Relation::kNe: break;
    }
  }
  return result;
}

}  // namespace

void plantDelay(std::chrono::nanoseconds delay) { plantedDelay = delay; }

Variant::~Variant() = default;

absl::StatusOr<std::unique_ptr<Variant>> Variant::build(capture::Captured captured, const Config& config,
                                                        double captureMs) {
  std::unique_ptr<Variant> v(new Variant);
  v->times_.captureMs = captureMs;
  v->graphText_ = graph::print(captured.graph);
  v->guards_ = std::make_shared<guards::GuardSet>(std::move(captured.guards));

  Stopwatch watch;
  graph::PassContext context;
  context.verifyEach = config.flag(Setting::kVerifyPasses);
  const auto disabled = splitList(config.text(Setting::kDisablePasses));
  context.disabled = disabled;
  if (const int64_t ms = config.number(Setting::kCompileLimit)) context.deadline = Deadline::after(ms * 1'000'000);
  if (absl::Status s = graph::runPasses(captured.graph, context); !s.ok()) return s;
  v->times_.passesMs = watch.lapMs();
  auto plan = graph::makePlan(captured.graph, context);
  if (!plan.ok()) return plan.status();
  v->planText_ = graph::print(*plan, captured.graph);
  v->times_.planMs = watch.lapMs();

  v->findSizes(captured.graph);
  auto syms = captured.graph.sharedSyms();
  v->results_ = std::make_unique<ResultBuilder>(*plan, std::move(captured.exit), *syms);
  if (captured.ufuncsAreOwn) v->reporter_ = CommitReporter::make(captured.graph, *plan);
  ProgramOptions options{v->reporter_.has_value(), {}, context.deadline, {v->graphText_, std::move(captured.writes)}};
  if (context.verifyEach) options.guarded = guardedExpressions(*v->guards_, *syms);
  auto program = makeProgram(std::move(captured.graph), *std::move(plan), config, options);
  if (!program.ok()) return program.status();
  v->program_ = *std::move(program);
  const auto deferred = v->program_->deferred();
  v->allWhole_ = std::all_of(deferred.begin(), deferred.end(), [](const auto& d) { return d.whole; });
  v->times_.jit = v->program_->timings();
  v->times_.compileMs = watch.lapMs();

  v->keepInputs();
  if (v->program_->isChecked()) v->extents_.emplace(v->plan(), *v->guards_);
  for (guards::SourceId id : v->guards_->objects)
    v->holdsObjects_ |= (*v->guards_->sources)[id].kind == guards::SourceKind::kWeak;
  auto stub = guards::emitStub(v->guards_);
  if (!stub.ok()) return stub.status();
  v->stub_ = *std::move(stub);
  v->times_.stubMs = watch.lapMs();
  v->scratchWords_ = v->guards_->symbols.size() + v->results_->bufferCount() * 2 + v->guards_->inputs.size() * 2 +
                     v->guards_->objects.size() + v->results_->sizeCount() + v->results_->scalarWords();
  if (v->extents_) v->scratchWords_ += v->results_->bufferCount() * BufferExtents::kWordsPerBuffer;
  return v;
}

/// Arrays that are read from objects rather than passed as arguments become objects of the frame, for Held.
void Variant::keepInputs() {
  auto& objects = guards_->objects;
  absl::flat_hash_set<guards::SourceId> kept(objects.begin(), objects.end());
  for (const guards::InputBinding& input : guards_->inputs) {
    const bool array = input.from == guards::InputBinding::From::kArrayData;
    if (!array || (*guards_->sources)[input.source].kind == guards::SourceKind::kArg) continue;
    if (kept.insert(input.source).second) objects.push_back(input.source);
  }
}

RunOutcome Variant::run(const Invocation& call, PyObject** result) {
  if (scratchWords_ <= kInlineScratchWords) {
    uint64_t scratch[kInlineScratchWords];
    return runWithScratch(call, result, scratch);
  }
  std::vector<uint64_t> scratch(scratchWords_);
  return runWithScratch(call, result, scratch.data());
}

namespace {

/// Keeps the objects of a call alive while other threads may run: what hangs below an argument could be replaced
/// meanwhile.
class Held {
 public:
  Held(PyObject* const* objects, size_t count) : objects_(objects), count_(count) {
    for (size_t i = 0; i < count_; ++i) Py_INCREF(objects_[i]);
  }
  ~Held() {
    for (size_t i = 0; i < count_; ++i) Py_DECREF(objects_[i]);
  }
  Held(const Held&) = delete;

 private:
  PyObject* const* objects_;
  size_t count_;
};

class Unlocked {
 public:
  explicit Unlocked(bool unlock) : state_(unlock ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (state_) PyEval_RestoreThread(state_);
  }
  Unlocked(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace

int32_t Variant::runNative(const guards::CallFrame& frame, void* workspace, bool releaseGil) {
  Unlocked unlocked(releaseGil);
  if (plantedDelay.count() > 0) [[unlikely]]
    std::this_thread::sleep_for(plantedDelay);
  if (jit::EntryFn entry = program_->entry()) return entry(frame.symbols, frame.buffers, workspace);
  return program_->run(frame.symbols, frame.buffers, workspace);
}

/// Which flags to watch while deferred commits run; nullopt declines. Where NumPy would do more than warn, or the
/// arrays are too small to matter, the commits are computed once more beforehand, and nothing is left to be watched.
std::optional<Variant::Watch> Variant::checkCommits(const guards::CallFrame& frame, void* workspace, int64_t bytes,
                                                    bool releaseGil) {
  Watch watch;
  jit::EntryFn check = program_->check();
  if (!check) return watch;
  if (bytes >= (allWhole_ ? kWholeBytes : kWatchedBytes)) {
    if (const std::optional<int32_t> reported = plainWarnings()) {
      if (*reported == 0) return watch;
      watch.flags = *reported;
      if (allWhole_) return watch;
      watch.geometry = reporter_->geometry(frame.symbols);
      watch.bytes = reporter_->savedBytes(program_->deferred(), watch.geometry);
      if (watch.bytes <= kMaxSavedBytes) return watch;
    }
  }
  int32_t status;
  {
    Unlocked unlocked(releaseGil);
    status = check(frame.symbols, frame.buffers, workspace);
  }
  return status == 0 || !mustReport(status) ? std::optional<Watch>(Watch()) : std::nullopt;
}

/// Arguments change from here on, so that nothing may be declined any more.
bool Variant::storeCommits(const guards::CallFrame& frame, void* workspace, const Watch& watch, bool releaseGil) {
  std::vector<RaisedFlags> raised;
  {
    Unlocked unlocked(releaseGil);
    thread_local std::vector<std::max_align_t> saved;  // no more than kMaxSavedBytes
    saved.resize(std::max(saved.size(), static_cast<size_t>(watch.bytes) / sizeof(saved[0]) + 1));
    absl::InlinedVector<int32_t, 16> flags(plan().commits.size(), 0);
    jit::CommitProgress progress{.watched = watch.flags, .saved = saved.data(), .raised = flags.data()};
    while (program_->commit(frame.symbols, frame.buffers, workspace, &progress) != 0) {
      auto isThis = [&](const jit::DeferredCommit& d) { return d.commit == progress.commit; };
      const auto deferred = program_->deferred();
      const auto at = std::find_if(deferred.begin(), deferred.end(), isThis);
      reporter_->inspect(*at, progress, watch.geometry, frame.buffers, workspace, raised);
      progress.unwatched = progress.commit;
    }
    for (const jit::DeferredCommit& d : program_->deferred())
      if (d.whole) reporter_->report(d, flags[d.commit] & watch.flags, raised);
  }
  return raised.empty() || warn(std::move(raised), watch.flags, frame.function);
}

bool Variant::finish(const guards::CallFrame& frame, void* workspace, const Watch& watch, bool releaseGil,
                     ResultBuilder::Call& call, PyObject** result) {
  if (!plan().commits.empty() && !storeCommits(frame, workspace, watch, releaseGil)) return false;
  try {
    return results_->leave(call, result);
  } catch (const InternalError& error) {
    if (plan().commits.empty()) throw;
    PyErr_Format(PyExc_SystemError, "fusewire: internal error after arrays were written: %s", error.what());
    return false;
  }
}

/// The user vouches for the rest. Side effects rely on every guard.
const guards::Stub& Variant::essentialStub() {
  if (!results_->exit().effects.empty()) return *stub_;
  if (!essentialStub_) {
    auto made = guards::emitStub(std::make_shared<guards::GuardSet>(essentialGuards(*guards_)));
    if (!made.ok()) return *stub_;
    essentialStub_ = *std::move(made);
  }
  return *essentialStub_;
}

/// Guards that fail often move to the front after a while, so that misses become cheap.
void Variant::countMiss(int64_t failed) {
  history_.resize(guards_->guards.size());
  if (failed <= static_cast<int64_t>(history_.size())) ++history_[static_cast<size_t>(failed) - 1];
  if (++misses_ != kReorderAfter && misses_ != kReorderAfter * kReorderAfter) return;
  auto set = std::make_shared<guards::GuardSet>(*guards_);
  guards::reorder(*set, history_);
  if (auto stub = guards::emitStub(set); stub.ok()) {
    stub_ = *std::move(stub);
    guards_ = std::move(set);
  }
}

void Variant::findSizes(const graph::Graph& graph) {
  std::vector<int64_t> symbols;
  for (size_t i = 0; i < graph.size(); ++i)
    for (const graph::SymId size : graph.type(graph::ValueId(i)).shape)
      guards::symbolsIn(graph.syms(), graph.syms().canonical(size), symbols);
  for (const int64_t symbol : symbols)
    if (symbol >= 0 && static_cast<size_t>(symbol) < guards_->symbols.size())
      sizes_.push_back(static_cast<size_t>(symbol));
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

void Variant::beginTrial(bool region) {
  constexpr double kEntryNs = 60;  // finding the variant, besides its guards
  trial_ = std::make_shared<Trial>(region || sizes_.empty() ? kEntryNs + std::max(guardNs, 0.0) : 0.0, region);
}

/// Whether Python runs this call, and if that is to be found out, times whoever runs it.
bool Variant::leavesToPython(const guards::CallFrame& frame, TimedRun* timed) {
  unsigned bits = 0;
  for (const size_t symbol : sizes_) bits += Trial::bitsOf(frame.symbols[symbol]);
  const unsigned sizeClass = Trial::sizeClass(bits);
  if (!timed) return trial_->cases()[sizeClass].verdict == Trial::Verdict::kGivenUp;
  const Trial::Arm arm = trial_->next(sizeClass);
  if (arm == Trial::Arm::kUntimed) return false;
  if (arm == Trial::Arm::kGivenUp) {
    gaveUp_ = sizes_.empty();
    timed->arm = arm;
    return true;
  }
  *timed = {trial_, sizeClass, arm, TimedRun::Clock::now()};
  return arm == Trial::Arm::kPython;
}

RunOutcome Variant::runWithScratch(const Invocation& invocation, PyObject** result, uint64_t* scratch) {
  auto carve = [&]<class T>(T*, size_t count) {
    T* part = reinterpret_cast<T*>(scratch);
    scratch += count;
    return part;
  };
  const size_t bufferCount = results_->bufferCount();
  guards::CallFrame frame;
  frame.args = invocation.args;
  frame.function = invocation.function;
  frame.symbols = carve(static_cast<int64_t*>(nullptr), guards_->symbols.size());
  frame.buffers =
      carve(static_cast<void**>(nullptr), bufferCount * (extents_ ? 1 + BufferExtents::kWordsPerBuffer : 1));
  frame.scalars = carve(static_cast<uint64_t*>(nullptr), guards_->inputs.size() * 2);
  frame.objects = carve(static_cast<PyObject**>(nullptr), guards_->objects.size());

  const guards::Stub& stub = stanceWord() != 0 && skipGuards() && invocation.alone ? essentialStub() : *stub_;
  if (const int64_t failed = stub.entry()(&frame); failed != 0) {
    if (&stub == stub_.get()) countMiss(failed);
    return RunOutcome::kMiss;
  }
  if (trial_ && leavesToPython(frame, invocation.timed)) return RunOutcome::kDeclined;
  if (declinesInARow_ >= kDeclineStreak && ++declinesInARow_ % kRetryEvery) return RunOutcome::kDeclined;

  HeldLocks locks;
  const capture::ExitPlan& exit = results_->exit();
  if (!exit.locks.empty() && !locks.take(frame.objects, exit.locks)) {
    ++declines_;
    return RunOutcome::kDeclined;
  }
  ResultBuilder::Call call;
  call.locks = &locks;
  call.symbols = frame.symbols;
  call.buffers = frame.buffers;
  call.objects = frame.objects;
  call.slots = invocation.slots;
  call.sizes = carve(static_cast<int64_t*>(nullptr), results_->sizeCount());
  call.scalars = carve(static_cast<uint64_t*>(nullptr), results_->scalarWords());
  call.arrays = carve(static_cast<PyArrayObject**>(nullptr), bufferCount);
  std::memset(call.arrays, 0, bufferCount * sizeof(void*));
  const absl::Cleanup release = [&] { results_->release(call); };  // of those that were not handed over

  RunOutcome outcome = RunOutcome::kError;
  bool outside = false;
  if (results_->allocate(call)) {
    Workspace workspace(results_->workspaceBytes(call));
    if (!workspace.ok()) {
      PyErr_NoMemory();
    } else {
      const bool releaseGil = !exit.atomic && call.outputBytes + workspace.bytes() >= kReleaseGilBytes;
      std::optional<Held> held;
      if (releaseGil || holdsObjects_) held.emplace(frame.objects, guards_->objects.size());
      if (extents_) extents_->fill(frame, call);
      const int32_t status = runNative(frame, workspace.data(), releaseGil);
      outside = (status & jit::kStatusOutside) != 0;
      const bool mayRunPython = status != 0 || reporter_;  // warnings, the error state
      if (mayRunPython && !held) held.emplace(frame.objects, guards_->objects.size());
      std::optional<Watch> watch;
      if (status == 0 || !mustReport(status))
        watch = checkCommits(frame, workspace.data(), call.outputBytes, releaseGil);
      if (watch) {
        const bool done = finish(frame, workspace.data(), *watch, releaseGil, call, result);
        outcome = done ? RunOutcome::kDone : RunOutcome::kError;
        if (done) locks.keep();
        declinesInARow_ = 0;
        ++hits_;
      } else {
        outcome = RunOutcome::kDeclined;
        ++declinesInARow_;
        ++declines_;
      }
    }
  }
  FW_CHECK_MSG(!outside, "checked code met an access outside of its array, and did not make it\n" + planText_);
  return outcome;
}

/// A CallFrame with memory of its own, for runs of the guards outside of a call.
struct Variant::OwnFrame {
  OwnFrame(const Variant& v, PyObject* const* args, PyObject* function)
      : symbols(v.guards_->symbols.size()),
        buffers(v.results_->bufferCount()),
        scalars(v.guards_->inputs.size() * 2),
        objects(v.guards_->objects.size()),
        frame{args, function, symbols.data(), buffers.data(), scalars.data(), objects.data()} {}
  std::vector<int64_t> symbols;
  std::vector<void*> buffers;
  std::vector<uint64_t> scalars;
  std::vector<PyObject*> objects;
  guards::CallFrame frame;
};

bool Variant::isDead() const { return guards::hasDied(*guards_); }

bool Variant::accepts(PyObject* const* args, PyObject* function) const {
  OwnFrame own(*this, args, function);
  return stub_->entry()(&own.frame) == 0;
}

guards::SlowResult Variant::miss(PyObject* const* args, PyObject* function) const {
  OwnFrame own(*this, args, function);
  return guards::checkSlow(*guards_, own.frame);
}

double Variant::timeGuards(PyObject* const* args, PyObject* function, int64_t count) const {
  OwnFrame own(*this, args, function);
  const guards::StubFn stub = stub_->entry();
  if (stub(&own.frame) != 0) return -1;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) stub(&own.frame);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count;
}

}  // namespace fw::bindings
