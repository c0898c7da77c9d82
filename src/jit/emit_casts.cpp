// Conversions between element types, as x86 and C compilers for it convert, values out of range included.
//
// Float to an integer narrower than 64 bits goes through the next wider signed conversion and is truncated, which
// is what C compilers emit; those results are only seen where no `invalid` flag was raised.
#include "graph/support/check.h"
#include "jit/emit_ops.h"
#include "jit/runtime.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace fw::jit {

using llvm::Value;

Value* OpEmitter::cast(DType from, DType to, Value* a) {
  llvm::IRBuilder<>& ir = fn_.ir();
  if (from == to) return a;
  llvm::Type* type = shapedLike(fn_.scalarType(to), a);
  const bool fromFloat = graph::isFloat(from), toFloat = graph::isFloat(to);
  if (from == DType::kF16) {
    if (to == DType::kBool) {
      Value* magnitude = ir.CreateAnd(a, llvm::ConstantInt::get(a->getType(), 0x7fff));
      return ir.CreateICmpNE(magnitude, llvm::Constant::getNullValue(a->getType()));
    }
    return cast(DType::kF32, to, halfToFloat(a));
  }
  if (to == DType::kBool) {
    Value* zero = llvm::Constant::getNullValue(a->getType());
    return fromFloat ? ir.CreateFCmpUNE(a, zero) : ir.CreateICmpNE(a, zero);
  }
  if (to == DType::kF16) {
    // Integers reach f16 by way of f32, as in NumPy.
    return fromFloat ? floatToHalf(from, a) : floatToHalf(DType::kF32, cast(from, DType::kF32, a));
  }
  if (fromFloat && toFloat) return to == DType::kF64 ? ir.CreateFPExt(a, type) : ir.CreateFPTrunc(a, type);
  if (fromFloat) return floatToInt(from, to, a);
  if (toFloat) {
    if (from == DType::kBool) a = ir.CreateZExt(a, shapedLike(ir.getInt32Ty(), a));
    Value* converted =
        graph::isSigned(from) || from == DType::kBool ? ir.CreateSIToFP(a, type) : ir.CreateUIToFP(a, type);
    // The code generator knows that integers cancel (x - x is 0) and would go on to fold 1.0 / 0.0, which then raises
    // no flag. Behind the fence it knows nothing; no instruction comes of it.
    return opaque(converted);
  }
  return graph::isSigned(from) ? ir.CreateSExtOrTrunc(a, type) : ir.CreateZExtOrTrunc(a, type);
}

Value* OpEmitter::floatToInt(DType from, DType to, Value* a) {
  llvm::IRBuilder<>& ir = fn_.ir();
  llvm::Type* type = shapedLike(fn_.scalarType(to), a);
  // Out of range is undefined to LLVM's passes, not to the instruction.
  const auto toSigned = [&](Value* v, llvm::Type* integers) -> Value* {
    const unsigned bits = integers->getScalarSizeInBits();
    if (!fn_.isOptimized() || lanesOf(v) > 1 || bits < 32) return ir.CreateFPToSI(v, integers);
    const bool single = v->getType()->isFloatTy();
    static constexpr llvm::Intrinsic::ID kIds[2][2] = {
        {llvm::Intrinsic::x86_sse2_cvttsd2si, llvm::Intrinsic::x86_sse2_cvttsd2si64},
        {llvm::Intrinsic::x86_sse_cvttss2si, llvm::Intrinsic::x86_sse_cvttss2si64}};
    return ir.CreateIntrinsic(kIds[single][bits == 64], {besideZeros(v, single ? 4 : 2)});
  };
  if (to == DType::kI64 || to == DType::kI32) return toSigned(a, type);
  if (to == DType::kU64) {
    // Above the signed range: convert the rest and put the top bit back.
    Value* limit = llvm::ConstantFP::get(a->getType(), 0x1p63);
    Value* big = compare(kernels::ScalarOp::kGe, from, a, limit);
    Value* low = ir.CreateSelect(big, ir.CreateFSub(a, limit), a);
    Value* topBit = llvm::ConstantInt::get(type, uint64_t{1} << 63);
    Value* top = ir.CreateSelect(big, topBit, llvm::Constant::getNullValue(type));
    return ir.CreateXor(toSigned(low, type), top);
  }
  llvm::Type* wide = shapedLike(to == DType::kU32 ? ir.getInt64Ty() : ir.getInt32Ty(), a);
  return ir.CreateTrunc(toSigned(a, wide), type);
}

/// For instructions that convert more lanes than one: what happens to stand in the others must not raise flags.
Value* OpEmitter::besideZeros(Value* number, unsigned lanes) {
  Value* zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(number->getType(), lanes));
  return fn_.ir().CreateInsertElement(zeros, number, uint64_t{0});
}

// The conversions are all that there is of half precision. Operations of f32 next to them are kept apart, or the code
// generator joins the two into an operation on halves (copysign of an extended half), which becomes a call of a library
// function that nobody has.
Value* OpEmitter::halfToFloat(Value* bits) {
  llvm::IRBuilder<>& ir = fn_.ir();
  if (!fn_.target().f16c) {
    return callPerLane(kHalfToFloat, ir.getFloatTy(), {bits});
  }
  Value* half = ir.CreateBitCast(bits, shapedLike(ir.getHalfTy(), bits));
  if (bits->getType()->isVectorTy()) return opaque(ir.CreateFPExt(half, shapedLike(ir.getFloatTy(), bits)));
  Value* four = opaque(ir.CreateFPExt(besideZeros(half, 4), llvm::FixedVectorType::get(ir.getFloatTy(), 4)));
  return ir.CreateExtractElement(four, uint64_t{0});
}

Value* OpEmitter::floatToHalf(DType from, Value* a) {
  llvm::IRBuilder<>& ir = fn_.ir();
  // f64 must not round twice, and the instruction exists for f32 only.
  if (from == DType::kF64) {
    return callPerLane(kDoubleToHalf, ir.getInt16Ty(), {a});
  }
  if (!fn_.target().f16c) {
    return callPerLane(kFloatToHalf, ir.getInt16Ty(), {a});
  }
  if (a->getType()->isVectorTy()) {
    Value* half = ir.CreateFPTrunc(opaque(a), shapedLike(ir.getHalfTy(), a));
    return ir.CreateBitCast(half, shapedLike(ir.getInt16Ty(), a));
  }
  Value* four = ir.CreateFPTrunc(opaque(besideZeros(a, 4)), llvm::FixedVectorType::get(ir.getHalfTy(), 4));
  return ir.CreateBitCast(ir.CreateExtractElement(four, uint64_t{0}), ir.getInt16Ty());
}

}  // namespace fw::jit
