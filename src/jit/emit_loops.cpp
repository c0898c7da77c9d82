// Loops. A vectorised loop becomes a main loop over full vectors (two per round if the body is small) and a tail: with
// AVX-512 the same body under a mask, otherwise the scalar body.
#include "jit/emit_kernel.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace fw::jit {

using kernels::Expr;
using kernels::ScalarOp;
using kernels::StmtKind;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

constexpr size_t kSmallBody = 14;  ///< items; up to here the loop's own overhead shows

}  // namespace

void KernelEmitter::withAxis(const Stmt& stmt, Value* index, llvm::function_ref<void()> body) {
  const std::vector<Value*> saved = pointers_;
  axes_[stmt.axis.index] = index;
  std::vector<uint32_t> accesses;
  collectAccesses(stmt.body, accesses);
  std::sort(accesses.begin(), accesses.end());
  accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
  for (uint32_t a : accesses) {
    for (const kernels::Access::Term& term : kernel_.accesses[a].terms) {
      if (term.axis == stmt.axis) pointers_[a] = advance(pointers_[a], term.stride, index);
    }
  }
  body();
  pointers_ = saved;
}

void KernelEmitter::emitBody(const Stmt& stmt, Value* index) {
  withAxis(stmt, index, [&] { emitBlock(stmt.body); });
}

void KernelEmitter::emitLoop(const Stmt& stmt) {
  if (stmt.vectorize && lanes_.count == 1 && !raised_.size()) {
    emitVectorLoop(stmt);
    return;
  }
  ++depth_;
  fn_.loop(scalar(stmt.lower), scalar(stmt.upper), 1, {}, [&](Value* index, const Carried&) {
    emitBody(stmt, index);
    return Carried{};
  });
  --depth_;
}

KernelEmitter::Lanes KernelEmitter::fullLanes(unsigned count, AxisId axis) {
  Lanes lanes;
  lanes.count = count;
  lanes.axis = axis;
  lanes.index = fn_.iota(ir_.getInt64Ty(), count);
  return lanes;
}

KernelEmitter::Lanes KernelEmitter::tailLanes(unsigned count, AxisId axis, Value* remaining) {
  Lanes lanes = fullLanes(count, axis);
  lanes.active = ir_.CreateBinaryIntrinsic(Intrinsic::smin, remaining, fn_.i64(count));
  Value* bits = ir_.CreateIntrinsic(Intrinsic::x86_bmi_bzhi_64, {fn_.i64(-1), lanes.active});
  bits = ir_.CreateTrunc(bits, ir_.getIntNTy(count));
  lanes.mask = ir_.CreateBitCast(bits, llvm::FixedVectorType::get(ir_.getInt1Ty(), count));
  lanes.index = ir_.CreateSelect(lanes.mask, lanes.index, llvm::Constant::getNullValue(lanes.index->getType()));
  return lanes;
}

unsigned KernelEmitter::unrollOf(const Stmt& stmt) const {
  for (const kernels::Item& item : stmt.body.items) {
    if (!item.stmt.valid()) continue;
    const StmtKind kind = kernel_.stmts[item.stmt.index].kind;
    if (kind != StmtKind::kStore && kind != StmtKind::kObserve) return 1;
  }
  return stmt.body.items.size() <= kSmallBody ? 2 : 1;
}

void KernelEmitter::emitVectorLoop(const Stmt& stmt) {
  hasSingle_ = false;
  const unsigned widest = markVarying(stmt.body, stmt.axis);
  const unsigned count = chooseLanes(widest, hasSingle_);
  const unsigned unroll = unrollOf(stmt);
  const int64_t step = int64_t{count} * unroll;

  Value *lower = scalar(stmt.lower), *upper = scalar(stmt.upper);
  Value* total = ir_.CreateBinaryIntrinsic(Intrinsic::smax, ir_.CreateSub(upper, lower), fn_.i64(0));
  Value* split = ir_.CreateAdd(lower, ir_.CreateAnd(total, fn_.i64(-step)));

  // RaiseIf of the body: one register of lanes per status bit.
  Carried raisedLanes;
  for (const kernels::Item& item : stmt.body.items) {
    if (!item.expr.valid()) continue;
    const Expr& expr = kernel_.exprs[item.expr.index];
    if (expr.op != ScalarOp::kRaiseIf) continue;
    if (std::any_of(raised_.begin(), raised_.end(), [&](const Raised& r) { return r.bit == expr.imm; })) continue;
    raised_.push_back({expr.imm, nullptr});
  }
  const int savedDepth = depth_;
  depth_ = 0;
  // Runs `emit` with the carried lanes installed; answers their new values.
  auto carrying = [&](const Carried& values, llvm::function_ref<void()> emit) {
    for (size_t i = 0; i < raised_.size(); ++i) raised_[i].any = values[i];
    emit();
    Carried out;
    for (const Raised& raised : raised_) out.push_back(raised.any);
    return out;
  };
  auto flush = [&](const Carried& values) {
    for (size_t i = 0; i < raised_.size(); ++i) {
      fn_.raise(lanesOf(values[i]) > 1 ? ir_.CreateOrReduce(values[i]) : values[i], raised_[i].bit);
    }
  };
  const Carried none(raised_.size(), llvm::Constant::getNullValue(llvm::FixedVectorType::get(ir_.getInt1Ty(), count)));

  Carried after = fn_.loop(lower, split, step, none, [&](Value* index, const Carried& values) {
    return carrying(values, [&] {
      for (unsigned u = 0; u < unroll; ++u) {
        lanes_ = fullLanes(count, stmt.axis);
        emitBody(stmt, u ? ir_.CreateAdd(index, fn_.i64(int64_t{u} * count), "", false, true) : index);
      }
    });
  });
  if (fn_.target().masks) {
    after = fn_.loop(split, upper, count, after, [&](Value* index, const Carried& values) {
      return carrying(values, [&] {
        lanes_ = tailLanes(count, stmt.axis, ir_.CreateSub(upper, index));
        emitBody(stmt, index);
      });
    });
    flush(after);
  } else {
    flush(after);
    lanes_ = Lanes{};
    flush(fn_.loop(split, upper, 1, Carried(raised_.size(), ir_.getFalse()), [&](Value* index, const Carried& values) {
      return carrying(values, [&] { emitBody(stmt, index); });
    }));
  }
  lanes_ = Lanes{};
  depth_ = savedDepth;
  raised_.clear();
}

}  // namespace fw::jit
