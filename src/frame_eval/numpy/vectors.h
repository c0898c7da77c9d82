// Functions of vectors that NumPy computes by operations which the graph has.
#pragma once

#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// np.linalg.norm of an array of floats in C order, as NumPy's own code computes it: the root of a dot product where
/// all numbers count, the sum of absolute values or the root of the sum of squares along one axis. Null for other
/// norms.
Value* normBySums(Bound& a);

}  // namespace fw::capture::numpy
