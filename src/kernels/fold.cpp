// Constant folding through evalScalar(), so that folded and computed values cannot differ. Floats are folded only
// where the operation cannot raise invalid, divide, overflow or underflow: operands and result finite, and no result
// that may have been rounded into the subnormal range.
#include "kernels/fold.h"

#include <cmath>
#include <cstring>

#include "graph/support/check.h"
#include "kernels/scalar_eval.h"

namespace fw::kernels {
namespace {

double asDouble(DType d, uint64_t bits) {
  if (d == DType::kF16) return halfToFloat(static_cast<uint16_t>(bits));
  if (d == DType::kF32) {
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
  }
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

/// Smallest magnitude that a rounded result may have without underflow.
double smallestNormal(DType d) { return d == DType::kF16 ? 0x1p-14 : d == DType::kF32 ? 0x1p-126 : 0x1p-1022; }

/// Results of these are exact or keep the sign and size of an operand: no underflow.
bool neverUnderflows(ScalarOp op) {
  return op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kNeg || op == ScalarOp::kAbs ||
         op == ScalarOp::kSqrt || op == ScalarOp::kFloor || op == ScalarOp::kCeil || op == ScalarOp::kTrunc ||
         op == ScalarOp::kRint || op == ScalarOp::kCopySign || op == ScalarOp::kMinSecond || op == ScalarOp::kMaxSecond;
}

bool signBitSet(DType d, uint64_t bits) { return bits >> (8 * graph::itemSize(d) - 1) & 1; }

}  // namespace

std::optional<uint64_t> foldConstant(ScalarOp op, DType operand, DType result, const uint64_t* operands, int count) {
  if (op == ScalarOp::kBitcast) return evalScalar(op, operand, result, operands);
  const bool floatIn = graph::isFloat(operand), floatOut = graph::isFloat(result);
  if (floatIn) {
    bool anyZero = false;
    for (int i = 0; i < count; ++i) {
      const double v = asDouble(operand, operands[i]);
      if (!std::isfinite(v)) return std::nullopt;
      anyZero |= v == 0;
    }
    if (op == ScalarOp::kDiv && asDouble(operand, operands[1]) == 0) return std::nullopt;
    if (op == ScalarOp::kSqrt && asDouble(operand, operands[0]) < 0) return std::nullopt;
    if (op == ScalarOp::kCast && !floatOut) {
      const double v = asDouble(operand, operands[0]);
      if (v < -0x1p31 || v >= 0x1p31 || (v < 0 && !graph::isSigned(result))) return std::nullopt;
    }
    const uint64_t bits = evalScalar(op, operand, result, operands);
    if (!floatOut) return bits;
    const double r = asDouble(result, bits);
    if (!std::isfinite(r)) return std::nullopt;
    if (std::fabs(r) < smallestNormal(result) && !neverUnderflows(op) && !anyZero) return std::nullopt;
    return bits;
  }
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kRem;
  const bool shifts = op == ScalarOp::kShl || op == ScalarOp::kShrLogical || op == ScalarOp::kShrArith;
  if (divides && operands[1] == 0) return std::nullopt;
  if (divides && graph::isSigned(operand) && signBitSet(operand, operands[1])) return std::nullopt;  // may overflow
  if (shifts && operands[1] >= static_cast<uint64_t>(8 * graph::itemSize(operand))) return std::nullopt;
  return evalScalar(op, operand, result, operands);
}

Identity identityOf(ScalarOp op) {
  if (op == ScalarOp::kAdd || op == ScalarOp::kXor) return Identity::kZero;
  if (op == ScalarOp::kSub || op == ScalarOp::kShl || op == ScalarOp::kShrLogical || op == ScalarOp::kShrArith)
    return Identity::kZeroRight;
  if (op == ScalarOp::kMul) return Identity::kOne;
  if (op == ScalarOp::kDiv) return Identity::kOneRight;
  if (op == ScalarOp::kAnd) return Identity::kOnes;
  if (op == ScalarOp::kOr) return Identity::kZeroOr;
  return Identity::kNone;
}

}  // namespace fw::kernels
