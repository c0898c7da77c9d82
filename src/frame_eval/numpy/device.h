// Arrays of a device (CuPy's): where their library answers something else than NumPy for the same call.
#pragma once

#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// Breaks unless one of the arguments is an array: the library then takes NumPy's functions for its own.
void needsArray(const std::string& name, const CallArgs& args);
/// What the operator ** computes instead of a power where the exponent is a Python number: 2, 0.5, -1.0.
std::optional<ValueId> deviceFastPower(Trace& trace, Value* base, Value* exponent);
/// Breaks where the library computes a ufunc in this type by other rules than those known here.
void checkDeviceLoop(Op op, DType loop);
/// Breaks unless both bounds are given to an array of floats.
void checkDeviceClip(Bound& a);
/// The same of reductions.
void checkDeviceReduction(Op op, DType input);
/// array[items], arrays of integers among them; null for what is left to the library.
Value* gatherOnDevice(Trace& trace, Value* array, const std::vector<Value*>& items);
/// take() by an array, likewise.
Value* takeOnDevice(Bound& a);
/// What the handler of a row has answered, in the memory order that the library gives to it.
Value* orderedOnDevice(Trace& trace, const FunctionInfo& function, Value* result);

}  // namespace fw::capture::numpy
