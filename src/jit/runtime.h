// Functions that generated code calls by address.
#pragma once

#include <cstdint>

#include "runtime/context.h"

namespace fw::jit {

float runtimeHalfToFloat(uint16_t bits);
uint16_t runtimeFloatToHalf(float value);
uint16_t runtimeDoubleToHalf(double value);
/// Unless both are one memory.
void runtimeCopy(void* to, const void* from, int64_t bytes);

/// The library call of that number, through the context's host, in an environment of its own: neither sees the
/// floating-point flags of the other. Answers Status bits.
int32_t runtimeCall(runtime::Context* context, int32_t number);

}  // namespace fw::jit
