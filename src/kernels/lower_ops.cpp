// Dispatch from op rows to their lowerings, and what is common to all: f16 operands are widened to f32 and the
// result is rounded back, after every single operation, as NumPy's half loops do.
#include "kernels/lower_ops.h"

#include "graph/op.h"
#include "graph/support/check.h"

namespace fw::kernels {
namespace {

LowerFn* const kLowerings[] = {
#define FW_OP(Id, text, arity, cls, loops, result, numpy, cpu, contract, raises, cost) &lower##cpu,
#include "graph/ops/all.def"
};

/// These take f16 as it is: they move bits or convert.
bool takesHalf(graph::Op op) { return op == graph::Op::kCast || op == graph::Op::kCopy || op == graph::Op::kWhere; }

}  // namespace

absl::StatusOr<Value> lowerOp(KernelBuilder& b, graph::Op op, DType result, absl::Span<const Value> operands,
                              bool scalar) {
  Lowering l{b, result, false, scalar};
  LowerFn* lower = kLowerings[static_cast<int>(op)];
  absl::InlinedVector<Value, 3> widened(operands.begin(), operands.end());
  if (!takesHalf(op)) {
    for (Value& v : widened) {
      if (v.dtype != DType::kF16) continue;
      v = Value{DType::kF32, b.cast(v.re, DType::kF32), {}};
      l.half = true;
    }
    if (l.half && result == DType::kF16) l.result = DType::kF32;
  }
  absl::StatusOr<Value> v = lower(l, widened);
  if (!v.ok()) return v;
  FW_CHECK_MSG(v->dtype == l.result,
               "lowering of " + std::string(graph::info(op).text) + " answers " + std::string(graph::name(v->dtype)));
  if (l.result != result) return Value{DType::kF16, b.cast(v->re, DType::kF16), {}};
  return v;
}

absl::StatusOr<Value> lowerDecompose(Lowering&, absl::Span<const Value>) {
  return absl::InternalError("operation should have been decomposed before kernels are built");
}

absl::StatusOr<Value> lowerStructural(Lowering&, absl::Span<const Value>) {
  return absl::InternalError("structural operation inside of a kernel");
}

Val constantOf(KernelBuilder& b, DType d, double v) {
  return d == DType::kF16 ? b.cast(b.constant(DType::kF32, v), DType::kF16) : b.constant(d, v);
}

Val isZero(KernelBuilder& b, Val v) { return b.op(ScalarOp::kEq, v, b.constantBits(v.dtype, 0)); }

Value constantValue(KernelBuilder& b, const graph::Scalar& scalar) {
  const DType part = graph::realOf(scalar.dtype);
  switch (scalar.dtype) {
    case DType::kC64:
      return {scalar.dtype, b.constantBits(part, scalar.lo & 0xffffffff), b.constantBits(part, scalar.lo >> 32)};
    case DType::kC128: return {scalar.dtype, b.constantBits(part, scalar.lo), b.constantBits(part, scalar.hi)};
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kU64:
    case DType::kF16:
    case DType::kF32:
    case DType::kF64: return {scalar.dtype, b.constantBits(part, scalar.lo), {}};
  }
  FW_UNREACHABLE();
}

}  // namespace fw::kernels
