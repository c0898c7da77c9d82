// The short way for calls that are known to run as Python: small functions and methods without array work cost little
// more than undecorated.
#pragma once

#include <Python.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace fw::bindings {

/// Counts what may end the knowledge about all functions: changed settings, errors asked for in place of breaks.
inline std::atomic<uint32_t> plainEpoch{0};

/// Calls of one function with positional arguments of certain types.
class PlainCalls {
 public:
  static constexpr uint32_t kForever = UINT32_MAX;

  /// Whether such a call was remembered, and nothing has changed since. Counts it.
  bool take(PyObject* const* args, size_t nargsf, PyObject* keywordNames, PyObject* code) {
    if (code != code_ || keywordNames || PyVectorcall_NARGS(nargsf) != count_ ||
        epoch_ != plainEpoch.load(std::memory_order_relaxed))
      return false;
    for (Py_ssize_t i = 0; i < count_; ++i)
      if (Py_TYPE(args[i]) != types_[static_cast<size_t>(i)]) return false;
    if (times_ != kForever && times_-- == 0) return forget(), false;
    return true;
  }

  bool canRemember(size_t nargsf, PyObject* keywordNames) const {
    return !keywordNames && PyVectorcall_NARGS(nargsf) <= static_cast<Py_ssize_t>(types_.size());
  }

  /// The caller has made sure that the types alone decide, for so many calls. `code` is the function's, alive as long
  /// as this.
  void remember(PyObject* const* args, size_t nargsf, PyObject* code, uint32_t times) {
    const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    code_ = code;
    times_ = times;
    count_ = count;
    epoch_ = plainEpoch.load(std::memory_order_relaxed);
    for (Py_ssize_t i = 0; i < count; ++i) types_[static_cast<size_t>(i)] = Py_TYPE(args[i]);
  }

  void forget() { code_ = nullptr; }

 private:
  // Borrowed, and only compared: a type that takes the place of a dead one runs as Python, too.
  std::array<PyTypeObject*, 6> types_{};
  PyObject* code_ = nullptr;
  Py_ssize_t count_ = 0;
  uint32_t epoch_ = 0, times_ = 0;
};

}  // namespace fw::bindings
