// Library calls: by the host, or, where it has a shortcut (runtime::CallShortcut), by the code itself.
#pragma once

#include "graph/plan.h"
#include "jit/emit_function.h"

namespace fw::jit {

/// Whether the call may have a shortcut that needs no array: what it answers is a number, and it has no operands.
bool answersNumber(const graph::CallStep& step, const graph::Plan& plan);

/// Makes the call; answers Status bits. `callHost` has the host make it, and answers likewise.
llvm::Value* emitCall(const ModuleState& m, FunctionState& fn, const graph::CallStep& step,
                      llvm::function_ref<llvm::Value*()> callHost);

}  // namespace fw::jit
