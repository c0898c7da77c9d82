// np.errstate around calls that nobody has asked for: examples and trials.
#pragma once

#include <cfenv>

#include "cpython/ref.h"

namespace fw::capture::numpy {

/// with np.errstate(kind=how), as long as it lives. The processor's flags are behind it those from before.
class ErrorsAs {
 public:
  ErrorsAs(const char* kind, const char* how);
  ~ErrorsAs();
  ErrorsAs(const ErrorsAs&) = delete;

 private:
  std::fexcept_t flags_;
  cpython::Ref state_;
};

}  // namespace fw::capture::numpy
