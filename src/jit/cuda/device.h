// One device to compile for and run on: its driver, its compiler, and the functions that are loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "jit/cuda/images.h"
#include "kernels/cuda/emit.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/function.h"

namespace fw::jit::cuda {

/// Thread-safe. Outlives the executables that run on it.
class Device {
 public:
  Device(const runtime::cuda::Driver& driver, Compiler compiler, runtime::cuda::DeviceFacts facts,
         std::optional<runtime::DiskCache> disk = std::nullopt)
      : driver_(driver),
        facts_(std::move(facts)),
        images_(std::move(compiler), facts_.architecture, std::move(disk)) {}

  const runtime::cuda::Driver& driver() const { return driver_; }
  const runtime::cuda::DeviceFacts& facts() const { return facts_; }

  /// The function of a source in the current context. Equal sources are compiled once; functions stay loaded.
  /// kUnavailable: it is being compiled; with `wait` it is there when this returns. What cannot be compiled or loaded
  /// is tried once.
  absl::StatusOr<runtime::cuda::Function*> function(const kernels::cuda::Source& source, bool wait)
      ABSL_LOCKS_EXCLUDED(mutex_);
  /// What functions have cost so far.
  struct Compiled {
    int count = 0;  ///< sources that were compiled
    double milliseconds = 0;
    int kept = 0;  ///< those that were found on the disk
  };
  Compiled compiled() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<std::unique_ptr<runtime::cuda::Function>> load(const std::string& image,
                                                                const kernels::cuda::Source& source) const;
  absl::Status refuse(const kernels::cuda::Source& source, const absl::Status& status) const;
  void count(const kernels::cuda::Source& source, const Images::Image& image) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const runtime::cuda::Driver& driver_;
  const runtime::cuda::DeviceFacts facts_;
  Images images_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::pair<void*, std::string>, absl::StatusOr<std::unique_ptr<runtime::cuda::Function>>>
      functions_ ABSL_GUARDED_BY(mutex_);  ///< by context, name
  Compiled compiled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fw::jit::cuda
