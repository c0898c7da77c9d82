#include "bindings/call_policy.h"

#include <utility>

#include "bindings/error_state.h"

namespace fw::bindings {

CallPolicy::~CallPolicy() {
  if (!holds_) return;
  for (PyObject* object : objects_) Py_DECREF(object);
}

void CallPolicy::hold() {
  if (std::exchange(holds_, true)) return;
  for (PyObject* object : objects_) Py_INCREF(object);
}

bool CallPolicy::mustReport(int32_t status) {
  hold();
  return bindings::mustReport(status);
}

std::optional<int32_t> CallPolicy::reportable() {
  hold();
  return plainWarnings();
}

bool CallPolicy::report(std::vector<runtime::RaisedFlags> raised, int32_t watched) {
  hold();
  return warn(std::move(raised), watched, function_);
}

void CallPolicy::unlock() {
  hold();
  state_ = PyEval_SaveThread();
}

void CallPolicy::lock() { PyEval_RestoreThread(std::exchange(state_, nullptr)); }

}  // namespace fw::bindings
