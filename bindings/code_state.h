// What Fusewire knows about one code object: variants of the whole function, breaks, and the spliced code for calls
// that none of them fits. Shared by decorated functions and by frames that the hook sees.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/overhead.h"
#include "bindings/spliced_code.h"
#include "bindings/variant_set.h"
#include "bindings/settings.h"
#include "bindings/stance.h"

namespace fw::bindings {

class CodeState {
 public:
  /// `decorated` by the user, who is warned at the recompile limit; regions of other functions are compiled when they
  /// have shown to run more than once. The owner is the code object itself, or holds it: a reference from here would
  /// keep it alive for good.
  CodeState(PyCodeObject* code, FunctionSettings settings, bool decorated);

  /// Runs the call on bound arguments if it can be compiled whole. kDone and kError answer the call; otherwise
  /// Python runs: codeForCall().
  RunOutcome run(PyFunctionObject* function, PyObject* const* slots, PyObject** result);
  /// After kDeclined: not empty if the time is wanted that Python takes for the call.
  TimedRun takePythonRun() { return std::exchange(pythonRun_, {}); }
  /// The code that the call runs as Python, borrowed: the user's own or a spliced copy.
  PyObject* codeForCall();

  /// The same for a call of a function that may not be called again: nothing is compiled but loops that go on for long.
  PyObject* codeForColdCall();

  /// Something of ours has failed outside of a capture and of compiled code: Python runs this code from now on.
  void giveUp(PyFunctionObject* function, PyObject* const* slots, const char* failure);

  /// Forgets everything; the next call captures again.
  void reset();

  PyCodeObject* code() const { return code_; }
  std::string name() const;
  int slotCount() const { return slotCount_; }
  const VariantSet& variants() const { return variants_; }
  const std::vector<RecordedBreak>& breaks() const { return breaks_; }
  const SplicedCode* spliced() const { return spliced_.get(); }
  /// True if nothing is compiled and nothing will be, nor is there anything to refuse.
  /// True while a thread compiles for it, in which it must not go away.
  bool isCompiling() const { return compiling_; }
  bool isHopeless() const { return hopeless_ && !errorOnGraphBreak(); }
  /// How many calls with arguments of these types run the user's own code from now on, whatever the arguments are. They
  /// are the caller's to count.
  uint32_t plainCalls(PyObject* const* slots);
  Overhead& overhead() { return *overhead_; }
  const Overhead& overhead() const { return *overhead_; }
  /// Whether calls of other Python functions from here may be worth a look by the hook.
  bool wantsHook() const { return spliced_ && spliced_->callsOut(); }

 private:
  RunOutcome miss(PyFunctionObject* function, PyObject* const* slots, PyObject** result);
  /// The new variant of the whole function, null if there is none.
  Variant* compile(PyFunctionObject* function, PyObject* const* slots);
  /// Python runs this kind of call from now on, with compiled regions if that is possible.
  void fallBack(capture::Break what, PyObject* const* slots, const Config& config);
  /// The same after a failure of ours, which is reported.
  void fail(PyFunctionObject* function, PyObject* const* slots, std::string failure);
  void fail(PyFunctionObject* function, PyObject* const* slots, capture::Break what);
  void splice(capture::Break what, const Config& config);
  /// Whether the call would only be one more value of something that changes: then Python looks at it from now on.
  bool stopsChurn(PyFunctionObject* function, PyObject* const* slots, const Config& config);
  bool hasArrays(PyObject* const* slots) const;
  bool makeSpliced();
  bool mayCapture();
  bool metRefused() const;
  RunOutcome forbidden(PyFunctionObject* function, PyObject* const* slots) const;

  PyCodeObject* code_;  ///< borrowed
  FunctionSettings settings_;
  int slotCount_;  ///< bound arguments
  // Guarded by the GIL.
  VariantSet variants_;
  std::vector<RecordedBreak> breaks_;
  std::shared_ptr<SplicedCode> spliced_;
  std::shared_ptr<Overhead> overhead_;
  TimedRun pythonRun_;
  uint64_t misses_ = 0;
  bool decorated_, compiling_ = false, hopeless_ = false, gaveUp_ = false, limitReported_ = false,
                   unspliceable_ = false;
  int exceptions_ = 0, failures_ = 0;
};

}  // namespace fw::bindings
