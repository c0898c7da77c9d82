// NumPy's floating-point error state, consulted when a native call has raised a flag or may interrupt its commits.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/error_rules.h"
#include "runtime/raised_flags.h"

namespace fw::bindings {

/// Looks up numpy.geterr once. False with a Python exception set.
bool initializeErrorState();

/// True if Python must run the call again, because NumPy would warn, raise or call back for one of the runtime::Status
/// bits under the error state in force, or because a kernel declined. Needs the GIL; leaves no exception behind.
bool mustReport(int32_t status);

/// While it lives, what NumPy would report of floating-point numbers in some way, under these rules, raises. Made and
/// destroyed with the GIL held; they nest. A pending exception stays.
class RaisingState {
 public:
  explicit RaisingState(graph::ErrorRules rules = {});
  ~RaisingState();
  RaisingState(const RaisingState&) = delete;

  /// If not, an exception is set.
  bool isEntered() const { return token_ != nullptr; }

 private:
  PyObject* token_ = nullptr;  ///< what leads back
};

/// The runtime::Status bits that NumPy would report, if all it would do is to issue warnings, none of which can become
/// an exception or reach the user's code as things stand; nullopt otherwise. Needs the GIL; leaves no exception behind.
std::optional<int32_t> plainWarnings();

/// Issues NumPy's warnings for those of the status bits `reported`, in the order of the program, as of the code of
/// `function`. False with a Python exception set.
bool warn(std::vector<runtime::RaisedFlags> raised, int32_t reported, PyObject* function);

}  // namespace fw::bindings
