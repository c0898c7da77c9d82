#include "jit/emit_call.h"

#include <cstddef>

#include "jit/compile.h"
#include "jit/emit_module.h"
#include "llvm/IR/IRBuilder.h"

namespace fw::jit {

using graph::DType;
using llvm::Value;
using runtime::CallShortcut;

namespace {

/// Null where the results are not one number.
const graph::Buffer* numberOf(const graph::CallStep& step, const graph::Plan& plan) {
  if (step.results.size() != 1 || !step.results[0].valid() || !step.sizes.empty()) return nullptr;
  const graph::Buffer& buffer = plan.buffers[step.results[0].index];
  return buffer.shape.empty() && buffer.kind != graph::BufferKind::kGiven ? &buffer : nullptr;
}

bool isOfVectors(const graph::CallStep& step, const graph::Plan& plan) {
  const auto isVector = [](const graph::Window& operand) { return operand.shape.size() == 1; };
  return numberOf(step, plan) && step.operands.size() == 2 && llvm::all_of(step.operands, isVector);
}

class Emitter {
 public:
  Emitter(const ModuleState& m, FunctionState& fn, const graph::CallStep& step)
      : m_(m),
        fn_(fn),
        ir_(fn.ir()),
        step_(step) {}

  Value* emit(llvm::function_ref<Value*()> callHost) {
    // Everything that both ways need to exist is computed in front of them.
    const bool vectors = !step_.operands.empty();
    Value* to = fn_.buffer(step_.results[0]);
    if (vectors) {
      for (int i : {0, 1}) {
        const graph::Window& operand = step_.operands[static_cast<size_t>(i)];
        data_[i] = fn_.address(operand.buffer, operand.offset);
        strides_[i] = fn_.sym(operand.strides[0]);
        sizes_[i] = fn_.sym(operand.shape[0]);
      }
    }
    llvm::BasicBlock *asked = fn_.block("asked"), *own = fn_.block("shortcut"), *host = fn_.block("by_host");
    llvm::BasicBlock* join = llvm::BasicBlock::Create(ir_.getContext(), "called");
    Value* table = fn_.shortcuts();
    ir_.CreateCondBr(ir_.CreateIsNotNull(table), asked, host);
    ir_.SetInsertPoint(asked);
    entry_ = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), table,
                                            static_cast<uint64_t>(step_.number) * sizeof(CallShortcut));
    auto* function = ir_.CreateLoad(ir_.getPtrTy(), entry_, /*isVolatile=*/true);  // offset 0
    Value* may = ir_.CreateIsNotNull(function);
    if (vectors) may = ir_.CreateAnd(may, fits());
    ir_.CreateCondBr(may, own, host);
    ir_.SetInsertPoint(own);
    vectors ? multiply(function, to) : draw(function, to);
    ir_.CreateBr(join);
    own = ir_.GetInsertBlock();
    ir_.SetInsertPoint(host);
    fn_.lend(step_.results[0]);
    Value* status = callHost();
    fn_.fetch(step_.results[0]);
    host = ir_.GetInsertBlock();
    ir_.CreateBr(join);
    fn_.place(join);
    llvm::PHINode* answer = ir_.CreatePHI(ir_.getInt32Ty(), 2);
    answer->addIncoming(ir_.getInt32(0), own);
    answer->addIncoming(status, host);
    return answer;
  }

 private:
  Value* field(llvm::Type* type, size_t offset) {
    return ir_.CreateLoad(type, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), entry_, offset));
  }

  Value* fits() {
    Value* most = field(ir_.getInt64Ty(), offsetof(CallShortcut, most));
    Value* mask = field(ir_.getInt64Ty(), offsetof(CallShortcut, mask));
    Value* may = ir_.CreateAnd(ir_.CreateICmpEQ(sizes_[0], sizes_[1]), ir_.CreateICmpSGE(sizes_[0], fn_.i64(2)));
    may = ir_.CreateAnd(may, ir_.CreateICmpSLE(sizes_[0], most));
    for (Value* stride : strides_) {
      may = ir_.CreateAnd(may, ir_.CreateICmpSGT(stride, fn_.i64(0)));
      may = ir_.CreateAnd(may, ir_.CreateICmpEQ(ir_.CreateAnd(stride, mask), fn_.i64(0)));
    }
    return may;
  }

  llvm::CallInst* call(Value* function, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (Value* argument : arguments) types.push_back(argument->getType());
    llvm::CallInst* made = ir_.CreateCall(llvm::FunctionType::get(result, types, false), function, arguments);
    made->setDoesNotThrow();
    made->setOnlyAccessesInaccessibleMemOrArgMem();  // not what the code works on, but for operands
    return made;
  }

  void draw(Value* function, Value* to) {
    const bool isWhole = m_.plan.buffers[step_.results[0].index].dtype == DType::kI64;
    Value* argument = field(ir_.getPtrTy(), offsetof(CallShortcut, argument));
    llvm::SmallVector<Value*, 3> arguments = {argument};
    for (size_t i = 0; i < 2 && !isWhole; ++i)
      arguments.push_back(field(ir_.getDoubleTy(), offsetof(CallShortcut, numbers) + i * sizeof(double)));
    ir_.CreateStore(call(function, isWhole ? ir_.getInt64Ty() : ir_.getDoubleTy(), arguments), to);
  }

  void multiply(Value* function, Value* to) {
    Value* nothing = llvm::ConstantPointerNull::get(ir_.getPtrTy());
    call(function, ir_.getVoidTy(), {data_[0], strides_[0], data_[1], strides_[1], to, sizes_[0], nothing});
  }

  const ModuleState& m_;
  FunctionState& fn_;
  llvm::IRBuilder<>& ir_;
  const graph::CallStep& step_;
  Value *data_[2], *strides_[2], *sizes_[2];
  Value* entry_ = nullptr;  ///< of the table
};

}  // namespace

bool answersNumber(const graph::CallStep& step, const graph::Plan& plan) {
  const graph::Buffer* number = numberOf(step, plan);
  return number && step.operands.empty() && (number->dtype == DType::kF64 || number->dtype == DType::kI64);
}

Value* emitCall(const ModuleState& m, FunctionState& fn, const graph::CallStep& step,
                llvm::function_ref<Value*()> callHost) {
  if (!answersNumber(step, m.plan) && !isOfVectors(step, m.plan)) return callHost();
  return Emitter(m, fn, step).emit(callHost);
}

}  // namespace fw::jit
