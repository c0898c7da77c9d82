// Scalar operations of the kernel IR as LLVM IR, on scalars or vectors alike.
#pragma once

#include "jit/emit_function.h"
#include "kernels/kernel.h"

namespace fw::jit {

class OpEmitter {
 public:
  explicit OpEmitter(FunctionState& fn) : fn_(fn) {}

  /// Any operation that computes from operands alone. Operands are scalars or vectors of one lane count; `operandType`
  /// is the type of operand 0 (of operand 1 for Select).
  llvm::Value* emit(const kernels::Expr& expr, DType operandType, llvm::ArrayRef<llvm::Value*> operands);
  /// `v`, of which the code generator does not see any more what it is computed by. No instruction comes of it.
  llvm::Value* opaque(llvm::Value* v);
  /// Computes `v` whatever becomes of it: LLVM takes operations for free of effects and drops those that nobody needs,
  /// with the flags that they raise. No instruction comes of it.
  void observe(llvm::Value* v);
  llvm::Value* constant(DType d, uint64_t bits);
  /// a % b of i64 as in C, sooner where it is within b of a.
  llvm::Value* remainderOfNear(llvm::Value* a, llvm::Value* b);
  llvm::Value* combine(kernels::ScalarOp op, DType d, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(kernels::ScalarOp op, DType d, llvm::Value* a, llvm::Value* b);

 private:
  using Lanewise = llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)>;

  llvm::Value* unary(kernels::ScalarOp op, DType d, llvm::Value* a);
  llvm::Value* quietCompare(kernels::ScalarOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* plainCompare(kernels::ScalarOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* quietChunk(kernels::ScalarOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* minMax(kernels::ScalarOp op, DType d, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(kernels::ScalarOp op, DType d, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(DType from, DType to, llvm::Value* a);
  llvm::Value* floatToInt(DType from, DType to, llvm::Value* a);
  llvm::Value* halfToFloat(llvm::Value* bits);
  llvm::Value* besideZeros(llvm::Value* number, unsigned lanes);
  llvm::Value* floatToHalf(DType from, llvm::Value* a);
  llvm::Value* scaleB(DType d, llvm::Value* x, llvm::Value* n);
  llvm::Value* scaleBInSteps(DType d, llvm::Value* x, llvm::Value* n);
  llvm::Value* shiftLeft(llvm::Value* a, llvm::Value* b);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);

  llvm::Value* call(const char* function, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
  llvm::Value* callPerLane(const char* function, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);
  /// Applies `f` to vectors of exactly `chunk` lanes: wider operands are cut, narrower ones repeated.
  llvm::Value* inChunks(unsigned chunk, llvm::ArrayRef<llvm::Value*> operands, Lanewise f);
  /// Lanes of one operation on elements of `bits` bits, for operands of `lanes` lanes.
  unsigned chunkLanes(unsigned lanes, unsigned bits) const;

  FunctionState& fn_;
};

/// 1 for scalars.
unsigned lanesOf(llvm::Value* value);
/// `element` with the lane count of `like`.
llvm::Type* shapedLike(llvm::Type* element, llvm::Value* like);

}  // namespace fw::jit
