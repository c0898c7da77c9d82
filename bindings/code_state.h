// What Fusewire knows about one code object: variants of the whole function, breaks, and the spliced code for calls that
// none of them fits. Shared by decorated functions and by frames that the hook sees.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/spliced_code.h"
#include "bindings/variant_set.h"
#include "bindings/settings.h"

namespace fw::bindings {

class CodeState {
 public:
  /// `loud`: the recompile limit is a warning to the user, who has decorated this function; otherwise it is for the log.
  CodeState(PyCodeObject* code, FunctionSettings settings, bool loud);

  /// Runs the call on bound arguments if it can be compiled whole. kDone and kError answer the call; otherwise
  /// Python runs: codeForCall().
  RunOutcome run(PyFunctionObject* function, PyObject* const* slots, PyObject** result);
  /// The code that the call runs as Python, borrowed: the user's own or a spliced copy.
  PyObject* codeForCall();

  /// Forgets everything; the next call captures again.
  void reset();

  PyCodeObject* code() const { return reinterpret_cast<PyCodeObject*>(code_.get()); }
  std::string name() const;
  int slotCount() const { return slotCount_; }
  const VariantSet& variants() const { return variants_; }
  const std::vector<RecordedBreak>& breaks() const { return breaks_; }
  const SplicedCode* spliced() const { return spliced_.get(); }
  /// True if nothing is compiled and nothing will be.
  bool isHopeless() const { return hopeless_; }
  /// Whether calls of other Python functions from here may be worth a look by the hook.
  bool wantsHook() const { return spliced_ && spliced_->callsOut(); }

 private:
  RunOutcome miss(PyFunctionObject* function, PyObject* const* slots, PyObject** result);
  /// True if there is a new variant of the whole function.
  bool compile(PyFunctionObject* function, PyObject* const* slots, uint64_t kind);
  /// Python runs this kind of call from now on, with compiled regions if that is possible.
  void fallBack(capture::Break what, uint64_t kind, const Config& config);
  void splice(capture::Break what, const Config& config);
  bool makeSpliced();
  RunOutcome forbidden(PyFunctionObject* function, PyObject* const* slots) const;

  cpython::Ref code_;
  FunctionSettings settings_;
  int slotCount_;                                   ///< bound arguments
  // Guarded by the GIL.
  VariantSet variants_;
  std::vector<RecordedBreak> breaks_;
  std::shared_ptr<SplicedCode> spliced_;
  uint64_t misses_ = 0;
  bool loud_, compiling_ = false, hopeless_ = false, limitReported_ = false, unspliceable_ = false;
  int exceptions_ = 0, failures_ = 0;
};

}  // namespace fw::bindings
