// A kernel that is loaded, and the cheapest way to launch it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "absl/status/status.h"
#include "runtime/cuda/driver.h"

namespace fw::runtime::cuda {

struct LaunchSize {
  uint32_t gridX = 1, gridY = 1, blockX = 1, blockY = 1;
  uint32_t sharedBytes = 0;  ///< of memory that a block shares, besides what the kernel's text says
  friend bool operator==(const LaunchSize&, const LaunchSize&) = default;
};

/// Whether graphs are launched on the stream: not while it is being captured, and not on CU_STREAM_PER_THREAD, which is
/// one name for many streams.
bool takesGraphs(const Driver& driver, void* stream);

/// Lives as long as the process: what it has launched may still run.
class Function {
 public:
  Function(const Driver& driver, void* handle) : driver_(driver), handle_(handle) {}
  Function(const Function&) = delete;

  /// Enqueues a launch of the function with one parameter, the structure at `parameters`, which is copied. The context
  /// that the function was loaded into is the current one. Thread-safe.
  absl::Status launch(const LaunchSize& size, void* parameters, void* stream);
  /// The launch as a node of a graph.
  KernelNode nodeOf(const LaunchSize& size, void** parameters) const;

 private:
  /// An instantiated graph of this one kernel.
  struct Graph {
    void *exec = nullptr, *node = nullptr;
    void* stream = nullptr;
    LaunchSize size;
    uint64_t used = 0;  ///< when it was launched last
  };
  Graph* graphFor(const LaunchSize& size, void* stream, void* parameters);
  bool instantiate(Graph& graph, const LaunchSize& size, void* parameters);

  const Driver& driver_;
  void* const handle_;
  std::mutex mutex_;  ///< of all below; absl::Mutex costs a tenth of a launch
  std::array<Graph, 8> graphs_;
  uint64_t launches_ = 0;
  bool plain_ = false;  ///< the driver does not take graphs
};

}  // namespace fw::runtime::cuda
