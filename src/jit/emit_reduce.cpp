// Reductions whose order is free or sequential; pairwise sums stand in emit_pairwise.cpp.
//
// Free order: several vector accumulators side by side, so that the latency of one operation does not bound the loop; a
// masked or scalar tail; then one fold across lanes. Sequential: one accumulator, element after element; inside a
// vector loop (a reduction over an outer axis) that accumulator is a vector of independent sums.
#include "graph/support/check.h"
#include "jit/emit_kernel.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using kernels::Accumulator;
using kernels::ReduceOrder;
using kernels::ScalarOp;
using llvm::Value;

namespace {

bool repeatable(ScalarOp op) {
  return op == ScalarOp::kMinSecond || op == ScalarOp::kMaxSecond || op == ScalarOp::kAnd || op == ScalarOp::kOr;
}

}  // namespace

void KernelEmitter::emitReduce(StmtId id) {
  const Stmt& stmt = kernel_.stmts[id.index];
  ++depth_;
  if (stmt.order == ReduceOrder::kSequential || stmt.order == ReduceOrder::kAny) {
    unsigned lanes = 1;
    if (stmt.order == ReduceOrder::kAny && stmt.vectorize && lanes_.count == 1) {
      hasSingle_ = false;
      unsigned widest = markVarying(stmt.body, stmt.axis);
      for (const Accumulator& acc : stmt.accumulators) widest = std::max(widest, unsigned(graph::itemSize(acc.dtype)));
      lanes = chooseLanes(widest, hasSingle_);
    }
    reduced_[id.index] = lanes > 1 ? vectorReduce(stmt, lanes) : sequentialReduce(stmt);
  } else {
    reduced_[id.index] = pairwiseReduce(stmt);
  }
  --depth_;
}

// The accumulators' next elements from one run of the body.
KernelEmitter::Carried KernelEmitter::elements(const Stmt& stmt, Value* index) {
  Carried out;
  withAxis(stmt, index, [&] {
    emitBlock(stmt.body);
    for (const Accumulator& acc : stmt.accumulators) {
      const bool wide = lanes_.count > 1 && (lanes_.axis == stmt.axis || varies(acc.init) || varies(acc.element));
      out.push_back(wide ? value(acc.element) : scalar(acc.element));
    }
  });
  return out;
}

KernelEmitter::Carried KernelEmitter::sequentialReduce(const Stmt& stmt) {
  Carried init;
  for (const Accumulator& acc : stmt.accumulators) {
    const bool wide = lanes_.count > 1 && (varies(acc.init) || varies(acc.element));
    init.push_back(wide ? value(acc.init) : scalar(acc.init));
  }
  return fn_.loop(scalar(stmt.lower), scalar(stmt.upper), 1, init, [&](Value* index, const Carried& values) {
    Carried next = elements(stmt, index);
    for (size_t i = 0; i < next.size(); ++i) {
      const Accumulator& acc = stmt.accumulators[i];
      next[i] = ops_.combine(acc.combine, acc.dtype, values[i], next[i]);
    }
    return next;
  });
}

Value* KernelEmitter::identity(const Accumulator& acc) {
  llvm::Type* type = fn_.scalarType(acc.dtype);
  const bool real = graph::isFloat(acc.dtype);
  if (acc.combine == ScalarOp::kXor) return llvm::Constant::getNullValue(type);
  if (acc.combine == ScalarOp::kAdd)
    return real ? llvm::ConstantFP::getNegativeZero(type) : llvm::Constant::getNullValue(type);
  if (acc.combine == ScalarOp::kMul) return real ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  FW_CHECK_MSG(repeatable(acc.combine), "reduction by " + std::string(kernels::name(acc.combine)));
  return scalar(acc.init);
}

Value* KernelEmitter::acrossLanes(const Accumulator& acc, Value* vector) {
  if (acc.dtype == DType::kBool && acc.combine == ScalarOp::kOr) return ir_.CreateOrReduce(vector);
  if (acc.dtype == DType::kBool && acc.combine == ScalarOp::kAnd) return ir_.CreateAndReduce(vector);
  const unsigned count = lanesOf(vector);
  for (unsigned half = count / 2; half > 0; half /= 2) {
    // Full width to the end: narrower float vectors would get undefined lanes.
    llvm::SmallVector<int, 64> picks;
    for (unsigned i = 0; i < count; ++i) picks.push_back(int((i + half) % count));
    vector = ops_.combine(acc.combine, acc.dtype, vector, ir_.CreateShuffleVector(vector, picks));
  }
  return ir_.CreateExtractElement(vector, uint64_t{0});
}

KernelEmitter::Carried KernelEmitter::vectorReduce(const Stmt& stmt, unsigned lanes) {
  const size_t n = stmt.accumulators.size();
  const unsigned unroll = stmt.body.items.size() <= 6 ? 4 : stmt.body.items.size() <= 14 ? 2 : 1;
  const int64_t step = int64_t{lanes} * unroll;
  Value *lower = scalar(stmt.lower), *upper = scalar(stmt.upper);
  Value* total = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.CreateSub(upper, lower), fn_.i64(0));
  Value* split = ir_.CreateAdd(lower, ir_.CreateAnd(total, fn_.i64(-step)));
  Value* mainEnd = split;

  Carried start;
  for (unsigned u = 0; u < unroll; ++u) {
    for (const Accumulator& acc : stmt.accumulators) start.push_back(fn_.splat(identity(acc), lanes));
  }
  auto combine = [&](size_t i, Value* a, Value* b) {
    return ops_.combine(stmt.accumulators[i].combine, stmt.accumulators[i].dtype, a, b);
  };
  Carried sums = fn_.loop(lower, mainEnd, step, start, [&](Value* index, const Carried& values) {
    Carried next;
    for (unsigned u = 0; u < unroll; ++u) {
      lanes_ = fullLanes(lanes, stmt.axis);
      Carried got = elements(stmt, u ? ir_.CreateAdd(index, fn_.i64(int64_t{u} * lanes), "", false, true) : index);
      for (size_t i = 0; i < n; ++i) next.push_back(combine(i, values[u * n + i], got[i]));
    }
    return next;
  });
  for (unsigned u = 1; u < unroll; ++u) {
    for (size_t i = 0; i < n; ++i) sums[i] = combine(i, sums[i], sums[u * n + i]);
  }
  sums.resize(n);
  if (fn_.target().masks) {
    sums = fn_.loop(split, upper, lanes, sums, [&](Value* index, const Carried& values) {
      lanes_ = tailLanes(lanes, stmt.axis, ir_.CreateSub(upper, index));
      Carried next = elements(stmt, index);
      for (size_t i = 0; i < n; ++i) {
        next[i] = combine(i, values[i], next[i]);
        if (!repeatable(stmt.accumulators[i].combine)) next[i] = ir_.CreateSelect(lanes_.mask, next[i], values[i]);
      }
      return next;
    });
  }
  lanes_ = Lanes{};
  for (size_t i = 0; i < n; ++i) {
    sums[i] = combine(i, scalar(stmt.accumulators[i].init), acrossLanes(stmt.accumulators[i], sums[i]));
  }
  if (fn_.target().masks) return sums;
  return fn_.loop(split, upper, 1, sums, [&](Value* index, const Carried& values) {
    Carried next = elements(stmt, index);
    for (size_t i = 0; i < n; ++i) next[i] = combine(i, values[i], next[i]);
    return next;
  });
}

}  // namespace fw::jit
