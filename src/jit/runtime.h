// Functions that generated code calls by address.
#pragma once

#include <cstdint>

namespace fw::jit {

float runtimeHalfToFloat(uint16_t bits);
uint16_t runtimeFloatToHalf(float value);
uint16_t runtimeDoubleToHalf(double value);
/// Unless both are one memory.
void runtimeCopy(void* to, const void* from, int64_t bytes);

}  // namespace fw::jit
