// One scalar operation on concrete bits: what every ScalarOp means. Used by the interpreter and for constant folding.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace fw::kernels {

/// Result bits (zero-extended) of `op` on operands of type `operand` giving `result`. Leaves (const, param, axis, load,
/// reduced), libm and raise_if are not operations and FW_CHECK.
///
/// Casts of floats to integers convert as x86 does: to i32, i16, i8, u16 and u8 by cvttss2si/cvttsd2si with a 32-bit
/// result (0x80000000 and the invalid flag out of range), then truncated; to i64 and u32 with a 64-bit result
/// (0x8000000000000000 out of range), truncated for u32; to u64 as i64 below 2^63 (and for NaN), otherwise
/// cvtt(x - 2^63) with the top bit flipped.
uint64_t evalScalar(ScalarOp op, DType operand, DType result, const uint64_t* operands);

/// C library function `function` (index into libm.def) on operands of type d (f32 or f64).
uint64_t evalLibm(uint64_t function, DType d, const uint64_t* operands, int count);

float halfToFloat(uint16_t h);
uint16_t floatToHalf(float f);  ///< half to even

}  // namespace fw::kernels
