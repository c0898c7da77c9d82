// Building a variant: passes, plan, native code, stub. Running one: a scratch area on the stack, the stub, output
// arrays, the native function, the result. The run path allocates nothing but the outputs, up to kInlineScratchWords of
// scratch.
#include "bindings/variant.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "bindings/call_policy.h"
#include "bindings/call_watch.h"
#include "bindings/cuda_device.h"
#include "bindings/cupy_host.h"
#include "bindings/held_locks.h"
#include "bindings/stance.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/check.h"
#include "graph/support/event.h"
#include "graph/support/stopwatch.h"
#include "graph/symint_facts.h"
#include "guards/builders.h"
#include "guards/set_index.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {
namespace {

constexpr size_t kInlineScratchWords = 512;
/// Misses after which the guards are put in the order of their failures, and again after its square.
constexpr uint64_t kReorderAfter = 64;
/// After this many declined calls in a row, only one call in kRetryEvery still tries the native code.
constexpr uint32_t kDeclineStreak = 8, kRetryEvery = 64;

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
      case guards::Relation::kNe:  // what is not 0 and not below it is at least 1
        for (const graph::SymId side : {difference, syms.neg(difference)})
          if (graph::refinedRange(syms, side).lo >= 0) result.push_back(syms.sub(side, syms.constant(1)));
        break;
    }
  }
  return result;
}

}  // namespace

void plantDelay(std::chrono::nanoseconds delay) { plantedDelay = delay; }

Variant::~Variant() = default;

absl::StatusOr<std::unique_ptr<Variant>> Variant::build(capture::Captured captured, const Config& config,
                                                        double captureMs, bool background) {
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
  const bool onDevice = v->guards_->arrays->onDevice();
  context.target = planningTarget(config, onDevice);
  const ArrayFactory* arrays = onDevice ? cupyFactory() : &numpyFactory();
  if (!arrays) throw cpython::PythonError();
  v->onDevice_ = onDevice;
  if (channelEnabled(Channel::kPasses)) {
    context.dump = [](std::string_view name, const std::string& text) {
      emit(Channel::kPasses, "pass", "after " + std::string(name) + ":\n" + text,
           {{"name", std::string(name)}, {"text", text}});
    };
  }
  if (absl::Status s = graph::runPasses(captured.graph, context); !s.ok()) return s;
  v->times_.passesMs = watch.lapMs();
  auto plan = graph::makePlan(captured.graph, context);
  if (!plan.ok()) return plan.status();
  v->planText_ = graph::print(*plan, captured.graph);
  v->times_.planMs = watch.lapMs();

  v->library_.calls = runtime::Calls(*plan, captured.graph);
  v->asksHost_ = !plan->isStraight() || !v->library_.calls.empty();
  v->library_.sites = std::move(captured.libraryCalls);
  v->bindObjects();
  if (!drawInOrder(plan->steps, v->library_.sites))
    return absl::UnimplementedError("random numbers would be drawn in another order");
  v->findSizes(captured.graph);
  auto syms = captured.graph.sharedSyms();
  v->symbols_ = static_cast<size_t>(syms->symbolCount());
  for (size_t i = 0; i < v->guards_->symbols.size(); ++i)
    if (v->guards_->symbols[i].from == guards::SymbolBinding::From::kCall) v->boundSymbols_.push_back(i);
  std::vector<int> hostInputs;
  for (size_t i = 0; onDevice && i < v->guards_->inputs.size(); ++i)
    if (v->guards_->inputs[i].from != guards::InputBinding::From::kArrayData) hostInputs.push_back(static_cast<int>(i));
  v->results_ = std::make_unique<ResultBuilder>(*plan, std::move(captured.exit), *syms, *arrays, hostInputs);
  if (v->results_->hasLateCopies() && !captured.graph.commits().empty())
    return absl::UnimplementedError("a copy whose size data decides, behind writes");
  if (captured.ufuncsAreOwn) v->transaction_ = runtime::Transaction(captured.graph, *plan);
  BackendOptions options{
      v->transaction_.mayDefer(), {}, context.deadline, background, {v->graphText_, std::move(captured.writes)}};
  options.guarded = guardedExpressions(*v->guards_, *syms);
  options.hostInputs = std::move(hostInputs);
  for (const guards::Guard& g : v->guards_->guards)
    if (g.kind == guards::GuardKind::kArrayMeta) options.device = v->device_ = g.meta.device;
  if (onDevice && v->device_ < 0) options.device = v->device_ = currentDevice();
  const int64_t told = toldNs();
  auto executable = makeExecutable(std::move(captured.graph), *std::move(plan), config, options);
  if (!executable.ok()) return executable.status();
  v->executable_ = *std::move(executable);
  v->isLate_ = !v->executable_->ready().ok();
  v->times_.jit = v->executable_->timings();
  v->times_.compileMs = watch.lapMs() - static_cast<double>(toldNs() - told) / 1e6;

  v->keepInputs();
  if (v->executable_->isChecked()) v->extents_.emplace(v->plan(), *v->guards_);
  for (guards::SourceId id : v->guards_->objects)
    v->holdsObjects_ |= (*v->guards_->sources)[id].kind == guards::SourceKind::kWeak;
  auto stub = guards::emitStub(v->guards_);
  if (!stub.ok()) return stub.status();
  v->stub_ = *std::move(stub);
  v->times_.stubMs = watch.lapMs();
  v->scratchWords_ = v->symbols_ + v->results_->bufferCount() + v->results_->arrayCount() +
                     v->guards_->inputs.size() * 2 + v->guards_->objects.size() + v->results_->sizeCount() +
                     v->results_->scalarWords();
  if (v->extents_) v->scratchWords_ += v->results_->bufferCount() * BufferExtents::kWordsPerBuffer;
  return v;
}

/// Objects that library calls are given become objects of the frame.
void Variant::bindObjects() {
  auto& objects = guards_->objects;
  for (capture::LibraryCall& site : library_.sites) {
    for (capture::LibraryArgument& argument : site.positional) {
      if (argument.kind != capture::LibraryArgument::Kind::kObject) continue;
      const auto at = std::find(objects.begin(), objects.end(), argument.source);
      argument.index = static_cast<int>(at - objects.begin());
      if (at == objects.end()) objects.push_back(argument.source);
    }
  }
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

/// Builds the result and does the side effects. Behind commits nothing can be left to Python any more.
bool Variant::leave(ResultBuilder::Call& call, PyObject** result) const {
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
    if (symbol >= 0 && static_cast<size_t>(symbol) < guards_->symbols.size() &&
        guards_->symbols[static_cast<size_t>(symbol)].from != guards::SymbolBinding::From::kCall)
      sizes_.push_back(static_cast<size_t>(symbol));
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
}

void Variant::beginTrial(bool region) {
  if (onDevice_) return;           // times of the host say nothing of work that goes on behind them
  constexpr double kEntryNs = 60;  // finding the variant, besides its guards
  trial_ = std::make_shared<Trial>(region || sizes_.empty() ? kEntryNs + std::max(guardNs, 0.0) : 0.0, region);
}

void Variant::awaitCode() const {
  PyThreadState* const saved = PyEval_SaveThread();
  executable_->wait().IgnoreError();
  PyEval_RestoreThread(saved);
}

/// The code that was still being made.
bool Variant::hasCode() {
  if (errorOnGraphBreak() && isPending()) awaitCode();
  absl::Status state = executable_->ready();
  if (absl::IsUnavailable(state) || !isLate_) return !isLate_;  // another thread may have come here meanwhile
  isLate_ = !state.ok();
  lost_ = std::move(state);
  if (isLate_) return false;
  times_.jit = executable_->timings();
  times_.compileMs += times_.jit.codegenMs + times_.jit.linkMs;
  if (const auto call = std::exchange(whenReady_, nullptr)) call(*this);
  return true;
}

/// Whether Python runs this call, and if that is to be found out, times whoever runs it.
bool Variant::leavesToPython(const guards::CallFrame& frame, TimedRun* timed) {
  unsigned bits = 0;
  for (const size_t symbol : sizes_) bits += Trial::bitsOf(frame.symbols[symbol]);
  const unsigned sizeClass = Trial::sizeClass(bits);
  trial_->count(sizeClass);
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
  frame.symbols = carve(static_cast<int64_t*>(nullptr), symbols_);
  frame.buffers =
      carve(static_cast<void**>(nullptr), bufferCount * (extents_ ? 1 + BufferExtents::kWordsPerBuffer : 1));
  frame.scalars = carve(static_cast<uint64_t*>(nullptr), guards_->inputs.size() * 2);
  frame.objects = carve(static_cast<PyObject**>(nullptr), guards_->objects.size());

  const guards::Stub& stub = stanceWord() != 0 && skipGuards() && invocation.alone ? essentialStub() : *stub_;
  if (const int64_t failed = stub.entry()(&frame); failed != 0) {
    if (&stub == stub_.get()) countMiss(failed);
    return RunOutcome::kMiss;
  }
  if (isLate_ && !hasCode()) [[unlikely]]
    return RunOutcome::kNotYet;
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
  call.arrays = carve(static_cast<PyArrayObject**>(nullptr), results_->arrayCount());
  std::memset(call.arrays, 0, results_->arrayCount() * sizeof(void*));
  for (const size_t symbol : boundSymbols_) frame.symbols[symbol] = 0;
  const absl::Cleanup release = [&] { results_->release(call); };  // of those that were not handed over

  if (!results_->allocate(call)) return RunOutcome::kError;
  if (extents_) extents_->fill(frame, call);
  if (plantedDelay.count() > 0) [[unlikely]]
    std::this_thread::sleep_for(plantedDelay);
  CallPolicy policy({frame.objects, guards_->objects.size()}, frame.function);
  if (holdsObjects_) policy.hold();
  runtime::Context context{frame.symbols, frame.buffers};
  std::optional<LibraryHost> host;
  std::optional<CupyHost> device;
  if (onDevice_) {
    policy.hold();  // CuPy's allocators may be Python code
    context.host =
        &device.emplace(CupyHost::Surroundings{library_, policy, call.arrays, frame.objects, device_, !exit.atomic});
    if (!device->ok() || !isCurrentDevice(device_)) {
      ++declines_;
      return RunOutcome::kDeclined;
    }
  } else if (asksHost_) {
    context.host = &host.emplace(library_, policy, call.arrays, frame.objects, !exit.atomic);
  }
  const runtime::Transaction::Work work{results_->workspaceBytes(call), call.outputBytes, !exit.atomic};
  std::optional<runtime::PartMeter::Run> metered;
  if (CallWatch::isWatching() && executable_->meter()) [[unlikely]]
    metered.emplace(*executable_->meter(), context);
  const runtime::Outcome outcome = transaction_.run(*executable_, context, work, policy);
  metered.reset();
  if (outcome != runtime::Outcome::kDone && host) host->takeBackDraws();
  switch (outcome) {
    case runtime::Outcome::kDone: break;
    case runtime::Outcome::kOutside:
      FW_CHECK_MSG(false, "an access would have gone outside of its array, and was not made\n" + planText_);
    case runtime::Outcome::kDeclined:
      if ((host && host->restoreError()) || (device && device->restoreError())) return RunOutcome::kError;
      ++declinesInARow_;
      ++declines_;
      return RunOutcome::kDeclined;
    case runtime::Outcome::kNotYet: return RunOutcome::kNotYet;
    case runtime::Outcome::kOutOfMemory:
      if (!device || !device->restoreMemoryError()) PyErr_NoMemory();
      return RunOutcome::kError;
    case runtime::Outcome::kFailed:
      ++hits_;
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "CUDA failed while arrays were written");
      return RunOutcome::kError;
  }
  declinesInARow_ = 0;
  ++hits_;
  host.reset();
  if (results_->hasNumbersToRead()) {
    const auto read = [&](void* to, const void* from, size_t bytes) { return device->read(to, from, bytes); };
    if (!results_->readNumbers(call, read)) return RunOutcome::kError;
  }
  if (!leave(call, result)) return RunOutcome::kError;
  locks.keep();
  return RunOutcome::kDone;
}

/// A CallFrame with memory of its own, for runs of the guards outside of a call.
struct Variant::OwnFrame {
  OwnFrame(const Variant& v, PyObject* const* args, PyObject* function)
      : symbols(v.symbols_),
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
