// Products of small matrices and vectors of known sizes, computed by the graph with the bits that NumPy's product has.
#pragma once

#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// The largest size of an axis that is taken for small.
inline constexpr int64_t kSmallProduct = 16;

/// left @ right as operations of the graph, for operands of rank 1 and 2 that fit together. Null if it has to be a
/// call of `function`, NumPy's product: sizes that are large or must stay symbols, types and layouts whose order of
/// sums is not known here. May guard sizes.
Value* smallProduct(Trace& trace, PyObject* function, ValueId left, ValueId right);

}  // namespace fw::capture::numpy
