// Constant folding of scalar operations.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernel.h"

namespace fw::kernels {

/// Result of `op` on constants, or nullopt where evaluation must be left to the run: operations that would raise a
/// floating-point flag that NumPy reports, and integer divisions or shifts outside of their domain.
std::optional<uint64_t> foldConstant(ScalarOp op, DType operand, DType result, const uint64_t* operands, int count);

/// Which constant operand of an integer operation makes it trivial.
enum class Identity : uint8_t {
  kNone,
  kZero,       ///< x + 0, 0 + x, x ^ 0
  kZeroRight,  ///< x - 0, shifts
  kOne,        ///< x * 1, and 0 absorbs
  kOneRight,   ///< x / 1
  kOnes,       ///< x & ~0, and 0 absorbs
  kZeroOr,     ///< x | 0, and ~0 absorbs
};
Identity identityOf(ScalarOp op);

}  // namespace fw::kernels
