// Selections by boolean masks; see masks.cpp.
#pragma once

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

bool isMask(Trace& trace, Value* index);
/// array[mask].
Value* select(Trace& trace, Value* array, Value* index);
/// What NumPy selects from the array `node` by `mask`: an array of its own, whose size is decided then.
ValueId selectByMask(Trace& trace, ValueId node, ValueId mask);
/// array[index], where arrays of ints, masks, or lists of ints are among the indices; null where there are none.
Value* gather(Trace& trace, Value* array, Value* index);
/// A list of ints that are known.
bool isIntList(Trace& trace, Value* item);
/// array[index] = value by NumPy itself, for any index of arrays.
void assignThrough(Trace& trace, Value* array, Value* index, Value* value);
/// The same where arrays of ints or masks are among the indices, and enough is stored; false if there are none.
bool scatter(Trace& trace, Value* array, Value* index, Value* value);
/// The ufunc of a binary operator, or that of its fast path.
ValueId operatorNode(Trace& trace, Op op, Value* left, Value* right);
/// left op right, one of which is a selection; in place if `inplace`. Null if they have to be settled first.
Value* selectionOp(Trace& trace, Op op, bool inplace, Value* left, Value* right);
/// array[mask] = value.
void storeSelected(Trace& trace, Value* array, Value* index, Value* value);
/// op(operands, out=out, where=where).
Value* ufuncWhere(Trace& trace, Op op, std::vector<Value*> operands, Value* where, Value* out);

}  // namespace fw::capture::numpy
