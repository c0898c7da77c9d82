// FW_CHECK: an invariant of our own code. A failed check throws InternalError, which the single catch at the
// boundary to Python (bindings/boundary.cpp) turns into "run as Python, log loudly, dump a reproducer".
// It never reaches a frame of LLVM or CPython.
#pragma once

#include <stdexcept>
#include <string>

namespace fw {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void checkFailed(const char* expr, const char* file, int line, const std::string& what) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": check failed: " + expr +
                      (what.empty() ? "" : ": " + what));
}

}  // namespace fw

#define FW_CHECK(cond)                                             \
  do {                                                             \
    if (!(cond)) ::fw::checkFailed(#cond, __FILE__, __LINE__, ""); \
  } while (0)
#define FW_CHECK_MSG(cond, msg)                                     \
  do {                                                              \
    if (!(cond)) ::fw::checkFailed(#cond, __FILE__, __LINE__, msg); \
  } while (0)
#define FW_UNREACHABLE() ::fw::checkFailed("unreachable", __FILE__, __LINE__, "")
