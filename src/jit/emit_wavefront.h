// Code of a wavefront (wavefront.h).
#pragma once

#include "jit/emit_function.h"
#include "jit/wavefront.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fw::jit {

/// All `trip` turns. `look` emits what is to be done between bands: it may end the run.
void emitWavefront(const ModuleState& m, FunctionState& fn, const graph::LoopStep& loop, const Wavefront& wave,
                   llvm::Value* trip, llvm::function_ref<void()> look);

}  // namespace fw::jit
