// Calls of NumPy's own functions in the graph.
#pragma once

#include <string>
#include <vector>

#include "frame_eval/library_call.h"
#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// Adds a call of the function that was called, with the arguments it was given. Answers a node for each result.
/// Breaks where an argument is neither data of the graph nor a constant.
std::vector<ValueId> libraryCall(Bound& a, std::vector<ValueType> results, bool tuple = false);
/// The same for one result, an array or, if its rank is 0, a NumPy scalar.
Value* libraryValue(Bound& a, ValueType result);
/// The same of a function that moves, compares or counts, so that it has nothing to report of floating-point numbers.
Value* quietValue(Bound& a, ValueType result);
/// A packed array in C order.
ValueType freshType(DType dtype, SymShape shape);

}  // namespace fw::capture::numpy
