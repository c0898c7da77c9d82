// The median of a few numbers, as np.median answers it.
#pragma once

#include "runtime/calls.h"

namespace fw::bindings {

/// Writes the median of all numbers of an array: a float of their type, or a float64 of integers. False where np.median
/// is to be asked: NaNs, zeros below zero, sums beyond what a float holds, many numbers.
using DirectMedian = bool(const runtime::CallArray& numbers, void* out);

/// For numbers of this type; null if there is none.
DirectMedian* medianOf(graph::DType type);

}  // namespace fw::bindings
