// Slices whose bounds array data or the turn of a loop decides; see data_slices.cpp.
#pragma once

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

/// What start:stop:step takes of an axis.
struct SliceOf {
  SymId start, step, size;
};

/// A number that array data decides, or an element of an array of ints.
bool isDataIndex(Trace& trace, Value* index);
/// Of an axis of n elements, by NumPy's rule. The bounds are None, ints, or such numbers; the step is not 0.
SliceOf sliceByData(Trace& trace, SymId n, Value* start, Value* stop, int64_t step);

}  // namespace fw::capture::numpy
