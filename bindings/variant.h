// One compiled version of a function: guards, native code, and how to build the Python result.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bindings/backend.h"
#include "bindings/extents.h"
#include "bindings/library_host.h"
#include "bindings/list_items.h"
#include "bindings/result_builder.h"
#include "bindings/trial.h"
#include "cpython/numpy_api.h"
#include "frame_eval/capture.h"
#include "graph/support/config.h"
#include "guards/stub.h"
#include "runtime/executable.h"
#include "runtime/transaction.h"

namespace fw::bindings {

struct PhaseTimes {
  double captureMs = 0, passesMs = 0, planMs = 0, compileMs = 0, stubMs = 0;
  runtime::CompileTimings jit;
};

/// One attempt to run compiled code.
struct Invocation {
  PyObject* const* args;  ///< what guards read: bound arguments, or the slots of a frame
  PyObject* function;
  PyObject** slots = nullptr;  ///< regions: the slots to write, same memory as args
  /// Regions: end of the region -> what the stub that calls is told; negative or missing: it does not know that end,
  /// and variants that leave by it do not run. Null for whole functions.
  const std::vector<int>* answers = nullptr;
  TimedRun* timed = nullptr;  ///< out: the run is being timed, or Python's, if it is declined
  bool alone =
      false;  ///< set by VariantSet: there is no other variant to tell this one from (see skipGuards() in stance.h)
  bool knows(int end) const { return !answers || (end < static_cast<int>(answers->size()) && (*answers)[end] >= 0); }
};

enum class RunOutcome : uint8_t {
  kDone,      ///< the result is ready
  kMiss,      ///< a guard failed; nothing happened
  kDeclined,  ///< the native code met something that Python must report; nothing visible happened
  kNotYet,    ///< the native code is still being made: Python runs this call, which says nothing of the next
  kError,     ///< a Python exception is set (out of memory)
};

/// From now on every run of compiled code waits for this long first: what loses against Python on purpose, for tests of
/// trials. Guarded by the GIL.
void plantDelay(std::chrono::nanoseconds delay);

/// A size of an array among the arguments (or slots) that guards read.
struct ArgumentSize {
  int64_t argument;
  int axis;
  std::optional<int64_t> constant;  ///< none: a symbol
};

class Variant {
 public:
  /// `background`: Python may run calls until there is code.
  static absl::StatusOr<std::unique_ptr<Variant>> build(capture::Captured captured, const Config& config,
                                                        double captureMs, bool background);
  ~Variant();

  /// On kDone side effects are done and slots written; *result is a new reference if the exit returns, else untouched.
  RunOutcome run(const Invocation& call, PyObject** result);

  /// Whether its code is still being made.
  bool isPending() const { return isLate_ && absl::IsUnavailable(executable_->ready()); }
  /// Returns when it is not pending any more.
  void awaitCode() const;
  /// Not kOk if its code will never be there.
  const absl::Status& lost() const { return lost_; }
  /// Called once its code is there, if that is not yet so.
  void whenReady(std::function<void(const Variant&)> call) { whenReady_ = std::move(call); }

  /// Why the guards reject these arguments, in a sentence ("" if they do not).
  std::string explainMiss(PyObject* const* args, PyObject* function) const { return miss(args, function).reason; }
  /// Whether the guards pass.
  bool accepts(PyObject* const* args, PyObject* function) const;
  /// An object that the guards wait for has died: no call passes them any more.
  bool isDead() const;
  guards::SlowResult miss(PyObject* const* args, PyObject* function) const;

  const graph::Plan& plan() const { return executable_->plan(); }
  void announce(std::string_view label) const { executable_->announce(label); }
  /// What its parts take in calls that are watched; null if nobody has asked for it (runtime::Executable).
  const runtime::PartMeter* meter() const { return executable_->meter(); }
  const guards::GuardSet& guardSet() const { return *guards_; }
  const std::string& graphText() const { return graphText_; }
  const std::string& planText() const { return planText_; }
  const PhaseTimes& times() const { return times_; }
  uint64_t hits() const { return hits_; }
  uint64_t declines() const { return declines_; }
  /// Mean time in ns of `count` runs of the guards on these arguments; negative if they do not pass.
  double timeGuards(PyObject* const* args, PyObject* function, int64_t count) const;
  size_t kernelCount() const { return plan().groups.size(); }
  const capture::ExitPlan& exit() const { return results_->exit(); }
  /// Compiled code and Python take turns from here on, where whoever calls can time them.
  void beginTrial(bool region);
  const Trial* trial() const { return trial_.get(); }
  /// Python is faster whatever the sizes: no call is to be tried any more.
  bool hasGivenUp() const { return gaveUp_; }
  /// It was captured in the hope that few calls raise what the function handles, and most have been Python's.
  bool keepsDeclining() const { return leavesRaises_ && declines_ >= kManyDeclines && declines_ > hits_; }
  int endIndex = 0;                 ///< which end of its region this variant leaves by
  std::vector<ArgumentSize> sizes;  ///< set when it joins a VariantSet
  double guardNs = -1;              ///< what a check of the guards took when it was made; negative: not measured

 private:
  static constexpr uint64_t kManyDeclines = 8;
  Variant() = default;
  struct OwnFrame;
  void keepInputs();
  void findShortcuts();
  void bindObjects();
  void countMiss(int64_t failed);
  bool leave(ResultBuilder::Call& call, PyObject** result) const;
  const guards::Stub& essentialStub();
  void findSizes(const graph::Graph& graph);
  bool leavesToPython(const guards::CallFrame& frame, TimedRun* timed);
  bool hasCode();
  void layOutScratch();
  RunOutcome runWithScratch(const Invocation& call, PyObject** result, uint64_t* scratch);
  /// What else a call has, apart from what its guards find.
  struct Surroundings {
    PyObject** slots;  ///< regions: of the frame
    HeldLocks* locks = nullptr;
  };
  RunOutcome compute(guards::CallFrame& frame, Surroundings around, uint64_t* scratch, PyObject** result);
  RunOutcome runWithHost(ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy);
  RunOutcome runOnDevice(ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy);
  runtime::Outcome transact(const ResultBuilder::Call& call, runtime::Context& context, CallPolicy& policy);
  /// What the end of a transaction is to the caller.
  RunOutcome ended(runtime::Outcome outcome) {
    return outcome == runtime::Outcome::kDone ? RunOutcome::kDone : notDone(outcome);
  }
  RunOutcome notDone(runtime::Outcome outcome);

  std::shared_ptr<guards::GuardSet> guards_;
  std::unique_ptr<guards::Stub> stub_;
  std::unique_ptr<guards::Stub> essentialStub_;  ///< made when it is first asked for; guarded by the GIL
  std::unique_ptr<runtime::Executable> executable_;
  bool isLate_ = false;  ///< the code was not there when it was made; guarded by the GIL, as are these:
  absl::Status lost_;
  std::function<void(const Variant&)> whenReady_;
  std::unique_ptr<ResultBuilder> results_;
  LibraryCalls library_;
  bool asksHost_ = false;  ///< compiled code may ask for something while it runs
  runtime::Transaction transaction_;
  std::optional<BufferExtents> extents_;  ///< if the executable checks its accesses
  std::string graphText_, planText_;
  PhaseTimes times_;
  std::shared_ptr<Trial> trial_;  ///< null: none
  bool gaveUp_ = false, leavesRaises_ = false;
  std::vector<size_t> sizes_;  ///< symbols that sizes of arrays depend on
  std::vector<ListInput> listInputs_;
  std::vector<size_t> boundSymbols_;  ///< those that library calls bind
  uint64_t hits_ = 0, declines_ = 0;
  uint32_t declinesInARow_ = 0;
  uint64_t misses_ = 0;
  std::vector<uint32_t> history_;  ///< failures of each guard
  size_t symbols_ = 0;             ///< those that the guards find, then those that the code binds
  /// Where each part of a call's scratch area begins, in words; symbols stand at 0.
  struct Scratch {
    size_t buffers, inputs, objects, sizes, scalars, arrays;
    size_t words;  ///< of all
  } scratch_{};
  bool onDevice_ = false;      ///< the arrays of its calls are on a device
  int device_ = -1;            ///< which
  bool holdsObjects_ = false;  ///< some object of a call has no other owner that is known to last
};

}  // namespace fw::bindings
