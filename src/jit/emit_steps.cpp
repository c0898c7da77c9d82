#include "jit/emit_steps.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <variant>

#include "graph/support/check.h"
#include "jit/emit_call.h"
#include "jit/emit_clock.h"
#include "jit/emit_wavefront.h"
#include "jit/hoist_checks.h"
#include "jit/runtime.h"
#include "jit/scalar_loops.h"
#include "jit/undo_log.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {
namespace {

class StepEmitter {
 public:
  StepEmitter(const ModuleState& m, KernelList& kernels, FunctionState& fn, UndoLog* undo = nullptr)
      : m_(m),
        kernels_(kernels),
        fn_(fn),
        undo_(undo) {}

  void steps(const graph::Steps& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto* kernel = std::get_if<graph::KernelStep>(&steps[i].what);
      if (!kernel) {
        std::visit([&](const auto& what) { emit(what); }, steps[i].what);
        continue;
      }
      const size_t from = kernelsOf(m_.program, kernel->group).first;
      for (; i + 1 < steps.size() && std::holds_alternative<graph::KernelStep>(steps[i + 1].what);) ++i;
      const size_t to = kernelsOf(m_.program, std::get<graph::KernelStep>(steps[i].what).group).second;
      kernels_.range(fn_, m_.checked, from, to, [&](FunctionState& part, size_t k) { kernels_.kernel(part, k); });
    }
  }

 private:
  void emit(const graph::KernelStep&) { FW_UNREACHABLE(); }
  void emit(const graph::AcceptStep&) {}
  void emit(const graph::CommitStep&) {}

  /// A bool.
  llvm::Value* truth(graph::BufferId buffer) {
    llvm::Value* byte = fn_.ir().CreateLoad(fn_.ir().getInt8Ty(), fn_.buffer(buffer));
    return fn_.ir().CreateICmpNE(byte, fn_.ir().getInt8(0));
  }

  void emit(const graph::LoopStep& step) {
    if (fn_.isOptimized()) return loop(step);
    const std::optional<ScalarLoop> scalar = scalarLoop(step, m_);
    if (!scalar) return loop(step);
    FunctionState own = kernels_.open("_loop", FunctionState::Kind::kLoop, {}, &*scalar);
    own.enter();
    UndoLog undo(own, scalar->rewritten);
    undo.settle();
    StepEmitter(m_, kernels_, own, &undo).loop(step);
    undo.settle();
    own.leave();
    own.finish(true, [&] { undo.putBack(); });
    fn_.withRules(
        scalar->errors, [&] { fn_.callPart(own, /*mayLeave=*/true); },
        own.takesLiberties() ? kStatusDoubt : kStatusDecline);
    fn_.renew();
  }

  void loop(const graph::LoopStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    for (graph::BufferId handle : step.handles) fn_.exchange({{handle, m_.plan.buffers[handle.index].home}});
    llvm::Value* trip = step.trip ? fn_.sym(*step.trip) : fn_.i64(INT64_MAX);
    if (const auto wave = fn_.isOptimized() ? std::nullopt : wavefront(step, m_)) {
      emitWavefront(m_, fn_, step, *wave, trip, [&] {
        leaveIfDeclined();
        leaveIfInterrupted();
      });
      return;
    }
    llvm::BasicBlock* exit = llvm::BasicBlock::Create(ir.getContext(), "behind");
    llvm::BasicBlock *before = ir.GetInsertBlock(), *strip = fn_.block("strip");
    ir.CreateCondBr(ir.CreateICmpSLT(fn_.i64(0), trip), strip, exit);
    ir.SetInsertPoint(strip);
    llvm::PHINode* first = ir.CreatePHI(ir.getInt64Ty(), 2);
    first->addIncoming(fn_.i64(0), before);
    // As many turns as run without looking at anything else.
    llvm::Value* turns = fn_.i64(turnsBetweenLooks(step));
    llvm::Value* end = undo_ ? undo_->strip(step, first, turns, trip)
                             : ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateAdd(first, turns), trip);
    if (fn_.takesLiberties()) fn_.leaveIf(checksAhead(ir), [&] { fn_.raise(ir.getTrue(), kStatusDoubt); });
    llvm::BasicBlock* stripStart = ir.GetInsertBlock();
    llvm::BasicBlock* head = fn_.block("steps");
    ir.CreateBr(head);
    ir.SetInsertPoint(head);
    llvm::PHINode* index = ir.CreatePHI(ir.getInt64Ty(), 2);
    index->addIncoming(first, stripStart);
    if (step.index) fn_.bindSymbol(*step.index, index);
    fn_.renew();
    steps(step.bodies[0].steps);
    llvm::Value* next = ir.CreateAdd(index, fn_.i64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    llvm::Value* again = truth(step.again);
    fn_.exchange(step.moves);
    leaveIfDeclined();  // what it goes on with may be anything, and never end
    // Two branches: an outcome that is joined from several places would have to be made a number.
    llvm::BasicBlock* goesOn = fn_.block("goes_on");
    ir.CreateCondBr(again, goesOn, exit);
    ir.SetInsertPoint(goesOn);
    index->addIncoming(next, goesOn);
    llvm::BasicBlock* stripped = llvm::BasicBlock::Create(ir.getContext(), "stripped");
    ir.CreateCondBr(ir.CreateICmpNE(next, end), head, stripped);
    fn_.place(stripped);
    llvm::BasicBlock* looking = fn_.block("looking");
    ir.CreateCondBr(ir.CreateICmpSLT(next, trip), looking, exit);
    ir.SetInsertPoint(looking);
    fn_.leaveIfInDoubt();
    leaveIfInterrupted();
    first->addIncoming(next, ir.GetInsertBlock());
    ir.CreateBr(strip);
    fn_.place(exit);
    fn_.renew();
  }

  void emit(const graph::CondStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* taken = truth(step.predicate);
    llvm::BasicBlock* then = fn_.block("then");
    llvm::BasicBlock* otherwise = llvm::BasicBlock::Create(ir.getContext(), "else");
    llvm::BasicBlock* join = llvm::BasicBlock::Create(ir.getContext(), "join");
    ir.CreateCondBr(taken, then, otherwise);
    ir.SetInsertPoint(then);
    branch(step.bodies[0], join);
    fn_.place(otherwise);
    branch(step.bodies[1], join);
    fn_.place(join);
    fn_.renew();
  }

  void branch(const graph::ControlStep::Body& body, llvm::BasicBlock* join) {
    fn_.renew();
    steps(body.steps);
    fn_.ir().CreateBr(join);
  }

  void emit(const graph::BindStep& step) {
    define(step.symbol, step.from, step.least, step.most);
    steps(step.bodies[0].steps);
    fn_.renew();
  }

  void emit(const graph::DefineStep& step) { define(step.symbol, step.from, step.least, step.most); }

  llvm::Value* isOutside(llvm::Value* number, graph::SymId least, graph::SymId most, std::optional<int64_t> limit) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* end = fn_.sym(most);
    if (limit) end = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, fn_.i64(*limit));
    if (m_.syms.isConst(least, 0) && m_.syms.range(most).lo >= -1)  // one comparison: below 0 is above all
      return ir.CreateICmpUGE(number, ir.CreateAdd(end, fn_.i64(1)));
    return ir.CreateOr(ir.CreateICmpSLT(number, fn_.sym(least)), ir.CreateICmpSGT(number, end));
  }

  /// Of a range that powers of two bound, the number beside the upper one counts as outside.
  void doubtIfOutside(llvm::Value* number, int64_t least, int64_t most) {
    llvm::IRBuilder<>& ir = fn_.ir();
    const auto isPower = [](int64_t v) { return v > 0 && (v & (v - 1)) == 0; };
    const auto bitsOf = [](int64_t power) { return std::countr_zero(static_cast<uint64_t>(power)); };
    if (isPower(most) && least == -most) return fn_.doubt(ir.CreateAdd(number, fn_.i64(most)), bitsOf(most) + 1);
    if (most < INT64_MAX && isPower(most + 1)) {
      if (least == 0) return fn_.doubt(number, bitsOf(most + 1));
      if (least == -most - 1) return fn_.doubt(ir.CreateAdd(number, fn_.i64(most + 1)), bitsOf(most + 1) + 1);
    }
    llvm::Value *low = ir.CreateICmpSLT(number, fn_.i64(least)), *high = ir.CreateICmpSGT(number, fn_.i64(most));
    fn_.doubt(ir.CreateZExt(ir.CreateOr(low, high), ir.getInt64Ty()), 0);
  }

  void define(graph::SymId symbol, graph::BufferId from, graph::SymId least, graph::SymId most) {
    if (fn_.isCovered(symbol)) return;
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* number = ir.CreateLoad(ir.getInt64Ty(), fn_.buffer(from));
    // Bounds that are sizes say something of those, which accesses may rely on without mentioning the symbol: they are
    // to hold there and then.
    const auto low = m_.syms.asConst(least), high = m_.syms.asConst(most);
    if (low && high && fn_.isUnused(symbol)) return doubtIfOutside(number, *low, *high);
    fn_.leaveIf(isOutside(number, least, most, fn_.limitOf(symbol)),
                [&] { fn_.raise(ir.getTrue(), fn_.isPlace(from) ? kStatusDoubt : kStatusDecline); });
    fn_.bindSymbol(symbol, number);
    fn_.renew();
  }

  /// A function of the host (runtime.h) for this call; answers Status bits.
  llvm::CallInst* callHost(const char* name, uint32_t number, llvm::ArrayRef<llvm::Value*> more = {}) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::SmallVector<llvm::Value*, 3> arguments = {fn_.function()->getArg(0), ir.getInt32(number)};
    arguments.append(more.begin(), more.end());
    llvm::SmallVector<llvm::Type*, 3> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(ir.getInt32Ty(), types, false);
    return ir.CreateCall(m_.module.getOrInsertFunction(name, type), arguments);
  }

  /// Ends the run with the Status bits `status`, if there are any.
  void leaveWith(llvm::Value* status) {
    llvm::IRBuilder<>& ir = fn_.ir();
    fn_.leaveIf(ir.CreateICmpNE(status, ir.getInt32(0)), [&] {
      ir.CreateStore(ir.CreateOr(ir.CreateLoad(status->getType(), fn_.status()), status), fn_.status());
    });
  }

  void emit(const graph::CallStep& step) {
    std::optional<EmitClock> clock(std::in_place, fn_, m_.partOfCall(static_cast<size_t>(step.number)));
    llvm::Value* status =
        emitCall(m_, fn_, step, [&] { return callHost(kCallLibrary, static_cast<uint32_t>(step.number)); });
    clock.reset();
    leaveWith(status);
    fn_.renew();
  }

  void emit(const graph::AllocStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    const graph::Buffer& buffer = m_.plan.buffers[step.buffer.index];
    llvm::Value* status = buffer.kind == graph::BufferKind::kGiven
                              ? callHost(kMakeArray, static_cast<uint32_t>(step.number))
                              : callHost(kAllocate, step.buffer.index, {bytesOf(buffer)});
    fn_.leaveIf(ir.CreateICmpNE(status, ir.getInt32(0)), [&] { fn_.raise(ir.getTrue(), kStatusDecline); });
    fn_.renew();
  }

  /// Declines where they are too many to be counted: sizes that are bound are multiplied without a guard.
  llvm::Value* bytesOf(const graph::Buffer& buffer) {
    llvm::IRBuilder<>& ir = fn_.ir();
    std::vector<graph::SymId> factors;
    for (graph::SymId size : buffer.shape) {
      const graph::SymNode& node = m_.syms.node(size);
      if (node.op == graph::SymOp::kMul)
        factors.insert(factors.end(), node.operands.begin(), node.operands.end());
      else
        factors.push_back(size);
    }
    llvm::Value *bytes = fn_.i64(graph::itemSize(buffer.dtype)), *many = ir.getFalse();
    for (graph::SymId factor : factors) {
      llvm::Value* product = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, fn_.sym(factor));
      bytes = ir.CreateExtractValue(product, 0);
      many = ir.CreateOr(many, ir.CreateExtractValue(product, 1));
    }
    fn_.leaveIf(many, [&] { fn_.raise(ir.getTrue(), kStatusDecline); });
    return bytes;
  }

  void emit(const graph::FreeStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    auto* type = llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getInt32Ty()}, false);
    ir.CreateCall(m_.module.getOrInsertFunction(kRelease, type),
                  {fn_.function()->getArg(0), ir.getInt32(step.buffer.index)});
  }

  void emit(const graph::CopyStep& step) {
    if (fn_.isNumber(step.to) || fn_.isNumber(step.from)) return fn_.exchange({{step.to, step.from}});
    const graph::Buffer& buffer = m_.plan.buffers[step.to.index];
    llvm::Value* bytes = fn_.i64(graph::itemSize(buffer.dtype));
    for (graph::SymId size : buffer.shape) bytes = fn_.ir().CreateMul(bytes, fn_.sym(size));
    llvm::Type* pointer = fn_.ir().getPtrTy();
    auto* type = llvm::FunctionType::get(fn_.ir().getVoidTy(), {pointer, pointer, bytes->getType()}, false);
    fn_.ir().CreateCall(m_.module.getOrInsertFunction(kCopy, type),
                        {fn_.buffer(step.to), fn_.buffer(step.from), bytes});
  }

  /// Looks cost more than a turn of a few numbers; others are made between loops inside.
  int64_t turnsBetweenLooks(const graph::LoopStep& step) const {
    const graph::Steps& body = step.bodies[0].steps;
    if (!fn_.isOptimized()) return 1;
    return hasLoop(body) ? 16 : 1024;
  }

  static bool hasLoop(const graph::Steps& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const graph::Step& step) {
      if (std::holds_alternative<graph::LoopStep>(step.what)) return true;
      const graph::ControlStep* control = graph::controlOf(step);
      const auto inside = [](const graph::ControlStep::Body& body) { return hasLoop(body.steps); };
      return control && std::any_of(control->bodies.begin(), control->bodies.end(), inside);
    });
  }

  void leaveIfInterrupted() {
    if (fn_.isOptimized()) {
      llvm::CallInst* status = callHost(kLook, 0);
      status->setOnlyAccessesInaccessibleMemOrArgMem();  // not what the loop works on
      return leaveWith(status);
    }
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* at = fn_.untilLook();
    llvm::Value* left = ir.CreateSub(ir.CreateLoad(ir.getInt32Ty(), at), ir.getInt32(1));
    ir.CreateStore(left, at);
    fn_.when(ir.CreateICmpSLE(left, ir.getInt32(0)), [&] { leaveWith(callHost(kLook, 1)); });
  }

  void leaveIfDeclined() {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* status = ir.CreateLoad(ir.getInt32Ty(), fn_.status());
    fn_.leaveIf(ir.CreateICmpNE(ir.CreateAnd(status, kStatusDecline), ir.getInt32(0)), [] {});
  }

  const ModuleState& m_;
  KernelList& kernels_;
  FunctionState& fn_;
  UndoLog* const undo_;  ///< of a loop over numbers
};

}  // namespace

void emitSteps(const ModuleState& m, KernelList& kernels, FunctionState& fn, const graph::Steps& steps) {
  StepEmitter(m, kernels, fn).steps(steps);
}

}  // namespace fw::jit
