#include "jit/emit_math.h"

#include "absl/strings/str_cat.h"
#include "graph/support/check.h"
#include "jit/emit_module.h"
#include "jit/emit_ops.h"
#include "kernels/math_calls.h"

namespace fw::jit {
namespace {

using kernels::Expr;
using kernels::ScalarOp;
using llvm::Value;

/// Operations of a kernel without loops, on values in place of its loads. Answers what it stores.
Value* operations(FunctionState& fn, const kernels::Kernel& kernel, llvm::ArrayRef<Value*> operands) {
  llvm::IRBuilder<>& ir = fn.ir();
  const unsigned lanes = lanesOf(operands[0]);
  OpEmitter ops(fn);
  std::vector<Value*> values(kernel.exprs.size());
  const auto emit = [&](const Expr& expr) -> Value* {
    if (expr.op == ScalarOp::kLoad) return operands[kernel.accesses[expr.access].buffer.index];
    if (expr.op == ScalarOp::kConst) return fn.splat(ops.constant(expr.dtype, expr.imm), lanes);
    llvm::SmallVector<Value*, 3> own;
    for (kernels::ExprId operand : expr.operands) own.push_back(values[operand.index]);
    if (expr.op != ScalarOp::kRaiseIf) {
      const kernels::ExprId typed = expr.operands[expr.op == ScalarOp::kSelect ? 1 : 0];
      return ops.emit(expr, kernel.exprs[typed.index].dtype, own);
    }
    Value* any = lanes > 1 ? ir.CreateOrReduce(own[0]) : own[0];
    fn.when(any, [&] { fn.raise(any, expr.imm); });
    return nullptr;
  };
  for (const kernels::Item& item : kernel.body.items) {
    if (item.expr.valid())
      values[item.expr.index] = emit(kernel.exprs[item.expr.index]);
    else
      return values[kernel.stmts[item.stmt.index].value.index];
  }
  FW_UNREACHABLE();
}

}  // namespace

Value* callMath(FunctionState& fn, const Expr& call, llvm::ArrayRef<Value*> operands) {
  const kernels::MathCall what = kernels::MathCall::of(call.imm);
  llvm::Type* type = operands[0]->getType();
  const std::string name =
      absl::StrCat("math.", std::string(kernels::name(what.function)), ".", std::string(graph::name(call.dtype)), "x",
                   lanesOf(operands[0]), what.reportsFlags ? "" : ".quiet");
  llvm::Function* function = fn.module().module.getFunction(name);
  if (!function) {
    const llvm::SmallVector<llvm::Type*, 2> parameters(operands.size(), type);
    FunctionState own(fn.module(), name, FunctionState::Kind::kMath, parameters);
    function = own.function();
    llvm::SmallVector<Value*, 2> arguments;
    for (size_t i = 0; i < operands.size(); ++i) arguments.push_back(function->getArg(static_cast<unsigned>(i) + 1));
    own.ir().CreateRet(operations(own, kernels::mathFunction(what, call.dtype).kernel, arguments));
  }
  llvm::SmallVector<Value*, 3> arguments = {fn.status()};
  arguments.append(operands.begin(), operands.end());
  return fn.ir().CreateCall(function, arguments);
}

}  // namespace fw::jit
