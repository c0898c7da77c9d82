// The steps of a plan up to Accept, as the body of a function.
#pragma once

#include "graph/plan.h"
#include "jit/kernel_list.h"

namespace fw::jit {

void emitSteps(const ModuleState& m, KernelList& kernels, FunctionState& fn, const graph::Steps& steps);

}  // namespace fw::jit
