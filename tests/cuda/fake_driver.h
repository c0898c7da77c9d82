// A CUDA driver that notes what is asked of it. Memory is the host's. Kernels do nothing, unless they were compiled for
// the host (emulate()).
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/driver.h"

namespace fw::testing {

struct FakeLaunch {
  std::string function;
  unsigned gridX, gridY, blockX, blockY;
  void* stream;
};

/// What has happened since reset(). One for the process: the driver's functions carry no state of their own.
struct FakeEvents {
  std::vector<FakeLaunch> launches;
  std::vector<std::string> calls;  ///< "copy 128", "read 1", "synchronize", "allocate 4096" ...
  int failAt = -1;                 ///< the launch with this number fails
  int graphLaunches = 0;           ///< those of the launches that were of graphs
  int chainLaunches = 0;           ///< launches of graphs of several kernels
  int capturing = 0;               ///< every stream is being captured
  bool refusesGraphs = false;
};
FakeEvents& fakeEvents();
const runtime::cuda::Driver& fakeDriver();

/// A compiler of sources (jit::cuda::Compiler) for the host, by the C++ compiler of this machine and emulation.h, which
/// lies in `folder`. The driver runs what it answers.
absl::StatusOr<std::string> emulate(const std::string& source, const std::string& folder);

}  // namespace fw::testing
