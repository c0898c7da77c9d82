// Vector mathematics that is called (kernels/math_calls.h): one function of the module for each number of lanes.
#pragma once

#include "jit/emit_function.h"
#include "kernels/kernel.h"

namespace fw::jit {

/// The value of a CallMath on operands of one lane count. What it reports goes to the status of `fn`.
llvm::Value* callMath(FunctionState& fn, const kernels::Expr& call, llvm::ArrayRef<llvm::Value*> operands);

}  // namespace fw::jit
