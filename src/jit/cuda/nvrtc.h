// NVRTC, the compiler of CUDA C++, opened when it is first needed and never linked.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fw::jit::cuda {

/// One copy of NVRTC. Thread-safe.
class Nvrtc {
 public:
  /// Looks in the given files or folders first, then where the dynamic linker does. kUnavailable names what was tried.
  static absl::StatusOr<Nvrtc> open(absl::Span<const std::string> places);

  /// E.g. 13.0 is {13, 0}.
  std::pair<int, int> version() const { return {major_, minor_}; }
  /// Equal where the same source becomes the same code: version, file and options.
  const std::string& identity() const { return identity_; }
  /// Machine code for an architecture ("sm_90") of a source without headers. An error holds the compiler's log.
  absl::StatusOr<std::string> compile(const std::string& source, const std::string& architecture) const;

 private:
  Nvrtc() = default;
  int (*create_)(void** program, const char* source, const char* name, int headers, const char* const* texts,
                 const char* const* names) = nullptr;
  int (*compile_)(void* program, int count, const char* const* options) = nullptr;
  int (*destroy_)(void** program) = nullptr;
  int (*logSize_)(void* program, size_t* size) = nullptr;
  int (*log_)(void* program, char* text) = nullptr;
  int (*cubinSize_)(void* program, size_t* size) = nullptr;
  int (*cubin_)(void* program, char* bytes) = nullptr;
  int major_ = 0, minor_ = 0;
  std::string identity_;
};

}  // namespace fw::jit::cuda
