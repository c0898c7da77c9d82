// What Fusewire knows about one decorated function: its variants, its breaks, and the decision for each call.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "bindings/signature.h"
#include "bindings/variant.h"
#include "cpython/ref.h"
#include "graph/support/config.h"

namespace fw::bindings {

struct RecordedBreak {
  capture::Break what;
  uint64_t count = 1;                   ///< calls that ran as Python because of it
};

class FunctionState {
 public:
  /// `callable` is what the user decorated. Only Python functions are compiled; anything else runs as it is.
  FunctionState(PyObject* callable, std::shared_ptr<const Config> config);

  /// The decorated call, vectorcall protocol. Never leaves a C++ exception.
  PyObject* call(PyObject* const* args, size_t nargsf, PyObject* keywordNames);

  /// Drops variants, breaks and counters; the next call captures again.
  void reset();

  /// Description for explain() as a new Python dict; nullptr with an exception set.
  PyObject* describe() const;

  /// ns that the guards of the first variant fitting these positional arguments take; negative if none fits.
  double timeGuards(PyObject* const* args, Py_ssize_t count, int64_t repeats);

  PyObject* callable() const { return callable_.get(); }
  int visit(visitproc visit, void* arg);
  void clear();

 private:
  PyObject* callAsPython(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  PyObject* callMissed(PyObject* const* args, size_t nargsf, PyObject* keywordNames, PyObject* const* slots);
  PyObject* dispatch(PyObject* const* args, size_t nargsf, PyObject* keywordNames);
  RunOutcome runVariant(size_t index, PyObject* const* slots, PyObject** result);
  /// Captures and compiles for these arguments: appends a variant, or records a break if that is not possible.
  void compileFor(PyObject* const* slots, uint64_t key);
  void record(capture::Break what, uint64_t key);
  void logRecompile(PyObject* const* slots) const;
  PyFunctionObject* function() const { return reinterpret_cast<PyFunctionObject*>(callable_.get()); }
  std::string displayName() const;
  void adoptCode();

  cpython::Ref callable_;
  std::shared_ptr<const Config> config_;
  bool isFunction_ = false;
  cpython::Ref code_;                               ///< the code object that everything here was derived from
  Signature signature_;
  // The GIL guards everything below.
  std::vector<std::unique_ptr<Variant>> variants_;
  std::vector<std::unique_ptr<Variant>> retired_;   ///< reset while a call was inside: freed when none is
  int activeCalls_ = 0;
  std::vector<RecordedBreak> breaks_;
  absl::flat_hash_set<uint64_t> pythonKeys_;        ///< kinds of arguments (kindKey) that run as Python
  bool alwaysPython_ = false;
  bool compiling_ = false;
  uint64_t pythonCalls_ = 0;
};

/// Hash of the kinds of arguments: types, and for arrays element type, rank and flags.
uint64_t kindKey(PyObject* const* slots, int count);

}  // namespace fw::bindings
