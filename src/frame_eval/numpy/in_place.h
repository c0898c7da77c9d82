// Functions that change an array: the library changes a copy, which is then stored as any other value is.
#pragma once

#include "frame_eval/numpy/library.h"

namespace fw::capture::numpy {

/// A function that answers a copy of its first argument, an array, which `function` has changed.
cpython::Ref changing(const cpython::Ref& function);

/// array becomes what `function` makes of it, called with the array in front of the other arguments of `what`. Breaks
/// for arrays in another order than C, and where another argument may share memory with it.
void changeBy(Trace& trace, Value* array, cpython::Ref function, LibraryNode what);

}  // namespace fw::capture::numpy
