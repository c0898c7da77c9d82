#include "jit/emit_clock.h"

#include <cstddef>

#include "jit/compile.h"
#include "jit/emit_module.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using runtime::PartTime;

EmitClock::EmitClock(FunctionState& fn, size_t part) : fn_(fn), part_(part) {
  if (!fn.module().timed || fn.isOptimized()) return;
  llvm::IRBuilder<>& ir = fn.ir();
  start_ = fn.slot(ir.getInt64Ty(), 1);
  fn.when(ir.CreateIsNotNull(fn.times()),
          [&] { ir.CreateStore(ir.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}), start_); });
}

EmitClock::~EmitClock() {
  if (!start_) return;
  llvm::IRBuilder<>& ir = fn_.ir();
  fn_.when(ir.CreateIsNotNull(fn_.times()), [&] {
    llvm::Value* end = ir.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {});
    const auto add = [&](size_t offset, llvm::Value* what) {
      llvm::Value* field =
          ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), fn_.times(), part_ * sizeof(PartTime) + offset);
      ir.CreateStore(ir.CreateAdd(ir.CreateLoad(ir.getInt64Ty(), field), what), field);
    };
    add(offsetof(PartTime, cycles), ir.CreateSub(end, ir.CreateLoad(ir.getInt64Ty(), start_)));
    add(offsetof(PartTime, runs), fn_.i64(1));
  });
}

}  // namespace fw::jit
