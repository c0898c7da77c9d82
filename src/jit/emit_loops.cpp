// Loops. A vectorised loop becomes a main loop over full vectors (two per round if the body is small) and a tail: with
// AVX-512 the same body under a mask, otherwise the scalar body.
#include <algorithm>
#include <cstddef>

#include "jit/emit_kernel.h"
#include "jit/compile.h"

#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace fw::jit {

using kernels::Expr;
using kernels::ScalarOp;
using kernels::StmtKind;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

// Items of a body.
constexpr size_t kSmallBody = 14;  ///< up to here the loop's own overhead shows
constexpr size_t kLongBody = 30;   ///< from here on the latency of its operations does

constexpr int64_t kAlignedVectors = 32;  ///< in a row, for which elements in front of the first are worth a loop

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
  Value* const save = save_;
  if (save) save_ = ir_.CreateGEP(saveType(), save, ir_.CreateMul(index, saveSteps_[stmt.axis.index]));
  body();
  pointers_ = saved;
  save_ = save;
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
  Value *lower = from_ ? from_ : scalar(stmt.lower), *upper = from_ ? to_ : scalar(stmt.upper);
  from_ = to_ = nullptr;
  if (const Stmt* inner = pairedIn(stmt)) {
    Value* pairs = ir_.CreateBinaryIntrinsic(Intrinsic::smax, ir_.CreateSub(upper, lower), fn_.i64(0));
    Value* single = ir_.CreateAdd(lower, ir_.CreateAnd(pairs, fn_.i64(-2)));
    fn_.loop(lower, single, 2, {}, [&](Value* index, const Carried&) {
      emitPair(stmt, *inner, index);
      return Carried{};
    });
    lower = single;
    ofRows_ = false;  // few are left over: short code for them
    unrolls_ = false;
  }
  fn_.loop(lower, upper, 1, {}, [&](Value* index, const Carried&) {
    emitBody(stmt, index);
    return Carried{};
  });
  unrolls_ = true;
  --depth_;
}

// --- rows of large arrays --------------------------------------------------------------------------------------------

const kernels::Stmt* KernelEmitter::pairedIn(const Stmt& stmt) const {
  const auto& items = stmt.body.items;
  if (!ofRows_ || !stmt.parallel || items.size() != 1 || !items[0].stmt.valid()) return nullptr;
  const Stmt& inner = kernel_.stmts[items[0].stmt.index];
  if (inner.kind != StmtKind::kLoop || !inner.vectorize || unrollOf(inner) == 1) return nullptr;
  const auto isOfTheRow = [&](const kernels::Item& item) {  // has another value in the next row
    if (!item.expr.valid()) return false;
    const Expr& expr = kernel_.exprs[item.expr.index];
    return expr.op == ScalarOp::kRaiseIf || (expr.op == ScalarOp::kAxis && expr.axis == stmt.axis);
  };
  return std::any_of(inner.body.items.begin(), inner.body.items.end(), isOfTheRow) ? nullptr : &inner;
}

void KernelEmitter::emitPair(const Stmt& stmt, const Stmt& inner, Value* index) {
  std::vector<std::vector<Value*>> rows;
  for (int64_t row = 1; row >= 0; --row)
    withAxis(stmt, row ? ir_.CreateAdd(index, fn_.i64(row)) : index, [&] { rows.insert(rows.begin(), pointers_); });
  withAxis(stmt, index, [&] {
    rows_ = std::move(rows);
    emitVectorLoop(inner);
    rows_.clear();
  });
}

void KernelEmitter::emitRows(const Stmt& stmt, Value* index) {
  if (rows_.empty()) return emitBody(stmt, index);
  const std::vector<Value*> saved = pointers_;
  for (const std::vector<Value*>& row : rows_) {
    pointers_ = row;
    emitBody(stmt, index);
  }
  pointers_ = saved;
}

Value* KernelEmitter::firstAligned(const Stmt& stmt, unsigned lanes, Value* lower, Value* upper) {
  for (const kernels::Item& item : stmt.body.items) {
    if (!item.stmt.valid() || kernel_.stmts[item.stmt.index].kind != StmtKind::kStore) continue;
    const Stmt& store = kernel_.stmts[item.stmt.index];
    const auto& terms = kernel_.accesses[store.access].terms;
    const auto isAlong = [&](const kernels::Access::Term& term) { return term.axis == stmt.axis; };
    const auto along = std::find_if(terms.begin(), terms.end(), isAlong);
    const int64_t bytes = graph::itemSize(kernel_.exprs[store.value.index].dtype);
    if (along == terms.end() || !fn_.syms().isConst(along->stride, bytes)) continue;
    Value* first = ir_.CreatePtrToInt(advance(pointers_[store.access], along->stride, lower), ir_.getInt64Ty());
    Value* missing = ir_.CreateAnd(ir_.CreateNeg(first), fn_.i64(bytes * lanes - 1));
    Value* isLong = ir_.CreateICmpSGE(ir_.CreateSub(upper, lower), fn_.i64(kAlignedVectors * lanes));
    return ir_.CreateSelect(isLong, ir_.CreateAdd(lower, ir_.CreateSDiv(missing, fn_.i64(bytes))), lower);
  }
  return lower;
}

// --- vectors ---------------------------------------------------------------------------------------------------------

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

bool KernelEmitter::hasInnerLoops(const Stmt& stmt) const {
  return std::any_of(stmt.body.items.begin(), stmt.body.items.end(), [&](const kernels::Item& item) {
    if (!item.stmt.valid()) return false;
    const StmtKind kind = kernel_.stmts[item.stmt.index].kind;
    return kind != StmtKind::kStore && kind != StmtKind::kObserve;
  });
}

unsigned KernelEmitter::unrollOf(const Stmt& stmt) const {
  return !hasInnerLoops(stmt) && stmt.body.items.size() <= kSmallBody ? 2 : 1;
}

/// Two registers of lanes go through a long body together, where there are enough of them: the next iteration is too
/// far behind for the processor to work on it meanwhile, and the operations of one wait for each other.
unsigned KernelEmitter::registersOf(const Stmt& stmt, unsigned widest) const {
  const auto isCall = [&](const kernels::Item& item) {
    return item.expr.valid() && kernel_.exprs[item.expr.index].op == ScalarOp::kCallMath && varies(item.expr);
  };
  const auto& items = stmt.body.items;
  const bool isLong = items.size() > kLongBody || std::any_of(items.begin(), items.end(), isCall);
  return isLong && !hasInnerLoops(stmt) && fn_.target().masks && widest > 1 ? 2 : 1;
}

/// One register of lanes per status bit that something in the body raises.
void KernelEmitter::findRaised(const Stmt& stmt) {
  for (const kernels::Item& item : stmt.body.items) {
    if (!item.expr.valid()) continue;
    const Expr& expr = kernel_.exprs[item.expr.index];
    if (expr.op != ScalarOp::kRaiseIf) continue;
    if (std::any_of(raised_.begin(), raised_.end(), [&](const Raised& r) { return r.bit == expr.imm; })) continue;
    raised_.push_back({expr.imm, nullptr});
  }
}

void KernelEmitter::emitVectorLoop(const Stmt& stmt) {
  hasSingle_ = false;
  const unsigned widest = markVarying(stmt.body, stmt.axis);
  const unsigned count = chooseLanes(widest, hasSingle_) * registersOf(stmt, widest);
  const unsigned unroll = rows_.empty() && unrolls_ ? unrollOf(stmt) : 1;
  const int64_t step = int64_t{count} * unroll;

  Value *lower = from_ ? from_ : scalar(stmt.lower), *upper = from_ ? to_ : scalar(stmt.upper);
  from_ = to_ = nullptr;
  findRaised(stmt);
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

  const auto inVectors = [&](Value* from, Value* to, const Carried& before) {
    return fn_.loop(from, to, step, before, [&](Value* index, const Carried& values) {
      return carrying(values, [&] {
        for (unsigned u = 0; u < unroll; ++u) {
          lanes_ = fullLanes(count, stmt.axis);
          emitRows(stmt, u ? ir_.CreateAdd(index, fn_.i64(int64_t{u} * count), "", false, true) : index);
        }
      });
    });
  };
  const auto masked = [&](Value* from, Value* to, const Carried& before) {
    return fn_.loop(from, to, count, before, [&](Value* index, const Carried& values) {
      return carrying(values, [&] {
        lanes_ = tailLanes(count, stmt.axis, ir_.CreateSub(to, index));
        emitRows(stmt, index);
      });
    });
  };
  const auto oneByOne = [&](Value* from, Value* to) {
    lanes_ = Lanes{};
    const Carried nothing(raised_.size(), ir_.getFalse());
    flush(fn_.loop(from, to, 1, nothing, [&](Value* index, const Carried& values) {
      return carrying(values, [&] { emitRows(stmt, index); });
    }));
  };

  Carried before = none;
  if (ofRows_ && !hasInnerLoops(stmt)) {
    Value* aligned = firstAligned(stmt, count, lower, upper);
    if (aligned != lower) {
      if (fn_.target().masks)
        before = masked(lower, aligned, none);
      else
        oneByOne(lower, aligned);
    }
    lower = aligned;
  }
  Value* total = ir_.CreateBinaryIntrinsic(Intrinsic::smax, ir_.CreateSub(upper, lower), fn_.i64(0));
  Value* split = ir_.CreateAdd(lower, ir_.CreateAnd(total, fn_.i64(-step)));
  Carried after = inVectors(lower, split, before);
  if (fn_.target().masks) {
    flush(masked(split, upper, after));
  } else {
    flush(after);
    oneByOne(split, upper);
  }
  lanes_ = Lanes{};
  depth_ = savedDepth;
  raised_.clear();
}

// --- commits that flags interrupt ----------------------------------------------------------------------------------

void KernelEmitter::emitPart(const Stmt& stmt, Value* from, Value* to) {
  from_ = from;
  to_ = to;
  emitLoop(stmt);
}

/// Type of the elements of the stores.
llvm::Type* KernelEmitter::saveType() {
  auto isStore = [](const Stmt& s) { return s.kind == StmtKind::kStore; };
  const auto store = std::find_if(kernel_.stmts.begin(), kernel_.stmts.end(), isStore);
  return fn_.memoryType(kernel_.exprs[store->value.index].dtype);
}

Value* KernelEmitter::layOut(const Stmt& loop) {
  Value* elements = fn_.i64(1);
  for (const kernels::Item& item : loop.body.items) {
    if (!item.stmt.valid()) continue;
    const Stmt& inner = kernel_.stmts[item.stmt.index];
    if (inner.kind == StmtKind::kLoop) elements = ir_.CreateMul(layOut(inner), scalar(inner.upper));
  }
  saveSteps_[loop.axis.index] = elements;
  return elements;
}

void KernelEmitter::runWatched(int64_t index) {
  locate();
  for (const kernels::Item& item : kernel_.body.items) {
    if (item.expr.valid()) {
      emitExpr(item.expr);
    } else if (kernel_.stmts[item.stmt.index].kind == StmtKind::kLoop) {
      emitWatched(kernel_.stmts[item.stmt.index], index);
    } else {
      emitStmt(item.stmt);
    }
  }
}

// What a part overwrites is saved, so that its operands can be looked at again when it raises a watched flag. A part is
// as many iterations of the outermost loop as stay in the first-level cache together with that.
void KernelEmitter::emitWatched(const Stmt& stmt, int64_t index) {
  auto field = [&](size_t offset) { return ir_.CreateLoad(ir_.getInt64Ty(), fn_.progress(offset)); };
  Value* isOwn = ir_.CreateICmpEQ(field(offsetof(CommitProgress, commit)), fn_.i64(index));
  Value* first = ir_.CreateSelect(isOwn, field(offsetof(CommitProgress, position)), fn_.i64(0));
  Value* isFree = ir_.CreateICmpEQ(field(offsetof(CommitProgress, unwatched)), fn_.i64(index));
  Value* watched = ir_.CreateSelect(isFree, fn_.i64(0), field(offsetof(CommitProgress, watched)));
  saveSteps_.assign(kernel_.axisCount, nullptr);
  Value* inner = layOut(stmt);
  Value* watches = ir_.CreateICmpNE(watched, fn_.i64(0));
  fn_.when(watches, [&] { emitParts(stmt, index, first, ir_.CreateTrunc(watched, ir_.getInt32Ty()), inner); });
  fn_.when(ir_.CreateNot(watches), [&] { emitPart(stmt, first, scalar(stmt.upper)); });
}

void KernelEmitter::emitParts(const Stmt& stmt, int64_t index, Value* first, Value* watched, Value* inner) {
  auto atLeastOne = [&](Value* v) { return ir_.CreateBinaryIntrinsic(Intrinsic::smax, v, fn_.i64(1)); };
  Value *size = scalar(stmt.upper),
        *part = atLeastOne(ir_.CreateSDiv(fn_.i64(runtime::kPartElements), atLeastOne(inner)));
  Value* saved = ir_.CreateLoad(ir_.getPtrTy(), fn_.progress(offsetof(CommitProgress, saved)));
  Value* room = ir_.CreateBinaryIntrinsic(Intrinsic::smax, inner, fn_.i64(runtime::kPartElements));  // partElements()
  for (const Stmt& store : kernel_.stmts) {
    if (store.kind != StmtKind::kStore) continue;
    const auto ordinal = static_cast<int64_t>(saveShift_.size());
    saveShift_.try_emplace(store.access, ir_.CreateMul(room, fn_.i64(ordinal)));
  }

  llvm::BasicBlock *before = ir_.GetInsertBlock(), *head = fn_.block("part");
  llvm::BasicBlock* after = llvm::BasicBlock::Create(ir_.getContext(), "parts_done");
  ir_.CreateCondBr(ir_.CreateICmpSLT(first, size), head, after);
  ir_.SetInsertPoint(head);
  llvm::PHINode* from = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  from->addIncoming(first, before);
  Value* to = ir_.CreateBinaryIntrinsic(Intrinsic::smin, ir_.CreateAdd(from, part), size);
  // Iteration `from` of the loop saves to the beginning.
  save_ = ir_.CreateGEP(saveType(), saved, ir_.CreateNeg(ir_.CreateMul(from, inner)));
  emitPart(stmt, from, to);
  save_ = nullptr;
  fn_.leaveIf(ir_.CreateICmpNE(fn_.raisedFlags(watched), ir_.getInt32(0)), [&] {
    ir_.CreateStore(fn_.i64(index), fn_.progress(offsetof(CommitProgress, commit)));
    ir_.CreateStore(from, fn_.progress(offsetof(CommitProgress, position)));
    ir_.CreateStore(to, fn_.progress(offsetof(CommitProgress, end)));
    fn_.raise(ir_.getTrue(), kStatusDecline);
  });
  from->addIncoming(to, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpSLT(to, size), head, after);
  fn_.place(after);
}

}  // namespace fw::jit
