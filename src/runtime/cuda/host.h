// What executables of CUDA ask of their surroundings: the host of their Context is one of these.
#pragma once

#include "runtime/host.h"

namespace fw::runtime::cuda {

/// allocate() answers memory of the device that may be used by what is launched on the stream from now on; what is
/// released stays valid for all that has been launched before.
class Host : public runtime::Host {
 public:
  /// A CUstream.
  virtual void* stream() = 0;
};

}  // namespace fw::runtime::cuda
