// The CUDA driver, opened when it is first needed and never linked: the package works without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fw::runtime::cuda {

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  void* function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **parameters, **extra;
  void *kernel, *context;
};
static_assert(sizeof(KernelNode) == 72);

/// The driver's functions. Tests fill one with their own.
struct Driver {
#define FW_CUDA_SYMBOL(Id, name, ...) int (*Id)(__VA_ARGS__) = nullptr;
#include "runtime/cuda/symbols.def"
};

/// The driver of this machine, initialised; kUnavailable says why there is none. Thread-safe; the answer never changes.
absl::StatusOr<const Driver*> openDriver();

/// OK for 0; else an error that names `what` and the driver's own words.
absl::Status check(const Driver& driver, int result, const char* what);

/// The context that is current in this thread; the primary one of the first device is made current if there is none.
absl::StatusOr<void*> currentContext(const Driver& driver);

struct DeviceFacts {
  std::string architecture;  ///< "sm_90"
  int multiprocessors;
  int64_t sharedBytes = 40 << 10;  ///< that a block may share, besides what is in the text of a kernel
};
/// Of the current context's device.
absl::StatusOr<DeviceFacts> deviceFacts(const Driver& driver);

}  // namespace fw::runtime::cuda
