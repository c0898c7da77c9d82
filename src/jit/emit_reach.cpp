// Distances from the data pointer, in 128 bits: sizes and strides are anything that fits into 64.
#include "jit/emit_reach.h"

#include "runtime/executable.h"

namespace fw::jit {

using kernels::Reach;
using llvm::Value;

namespace {

Value* isOutside(FunctionState& fn, const Reach& reach) {
  llvm::IRBuilder<>& ir = fn.ir();
  const auto wide = [&](Value* v) { return ir.CreateSExt(v, ir.getInt128Ty()); };
  Value *first = wide(fn.sym(reach.offset)), *last = first;
  for (const Reach::Term& t : reach.terms) {
    Value* stride = wide(fn.sym(t.stride));
    Value *atFirst = ir.CreateMul(stride, wide(fn.sym(t.first))), *atLast = ir.CreateMul(stride, wide(fn.sym(t.last)));
    Value* rises = ir.CreateICmpSLE(atFirst, atLast);
    first = ir.CreateAdd(first, ir.CreateSelect(rises, atFirst, atLast));
    last = ir.CreateAdd(last, ir.CreateSelect(rises, atLast, atFirst));
  }
  last = ir.CreateAdd(last, wide(fn.i64(reach.bytes)));
  const auto distance = [&](bool end) {
    Value* limit = ir.CreatePtrToInt(fn.extent(reach.buffer, end), ir.getInt64Ty());
    return wide(ir.CreateSub(limit, ir.CreatePtrToInt(fn.buffer(reach.buffer), ir.getInt64Ty())));
  };
  Value* outside = ir.CreateOr(ir.CreateICmpSLT(first, distance(false)), ir.CreateICmpSGT(last, distance(true)));
  for (graph::SymId span : reach.spans) outside = ir.CreateAnd(outside, ir.CreateICmpSGE(fn.sym(span), fn.i64(0)));
  return outside;
}

}  // namespace

void emitReachChecks(FunctionState& fn, absl::Span<const Reach> reaches) {
  for (const Reach& reach : reaches)
    fn.leaveIf(isOutside(fn, reach), [&] { fn.raise(fn.ir().getTrue(), kStatusOutside | kStatusDecline); });
}

}  // namespace fw::jit
