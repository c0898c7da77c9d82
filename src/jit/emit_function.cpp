// Frame of the native function.
//
// The entry block holds stack slots, the switch to a clean MXCSR, and every symbol, symbolic expression and buffer
// address that any kernel asks for: they are appended there on first use, so each is computed once and dominates
// everything. Floating-point flags are sticky, so the whole function costs one read of MXCSR at its end however
// much it computes. Parts and shared kernels (emit_module.h) run in the environment of the function that calls them.
#include "jit/emit_function.h"

#include <cstddef>

#include "graph/support/check.h"
#include "jit/compile.h"
#include "jit/emit_module.h"
#include "jit/profilers.h"
#include "jit/runtime.h"
#include "jit/scalar_loops.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace fw::jit {

using graph::BufferId;
using graph::SymId;
using graph::SymOp;
using llvm::Value;

FunctionState::FunctionState(const ModuleState& m, const std::string& name, Kind kind, llvm::ArrayRef<llvm::Type*> more,
                             const ScalarLoop* loop)
    : module_(m),
      target_(m.target),
      syms_(m.syms),
      plan_(m.plan),
      kind_(kind),
      loop_(loop),
      ir_(m.module.getContext()),
      entry_(m.module.getContext()),
      renewed_(m.module.getContext()) {
  const bool entry = kind == Kind::kEntry, shared = kind == Kind::kShared, math = kind == Kind::kMath;
  const unsigned own = kind == Kind::kPart || kind == Kind::kLoop ? 2 : 1;
  llvm::SmallVector<llvm::Type*, 8> parameters(own, ir_.getPtrTy());
  parameters.append(more.begin(), more.end());
  llvm::Type* result = shared ? ir_.getVoidTy() : math ? more[0] : ir_.getInt32Ty();
  auto* type = llvm::FunctionType::get(result, parameters, false);
  const auto linkage = entry ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  function_ = llvm::Function::Create(type, linkage, name, m.module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  if (areProfilersOpen()) function_->addFnAttr("frame-pointer", "all");
  function_->addFnAttr("target-cpu", target_.cpu);
  function_->addFnAttr("target-features", target_.features);
  const std::string bits = std::to_string(target_.vectorBits);
  function_->addFnAttr("prefer-vector-width", bits);
  function_->addFnAttr("min-legal-vector-width", bits);
  for (unsigned i = 0; i < own; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);

  llvm::BasicBlock* first = block("entry");
  llvm::BasicBlock* body = block("body");
  entry_.SetInsertPoint(first);
  llvm::Instruction* end = entry_.CreateBr(body);
  entry_.SetInsertPoint(end);
  ir_.SetInsertPoint(body);
  if (entry) {
    openEnvironment();
    return;
  }
  if (loop) {
    openLoop();
    return;
  }
  status_ = function_->getArg(own - 1);
  if (!shared && !math) control_ = slot(ir_.getInt32Ty(), 1);
}

void FunctionState::openEnvironment() {
  savedControl_ = slot(ir_.getInt32Ty(), 1);
  control_ = slot(ir_.getInt32Ty(), 1);
  status_ = slot(ir_.getInt32Ty(), 1);
  entry_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {savedControl_});
  entry_.CreateStore(ir_.getInt32(0), status_);
  // Changing the register takes longer than a small kernel.
  llvm::BasicBlock* before = entry_.GetInsertBlock();
  llvm::BasicBlock *clearing = block("clearing"), *opened = before->splitBasicBlock(entry_.GetInsertPoint(), "opened");
  before->getTerminator()->eraseFromParent();
  clearing->moveAfter(before);
  opened->moveAfter(clearing);
  entry_.SetInsertPoint(before);
  entry_.CreateCondBr(isClean(entry_, savedControl_), opened, clearing);
  entry_.SetInsertPoint(clearing);
  entry_.CreateStore(ir_.getInt32(kCleanControl), control_);
  entry_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {control_});
  entry_.CreateBr(opened);
  entry_.SetInsertPoint(opened->getTerminator());
}

Value* FunctionState::isClean(llvm::IRBuilder<>& at, Value* control) {
  Value* state = at.CreateOr(at.CreateLoad(ir_.getInt32Ty(), control), kInexactControl);
  return at.CreateICmpEQ(state, ir_.getInt32(kCleanControl | kInexactControl));
}

void FunctionState::finish(bool answersFlags, llvm::function_ref<void()> beforeLeaving) {
  if (kind_ == Kind::kShared) {
    ir_.CreateRetVoid();
    return;
  }
  if (kind_ == Kind::kPart || kind_ == Kind::kLoop) {
    const auto end = [&](uint32_t leaves) {
      if (loop_) {
        Value* callers = function_->getArg(1);
        Value* own = ir_.CreateLoad(ir_.getInt32Ty(), status_);
        ir_.CreateStore(ir_.CreateOr(ir_.CreateLoad(ir_.getInt32Ty(), callers), own), callers);
      }
      ir_.CreateRet(ir_.getInt32(leaves));
    };
    end(0);
    if (!last_) return;
    place(last_);
    if (beforeLeaving) beforeLeaving();
    end(1);
    return;
  }
  // A block of its own: within a block, instruction selection could order arithmetic after the read of the flags.
  if (!last_) last_ = llvm::BasicBlock::Create(ir_.getContext(), "finish");
  last_->insertInto(function_);
  ir_.CreateBr(last_);
  ir_.SetInsertPoint(last_);
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {control_});
  Value* asBefore = ir_.CreateAnd(isClean(ir_, control_), isClean(ir_, savedControl_));
  when(ir_.CreateNot(asBefore), [&] { ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {savedControl_}); });
  Value* flags = ir_.CreateLoad(ir_.getInt32Ty(), control_);
  Value* status = ir_.CreateLoad(ir_.getInt32Ty(), status_);
  ir_.CreateRet(answersFlags ? ir_.CreateOr(statusOf(flags), status) : status);
}

void FunctionState::callPart(FunctionState& part, bool mayLeave) {
  Value* leave = ir_.CreateCall(part.function_, {function_->getArg(0), status_});
  if (mayLeave) leaveIf(ir_.CreateICmpNE(leave, ir_.getInt32(0)), [] {});
}

// MXCSR: bit 0 invalid, 1 denormal, 2 divide by zero, 3 overflow, 4 underflow, 5 inexact.
Value* FunctionState::statusOf(Value* control) {
  static_assert(kStatusInvalid == 1 && kStatusDivide == 2 && kStatusOverflow == 4 && kStatusUnderflow == 8);
  return ir_.CreateOr(ir_.CreateAnd(control, 1), ir_.CreateAnd(ir_.CreateLShr(control, 1), 0xe));
}

void FunctionState::separate(const char* name) {
  llvm::BasicBlock* next = block(name);
  ir_.CreateBr(next);
  ir_.SetInsertPoint(next);
}

Value* FunctionState::raisedFlags(Value* bits) {
  separate("flags");  // see finish()
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {control_});
  return ir_.CreateAnd(statusOf(ir_.CreateLoad(ir_.getInt32Ty(), control_)), bits);
}

void FunctionState::clearFlags() {
  separate("clear");
  ir_.CreateStore(ir_.getInt32(kCleanControl), control_);
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {control_});
  separate("cleared");
}

void FunctionState::withRules(graph::ErrorRules rules, llvm::function_ref<void()> body, uint32_t verdict) {
  if (!rules.any()) return body();
  separate("ruled");
  Value* before = slot(ir_.getInt32Ty(), 1);
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {before});
  clearFlags();
  body();
  separate("judged");
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {control_});
  Value* raised = ir_.CreateLoad(ir_.getInt32Ty(), control_);
  if (rules.reported != 0)
    raise(ir_.CreateICmpNE(ir_.CreateAnd(statusOf(raised), rules.reported), ir_.getInt32(0)), verdict);
  const uint32_t ignored = (rules.ignored & 1u) | (rules.ignored & 0xeu) << 1;  // see statusOf()
  Value* left = ir_.CreateAnd(raised, ir_.getInt32(~ignored));
  ir_.CreateStore(ir_.CreateOr(left, ir_.CreateLoad(ir_.getInt32Ty(), before)), control_);
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {control_});
  separate("rulesEnd");
}

void FunctionState::storeFlags(Value* array, int64_t index) {
  Value* status = raisedFlags(ir_.getInt32(-1));
  Value* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt32Ty(), ir_.CreateLoad(ir_.getPtrTy(), array), index);
  ir_.CreateStore(status, at);
  clearFlags();
}

void FunctionState::leaveIf(Value* condition, llvm::function_ref<void()> before) {
  if (!last_) last_ = llvm::BasicBlock::Create(ir_.getContext(), "finish");
  llvm::BasicBlock* leaving = block("leave");
  llvm::BasicBlock* on = block("on");
  ir_.CreateCondBr(condition, leaving, on);
  ir_.SetInsertPoint(leaving);
  before();
  ir_.CreateBr(last_);
  ir_.SetInsertPoint(on);
}

Value* FunctionState::field(size_t offset) {
  Value*& known = fields_[offset];
  if (known) return known;
  Value* address = entry_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), function_->getArg(0), offset);
  return known = entry_.CreateLoad(ir_.getPtrTy(), address);
}

Value* FunctionState::reported() {
  Value* at = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), function_->getArg(0), offsetof(Context, reported));
  return ir_.CreateLoad(ir_.getInt32Ty(), at);
}

Value* FunctionState::times() { return field(offsetof(Context, times)); }

Value* FunctionState::shortcuts() { return field(offsetof(Context, shortcuts)); }

Value* FunctionState::untilLook() {
  constexpr size_t kOffset = offsetof(Context, untilLook) + sizeof(Context::untilLook[0]);
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), function_->getArg(0), kOffset);
}

Value* FunctionState::progress(size_t offset) {
  return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), field(offsetof(Context, progress)), offset);
}

Value* FunctionState::slot(llvm::Type* type, unsigned count) {
  llvm::IRBuilder<> top(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* alloca = top.CreateAlloca(type, top.getInt32(count));
  alloca->setAlignment(llvm::Align(64));
  return alloca;
}

void FunctionState::raise(Value* condition, uint64_t bit) {
  Value* old = ir_.CreateLoad(ir_.getInt32Ty(), status_);
  Value* added = ir_.CreateSelect(condition, ir_.getInt32(static_cast<uint32_t>(bit)), ir_.getInt32(0));
  ir_.CreateStore(ir_.CreateOr(old, added), status_);
}

Value* FunctionState::sym(SymId id) {
  if (auto it = symValues_.find(id); it != symValues_.end()) return it->second;
  if (!isBound(id)) return symValues_[id] = emitSym(entry_, id);
  if (auto it = scopedSyms_.find(id); it != scopedSyms_.end()) return it->second;
  return scopedSyms_[id] = emitSym(*scope_, id);
}

bool FunctionState::isBound(SymId id) {
  if (plan_.bound.empty()) return false;
  if (auto it = bound_.find(id); it != bound_.end()) return it->second;
  bool bound = (loop_ ? loop_->symbols : plan_.bound).contains(id);
  for (SymId operand : syms_.node(id).operands) bound |= isBound(operand);
  return bound_[id] = bound;
}

void FunctionState::renew() {
  separate("scope");
  llvm::BasicBlock* scope = ir_.GetInsertBlock();
  separate("renewed");
  renewed_.SetInsertPoint(scope->getTerminator());
  scope_ = &renewed_;
  scopedSyms_.clear();
  scopedBuffers_.clear();
}

void FunctionState::bindSymbol(SymId symbol, Value* value) { ir_.CreateStore(value, symbolSlot(ir_, symbol)); }

Value* FunctionState::symbolSlot(llvm::IRBuilder<>& at, SymId symbol) {
  if (const auto own = symbolSlots_.find(symbol); own != symbolSlots_.end()) return own->second;
  return at.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), field(offsetof(Context, symbols)), syms_.node(symbol).value);
}

Value* FunctionState::bufferSlot(llvm::IRBuilder<>& at, BufferId id) {
  if (const auto own = handleSlots_.find(id); own != handleSlots_.end()) return own->second;
  return tableEntry(at, id);
}

Value* FunctionState::tableEntry(llvm::IRBuilder<>& at, BufferId id) {
  return at.CreateConstInBoundsGEP1_64(ir_.getPtrTy(), field(offsetof(Context, buffers)), id.index);
}

Value* FunctionState::emitSym(llvm::IRBuilder<>& at, SymId id) {
  const graph::SymNode& node = syms_.node(id);
  FW_CHECK_MSG(kind_ != Kind::kShared || node.op == SymOp::kConst, "a shared kernel asks for what is not bound");
  auto chain = [&](auto combine) {
    Value* acc = sym(node.operands[0]);
    for (size_t i = 1; i < node.operands.size(); ++i) acc = combine(acc, sym(node.operands[i]));
    return acc;
  };
  // Python rounds the quotient down; the remainder has the divisor's sign.
  auto remainderIsOff = [&](Value* a, Value* b, Value* rem) {
    Value* differ = at.CreateICmpSLT(at.CreateXor(a, b), i64(0));
    return at.CreateAnd(differ, at.CreateICmpNE(rem, i64(0)));
  };
  switch (node.op) {
    case SymOp::kConst: return i64(node.value);
    case SymOp::kSymbol: return at.CreateLoad(ir_.getInt64Ty(), symbolSlot(at, id));
    case SymOp::kAdd: return chain([&](Value* a, Value* b) { return at.CreateAdd(a, b); });
    case SymOp::kMul: return chain([&](Value* a, Value* b) { return at.CreateMul(a, b); });
    case SymOp::kMin:
      return chain([&](Value* a, Value* b) { return at.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); });
    case SymOp::kMax:
      return chain([&](Value* a, Value* b) { return at.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); });
    case SymOp::kFloorDiv: {
      Value *a = sym(node.operands[0]), *b = sym(node.operands[1]);
      Value* quotient = at.CreateSDiv(a, b);
      Value* rem = at.CreateSub(a, at.CreateMul(quotient, b));
      return at.CreateSub(quotient, at.CreateZExt(remainderIsOff(a, b, rem), ir_.getInt64Ty()));
    }
    case SymOp::kMod: {
      Value *a = sym(node.operands[0]), *b = sym(node.operands[1]);
      Value* rem = at.CreateSRem(a, b);
      return at.CreateAdd(rem, at.CreateSelect(remainderIsOff(a, b, rem), b, i64(0)));
    }
  }
  FW_UNREACHABLE();
}

Value* FunctionState::address(BufferId id, SymId offset) {
  if (auto it = addresses_.find({id, offset}); it != addresses_.end()) return it->second;
  FW_CHECK_MSG(kind_ != Kind::kShared, "a shared kernel asks for what is not bound");
  Value* base = buffer(id);
  return syms_.isConst(offset, 0) ? base : ir_.CreateGEP(ir_.getInt8Ty(), base, sym(offset));
}

bool FunctionState::moves(BufferId id) const {
  if (loop_) return handleSlots_.contains(id);
  const graph::BufferKind kind = plan_.buffers.at(id.index).kind;
  return kind == graph::BufferKind::kHandle || kind == graph::BufferKind::kGiven || kind == graph::BufferKind::kHeap;
}

Value* FunctionState::buffer(BufferId id) {
  const auto number = numbers_.find(id);
  return number != numbers_.end() ? number->second : memory(id);
}

Value* FunctionState::memory(BufferId id) {
  if (auto it = bufferValues_.find(id); it != bufferValues_.end()) return it->second;
  if (moves(id)) {
    Value*& known = scopedBuffers_[id];
    if (!known) known = scope_->CreateLoad(ir_.getPtrTy(), bufferSlot(*scope_, id));
    return known;
  }
  const graph::Buffer& buffer = plan_.buffers.at(id.index);
  Value* data = nullptr;
  if (buffer.kind == graph::BufferKind::kTemp) {
    data = entry_.CreateGEP(ir_.getInt8Ty(), field(offsetof(Context, workspace)), sym(buffer.offset));
  } else {
    data = entry_.CreateLoad(ir_.getPtrTy(), bufferSlot(entry_, id));
  }
  bufferValues_[id] = data;
  return data;
}

Value* FunctionState::extent(BufferId id, bool end) {
  const graph::Buffer& buffer = plan_.buffers.at(id.index);
  if (moves(id)) {
    Value* bytes = i64(end ? graph::itemSize(buffer.dtype) : 0);
    for (size_t axis = 0; end && axis < buffer.shape.size(); ++axis)
      bytes = ir_.CreateMul(bytes, sym(buffer.shape[axis]));
    return ir_.CreateGEP(ir_.getInt8Ty(), this->buffer(id), bytes);
  }
  Value*& known = extents_[2 * int64_t{id.index} + end];
  if (known) return known;
  if (buffer.kind == graph::BufferKind::kTemp) {
    known = this->buffer(id);
    if (!end) return known;
    Value* bytes = i64(graph::itemSize(buffer.dtype));
    for (SymId size : buffer.shape) bytes = entry_.CreateMul(bytes, sym(size));
    return known = entry_.CreateGEP(ir_.getInt8Ty(), known, bytes);
  }
  const uint64_t at = plan_.buffers.size() + 2 * uint64_t{id.index} + end;
  Value* address = entry_.CreateConstInBoundsGEP1_64(ir_.getPtrTy(), field(offsetof(Context, buffers)), at);
  return known = entry_.CreateLoad(ir_.getPtrTy(), address);
}

void FunctionState::checkInside(BufferId id, Value* pointer, int64_t bytes) {
  auto number = [&](Value* address) { return ir_.CreatePtrToInt(address, ir_.getInt64Ty()); };
  Value *first = number(pointer), *last = ir_.CreateAdd(first, i64(bytes));
  Value* before = ir_.CreateICmpULT(first, number(extent(id, false)));
  Value* behind = ir_.CreateICmpUGT(last, number(extent(id, true)));
  leaveIf(ir_.CreateOr(before, behind), [&] { raise(ir_.getTrue(), kStatusOutside | kStatusDecline); });
}

llvm::Type* FunctionState::scalarType(DType d) {
  switch (d) {
    case DType::kBool: return ir_.getInt1Ty();
    case DType::kI8:
    case DType::kU8: return ir_.getInt8Ty();
    case DType::kI16:
    case DType::kU16:
    case DType::kF16: return ir_.getInt16Ty();
    case DType::kI32:
    case DType::kU32: return ir_.getInt32Ty();
    case DType::kI64:
    case DType::kU64: return ir_.getInt64Ty();
    case DType::kF32: return ir_.getFloatTy();
    case DType::kF64: return ir_.getDoubleTy();
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_UNREACHABLE();  // complex numbers are pairs in kernels
}

llvm::Type* FunctionState::memoryType(DType d) { return d == DType::kBool ? ir_.getInt8Ty() : scalarType(d); }

Value* FunctionState::iota(llvm::Type* type, unsigned lanes) {
  llvm::SmallVector<llvm::Constant*, 64> values;
  for (unsigned i = 0; i < lanes; ++i) values.push_back(llvm::ConstantInt::get(type, i));
  return llvm::ConstantVector::get(values);
}

FunctionState::Carried FunctionState::loop(Value* lower, Value* upper, int64_t step, Carried init, LoopBody body) {
  // Blocks join the function in the order of execution: the pass that would sort them is switched off.
  llvm::BasicBlock *before = ir_.GetInsertBlock(), *head = block("loop");
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(ir_.getContext(), "exit");
  ir_.CreateCondBr(ir_.CreateICmpSLT(lower, upper), head, exit);
  ir_.SetInsertPoint(head);
  llvm::PHINode* index = ir_.CreatePHI(ir_.getInt64Ty(), 2);
  index->addIncoming(lower, before);
  Carried inside;
  for (Value* value : init) {
    llvm::PHINode* phi = ir_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    inside.push_back(phi);
  }
  Carried next = body(index, inside);
  Value* following = ir_.CreateAdd(index, i64(step), "", /*HasNUW=*/false, /*HasNSW=*/true);
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  index->addIncoming(following, latch);
  for (size_t i = 0; i < init.size(); ++i) llvm::cast<llvm::PHINode>(inside[i])->addIncoming(next[i], latch);
  ir_.CreateCondBr(ir_.CreateICmpSLT(following, upper), head, exit);
  exit->insertInto(function_);
  ir_.SetInsertPoint(exit);
  Carried out;
  for (size_t i = 0; i < init.size(); ++i) {
    llvm::PHINode* phi = ir_.CreatePHI(init[i]->getType(), 2);
    phi->addIncoming(init[i], before);
    phi->addIncoming(next[i], latch);
    out.push_back(phi);
  }
  return out;
}

void FunctionState::when(Value* condition, llvm::function_ref<void()> body) {
  llvm::BasicBlock* then = block("then");
  llvm::BasicBlock* join = llvm::BasicBlock::Create(ir_.getContext(), "join");
  ir_.CreateCondBr(condition, then, join);
  ir_.SetInsertPoint(then);
  body();
  ir_.CreateBr(join);
  join->insertInto(function_);
  ir_.SetInsertPoint(join);
}

}  // namespace fw::jit
