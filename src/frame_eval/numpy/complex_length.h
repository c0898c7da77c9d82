// The length of complex numbers: np.absolute and abs().
#pragma once

#include "frame_eval/trace.h"

namespace fw::capture::numpy {

/// Refuses `node`, what the ufunc absolute answers, where NumPy does not take the formula that kernels take: complex
/// numbers of no axes go through the loop of arrays, some arrays with negative strides through that of scalars.
void checkComplexLength(Trace& trace, graph::ValueId node);

}  // namespace fw::capture::numpy
