// Launches that are made again and again in the same order: one instantiated graph for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cuda/function.h"

namespace fw::runtime::cuda {

/// A launch that is still to be made.
struct KernelLaunch {
  Function* function;
  LaunchSize size;
  std::vector<uint64_t> parameters;
  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

/// A chain of launches. Thread-safe. What it has launched goes on when it is gone.
class LaunchGraph {
 public:
  explicit LaunchGraph(const Driver& driver) : driver_(driver) {}
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph&) = delete;

  /// Enqueues the launches, each behind the one before. Those of the last time may have been others: what differs is
  /// replaced. Where the stream or the driver takes no graph, they are launched one by one.
  absl::Status launch(absl::Span<const KernelLaunch> launches, void* stream);

 private:
  struct Graph {
    void *exec = nullptr, *made = nullptr, *stream = nullptr;
    std::vector<void*> nodes;
    std::vector<KernelLaunch> launches;  ///< as they stand in `exec`
  };
  Graph* graphFor(absl::Span<const KernelLaunch> launches, void* stream);
  bool instantiate(Graph& graph);
  bool update(Graph& graph, absl::Span<const KernelLaunch> launches);

  const Driver& driver_;
  std::mutex mutex_;  ///< of all below
  std::array<Graph, 4> graphs_;
  bool plain_ = false;  ///< the driver does not take graphs
};

}  // namespace fw::runtime::cuda
