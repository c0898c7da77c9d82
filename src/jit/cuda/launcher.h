// One kernel, ready to be launched at any sizes: its pieces, and the functions of the forms that have come up.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "jit/cuda/device.h"
#include "jit/cuda/geometry.h"
#include "jit/cuda/launch_sink.h"

namespace fw::jit::cuda {

class Launcher {
 public:
  /// `wait`: launch() and prepare() wait for the compiler; else they answer kUnavailable while it is at work.
  static absl::StatusOr<std::unique_ptr<Launcher>> make(Device& device, kernels::Kernel kernel, graph::SymContext& syms,
                                                        bool wait);

  /// Hands its launches to the sink. `address` answers where buffers lie. Thread-safe.
  absl::Status launch(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address, LaunchSink& sink)
      ABSL_LOCKS_EXCLUDED(mutex_);

  /// Everything but the launches: what fails is known before anything is stored. All that is needed is asked for,
  /// so that it is compiled at the same time.
  absl::Status prepare(const int64_t* symbols, absl::FunctionRef<uint64_t(graph::BufferId)> address)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const kernels::Kernel& kernel() const { return kernel_; }
  const std::vector<kernels::cuda::Piece>& pieces() const { return pieces_; }

 private:
  struct Loaded {
    kernels::cuda::Form form;
    kernels::cuda::Source source;
    runtime::cuda::Function* function;  ///< null until it is compiled
    runtime::SymProgram program;        ///< one result per parameter that has a symbolic integer
  };
  Launcher(Device& device, kernels::Kernel kernel, graph::SymContext& syms, bool wait)
      : device_(device),
        kernel_(std::move(kernel)),
        syms_(syms),
        wait_(wait) {}
  absl::StatusOr<const Loaded*> loaded(size_t piece, const kernels::cuda::Form& form) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status run(const Loaded& loaded, const Layout& layout, const Launch& launch, const int64_t* symbols,
                   absl::FunctionRef<uint64_t(graph::BufferId)> address, uint64_t scratch, LaunchSink& sink) const;

  Device& device_;
  const kernels::Kernel kernel_;
  graph::SymContext& syms_;
  const bool wait_;
  std::vector<kernels::cuda::Piece> pieces_;
  std::vector<Geometry> geometry_;
  std::unique_ptr<std::atomic<const Loaded*>[]> last_;  ///< by piece: what was launched last, which needs no lock
  absl::Mutex mutex_;
  absl::flat_hash_map<std::pair<size_t, kernels::cuda::Form>, std::unique_ptr<Loaded>> loaded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fw::jit::cuda
