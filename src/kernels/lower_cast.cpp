// Conversions between all element types as NumPy's casts do them on x86-64.
#include "graph/support/check.h"
#include "kernels/lower_ops.h"

namespace fw::kernels {
namespace {

/// f64 to f16 with one rounding, through f32: the bits below the last one of f32 are gathered into it (rounding to
/// odd), so that the rounding from f32 sees on which side of a tie the number lies. Exact for everything that does
/// not vanish in f16: smaller numbers keep a sticky bit far below.
Val doubleToHalf(KernelBuilder& b, Val x) {
  const Val bits = b.bitcast(x, DType::kU64);
  const uint64_t dropped = (uint64_t{1} << 29) - 1;
  const Val rest = b.op(ScalarOp::kAnd, bits, b.constantBits(DType::kU64, dropped));
  const Val kept = b.op(ScalarOp::kAnd, bits, b.constantBits(DType::kU64, ~dropped));
  const Val any = b.op(ScalarOp::kNe, rest, b.constantBits(DType::kU64, 0));
  const Val odd = b.op(ScalarOp::kOr, kept, b.constantBits(DType::kU64, dropped + 1));
  const Val finiteOdd = b.bitcast(b.select(any, odd, kept), DType::kF64);
  // A NaN stays as it is (its kept bits might be those of an infinity). Numbers beyond f32's range become infinities
  // in f16.
  const Val limit = b.constant(DType::kF64, 131072);
  const Val magnitude = b.op(ScalarOp::kMinSecond, b.op(ScalarOp::kAbs, finiteOdd), limit);
  const Val huge = b.op(ScalarOp::kGt, b.op(ScalarOp::kAbs, x), limit);
  const Val infinite = b.op(ScalarOp::kEq, b.op(ScalarOp::kAbs, x), b.constantBits(DType::kF64, 0x7ff0000000000000u));
  const Val clamped = b.select(b.op(ScalarOp::kAnd, huge, b.op(ScalarOp::kNot, infinite)),
                               b.op(ScalarOp::kCopySign, magnitude, x), finiteOdd);
  const Val safe = b.select(b.op(ScalarOp::kIsNan, x), x, clamped);
  return b.cast(b.cast(safe, DType::kF32), DType::kF16);
}

/// Float to u32: NumPy's vector loops and its scalar tail agree from -2^31 up to 2^32 only.
void declineUnlessU32(KernelBuilder& b, Val x) {
  const double below = x.dtype == DType::kF32 ? -0x1.000002p31 : -0x1.00000002p31;  // next number down
  const Val low = b.op(ScalarOp::kGt, x, b.constant(x.dtype, below));
  const Val high = b.op(ScalarOp::kLt, x, b.constant(x.dtype, 0x1p32));
  b.raiseIf(b.op(ScalarOp::kNot, b.op(ScalarOp::kAnd, low, high)), kDecline);
}

Val castReal(KernelBuilder& b, Val x, DType to) {
  if (x.dtype == to) return x;
  if (b.numbers() == Numbers::kNumPy && to == DType::kU32 && (x.dtype == DType::kF32 || x.dtype == DType::kF64))
    declineUnlessU32(b, x);
  if (x.dtype == DType::kF16) return castReal(b, b.cast(x, DType::kF32), to);
  if (to == DType::kF16) {
    if (x.dtype == DType::kF64) return doubleToHalf(b, x);
    return b.cast(b.cast(x, DType::kF32), DType::kF16);
  }
  return b.cast(x, to);
}

}  // namespace

Value castValue(KernelBuilder& b, const Value& v, DType to) {
  if (v.dtype == to) return v;
  if (to == DType::kBool) return {to, truth(b, v), {}};
  if (!graph::isComplex(to)) return {to, castReal(b, v.re, to), {}};
  const DType part = graph::realOf(to);
  return {to, castReal(b, v.re, part), v.isComplex() ? castReal(b, v.im, part) : b.constantBits(part, 0)};
}

absl::StatusOr<Value> lowerCast(Lowering& l, absl::Span<const Value> v) { return castValue(l.b, v[0], l.result); }

absl::StatusOr<Value> lowerCopy(Lowering&, absl::Span<const Value> v) { return v[0]; }

}  // namespace fw::kernels
