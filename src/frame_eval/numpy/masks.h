// Selections by boolean masks; see masks.cpp.
#pragma once

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

bool isMask(Trace& trace, Value* index);
/// array[mask].
Value* select(Trace& trace, Value* array, Value* index);
/// left op right, one of which is a selection; in place if `inplace`.
Value* selectionOp(Trace& trace, Op op, bool inplace, Value* left, Value* right);
/// array[mask] = value.
void storeSelected(Trace& trace, Value* array, Value* index, Value* value);
/// op(operands, out=out, where=where).
Value* ufuncWhere(Trace& trace, Op op, std::vector<Value*> operands, Value* where, Value* out);

}  // namespace fw::capture::numpy
