// Running a variant: a scratch area on the stack, the stub, output arrays, native code, the result. Nothing is
// allocated but the outputs, up to kInlineScratchWords of scratch, and nothing is set up that only other variants need:
// a call of a small one takes a quarter of a microsecond.
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "bindings/call_policy.h"
#include "bindings/call_watch.h"
#include "bindings/cuda_device.h"
#include "bindings/cupy_host.h"
#include "bindings/held_locks.h"
#include "bindings/stance.h"
#include "bindings/variant.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::bindings {
namespace {

constexpr size_t kInlineScratchWords = 512;
/// Misses after which the guards are put in the order of their failures, and again after its square.
constexpr uint64_t kReorderAfter = 64;
/// After this many declined calls in a row, only one call in kRetryEvery still tries the native code.
constexpr uint32_t kDeclineStreak = 8, kRetryEvery = 64;

std::chrono::nanoseconds plantedDelay{0};

}  // namespace

void plantDelay(std::chrono::nanoseconds delay) { plantedDelay = delay; }

RunOutcome Variant::run(const Invocation& call, PyObject** result) {
  if (scratch_.words <= kInlineScratchWords) {
    uint64_t scratch[kInlineScratchWords];
    return runWithScratch(call, result, scratch);
  }
  std::vector<uint64_t> scratch(scratch_.words);
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

RunOutcome Variant::runWithScratch(const Invocation& call, PyObject** result, uint64_t* scratch) {
  guards::CallFrame frame{call.args,
                          call.function,
                          reinterpret_cast<int64_t*>(scratch),
                          reinterpret_cast<void**>(scratch + scratch_.buffers),
                          scratch + scratch_.inputs,
                          reinterpret_cast<PyObject**>(scratch + scratch_.objects)};
  const guards::Stub& stub = stanceWord() != 0 && skipGuards() && call.alone ? essentialStub() : *stub_;
  if (const int64_t failed = stub.entry()(&frame); failed != 0) {
    if (&stub == stub_.get()) countMiss(failed);
    return RunOutcome::kMiss;
  }
  if (isLate_ && !hasCode()) [[unlikely]]
    return RunOutcome::kNotYet;
  if (trial_ && leavesToPython(frame, call.timed)) return RunOutcome::kDeclined;
  if (declinesInARow_ >= kDeclineStreak && ++declinesInARow_ % kRetryEvery) return RunOutcome::kDeclined;

  const std::vector<int>& wanted = results_->exit().locks;
  if (wanted.empty()) return compute(frame, {call.slots}, scratch, result);
  HeldLocks locks;
  if (!locks.take(frame.objects, wanted)) {
    ++declines_;
    return RunOutcome::kDeclined;
  }
  const RunOutcome outcome = compute(frame, {call.slots, &locks}, scratch, result);
  if (outcome == RunOutcome::kDone) locks.keep();
  return outcome;
}

/// Behind the guards.
RunOutcome Variant::compute(guards::CallFrame& frame, Surroundings around, uint64_t* scratch, PyObject** result) {
  ResultBuilder::Call call{.symbols = frame.symbols,
                           .buffers = frame.buffers,
                           .objects = frame.objects,
                           .slots = around.slots,
                           .sizes = reinterpret_cast<int64_t*>(scratch + scratch_.sizes),
                           .scalars = scratch + scratch_.scalars,
                           .arrays = reinterpret_cast<PyArrayObject**>(scratch + scratch_.arrays),
                           .locks = around.locks};
  for (const size_t symbol : boundSymbols_) frame.symbols[symbol] = 0;
  std::memset(call.arrays, 0, results_->arrayCount() * sizeof(void*));
  const absl::Cleanup release = [&] { results_->release(call); };  // of those that were not handed over

  ListItems lists;
  if (!listInputs_.empty() && !lists.fill(frame, listInputs_)) [[unlikely]]
    return notDone(runtime::Outcome::kDeclined);
  if (!results_->allocate(call)) return RunOutcome::kError;
  if (extents_) extents_->fill(frame, call);
  if (plantedDelay.count() > 0) [[unlikely]]
    std::this_thread::sleep_for(plantedDelay);
  CallPolicy policy({frame.objects, guards_->objects.size()}, frame.function);
  if (holdsObjects_) policy.hold();
  runtime::Context context{frame.symbols, frame.buffers};
  const RunOutcome outcome = onDevice_   ? runOnDevice(call, context, policy)
                             : asksHost_ ? runWithHost(call, context, policy)
                                         : ended(transact(call, context, policy));
  if (outcome != RunOutcome::kDone) return outcome;
  declinesInARow_ = 0;
  ++hits_;
  return leave(call, result) ? RunOutcome::kDone : RunOutcome::kError;
}

RunOutcome Variant::runWithHost(ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy) {
  LibraryHost host(library_, policy, call.arrays, call.objects, !exit().atomic);
  context.host = &host;
  context.shortcuts = host.shortcuts();
  const runtime::Outcome outcome = transact(call, context, policy);
  if (outcome != runtime::Outcome::kDone) host.takeBackDraws();
  if (outcome == runtime::Outcome::kDeclined && host.restoreError()) return RunOutcome::kError;
  return ended(outcome);
}

RunOutcome Variant::runOnDevice(ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy) {
  policy.hold();  // CuPy's allocators may be Python code
  CupyHost host(CupyHost::Surroundings{library_, policy, call.arrays, call.objects, device_, !exit().atomic});
  context.host = &host;
  if (!host.ok() || !isCurrentDevice(device_)) {
    ++declines_;
    return RunOutcome::kDeclined;
  }
  const runtime::Outcome outcome = transact(call, context, policy);
  if (outcome == runtime::Outcome::kDeclined && host.restoreError()) return RunOutcome::kError;
  if (outcome == runtime::Outcome::kOutOfMemory && host.restoreMemoryError()) return RunOutcome::kError;
  if (outcome != runtime::Outcome::kDone || !results_->hasNumbersToRead()) return ended(outcome);
  const auto read = [&](void* to, const void* from, size_t bytes) { return host.read(to, from, bytes); };
  return results_->readNumbers(call, read) ? RunOutcome::kDone : RunOutcome::kError;
}

runtime::Outcome Variant::transact(const ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy) {
  const runtime::Transaction::Work work{results_->workspaceBytes(call), call.outputBytes, !exit().atomic};
  if (!CallWatch::isWatching() || !executable_->meter()) [[likely]]
    return transaction_.run(*executable_, context, work, policy);
  const runtime::PartMeter::Run metered(*executable_->meter(), context);
  return transaction_.run(*executable_, context, work, policy);
}

RunOutcome Variant::notDone(runtime::Outcome outcome) {
  switch (outcome) {
    case runtime::Outcome::kDone: break;
    case runtime::Outcome::kOutside:
      FW_CHECK_MSG(false, "an access would have gone outside of its array, and was not made\n" + planText_);
    case runtime::Outcome::kDeclined:
      ++declinesInARow_;
      ++declines_;
      return RunOutcome::kDeclined;
    case runtime::Outcome::kNotYet: return RunOutcome::kNotYet;
    case runtime::Outcome::kOutOfMemory: PyErr_NoMemory(); return RunOutcome::kError;
    case runtime::Outcome::kFailed:
      ++hits_;
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "CUDA failed while arrays were written");
      return RunOutcome::kError;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::bindings
