// for turns [start, start + steps), as many at once as share the cache, in the end one by one:
//   for each band of progress:
//     for each of the turns:
//       each stage: the iterations that it is to do by now, at its distance behind the first stage of the first turn
#include "jit/emit_wavefront.h"

#include <algorithm>

#include "jit/emit_kernel.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {
namespace {

using llvm::Value;

class WaveEmitter {
 public:
  WaveEmitter(const ModuleState& m, FunctionState& fn, const graph::LoopStep& loop, const Wavefront& wave)
      : m_(m),
        fn_(fn),
        ir_(fn.ir()),
        loop_(loop),
        wave_(wave) {}

  void run(Value* trip, llvm::function_ref<void()> look) {
    measure();
    Value* atOnce = stepsAtOnce(trip);
    Value *one = fn_.i64(1), *all = ir_.CreateAdd(total_, one);
    Loop turns = open("turns", trip);
    Value* together = wholeCycles(least(atOnce, ir_.CreateSub(trip, turns.index)));
    Value* several = ir_.CreateICmpSGT(together, one);
    Value* steps = ir_.CreateSelect(several, together, one);
    Value* band = ir_.CreateSelect(several, bandBytes(), all);
    Value* end = ir_.CreateAdd(total_, ir_.CreateMul(ir_.CreateSub(steps, one), skew_));
    end = most(end, one);  // memories change places, whether there is anything in them or not
    Loop bands = open("bands", end);
    Value* front = ir_.CreateAdd(bands.index, band);
    Loop step = open("step", steps);
    if (loop_.index) fn_.bindSymbol(*loop_.index, ir_.CreateAdd(turns.index, step.index));
    fn_.renew();
    Value* own = ir_.CreateSub(front, ir_.CreateMul(step.index, skew_));
    for (size_t k = 0; k < wave_.stages.size(); ++k) stage(k, ir_.CreateSub(own, behind_[k]), band);
    fn_.exchange(loop_.moves);
    close(step, one);
    look();
    close(bands, band);
    close(turns, steps);
    fn_.renew();
  }

 private:
  struct Loop {
    llvm::PHINode* index;
    llvm::BasicBlock *head, *exit;
  };
  /// for (index = 0; index < end; ...)
  Loop open(const char* name, Value* end) {
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    llvm::BasicBlock* head = fn_.block(name);
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    Loop loop{ir_.CreatePHI(ir_.getInt64Ty(), 2), head, llvm::BasicBlock::Create(ir_.getContext(), "behind")};
    loop.index->addIncoming(fn_.i64(0), before);
    llvm::BasicBlock* body = fn_.block("within");
    ir_.CreateCondBr(ir_.CreateICmpSLT(loop.index, end), body, loop.exit);
    ir_.SetInsertPoint(body);
    return loop;
  }
  void close(Loop& loop, Value* by) {
    loop.index->addIncoming(ir_.CreateAdd(loop.index, by), ir_.GetInsertBlock());
    ir_.CreateBr(loop.head);
    fn_.place(loop.exit);
  }

  Value* most(Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); }
  Value* least(Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }

  /// An upper bound.
  Value* bound(const Wavefront::Stage& stage, kernels::ExprId id) {
    const kernels::Expr& expr = m_.program.kernels[stage.kernel].exprs[id.index];
    return expr.op == kernels::ScalarOp::kConst ? fn_.i64(static_cast<int64_t>(expr.imm)) : fn_.sym(expr.sym);
  }

  /// The next multiple of the row.
  Value* wholeRows(Value* bytes) {
    Value* up = most(ir_.CreateAdd(bytes, ir_.CreateSub(row_, fn_.i64(1))), fn_.i64(0));
    return ir_.CreateMul(ir_.CreateSDiv(up, row_), row_);
  }
  Value* bandBytes() {
    Value *rows = ir_.CreateMul(row_, fn_.i64(kBandRows)), *up = ir_.CreateSub(rows, fn_.i64(1));
    return ir_.CreateMul(ir_.CreateSDiv(ir_.CreateAdd(fn_.i64(kBandBytes), up), rows), rows);
  }

  /// The longest stride of a stage, in which all progress is measured.
  void findRow() {
    row_ = fn_.i64(1);
    for (const Wavefront::Stage& stage : wave_.stages) row_ = most(row_, fn_.sym(stage.stride));
  }

  /// By how much the last iteration that a stage does begins in front of its progress, at least.
  Value* slack(const Wavefront::Stage& stage) {
    Value* stride = most(fn_.sym(stage.stride), fn_.i64(1));
    Value* divides = ir_.CreateICmpEQ(ir_.CreateSRem(row_, stride), fn_.i64(0));
    return ir_.CreateSelect(divides, stride, fn_.i64(1));
  }

  struct Span {
    Value *low, *high;  ///< bytes in front of and behind the progress of its stage
  };
  Span spanOf(const Wavefront::Stage& stage, const Wavefront::Touch& touch) {
    Value* low = fn_.sym(touch.offset);
    Value* high = ir_.CreateAdd(low, fn_.i64(touch.bytes));
    for (const auto& [upper, stride] : touch.inner) {
      Value* steps = most(ir_.CreateSub(bound(stage, upper), fn_.i64(1)), fn_.i64(0));
      high = ir_.CreateAdd(high, ir_.CreateMul(steps, fn_.sym(stride)));
    }
    return {low, high};
  }

  /// How far behind the first stage each is to stay, and a turn behind the one before.
  void measure() {
    std::vector<std::vector<Span>> spans;
    Value* zero = fn_.i64(0);
    findRow();
    total_ = zero;
    for (const Wavefront::Stage& stage : wave_.stages) {
      spans.emplace_back();
      for (const Wavefront::Touch& touch : stage.touches) spans.back().push_back(spanOf(stage, touch));
    }
    for (size_t k = 0; k < wave_.stages.size(); ++k) {
      Value* behind = zero;
      for (size_t earlier = 0; earlier < k; ++earlier)
        forEachConflict(earlier, k, spans,
                        [&](Value* distance) { behind = most(behind, ir_.CreateAdd(behind_[earlier], distance)); });
      behind_.push_back(behind);
      const Wavefront::Stage& stage = wave_.stages[k];
      Value* range = ir_.CreateMul(most(bound(stage, stage.upper), zero), fn_.sym(stage.stride));
      total_ = most(total_, ir_.CreateAdd(range, behind));
    }
    skew_ = zero;
    for (size_t later = 0; later < wave_.stages.size(); ++later)
      for (size_t earlier = 0; earlier < wave_.stages.size(); ++earlier)
        forEachConflict(earlier, later, spans, [&](Value* distance) {
          skew_ = most(skew_, ir_.CreateAdd(distance, ir_.CreateSub(behind_[earlier], behind_[later])));
        });
  }

  template <class Visit>
  void forEachConflict(size_t earlier, size_t later, const std::vector<std::vector<Span>>& spans, const Visit& visit) {
    const Wavefront::Stage &first = wave_.stages[earlier], &second = wave_.stages[later];
    for (size_t a = 0; a < first.touches.size(); ++a)
      for (size_t b = 0; b < second.touches.size(); ++b) {
        const bool conflict = first.touches[a].memory == second.touches[b].memory &&
                              (first.touches[a].stores || second.touches[b].stores);
        if (!conflict) continue;
        Value* apart = ir_.CreateSub(spans[later][b].high, spans[earlier][a].low);
        visit(wholeRows(ir_.CreateSub(apart, slack(second))));
      }
  }

  /// Turns after which memories that change places are where they were.
  Value* wholeCycles(Value* turns) { return ir_.CreateSub(turns, ir_.CreateSRem(turns, fn_.i64(wave_.cycle))); }

  /// Turns that share the cache: a multiple of the cycle; 1 where everything fits, or where they are too few.
  Value* stepsAtOnce(Value* trip) {
    Value* each = fn_.i64(kCacheBytes / wave_.arrays);
    Value* steps = ir_.CreateSDiv(ir_.CreateSub(each, bandBytes()), most(skew_, fn_.i64(1)));
    steps = wholeCycles(least(least(steps, fn_.i64(kTurnsAtOnce)), trip));
    Value* large = ir_.CreateICmpSGT(total_, fn_.i64(kLargeBytes / wave_.arrays));
    Value* worth = ir_.CreateAnd(ir_.CreateICmpSGT(steps, fn_.i64(1)), large);
    return ir_.CreateSelect(worth, steps, fn_.i64(1));
  }

  /// The iterations of a stage whose progress goes from `progress` - `band` to `progress`.
  void stage(size_t k, Value* progress, Value* band) {
    const Wavefront::Stage& stage = wave_.stages[k];
    Value* stride = most(fn_.sym(stage.stride), fn_.i64(1));
    Value* upper = bound(stage, stage.upper);
    const auto iteration = [&](Value* at) {  // the first one that is not in front of it
      Value* up = ir_.CreateAdd(most(at, fn_.i64(0)), ir_.CreateSub(stride, fn_.i64(1)));
      return least(ir_.CreateSDiv(up, stride), upper);
    };
    Value *from = iteration(ir_.CreateSub(progress, band)), *to = iteration(progress);
    fn_.when(ir_.CreateICmpSLT(from, to), [&] {
      fn_.renew();  // what is read in here is not known behind it
      const kernels::Kernel& kernel = m_.program.kernels[stage.kernel];
      fn_.withRules(kernel.errors.value_or(graph::ErrorRules{}),
                    [&] { KernelEmitter(fn_, kernel).runBetween(from, to); });
    });
    fn_.renew();
  }

  const ModuleState& m_;
  FunctionState& fn_;
  llvm::IRBuilder<>& ir_;
  const graph::LoopStep& loop_;
  const Wavefront& wave_;
  std::vector<Value*> behind_;
  Value *row_ = nullptr, *total_ = nullptr, *skew_ = nullptr;
};

}  // namespace

void emitWavefront(const ModuleState& m, FunctionState& fn, const graph::LoopStep& loop, const Wavefront& wave,
                   Value* trip, llvm::function_ref<void()> look) {
  WaveEmitter(m, fn, loop, wave).run(trip, look);
}

}  // namespace fw::jit
