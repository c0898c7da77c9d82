#include "jit/emit_module.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <variant>

#include "graph/support/check.h"
#include "jit/emit_kernel.h"
#include "jit/emit_reach.h"
#include "jit/runtime.h"
#include "jit/shared_kernels.h"

namespace fw::jit {
namespace {

using kernels::Kernel;
using Kind = FunctionState::Kind;

/// Beyond this a function is cut, and parts are about as long.
constexpr size_t kPartWeight = 1500;

/// Expressions and loops of a kernel: a measure for its code.
size_t weightOf(const Kernel& kernel) { return kernel.exprs.size() + 16 * kernel.stmts.size(); }

/// One function over a list of kernels.
class Emitter {
 public:
  enum class Use : uint8_t { kRun, kCommit, kObserve };

  Emitter(const ModuleState& m, std::string name, Use use, std::vector<const Kernel*> list)
      : m_(m),
        name_(std::move(name)),
        use_(use),
        list_(std::move(list)),
        sharedBy_(list_.size(), -1) {}

  /// Finds what is alike among the kernels that are no `exception`, and makes its code.
  void share(const std::vector<bool>& exception) {
    if (m_.checked) return;  // shared code does not know whose buffer it is in
    std::vector<const Kernel*> candidates;
    std::vector<size_t> positions;
    for (size_t i = 0; i < list_.size(); ++i) {
      if (exception[i]) continue;
      candidates.push_back(list_[i]);
      positions.push_back(i);
    }
    shared_ = findShared(candidates, m_.syms);
    for (size_t s = 0; s < shared_.size(); ++s) {
      for (size_t& user : shared_[s].users) sharedBy_[user = positions[user]] = static_cast<int>(s);
      functions_.push_back(emitShared(shared_[s], name_ + "_shared" + std::to_string(s)));
    }
    nextUser_.resize(shared_.size());
  }

  /// Emits kernel number `i`, or a call of its shared code.
  void kernel(FunctionState& fn, size_t i) {
    if (sharedBy_[i] >= 0) return call(fn, static_cast<size_t>(sharedBy_[i]), i);
    KernelEmitter emitter(fn, *list_[i], m_.checked && use_ != Use::kCommit);
    use_ == Use::kObserve ? emitter.observe() : emitter.run();
  }

  using Emit = std::function<void(FunctionState&, size_t)>;
  /// Calls `emit` for every kernel, in `main` or in parts of it.
  void all(FunctionState& main, bool mayLeave, const Emit& emit) { range(main, mayLeave, 0, list_.size(), emit); }

  /// The same for the kernels [from, to).
  void range(FunctionState& main, bool mayLeave, size_t from, size_t to, const Emit& emit) {
    size_t total = 0;
    for (size_t i = from; i < to; ++i) total += weight(i);
    if (total <= kPartWeight) {
      for (size_t i = from; i < to; ++i) emit(main, i);
      return;
    }
    for (size_t i = from; i < to;) {
      FunctionState part = open(name_ + "_part" + std::to_string(parts_++), Kind::kPart);
      for (size_t length = 0; i < to && (length == 0 || length + weight(i) <= kPartWeight); ++i) {
        emit(part, i);
        length += weight(i);
      }
      part.finish();
      main.callPart(part, mayLeave);
    }
  }

  FunctionState open(const std::string& name, Kind kind, llvm::ArrayRef<llvm::Type*> more = {}) {
    return FunctionState(m_.module, m_.target, m_.syms, m_.plan, name, kind, more);
  }

 private:
  size_t weight(size_t i) const {
    if (sharedBy_[i] < 0) return weightOf(*list_[i]);
    const KernelArguments& a = shared_[static_cast<size_t>(sharedBy_[i])].arguments[0];
    return 4 + a.places.size() + a.syms.size() + a.numbers.size();
  }

  llvm::Function* emitShared(const SharedKernel& shared, const std::string& name) {
    const Kernel& kernel = *list_[shared.users[0]];
    const KernelArguments& own = shared.arguments[0];
    llvm::LLVMContext& context = m_.module.getContext();
    std::vector<llvm::Type*> types(own.places.size(), llvm::PointerType::get(context, 0));
    types.resize(types.size() + own.syms.size(), llvm::Type::getInt64Ty(context));
    for (kernels::ExprId id : own.numbers)
      types.push_back(kernel.exprs[id.index].dtype == graph::DType::kF32 ? llvm::Type::getFloatTy(context)
                                                                         : llvm::Type::getDoubleTy(context));
    FunctionState fn = open(name, Kind::kShared, types);
    KernelEmitter emitter(fn, kernel);
    unsigned next = 1;
    for (const auto& [buffer, offset] : own.places) fn.bind(buffer, offset, fn.function()->getArg(next++));
    for (graph::SymId sym : own.syms) fn.bind(sym, fn.function()->getArg(next++));
    for (kernels::ExprId id : own.numbers) emitter.bind(id, fn.function()->getArg(next++));
    use_ == Use::kObserve ? emitter.observe() : emitter.run();
    fn.finish();
    return fn.function();
  }

  void call(FunctionState& fn, size_t shared, size_t i) {
    size_t& user = nextUser_[shared];  // kernels come in order
    FW_CHECK(shared_[shared].users[user] == i);
    const KernelArguments& arguments = shared_[shared].arguments[user++];
    std::vector<llvm::Value*> values = {fn.status()};
    for (const auto& [buffer, offset] : arguments.places) values.push_back(fn.address(buffer, offset));
    for (graph::SymId sym : arguments.syms) values.push_back(fn.sym(sym));
    OpEmitter ops(fn);
    for (kernels::ExprId id : arguments.numbers) {
      const kernels::Expr& expr = list_[i]->exprs[id.index];
      values.push_back(ops.constant(expr.dtype, expr.imm));
    }
    fn.ir().CreateCall(functions_[shared], values);
  }

  const ModuleState& m_;
  const std::string name_;
  const Use use_;
  const std::vector<const Kernel*> list_;
  std::vector<int> sharedBy_;  // by kernel: entry of shared_, or -1
  std::vector<SharedKernel> shared_;
  std::vector<llvm::Function*> functions_;
  std::vector<size_t> nextUser_;
  size_t parts_ = 0;
};

/// The steps of a plan up to Accept, as the body of a function.
class StepEmitter {
 public:
  StepEmitter(const ModuleState& m, Emitter& kernels, FunctionState& fn) : m_(m), kernels_(kernels), fn_(fn) {}

  void steps(const graph::Steps& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto* kernel = std::get_if<graph::KernelStep>(&steps[i].what);
      if (!kernel) {
        std::visit([&](const auto& what) { emit(what); }, steps[i].what);
        continue;
      }
      const auto from = static_cast<size_t>(kernel->group);
      for (; i + 1 < steps.size() && std::holds_alternative<graph::KernelStep>(steps[i + 1].what);) ++i;
      const auto to = static_cast<size_t>(std::get<graph::KernelStep>(steps[i].what).group) + 1;
      kernels_.range(fn_, m_.checked, from == 0 ? 0 : m_.program.kernelsUpTo[from - 1], m_.program.kernelsUpTo[to - 1],
                     [&](FunctionState& part, size_t k) { kernels_.kernel(part, k); });
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
    llvm::IRBuilder<>& ir = fn_.ir();
    for (graph::BufferId handle : step.handles) fn_.setHandle(handle, fn_.buffer(m_.plan.buffers[handle.index].home));
    llvm::Value* trip = step.trip ? fn_.sym(*step.trip) : fn_.i64(INT64_MAX);
    llvm::BasicBlock *before = ir.GetInsertBlock(), *head = fn_.block("steps");
    llvm::BasicBlock* exit = llvm::BasicBlock::Create(ir.getContext(), "behind");
    ir.CreateCondBr(ir.CreateICmpSLT(fn_.i64(0), trip), head, exit);
    ir.SetInsertPoint(head);
    llvm::PHINode* index = ir.CreatePHI(ir.getInt64Ty(), 2);
    index->addIncoming(fn_.i64(0), before);
    if (step.index) fn_.bindSymbol(*step.index, index);
    fn_.renew();
    steps(step.bodies[0].steps);
    llvm::Value* next = ir.CreateAdd(index, fn_.i64(1));
    llvm::Value* again = ir.CreateAnd(truth(step.again), ir.CreateICmpSLT(next, trip));
    std::vector<llvm::Value*> addresses;
    for (const auto& [to, from] : step.moves) addresses.push_back(fn_.buffer(from));
    for (size_t i = 0; i < addresses.size(); ++i) fn_.setHandle(step.moves[i].first, addresses[i]);
    leaveIfDeclined();  // what it goes on with may be anything, and never end
    leaveIfInterrupted(step, next);
    index->addIncoming(next, ir.GetInsertBlock());
    ir.CreateCondBr(again, head, exit);
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

  void define(graph::SymId symbol, graph::BufferId from, graph::SymId least, graph::SymId most) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* number = ir.CreateLoad(ir.getInt64Ty(), fn_.buffer(from));
    llvm::Value* low = ir.CreateICmpSLT(number, fn_.sym(least));
    llvm::Value* high = ir.CreateICmpSGT(number, fn_.sym(most));
    fn_.leaveIf(ir.CreateOr(low, high), [&] { fn_.raise(ir.getTrue(), kStatusDecline); });
    fn_.bindSymbol(symbol, number);
    fn_.renew();
  }

  void emit(const graph::CallStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Type *pointer = ir.getPtrTy(), *number = ir.getInt32Ty();
    auto* type = llvm::FunctionType::get(number, {pointer, number}, false);
    llvm::Value* status = ir.CreateCall(m_.module.getOrInsertFunction(kCallLibrary, type),
                                        {fn_.function()->getArg(0), ir.getInt32(static_cast<uint32_t>(step.number))});
    fn_.leaveIf(ir.CreateICmpNE(status, ir.getInt32(0)),
                [&] { ir.CreateStore(ir.CreateOr(ir.CreateLoad(number, fn_.status()), status), fn_.status()); });
    fn_.renew();
  }

  void emit(const graph::AllocStep& step) {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Type *pointer = ir.getPtrTy(), *number = ir.getInt32Ty();
    llvm::Value* status = nullptr;
    if (m_.plan.buffers[step.buffer.index].kind == graph::BufferKind::kGiven) {
      auto* type = llvm::FunctionType::get(number, {pointer, number}, false);
      status = ir.CreateCall(m_.module.getOrInsertFunction(kMakeArray, type),
                             {fn_.function()->getArg(0), ir.getInt32(static_cast<uint32_t>(step.number))});
    } else {
      auto* type = llvm::FunctionType::get(number, {pointer, number, ir.getInt64Ty()}, false);
      llvm::Value* bytes = bytesOf(m_.plan.buffers[step.buffer.index]);
      status = ir.CreateCall(m_.module.getOrInsertFunction(kAllocate, type),
                             {fn_.function()->getArg(0), ir.getInt32(step.buffer.index), bytes});
    }
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
    const graph::Buffer& buffer = m_.plan.buffers[step.to.index];
    llvm::Value* bytes = fn_.i64(graph::itemSize(buffer.dtype));
    for (graph::SymId size : buffer.shape) bytes = fn_.ir().CreateMul(bytes, fn_.sym(size));
    llvm::Type* pointer = fn_.ir().getPtrTy();
    auto* type = llvm::FunctionType::get(fn_.ir().getVoidTy(), {pointer, pointer, bytes->getType()}, false);
    fn_.ir().CreateCall(m_.module.getOrInsertFunction(kCopy, type),
                        {fn_.buffer(step.to), fn_.buffer(step.from), bytes});
  }

  /// Whether a turn is more than a few numbers.
  bool isHeavy(const graph::Steps& steps) const {
    for (const graph::Step& step : steps) {
      const auto* kernel = std::get_if<graph::KernelStep>(&step.what);
      if (kernel && m_.plan.groups[kernel->group].domain.empty()) continue;
      if (std::holds_alternative<graph::DefineStep>(step.what)) continue;
      const auto* cond = std::get_if<graph::CondStep>(&step.what);
      if (!cond || isHeavy(cond->bodies[0].steps) || isHeavy(cond->bodies[1].steps)) return true;
    }
    return false;
  }

  /// Between turns, in short loops now and then.
  void leaveIfInterrupted(const graph::LoopStep& step, llvm::Value* turns) {
    constexpr int64_t kLightTurns = 64;
    llvm::IRBuilder<>& ir = fn_.ir();
    const bool heavy = isHeavy(step.bodies[0].steps);
    llvm::BasicBlock* on = llvm::BasicBlock::Create(ir.getContext(), "on");
    if (!heavy) {
      llvm::BasicBlock* asks = fn_.block("look");
      ir.CreateCondBr(ir.CreateICmpEQ(ir.CreateAnd(turns, fn_.i64(kLightTurns - 1)), fn_.i64(0)), asks, on);
      ir.SetInsertPoint(asks);
    }
    llvm::Type *pointer = ir.getPtrTy(), *number = ir.getInt32Ty();
    auto* type = llvm::FunctionType::get(number, {pointer, number}, false);
    llvm::Value* status = ir.CreateCall(m_.module.getOrInsertFunction(kLook, type),
                                        {fn_.function()->getArg(0), ir.getInt32(heavy ? 1 : 0)});
    fn_.leaveIf(ir.CreateICmpNE(status, ir.getInt32(0)),
                [&] { ir.CreateStore(ir.CreateOr(ir.CreateLoad(number, fn_.status()), status), fn_.status()); });
    ir.CreateBr(on);
    fn_.place(on);
  }

  void leaveIfDeclined() {
    llvm::IRBuilder<>& ir = fn_.ir();
    llvm::Value* status = ir.CreateLoad(ir.getInt32Ty(), fn_.status());
    fn_.leaveIf(ir.CreateICmpNE(ir.CreateAnd(status, kStatusDecline), ir.getInt32(0)), [] {});
  }

  const ModuleState& m_;
  Emitter& kernels_;
  FunctionState& fn_;
};

std::vector<const Kernel*> pointersTo(const std::vector<Kernel>& kernels) {
  std::vector<const Kernel*> list;
  for (const Kernel& kernel : kernels) list.push_back(&kernel);
  return list;
}

/// The deferred commit of each kernel, or null.
std::vector<const DeferredCommit*> deferredOf(const ModuleState& m, size_t commits) {
  std::vector<const DeferredCommit*> result(commits, nullptr);
  for (const DeferredCommit& d : m.program.deferred) result[static_cast<size_t>(d.commit)] = &d;
  return result;
}

}  // namespace

void emitEntry(const ModuleState& m, const std::string& name) {
  const std::vector<Kernel>&kernels = m.program.kernels, &commits = m.program.commits;
  Emitter emitter(m, name, Emitter::Use::kRun, pointersTo(kernels));
  emitter.share(std::vector<bool>(kernels.size()));
  FunctionState fn = emitter.open(name, Kind::kEntry);
  emitReachChecks(fn, m.program.reaches);
  const auto probe = [&] {
    if (!m.checked) return;
    for (const Kernel& commit : commits) KernelEmitter(fn, commit, /*checked=*/true).probe();
  };
  const bool known = m.plan.isStraight() && m.plan.calls == 0;  // where commits store
  if (known) {
    probe();
    if (m.checked && !commits.empty()) fn.clearFlags();
  }
  if (m.program.kernelsUpTo.empty() && m.plan.calls == 0)
    emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  else
    StepEmitter(m, emitter, fn).steps(m.plan.steps);
  if (!known) probe();  // it may follow from what has been computed
  fn.finish();
}

void emitCommits(const ModuleState& m, const std::string& name) {
  const std::vector<Kernel>& commits = m.program.commits;
  const std::vector<const DeferredCommit*> deferred = deferredOf(m, commits.size());
  std::vector<bool> watched;  // those run part by part
  for (const DeferredCommit* d : deferred) watched.push_back(d && !d->whole);
  Emitter emitter(m, name, Emitter::Use::kCommit, pointersTo(commits));
  emitter.share(watched);
  FunctionState fn = emitter.open(name, Kind::kEntry);
  emitter.all(fn, /*mayLeave=*/true, [&](FunctionState& part, size_t i) {
    const auto index = static_cast<int64_t>(i);
    auto emit = [&] {
      if (watched[i]) return KernelEmitter(part, commits[i]).runWatched(index);
      if (deferred[i]) part.clearFlags();
      emitter.kernel(part, i);
      if (deferred[i]) part.storeFlags(part.progress(offsetof(CommitProgress, raised)), index);
    };
    if (m.program.deferred.empty()) return emit();
    llvm::Value* reached =
        part.ir().CreateLoad(part.ir().getInt64Ty(), part.progress(offsetof(CommitProgress, commit)));
    part.when(part.ir().CreateICmpSLE(reached, part.i64(index)), emit);
  });
  fn.finish(/*answersFlags=*/false);
}

void emitCheck(const ModuleState& m, const std::string& name) {
  std::vector<const Kernel*> list;
  for (const DeferredCommit& d : m.program.deferred) list.push_back(&m.program.commits[static_cast<size_t>(d.commit)]);
  Emitter emitter(m, name, Emitter::Use::kObserve, std::move(list));
  emitter.share(std::vector<bool>(m.program.deferred.size()));
  FunctionState fn = emitter.open(name, Kind::kEntry);
  emitter.all(fn, /*mayLeave=*/m.checked, [&](FunctionState& part, size_t i) { emitter.kernel(part, i); });
  fn.finish();
}

}  // namespace fw::jit
