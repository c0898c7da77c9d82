// What Python and NumPy decide about a call of compiled code: their lock, their error state, their warnings.
#pragma once

#include <Python.h>

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/transaction.h"

namespace fw::bindings {

/// For the time of one call. Made and destroyed with the GIL held.
class CallPolicy : public runtime::Policy {
 public:
  /// `objects` of the call stay alive from the first moment on when other code may run, and could replace what hangs
  /// below an argument.
  CallPolicy(absl::Span<PyObject* const> objects, PyObject* function) : objects_(objects), function_(function) {}
  ~CallPolicy() override;
  CallPolicy(const CallPolicy&) = delete;

  void hold();
  bool mustReport(int32_t status) override;
  std::optional<int32_t> reportable() override;
  bool report(std::vector<runtime::RaisedFlags> raised, int32_t watched) override;
  void unlock() override;
  void lock() override;
  bool isUnlocked() const { return state_ != nullptr; }

 private:
  absl::Span<PyObject* const> objects_;
  PyObject* function_;
  PyThreadState* state_ = nullptr;  ///< while unlocked
  bool holds_ = false;
};

}  // namespace fw::bindings
