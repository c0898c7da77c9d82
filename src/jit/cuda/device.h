// One device to compile for and run on: its driver, its compiler, and the functions that are loaded.
#pragma once

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cuda/emit.h"
#include "runtime/cuda/driver.h"

namespace fw::jit::cuda {

/// Machine code of a source for an architecture: Nvrtc::compile. Called by several threads, one at a time.
using Compiler = std::function<absl::StatusOr<std::string>(const std::string& source, const std::string& architecture)>;

/// Thread-safe. Outlives the executables that run on it.
class Device {
 public:
  Device(const runtime::cuda::Driver& driver, Compiler compiler, runtime::cuda::DeviceFacts facts)
      : driver_(driver),
        compiler_(std::move(compiler)),
        facts_(std::move(facts)) {}

  const runtime::cuda::Driver& driver() const { return driver_; }
  int multiprocessors() const { return facts_.multiprocessors; }

  /// The function of a source in the current context. Equal sources are compiled once; functions stay loaded.
  absl::StatusOr<void*> function(const kernels::cuda::Source& source) ABSL_LOCKS_EXCLUDED(mutex_);
  /// What has been compiled so far: sources and milliseconds.
  struct Compiled {
    int count = 0;
    double milliseconds = 0;
  };
  Compiled compiled() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const runtime::cuda::Driver& driver_;
  const Compiler compiler_;
  const runtime::cuda::DeviceFacts facts_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::pair<void*, std::string>, void*> functions_ ABSL_GUARDED_BY(mutex_);  ///< by context, name
  Compiled compiled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fw::jit::cuda
