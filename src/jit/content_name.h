// Names of code by what it computes: kernels, the steps that run them, the tables that they read, and the machine. Two
// programs of one name are the same machine code, in every process, so that code is made once and objects can be kept.
#pragma once

#include <string>

#include "graph/plan.h"
#include "jit/target.h"
#include "kernels/program.h"

namespace fw::jit {

/// Of everything that compile() looks at.
std::string contentName(const kernels::KernelProgram& program, const graph::SymContext& syms, const graph::Plan& plan,
                        const TargetSpec& target, const CompileOptions& options);

}  // namespace fw::jit
