// Reductions whose order is free or sequential; pairwise sums stand in emit_pairwise.cpp.
//
// Free order: several vector accumulators side by side, so that the latency of one operation does not bound the loop; a
// masked or scalar tail; then one fold across lanes. Sequential: one accumulator, element after element; inside a
// vector loop (a reduction over an outer axis) that accumulator is a vector of independent sums.
//
// Extremes with their positions go the way of those in free order: a lane meets its elements in ascending positions,
// and what lanes and registers have found is joined by the positions.
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
  FW_CHECK_MSG(stmt.order != ReduceOrder::kListed, "sums of this target are not listed");
  ++depth_;
  if (stmt.order == ReduceOrder::kPairwise || stmt.order == ReduceOrder::kPairwisePart) {
    reduced_[id.index] = pairwiseReduce(stmt);
  } else {
    unsigned lanes = 1;
    if (stmt.order != ReduceOrder::kSequential && stmt.vectorize && lanes_.count == 1) {
      hasSingle_ = false;
      unsigned widest = markVarying(stmt.body, stmt.axis);
      for (const Accumulator& acc : stmt.accumulators) widest = std::max(widest, unsigned(graph::itemSize(acc.dtype)));
      lanes = chooseLanes(widest, hasSingle_);
    }
    reduced_[id.index] = lanes > 1 ? vectorReduce(stmt, lanes) : sequentialReduce(stmt);
  }
  --depth_;
}

// The accumulators' next elements from one run of the body.
KernelEmitter::Carried KernelEmitter::elements(const Stmt& stmt, Value* index) {
  Carried out;
  withAxis(stmt, index, [&] {
    emitBlock(stmt.body);
    for (const Accumulator& acc : stmt.accumulators) {
      const bool wide = lanes_.count > 1 && (lanes_.axis == stmt.axis || accumulatorVaries(stmt, acc));
      out.push_back(wide ? value(acc.element) : scalar(acc.element));
    }
  });
  return out;
}

KernelEmitter::Carried KernelEmitter::sequentialReduce(const Stmt& stmt) {
  Carried init;
  for (const Accumulator& acc : stmt.accumulators) {
    const bool wide = lanes_.count > 1 && accumulatorVaries(stmt, acc);
    init.push_back(wide ? value(acc.init) : scalar(acc.init));
  }
  return fn_.loop(scalar(stmt.lower), scalar(stmt.upper), 1, init,
                  [&](Value* index, const Carried& values) { return combined(stmt, values, elements(stmt, index)); });
}

KernelEmitter::Carried KernelEmitter::combined(const Stmt& stmt, llvm::ArrayRef<Value*> acc,
                                               llvm::ArrayRef<Value*> next) {
  if (kernels::findsExtreme(stmt.order)) return extremeOf(stmt, acc, next, stmt.order == ReduceOrder::kFirst);
  Carried out;
  for (size_t i = 0; i < next.size(); ++i)
    out.push_back(ops_.combine(stmt.accumulators[i].combine, stmt.accumulators[i].dtype, acc[i], next[i]));
  return out;
}

KernelEmitter::Carried KernelEmitter::joined(const Stmt& stmt, llvm::ArrayRef<Value*> a, llvm::ArrayRef<Value*> b) {
  return kernels::findsExtreme(stmt.order) ? extremeOf(stmt, a, b, false) : combined(stmt, a, b);
}

/// `first`: of two that are equal, what has been accumulated stays.
KernelEmitter::Carried KernelEmitter::extremeOf(const Stmt& stmt, llvm::ArrayRef<Value*> acc,
                                                llvm::ArrayRef<Value*> next, bool first) {
  const DType d = stmt.accumulators[0].dtype, at = stmt.accumulators[1].dtype;
  const bool min = stmt.accumulators[0].combine == ScalarOp::kMinSecond, real = graph::isFloat(d);
  // Whatever is not in order beats the accumulated number, unless that is a NaN.
  Value* takes = ir_.CreateNot(ops_.compare(min ? ScalarOp::kLe : ScalarOp::kGe, d, acc[0], next[0]));
  if (real) takes = ir_.CreateAnd(takes, ir_.CreateFCmpORD(acc[0], acc[0]));
  if (!first) {
    Value* same = ops_.compare(ScalarOp::kEq, d, acc[0], next[0]);
    if (real) {
      Value* none = ir_.CreateAnd(ir_.CreateFCmpUNO(acc[0], acc[0]), ir_.CreateFCmpUNO(next[0], next[0]));
      same = ir_.CreateOr(same, none);
    }
    takes = ir_.CreateOr(takes, ir_.CreateAnd(same, ops_.compare(ScalarOp::kLt, at, next[1], acc[1])));
  }
  return {ir_.CreateSelect(takes, next[0], acc[0]), ir_.CreateSelect(takes, next[1], acc[1])};
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

/// What the lanes have accumulated, as scalars.
KernelEmitter::Carried KernelEmitter::acrossLanes(const Stmt& stmt, const Carried& vectors) {
  const unsigned count = lanesOf(vectors[0]);
  using Join = llvm::function_ref<Carried(const Carried&, const Carried&)>;
  auto fold = [&](Carried lanes, Join join) {
    for (unsigned half = count / 2; half > 0; half /= 2) {
      // Full width to the end: narrower float vectors would get undefined lanes.
      llvm::SmallVector<int, 64> picks;
      for (unsigned i = 0; i < count; ++i) picks.push_back(int((i + half) % count));
      Carried others;
      for (Value* lane : lanes) others.push_back(ir_.CreateShuffleVector(lane, picks));
      lanes = join(lanes, others);
    }
    for (Value*& lane : lanes) lane = ir_.CreateExtractElement(lane, uint64_t{0});
    return lanes;
  };
  if (kernels::findsExtreme(stmt.order))
    return fold(vectors, [&](const Carried& a, const Carried& b) { return joined(stmt, a, b); });
  Carried out;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const Accumulator& acc = stmt.accumulators[i];
    if (acc.dtype == DType::kBool && acc.combine == ScalarOp::kOr) {
      out.push_back(ir_.CreateOrReduce(vectors[i]));
    } else if (acc.dtype == DType::kBool && acc.combine == ScalarOp::kAnd) {
      out.push_back(ir_.CreateAndReduce(vectors[i]));
    } else {
      out.push_back(fold({vectors[i]}, [&](const Carried& a, const Carried& b) -> Carried {
        return {ops_.combine(acc.combine, acc.dtype, a[0], b[0])};
      })[0]);
    }
  }
  return out;
}

KernelEmitter::Carried KernelEmitter::vectorReduce(const Stmt& stmt, unsigned lanes) {
  const size_t n = stmt.accumulators.size();
  const unsigned unroll = stmt.body.items.size() <= 6 ? 4 : stmt.body.items.size() <= 14 ? 2 : 1;
  const int64_t step = int64_t{lanes} * unroll;
  Value *lower = scalar(stmt.lower), *upper = scalar(stmt.upper);
  Value* total = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.CreateSub(upper, lower), fn_.i64(0));
  Value* split = ir_.CreateAdd(lower, ir_.CreateAnd(total, fn_.i64(-step)));
  auto of = [&](const Carried& values, unsigned u) { return llvm::ArrayRef<Value*>(values).slice(u * n, n); };

  Carried start, inits;
  for (const Accumulator& acc : stmt.accumulators) inits.push_back(scalar(acc.init));
  for (unsigned u = 0; u < unroll; ++u) {
    for (const Accumulator& acc : stmt.accumulators) start.push_back(fn_.splat(identity(acc), lanes));
  }
  const Carried all = fn_.loop(lower, split, step, start, [&](Value* index, const Carried& values) {
    Carried next;
    for (unsigned u = 0; u < unroll; ++u) {
      lanes_ = fullLanes(lanes, stmt.axis);
      Carried got = elements(stmt, u ? ir_.CreateAdd(index, fn_.i64(int64_t{u} * lanes), "", false, true) : index);
      next.append(combined(stmt, of(values, u), got));
    }
    return next;
  });
  Carried sums(of(all, 0));
  for (unsigned u = 1; u < unroll; ++u) sums = joined(stmt, sums, of(all, u));
  if (fn_.target().masks) {
    sums = fn_.loop(split, upper, lanes, sums, [&](Value* index, const Carried& values) {
      lanes_ = tailLanes(lanes, stmt.axis, ir_.CreateSub(upper, index));
      Carried next = combined(stmt, values, elements(stmt, index));
      for (size_t i = 0; i < n; ++i)
        if (!repeatable(stmt.accumulators[i].combine)) next[i] = ir_.CreateSelect(lanes_.mask, next[i], values[i]);
      return next;
    });
  }
  lanes_ = Lanes{};
  sums = joined(stmt, inits, acrossLanes(stmt, sums));
  if (fn_.target().masks) return sums;
  return fn_.loop(split, upper, 1, sums,
                  [&](Value* index, const Carried& values) { return combined(stmt, values, elements(stmt, index)); });
}

}  // namespace fw::jit
