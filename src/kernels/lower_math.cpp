// Transcendental functions and power: the vector mathematics of math.h on real types. Complex ones are refused.
#include "graph/support/check.h"
#include "kernels/lower_ops.h"
#include "kernels/math.h"

namespace fw::kernels {
namespace {

using Values = absl::Span<const Value>;

absl::StatusOr<Value> unary(Lowering& l, Values v, Val (*f)(KernelBuilder&, Val)) {
  if (!graph::isFloat(v[0].dtype)) return absl::UnimplementedError("transcendental function of this type");
  return Value{v[0].dtype, f(l.b, v[0].re), {}};
}

absl::StatusOr<Value> binary(Lowering& l, Values v, Val (*f)(KernelBuilder&, Val, Val)) {
  if (!graph::isFloat(v[0].dtype)) return absl::UnimplementedError("transcendental function of this type");
  return Value{v[0].dtype, f(l.b, v[0].re, v[1].re), {}};
}

/// base ** exponent modulo 2^bits, by squaring. A constant exponent gives a short chain of multiplications, any
/// other one step per bit of the type, straight-line so that it vectorises.
Val integerPower(KernelBuilder& b, Val base, Val exponent) {
  const DType d = base.dtype;
  const int bits = 8 * graph::itemSize(d);
  const bool isSigned = graph::isSigned(d);
  if (isSigned) b.raiseIf(b.op(ScalarOp::kLt, exponent, b.constantInt(d, 0)), kDecline);
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
  return result;
}

}  // namespace

absl::StatusOr<Value> lowerCbrt(Lowering& l, Values v) { return unary(l, v, math::cbrt); }
absl::StatusOr<Value> lowerExp(Lowering& l, Values v) { return unary(l, v, math::exp); }
absl::StatusOr<Value> lowerExp2(Lowering& l, Values v) { return unary(l, v, math::exp2); }
absl::StatusOr<Value> lowerExpm1(Lowering& l, Values v) { return unary(l, v, math::expm1); }
absl::StatusOr<Value> lowerLog(Lowering& l, Values v) { return unary(l, v, math::log); }
absl::StatusOr<Value> lowerLog2(Lowering& l, Values v) { return unary(l, v, math::log2); }
absl::StatusOr<Value> lowerLog10(Lowering& l, Values v) { return unary(l, v, math::log10); }
absl::StatusOr<Value> lowerLog1p(Lowering& l, Values v) { return unary(l, v, math::log1p); }
absl::StatusOr<Value> lowerSin(Lowering& l, Values v) { return unary(l, v, math::sin); }
absl::StatusOr<Value> lowerCos(Lowering& l, Values v) { return unary(l, v, math::cos); }
absl::StatusOr<Value> lowerTan(Lowering& l, Values v) { return unary(l, v, math::tan); }
absl::StatusOr<Value> lowerArcsin(Lowering& l, Values v) { return unary(l, v, math::asin); }
absl::StatusOr<Value> lowerArccos(Lowering& l, Values v) { return unary(l, v, math::acos); }
absl::StatusOr<Value> lowerArctan(Lowering& l, Values v) { return unary(l, v, math::atan); }
absl::StatusOr<Value> lowerArctan2(Lowering& l, Values v) { return binary(l, v, math::atan2); }
absl::StatusOr<Value> lowerSinh(Lowering& l, Values v) { return unary(l, v, math::sinh); }
absl::StatusOr<Value> lowerCosh(Lowering& l, Values v) { return unary(l, v, math::cosh); }
absl::StatusOr<Value> lowerTanh(Lowering& l, Values v) { return unary(l, v, math::tanh); }
absl::StatusOr<Value> lowerHypot(Lowering& l, Values v) { return binary(l, v, math::hypot); }

absl::StatusOr<Value> lowerPower(Lowering& l, Values v) {
  if (graph::isInteger(v[0].dtype)) return Value{v[0].dtype, integerPower(l.b, v[0].re, v[1].re), {}};
  return binary(l, v, math::pow);
}

}  // namespace fw::kernels
