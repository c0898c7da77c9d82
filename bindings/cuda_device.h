// The devices of this process, for code on arrays of CuPy: the driver and NVRTC, opened when such an array is first
// met.
#pragma once

#include <Python.h>

#include <string>

#include "absl/status/statusor.h"
#include "jit/cuda/device.h"

namespace fw::bindings {

/// Why there is no code for CUDA in this process, as the end of a sentence about an array; "" if there is. The first
/// call opens the driver and NVRTC. Needs the GIL.
const std::string& cudaRefusal();

/// The device of this number, which is the current one. kUnavailable says why not. Needs the GIL; lives for ever.
absl::StatusOr<jit::cuda::Device*> cudaDevice(int number);

/// The device that is current in this thread; -1 if there is none.
int currentDevice();
/// Whether that device is the current one of this thread; binds its context if none is.
bool isCurrentDevice(int number);

}  // namespace fw::bindings
