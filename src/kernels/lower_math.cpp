// Transcendental functions and power: the vector mathematics of math.h on real types. Complex ones are refused.
#include <bit>
#include <optional>

#include "graph/support/check.h"
#include "kernels/lower_ops.h"
#include "kernels/math.h"
#include "kernels/math_calls.h"

namespace fw::kernels {
namespace {

using Values = absl::Span<const Value>;

absl::StatusOr<Value> function(Lowering& l, Values v, Libm f) {
  const DType d = v[0].dtype;
  if (!graph::isFloat(d)) return absl::UnimplementedError("transcendental function of this type");
  absl::InlinedVector<Val, 2> operands;
  for (const Value& operand : v) operands.push_back(operand.re);
  return Value{d, l.cupy() ? l.b.libm(f, d, operands) : math::apply(l.b, f, operands), {}};
}

std::optional<double> constantReal(const KernelBuilder& b, Val v) {
  const std::optional<uint64_t> bits = b.asConstant(v);
  if (!bits || !graph::isFloat(v.dtype)) return std::nullopt;
  return v.dtype == DType::kF32 ? std::bit_cast<float>(static_cast<uint32_t>(*bits)) : std::bit_cast<double>(*bits);
}

/// base ** exponent modulo 2^bits, by squaring. A constant exponent gives a short chain of multiplications, any
/// other one step per bit of the type, straight-line so that it vectorises.
Val integerPower(KernelBuilder& b, Val base, Val exponent) {
  const DType d = base.dtype;
  const int bits = 8 * graph::itemSize(d);
  const bool isSigned = graph::isSigned(d);
  const Val given = base, whole = exponent;
  if (isSigned && b.numbers() == Numbers::kNumPy)
    b.raiseIf(b.op(ScalarOp::kLt, exponent, b.constantInt(d, 0)), kDecline);
  Val result = b.constantInt(d, 1);
  const auto known = b.asConstant(exponent);
  for (int i = 0; i < bits - (isSigned ? 1 : 0); ++i) {
    if (known && (*known >> i) == 0) break;
    const Val product = b.op(ScalarOp::kMul, result, base);
    if (known) {
      if (*known >> i & 1) result = product;
    } else {
      const Val bit = b.op(ScalarOp::kAnd, exponent, b.constantBits(d, uint64_t{1} << i));
      result = b.select(b.op(ScalarOp::kNe, bit, b.constantInt(d, 0)), product, result);
    }
    base = b.op(ScalarOp::kMul, base, base);
  }
  if (!isSigned || b.numbers() == Numbers::kNumPy) return result;
  // CuPy answers the integer part of a negative power.
  const Val one = b.constantInt(d, 1), zero = b.constantInt(d, 0), minusOne = b.constantInt(d, -1);
  const Val odd = b.op(ScalarOp::kNe, b.op(ScalarOp::kAnd, whole, one), zero);
  const Val ofOne = b.select(b.op(ScalarOp::kEq, given, one), one, zero);
  const Val part = b.select(b.op(ScalarOp::kEq, given, minusOne), b.select(odd, minusOne, one), ofOne);
  return b.select(b.op(ScalarOp::kLt, whole, zero), part, result);
}

}  // namespace

absl::StatusOr<Value> lowerErf(Lowering& l, Values v) { return function(l, v, Libm::kErf); }
absl::StatusOr<Value> lowerErfc(Lowering& l, Values v) { return function(l, v, Libm::kErfc); }
absl::StatusOr<Value> lowerCbrt(Lowering& l, Values v) { return function(l, v, Libm::kCbrt); }
absl::StatusOr<Value> lowerExp(Lowering& l, Values v) { return function(l, v, Libm::kExp); }
absl::StatusOr<Value> lowerExp2(Lowering& l, Values v) {
  if (l.cupy() && graph::isFloat(v[0].dtype))
    return Value{v[0].dtype, l.b.libm(Libm::kPow, v[0].dtype, {l.b.constant(v[0].dtype, 2), v[0].re}), {}};
  return function(l, v, Libm::kExp2);
}
absl::StatusOr<Value> lowerExpm1(Lowering& l, Values v) { return function(l, v, Libm::kExpm1); }
absl::StatusOr<Value> lowerLog(Lowering& l, Values v) { return function(l, v, Libm::kLog); }
absl::StatusOr<Value> lowerLog2(Lowering& l, Values v) { return function(l, v, Libm::kLog2); }
absl::StatusOr<Value> lowerLog10(Lowering& l, Values v) { return function(l, v, Libm::kLog10); }
absl::StatusOr<Value> lowerLog1p(Lowering& l, Values v) { return function(l, v, Libm::kLog1p); }
absl::StatusOr<Value> lowerSin(Lowering& l, Values v) { return function(l, v, Libm::kSin); }
absl::StatusOr<Value> lowerCos(Lowering& l, Values v) { return function(l, v, Libm::kCos); }
absl::StatusOr<Value> lowerTan(Lowering& l, Values v) { return function(l, v, Libm::kTan); }
absl::StatusOr<Value> lowerArcsin(Lowering& l, Values v) { return function(l, v, Libm::kAsin); }
absl::StatusOr<Value> lowerArccos(Lowering& l, Values v) { return function(l, v, Libm::kAcos); }
absl::StatusOr<Value> lowerArctan(Lowering& l, Values v) { return function(l, v, Libm::kAtan); }
absl::StatusOr<Value> lowerArctan2(Lowering& l, Values v) { return function(l, v, Libm::kAtan2); }
absl::StatusOr<Value> lowerSinh(Lowering& l, Values v) { return function(l, v, Libm::kSinh); }
absl::StatusOr<Value> lowerCosh(Lowering& l, Values v) { return function(l, v, Libm::kCosh); }
absl::StatusOr<Value> lowerTanh(Lowering& l, Values v) { return function(l, v, Libm::kTanh); }
absl::StatusOr<Value> lowerHypot(Lowering& l, Values v) { return function(l, v, Libm::kHypot); }

absl::StatusOr<Value> lowerPower(Lowering& l, Values v) {
  if (graph::isInteger(v[0].dtype)) return Value{v[0].dtype, integerPower(l.b, v[0].re, v[1].re), {}};
  if (const std::optional<double> exponent = constantReal(l.b, v[1].re);
      exponent && !l.cupy() && graph::isFloat(v[0].dtype) && math::isSmallPower(*exponent))
    return Value{v[0].dtype, math::power(l.b, v[0].re, *exponent), {}};
  return function(l, v, Libm::kPow);
}

}  // namespace fw::kernels
