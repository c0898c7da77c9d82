// The part of compile() below the kernels' construction: for tests and benchmarks with kernels built by hand.
#pragma once

#include <memory>
#include <vector>

#include "jit/executable.h"
#include "kernels/kernel.h"
#include "kernels/reach.h"

namespace fw::jit {

/// One native function that runs `kernels` in order over plan.buffers, and another that runs `commits` if there are
/// any; a third that observes those that are deferred. `reaches` are compared with their buffers before anything is
/// computed.
absl::StatusOr<std::unique_ptr<Executable>> compileKernels(const std::vector<kernels::Kernel>& kernels,
                                                           const std::vector<kernels::Kernel>& commits,
                                                           const graph::SymContext& syms, graph::Plan plan,
                                                           const CompileOptions& options, CompiledText* text = nullptr,
                                                           CompileTimings timings = {},
                                                           std::vector<DeferredCommit> deferred = {},
                                                           absl::Span<const kernels::Reach> reaches = {});

}  // namespace fw::jit
