// A CUDA driver that does nothing but note what is asked of it. Memory is the host's.
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
};
FakeEvents& fakeEvents();
const runtime::cuda::Driver& fakeDriver();

}  // namespace fw::testing
