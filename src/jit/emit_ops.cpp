// Scalar operations: arithmetic, comparisons, integer division, lane-wise calls. Conversions stand in emit_casts.cpp.
//
// No fast-math flag is ever set and nothing is contracted, so every float operation rounds once, as NumPy's does. Two
// things need more than the obvious instruction because of the floating-point flags, which the caller reads as NumPy's
// warnings: (1) ordered comparisons: LLVM selects the signalling predicates, which raise `invalid` on quiet
// NaNs; here the quiet predicates are asked for by intrinsic. (2) minps/maxps raise it too, so MinSecond and MaxSecond
// are a quiet comparison and a blend.
#include "jit/emit_ops.h"

#include "graph/support/check.h"
#include "jit/emit_math.h"
#include "jit/runtime.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"

namespace fw::jit {

using graph::DTypeKind;
using kernels::ScalarOp;
using llvm::ArrayRef;
using llvm::Value;
using llvm::Intrinsic::ID;
namespace Intrinsic = llvm::Intrinsic;

unsigned lanesOf(Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Type* shapedLike(llvm::Type* element, Value* like) {
  const unsigned lanes = lanesOf(like);
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

Value* OpEmitter::opaque(Value* v) {
  llvm::IRBuilder<>& ir = fn_.ir();
  llvm::Type* type = v->getType();
  if (type->isFPOrFPVectorTy()) return ir.CreateIntrinsic(Intrinsic::arithmetic_fence, {type}, {v});
  const unsigned bits = lanesOf(v) * type->getScalarSizeInBits();
  const bool isRegister = bits == 128 || bits == 256 || bits == 512;
  if (lanesOf(v) == 1 || !isRegister) return v;  // no masked instruction has such a result
  llvm::FunctionType* identity = llvm::FunctionType::get(type, {type}, false);
  return ir.CreateCall(identity, llvm::InlineAsm::get(identity, "", "=v,0", /*hasSideEffects=*/false), {v});
}

void OpEmitter::observe(Value* v) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const unsigned bits = v->getType()->getScalarSizeInBits();
  if (bits == 1 || llvm::isa<llvm::Constant>(v)) return;  // raises nothing
  const auto use = [&](Value* part) {
    llvm::FunctionType* sink = llvm::FunctionType::get(ir.getVoidTy(), {part->getType()}, false);
    const char* where = lanesOf(part) > 1 || part->getType()->isFloatingPointTy() ? "v" : "r";
    llvm::CallInst* call = ir.CreateCall(sink, llvm::InlineAsm::get(sink, "", where, /*hasSideEffects=*/true), {part});
    call->setDoesNotThrow();
    call->setOnlyAccessesInaccessibleMemory();
    return part;
  };
  if (lanesOf(v) == 1) {
    use(v);
    return;
  }
  inChunks(chunkLanes(lanesOf(v), bits), {v}, [&](ArrayRef<Value*> parts) { return use(parts[0]); });
}

Value* OpEmitter::constant(DType d, uint64_t bits) {
  llvm::Type* type = fn_.scalarType(d);
  if (d == DType::kF32) {
    const llvm::APInt pattern(32, bits & 0xffffffffu);
    return llvm::ConstantFP::get(type->getContext(), llvm::APFloat(llvm::APFloat::IEEEsingle(), pattern));
  }
  if (d == DType::kF64) {
    return llvm::ConstantFP::get(type->getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  }
  const unsigned width = type->getIntegerBitWidth();
  return llvm::ConstantInt::get(type, llvm::APInt(64, d == DType::kBool ? bits != 0 : bits).zextOrTrunc(width));
}

Value* OpEmitter::emit(const kernels::Expr& expr, DType operandType, ArrayRef<Value*> v) {
  llvm::IRBuilder<>& ir = fn_.ir();
  // Constants that are still here were not folded because the operation raises a flag; LLVM would fold it silently.
  llvm::SmallVector<Value*, 3> unfolded(v.begin(), v.end());
  if (!v.empty() && v[0]->getType()->isFPOrFPVectorTy() &&
      llvm::all_of(v, [](Value* a) { return llvm::isa<llvm::Constant>(a); })) {
    unfolded[0] = opaque(v[0]);
    v = unfolded;
  }
  switch (expr.op) {
    case ScalarOp::kConst:
    case ScalarOp::kParam:
    case ScalarOp::kAxis:
    case ScalarOp::kLoad:
    case ScalarOp::kLoadAt:
    case ScalarOp::kReduceResult:
    case ScalarOp::kRaiseIf: break;  // not functions of operands: the kernel emitter's own
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kSqrt:
    case ScalarOp::kFloor:
    case ScalarOp::kCeil:
    case ScalarOp::kTrunc:
    case ScalarOp::kRint:
    case ScalarOp::kNot:
    case ScalarOp::kIsNan: return unary(expr.op, operandType, v[0]);
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kRem:
    case ScalarOp::kCopySign:
    case ScalarOp::kMinSecond:
    case ScalarOp::kMaxSecond:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kXor:
    case ScalarOp::kShl:
    case ScalarOp::kShrLogical:
    case ScalarOp::kShrArith: return combine(expr.op, operandType, v[0], v[1]);
    case ScalarOp::kEq:
    case ScalarOp::kNe:
    case ScalarOp::kLt:
    case ScalarOp::kLe:
    case ScalarOp::kGt:
    case ScalarOp::kGe: return compare(expr.op, operandType, v[0], v[1]);
    case ScalarOp::kFma: return fma(v[0], v[1], v[2]);
    case ScalarOp::kSelect: {
      // An operation on one of two constants would be folded into both, and raise nothing. One on a choice between a
      // value and the constant that is neutral to it (x / 1) would be done with the value that is not chosen, too.
      // Constants of loops over numbers are fenced themselves.
      Value* picked = ir.CreateSelect(v[0], v[1], v[2]);
      const bool constant = llvm::isa<llvm::Constant>(v[1]) || llvm::isa<llvm::Constant>(v[2]);
      return constant && picked->getType()->isFPOrFPVectorTy() && !fn_.takesLiberties() ? opaque(picked) : picked;
    }
    case ScalarOp::kCast: return cast(operandType, expr.dtype, v[0]);
    case ScalarOp::kBitcast: return ir.CreateBitCast(v[0], shapedLike(fn_.scalarType(expr.dtype), v[0]));
    case ScalarOp::kScaleB: return scaleB(operandType, v[0], v[1]);
    case ScalarOp::kCallLibm: return callPerLane(libmSymbol(expr.imm, expr.dtype), fn_.scalarType(expr.dtype), v);
    case ScalarOp::kCallMath: return callMath(fn_, expr, v);
  }
  FW_UNREACHABLE();
}

Value* OpEmitter::unary(ScalarOp op, DType d, Value* a) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const bool real = graph::isFloat(d);
  if (op == ScalarOp::kNeg) return real ? ir.CreateFNeg(a) : ir.CreateNeg(a);
  if (op == ScalarOp::kNot) return ir.CreateNot(a);
  if (op == ScalarOp::kIsNan) return ir.CreateFCmpUNO(a, a);
  if (op == ScalarOp::kAbs && !real) {
    if (!graph::isSigned(d)) return a;
    return ir.CreateBinaryIntrinsic(Intrinsic::abs, a, ir.getFalse());
  }
  const ID id = op == ScalarOp::kAbs     ? Intrinsic::fabs
                : op == ScalarOp::kSqrt  ? Intrinsic::sqrt
                : op == ScalarOp::kFloor ? Intrinsic::floor
                : op == ScalarOp::kCeil  ? Intrinsic::ceil
                : op == ScalarOp::kTrunc ? Intrinsic::trunc
                                         : Intrinsic::rint;
  return ir.CreateUnaryIntrinsic(id, a);
}

Value* OpEmitter::combine(ScalarOp op, DType d, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const bool real = graph::isFloat(d);
  if (op == ScalarOp::kAdd) return real ? ir.CreateFAdd(a, b) : ir.CreateAdd(a, b);
  if (op == ScalarOp::kSub) return real ? ir.CreateFSub(a, b) : ir.CreateSub(a, b);
  if (op == ScalarOp::kMul) return real ? ir.CreateFMul(a, b) : ir.CreateMul(a, b);
  if (op == ScalarOp::kDiv && real) return ir.CreateFDiv(a, b);
  if (op == ScalarOp::kDiv || op == ScalarOp::kRem) return divide(op, d, a, b);
  if (op == ScalarOp::kCopySign) return ir.CreateBinaryIntrinsic(Intrinsic::copysign, a, b);
  if (op == ScalarOp::kMinSecond || op == ScalarOp::kMaxSecond) return minMax(op, d, a, b);
  if (op == ScalarOp::kAnd) return ir.CreateAnd(a, b);
  if (op == ScalarOp::kOr) return ir.CreateOr(a, b);
  if (op == ScalarOp::kXor) return ir.CreateXor(a, b);
  if (op == ScalarOp::kShl) return shiftLeft(a, b);
  if (op == ScalarOp::kShrLogical) return ir.CreateLShr(a, b);
  FW_CHECK(op == ScalarOp::kShrArith);
  return ir.CreateAShr(a, b);
}

// --- comparisons ---------------------------------------------------------------------------------------------------

Value* OpEmitter::compare(ScalarOp op, DType d, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  if (graph::isFloat(d)) {
    if (op != ScalarOp::kEq && op != ScalarOp::kNe) return quietCompare(op, a, b);
    // LLVM takes x == inf for x >= inf where the target has both: that is loud for NaN.
    const auto hidden = [&](Value* v) { return match(v, llvm::PatternMatch::m_Inf()) ? opaque(v) : v; };
    a = hidden(a);
    b = hidden(b);
    return op == ScalarOp::kEq ? ir.CreateFCmpOEQ(a, b) : ir.CreateFCmpUNE(a, b);
  }
  if (op == ScalarOp::kEq) return ir.CreateICmpEQ(a, b);
  if (op == ScalarOp::kNe) return ir.CreateICmpNE(a, b);
  const bool isSigned = graph::isSigned(d);
  if (op == ScalarOp::kLt) return isSigned ? ir.CreateICmpSLT(a, b) : ir.CreateICmpULT(a, b);
  if (op == ScalarOp::kLe) return isSigned ? ir.CreateICmpSLE(a, b) : ir.CreateICmpULE(a, b);
  if (op == ScalarOp::kGt) return isSigned ? ir.CreateICmpSGT(a, b) : ir.CreateICmpUGT(a, b);
  FW_CHECK(op == ScalarOp::kGe);
  return isSigned ? ir.CreateICmpSGE(a, b) : ir.CreateICmpUGE(a, b);
}

Value* OpEmitter::quietCompare(ScalarOp op, Value* a, Value* b) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  if (fn_.takesLiberties() && lanesOf(a) == 1) return plainCompare(op, a, b);
  if (lanesOf(a) == 1) {
    // A scalar comparison that feeds a select would become cmpltss or minss, which signal. ucomiss does not; a number
    // that is unordered is not above.
    if (op == ScalarOp::kLt || op == ScalarOp::kLe) std::swap(a, b);
    const bool strict = op == ScalarOp::kLt || op == ScalarOp::kGt;
    static constexpr ID kIds[2][2] = {{Intrinsic::x86_sse2_ucomige_sd, Intrinsic::x86_sse2_ucomigt_sd},
                                      {Intrinsic::x86_sse_ucomige_ss, Intrinsic::x86_sse_ucomigt_ss}};
    llvm::IRBuilder<>& ir = fn_.ir();
    const auto low = [&](Value* v) {
      auto* type = llvm::FixedVectorType::get(v->getType(), 128 / bits);
      return ir.CreateInsertElement(llvm::Constant::getNullValue(type), v, uint64_t{0});
    };
    Value* above = ir.CreateIntrinsic(kIds[bits == 32][strict], {low(a), low(b)});
    return ir.CreateICmpNE(above, ir.getInt32(0));
  }
  const unsigned chunk = chunkLanes(lanesOf(a), bits);
  return inChunks(chunk, {a, b}, [&](ArrayRef<Value*> v) { return quietChunk(op, v[0], v[1]); });
}

/// Raises `invalid` where one is no number.
Value* OpEmitter::plainCompare(ScalarOp op, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  if (op == ScalarOp::kLt) return ir.CreateFCmpOLT(a, b);
  if (op == ScalarOp::kLe) return ir.CreateFCmpOLE(a, b);
  return op == ScalarOp::kGt ? ir.CreateFCmpOGT(a, b) : ir.CreateFCmpOGE(a, b);
}

Value* OpEmitter::quietChunk(ScalarOp op, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const unsigned lanes = lanesOf(a);
  const bool single = a->getType()->getScalarType()->isFloatTy();
  const unsigned bits = lanes * (single ? 32 : 64);
  enum : uint32_t { kLtQuiet = 0x11, kLeQuiet = 0x12, kGeQuiet = 0x1d, kGtQuiet = 0x1e };
  const uint32_t predicate = op == ScalarOp::kLt   ? kLtQuiet
                             : op == ScalarOp::kLe ? kLeQuiet
                             : op == ScalarOp::kGt ? kGtQuiet
                                                   : kGeQuiet;
  if (fn_.target().masks) {
    Value* all = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(ir.getInt1Ty(), lanes));
    llvm::SmallVector<Value*, 5> args = {a, b, ir.getInt32(predicate), all};
    if (bits == 512) args.push_back(ir.getInt32(4));  // rounding: as MXCSR says
    static constexpr ID kIds[3][2] = {{Intrinsic::x86_avx512_mask_cmp_pd_128, Intrinsic::x86_avx512_mask_cmp_ps_128},
                                      {Intrinsic::x86_avx512_mask_cmp_pd_256, Intrinsic::x86_avx512_mask_cmp_ps_256},
                                      {Intrinsic::x86_avx512_mask_cmp_pd_512, Intrinsic::x86_avx512_mask_cmp_ps_512}};
    const ID id = kIds[bits / 256][single];
    return ir.CreateIntrinsic(id, args);
  }
  const ID narrow = single ? Intrinsic::x86_sse_cmp_ps : Intrinsic::x86_sse2_cmp_pd;
  const ID wide = single ? Intrinsic::x86_avx_cmp_ps_256 : Intrinsic::x86_avx_cmp_pd_256;
  llvm::Type* integers = llvm::FixedVectorType::get(ir.getIntNTy(single ? 32 : 64), lanes);
  auto truth = [&](Value* mask) {
    return ir.CreateICmpSLT(ir.CreateBitCast(mask, integers), llvm::Constant::getNullValue(integers));
  };
  if (fn_.target().isa == CompileOptions::Isa::kAvx2) {
    return truth(ir.CreateIntrinsic(bits == 256 ? wide : narrow, {a, b, ir.getInt8(predicate)}));
  }
  // SSE has only signalling order predicates: first replace unordered lanes by 0 <op> 0, then take them out again.
  if (op == ScalarOp::kGt || op == ScalarOp::kGe) std::swap(a, b);
  const bool strict = op == ScalarOp::kLt || op == ScalarOp::kGt;
  enum : uint32_t { kLt = 1, kLe = 2, kOrdered = 7 };
  Value* ordered = ir.CreateBitCast(ir.CreateIntrinsic(narrow, {a, b, ir.getInt8(kOrdered)}), integers);
  auto keep = [&](Value* x) {
    return ir.CreateBitCast(ir.CreateAnd(ir.CreateBitCast(x, integers), ordered), a->getType());
  };
  Value* result = ir.CreateIntrinsic(narrow, {keep(a), keep(b), ir.getInt8(strict ? kLt : kLe)});
  return truth(strict ? result : keep(result));
}

Value* OpEmitter::minMax(ScalarOp op, DType d, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const bool min = op == ScalarOp::kMinSecond;
  if (d == DType::kBool) return min ? ir.CreateAnd(a, b) : ir.CreateOr(a, b);
  if (!graph::isFloat(d)) {
    const bool isSigned = graph::isSigned(d);
    const ID id = min ? (isSigned ? Intrinsic::smin : Intrinsic::umin) : (isSigned ? Intrinsic::smax : Intrinsic::umax);
    return ir.CreateBinaryIntrinsic(id, a, b);
  }
  const ScalarOp test = min ? ScalarOp::kLt : ScalarOp::kGt;
  return ir.CreateSelect(quietCompare(test, a, b), a, b);
}

// --- arithmetic without an instruction -----------------------------------------------------------------------------

// (i - 1) % n and (i + 1) % n of a loop around a ring: numbers within b of the answer need no division, which takes ten
// times as long as the comparisons.
Value* OpEmitter::remainderOfNear(Value* a, Value* b) {
  constexpr int64_t kLargest = int64_t{1} << 61;  // so that nothing overflows
  llvm::IRBuilder<>& ir = fn_.ir();
  if (llvm::isa<llvm::Constant>(b)) return ir.CreateSRem(a, b);
  Value* near = ir.CreateSelect(ir.CreateICmpSGE(a, b), ir.CreateSub(a, b), a);
  // -b < near < b
  Value* isIt =
      ir.CreateICmpULT(ir.CreateAdd(near, ir.CreateSub(b, fn_.i64(1))), ir.CreateSub(ir.CreateAdd(b, b), fn_.i64(1)));
  isIt = ir.CreateAnd(isIt, ir.CreateICmpULT(ir.CreateSub(b, fn_.i64(1)), fn_.i64(kLargest)));
  llvm::BasicBlock *before = ir.GetInsertBlock(), *far = fn_.block("far");
  llvm::BasicBlock* behind = llvm::BasicBlock::Create(ir.getContext(), "divided");
  ir.CreateCondBr(isIt, behind, far);
  ir.SetInsertPoint(far);
  Value* divided = ir.CreateSRem(a, b);
  ir.CreateBr(behind);
  fn_.place(behind);
  llvm::PHINode* remainder = ir.CreatePHI(a->getType(), 2);
  remainder->addIncoming(near, before);
  remainder->addIncoming(divided, far);
  return remainder;
}

// Vectors of integers have no division. Quotients of integers of up to 16 (32) bits are exact when an f32 (f64)
// quotient is truncated: the quotient is further from the next integer than the rounding error.
Value* OpEmitter::divide(ScalarOp op, DType d, Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const bool isSigned = graph::isSigned(d);
  const unsigned bits = a->getType()->getScalarSizeInBits();
  const bool byFloat = lanesOf(a) > 1 && (bits <= 16 || (bits == 32 && (isSigned || fn_.target().masks)));
  if (!byFloat) {
    if (op == ScalarOp::kDiv) return isSigned ? ir.CreateSDiv(a, b) : ir.CreateUDiv(a, b);
    return isSigned ? ir.CreateSRem(a, b) : ir.CreateURem(a, b);
  }
  llvm::Type* real = shapedLike(bits <= 16 ? ir.getFloatTy() : ir.getDoubleTy(), a);
  llvm::Type* wide = shapedLike(bits <= 16 || isSigned ? ir.getInt32Ty() : ir.getInt64Ty(), a);
  auto toReal = [&](Value* x) {
    if (bits <= 16) x = isSigned ? ir.CreateSExt(x, wide) : ir.CreateZExt(x, wide);
    return isSigned || bits <= 16 ? ir.CreateSIToFP(x, real) : ir.CreateUIToFP(x, real);
  };
  Value* quotient = ir.CreateFPToSI(ir.CreateFDiv(toReal(a), toReal(b)), wide);
  quotient = ir.CreateTrunc(quotient, a->getType());
  return op == ScalarOp::kDiv ? quotient : ir.CreateSub(a, ir.CreateMul(quotient, b));
}

// SSE has no shift by a count per lane. LLVM multiplies by a power of two made in a float conversion, which
// overflows, with the flag, for the top bit; so the lanes are shifted one by one there.
Value* OpEmitter::shiftLeft(Value* a, Value* b) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const unsigned lanes = lanesOf(a);
  if (lanes == 1 || fn_.target().isa != CompileOptions::Isa::kPortable || llvm::isa<llvm::Constant>(b)) {
    return ir.CreateShl(a, b);
  }
  Value* out = llvm::PoisonValue::get(a->getType());
  for (unsigned i = 0; i < lanes; ++i) {
    Value* shifted = ir.CreateShl(ir.CreateExtractElement(a, i), ir.CreateExtractElement(b, i));
    out = ir.CreateInsertElement(out, shifted, i);
  }
  return out;
}

Value* OpEmitter::fma(Value* a, Value* b, Value* c) {
  if (fn_.target().fma) return fn_.ir().CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c});
  llvm::Type* element = a->getType()->getScalarType();
  return callPerLane(element->isFloatTy() ? kFmaFloat : kFmaDouble, element, {a, b, c});
}

Value* OpEmitter::scaleB(DType d, Value* x, Value* n) {
  llvm::IRBuilder<>& ir = fn_.ir();
  if (!fn_.target().masks || lanesOf(x) == 1) return scaleBInSteps(d, x, n);
  const bool single = d == DType::kF32;
  return inChunks(chunkLanes(lanesOf(x), single ? 32 : 64), {x, n}, [&](ArrayRef<Value*> v) -> Value* {
    const unsigned lanes = lanesOf(v[0]), bits = lanes * (single ? 32 : 64);
    Value* all = ir.getIntN(lanes < 8 ? 8 : lanes, (uint64_t{1} << lanes) - 1);
    llvm::SmallVector<Value*, 5> args = {v[0], v[1], v[0], all};
    if (bits == 512) args.push_back(ir.getInt32(4));
    static constexpr ID kIds[3][2] = {
        {Intrinsic::x86_avx512_mask_scalef_pd_128, Intrinsic::x86_avx512_mask_scalef_ps_128},
        {Intrinsic::x86_avx512_mask_scalef_pd_256, Intrinsic::x86_avx512_mask_scalef_ps_256},
        {Intrinsic::x86_avx512_mask_scalef_pd_512, Intrinsic::x86_avx512_mask_scalef_ps_512}};
    const ID id = kIds[bits / 256][single];
    return ir.CreateIntrinsic(id, args);
  });
}

// x * 2^(n/2) is exact, and the second multiplication rounds, overflows or vanishes once. NaN is x's business.
Value* OpEmitter::scaleBInSteps(DType d, Value* x, Value* n) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const bool single = d == DType::kF32;
  llvm::Type* type = x->getType();
  llvm::Type* integers = shapedLike(ir.getIntNTy(single ? 32 : 64), x);
  auto real = [&](double v) { return llvm::ConstantFP::get(type, v); };
  // The low bits of n + 1.5 * 2^(precision - 1) + bias are the biased exponent.
  const double magic = single ? 0x1.8p23 + 127 : 0x1.8p52 + 1023;
  const auto power = [&](Value* exponent) {
    Value* bits = ir.CreateBitCast(ir.CreateFAdd(exponent, real(magic)), integers);
    return ir.CreateBitCast(ir.CreateShl(bits, single ? 23 : 52), type);
  };
  Value* half = ir.CreateUnaryIntrinsic(Intrinsic::rint, ir.CreateFMul(n, real(0.5)));
  return ir.CreateFMul(ir.CreateFMul(x, power(half)), power(ir.CreateFSub(n, half)));
}

// --- calls and chunks ----------------------------------------------------------------------------------------------

Value* OpEmitter::call(const char* function, llvm::Type* result, ArrayRef<Value*> args) {
  llvm::IRBuilder<>& ir = fn_.ir();
  llvm::SmallVector<llvm::Type*, 3> types;
  for (Value* arg : args) types.push_back(arg->getType());
  llvm::Module* module = ir.GetInsertBlock()->getModule();
  llvm::CallInst* result_call =
      ir.CreateCall(module->getOrInsertFunction(function, llvm::FunctionType::get(result, types, false)), args);
  result_call->setDoesNotThrow();
  result_call->setOnlyAccessesInaccessibleMemory();  // the floating-point flags
  return result_call;
}

Value* OpEmitter::callPerLane(const char* function, llvm::Type* result, ArrayRef<Value*> args) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const unsigned lanes = lanesOf(args[0]);
  if (lanes == 1) return call(function, result, args);
  // Through memory and a loop: one call in the code instead of one per lane.
  llvm::SmallVector<Value*, 3> slots;
  for (Value* arg : args) {
    slots.push_back(fn_.slot(arg->getType(), 1));
    ir.CreateStore(arg, slots.back());
  }
  llvm::Type* vector = llvm::FixedVectorType::get(result, lanes);
  Value* out = fn_.slot(vector, 1);
  fn_.loop(fn_.i64(0), fn_.i64(lanes), 1, {}, [&](Value* lane, const FunctionState::Carried&) {
    llvm::SmallVector<Value*, 3> scalars;
    for (size_t i = 0; i < args.size(); ++i) {
      llvm::Type* element = args[i]->getType()->getScalarType();
      scalars.push_back(ir.CreateLoad(element, ir.CreateInBoundsGEP(element, slots[i], lane)));
    }
    ir.CreateStore(call(function, result, scalars), ir.CreateInBoundsGEP(result, out, lane));
    return FunctionState::Carried{};
  });
  return ir.CreateLoad(vector, out);
}

unsigned OpEmitter::chunkLanes(unsigned lanes, unsigned bits) const {
  const unsigned most = unsigned(fn_.target().vectorBits) / bits, least = 128 / bits;
  return std::clamp(lanes, least, most);
}

Value* OpEmitter::inChunks(unsigned chunk, ArrayRef<Value*> operands, Lanewise f) {
  llvm::IRBuilder<>& ir = fn_.ir();
  const unsigned lanes = lanesOf(operands[0]);
  if (lanes == chunk) return f(operands);
  llvm::SmallVector<int, 64> picks;
  auto cut = [&](unsigned start) {
    picks.clear();
    // Narrow vectors repeat their lanes: filling up with anything else could raise flags.
    for (unsigned i = 0; i < chunk; ++i) picks.push_back(int((start + i) % lanes));
    llvm::SmallVector<Value*, 3> parts;
    for (Value* operand : operands) parts.push_back(ir.CreateShuffleVector(operand, picks));
    return f(parts);
  };
  if (lanes < chunk) {
    Value* wide = cut(0);
    picks.resize(lanes);
    return ir.CreateShuffleVector(wide, picks);
  }
  llvm::SmallVector<Value*, 8> parts;
  for (unsigned start = 0; start < lanes; start += chunk) parts.push_back(cut(start));
  while (parts.size() > 1) {
    picks.clear();
    for (unsigned i = 0; i < 2 * lanesOf(parts[0]); ++i) picks.push_back(int(i));
    for (size_t i = 0; i + 1 < parts.size(); i += 2) {
      parts[i / 2] = ir.CreateShuffleVector(parts[i], parts[i + 1], picks);
    }
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

}  // namespace fw::jit
