// One decorated function: binding of arguments, the decision for each call, the function object of the spliced code.
#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings/call_samples.h"
#include "bindings/code_state.h"
#include "bindings/duel.h"
#include "bindings/nested_frames.h"
#include "bindings/plain_calls.h"
#include "bindings/signature.h"

namespace fw::bindings {

class FunctionState {
 public:
  /// `callable` is what the user decorated. Only Python functions are compiled; anything else runs as it is.
  FunctionState(PyObject* callable, FunctionSettings settings);

  /// The decorated call, vectorcall protocol. Never leaves a C++ exception.
  PyObject* call(PyObject* const* args, size_t nargsf, PyObject* keywordNames);

  /// Drops variants, breaks and counters; the next call captures again.
  void reset();

  /// Description for explain() as a new Python dict; nullptr with an exception set.
  PyObject* describe() const;

  /// The next call is watched (CallWatch), until watched() tells as a new Python dict what became of it: None if it was
  /// not. nullptr with an exception set.
  void watch() const;
  PyObject* watched() const;

  /// ns that the guards of the first variant fitting these positional arguments take; negative if none fits.
  double timeGuards(PyObject* const* args, Py_ssize_t count, int64_t repeats);

  PyObject* callable() const { return callable_.get(); }
  const FunctionSettings& settings() const { return settings_; }
  int visit(visitproc visit, void* arg);
  void clear();

 private:
  PyObject* callUntimed(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* callTimed(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* callPlain(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* callAsPython(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  DuelRun nextRun();
  PyObject* callCode(PyObject* code, PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* callAfter(const char* failure, PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* dispatch(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyFunctionObject* function() const { return reinterpret_cast<PyFunctionObject*>(callable_.get()); }
  /// A function of the spliced code with everything else as the user's function has it now.
  PyObject* splicedFunction(PyObject* code);
  void adoptCode();

  cpython::Ref callable_;
  FunctionSettings settings_;
  Signature signature_;
  // The GIL guards everything below.
  cpython::Ref code_;               ///< the code that state_ is about
  std::optional<CodeState> state_;  ///< none if the callable is no Python function
  cpython::Ref spliced_;            ///< function object around spliced code
  PlainCalls plainCalls_;
  CallSamples samples_;
  NestedUse nestedUse_;
  Duel duel_;
  uint64_t pythonCalls_ = 0, partlyCalls_ = 0;  ///< calls that were no native call, and those that met regions
};

}  // namespace fw::bindings
