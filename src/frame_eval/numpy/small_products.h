// Products of small matrices and vectors of known sizes, computed by the graph with the bits that NumPy's product has.
#pragma once

#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// The largest size of an axis that is taken for small.
inline constexpr int64_t kSmallProduct = 16;
/// The same of matrices in a stack, whose products NumPy has to ask for one by one.
inline constexpr int64_t kSmallInStack = 8;
/// Many points, or colours, times a small matrix: sizes of the other axes, and the most points.
inline constexpr int64_t kShortBesideLong = 4, kLongProduct = 200'000;

/// left @ right of that shape as operations of the graph; more than two axes are stacks of matrices. Null if it has to
/// be a call of `function`, NumPy's product: sizes that are large or must stay symbols, types and layouts whose order
/// of sums is not known here. May guard sizes.
Value* smallProduct(Trace& trace, PyObject* function, ValueId left, ValueId right, SymShape shape);

}  // namespace fw::capture::numpy
