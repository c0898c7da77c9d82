// Medians and quantiles of a few numbers, as np.median and np.quantile answer them.
#pragma once

#include "runtime/calls.h"

namespace fw::bindings {

/// Writes the median of all numbers of an array: a float of their type, or a float64 of integers. False where np.median
/// is to be asked: NaNs, zeros below zero, sums beyond what a float holds, many numbers.
using DirectMedian = bool(const runtime::CallArray& numbers, void* out);

/// For numbers of this type; null if there is none.
DirectMedian* medianOf(graph::DType type);

/// The same of the quantile at `place`, in [0, 1], of float64, as method "linear" has it.
bool quantile(const runtime::CallArray& numbers, double place, void* out);

}  // namespace fw::bindings
