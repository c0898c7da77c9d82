// Compiles planned graphs to native code.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/support/deadline.h"
#include "kernels/kernel.h"
#include "kernels/reach.h"
#include "runtime/executable.h"

namespace fw::jit {

using runtime::CommitProgress;
using runtime::CompileTimings;
using runtime::Context;
using runtime::DeferredCommit;
using runtime::Executable;
using enum runtime::Status;

struct CompileOptions {
  enum class Isa : uint8_t { kHost, kAvx512, kAvx2, kPortable };
  Isa isa = Isa::kHost;      ///< kHost: the widest that this machine has; asking for more than it has is an error
  int optLevel = 2;          ///< 0: fast code generation, for isolating faults
  bool deferChecks = false;  ///< commits may be interrupted: kCheck groups need not run before them
  /// Every access is compared with its buffer first, and not made if it is outside: kStatusOutside. The functions then
  /// read the extents of the buffers (Context).
  bool checked = false;
  /// Accesses that are not proved to stay inside are an error; else they are checked when the code runs, once a call
  /// and before anything is computed, and the functions then read the extents of the buffers, too.
  bool refuseUnproved = false;
  bool plantOutside = false;  ///< for tests: makes the first access of the first kernel reach outside of its buffer
  std::vector<graph::SymId> guarded;  ///< expressions that guards keep from falling below 0, for the proof
  Deadline deadline;                  ///< kDeadlineExceeded beyond it, between kernels and between functions
  bool keepText = false;              ///< keep LLVM IR and assembly text for FUSEWIRE_LOGS=output_code
};

struct CompiledText {
  std::string kernels, llvm, assembly;
};

/// Compiles a planned graph. Thread-safe: one code generator, guarded by a mutex inside.
absl::StatusOr<std::unique_ptr<Executable>> compile(const graph::Graph& graph, graph::Plan plan,
                                                    const CompileOptions& options, CompiledText* text = nullptr);

/// The part of compile() below the kernels' construction: one native function that runs `kernels` in order over
/// plan.buffers, and another that runs `commits` if there are any; a third that observes those that are deferred.
/// `reaches` are compared with their buffers before anything is computed. With `kernelsUpTo` (emit_module.h) kernels
/// run as the plan's steps say.
absl::StatusOr<std::unique_ptr<Executable>> compileKernels(
    const std::vector<kernels::Kernel>& kernels, const std::vector<kernels::Kernel>& commits,
    const graph::SymContext& syms, graph::Plan plan, const CompileOptions& options, CompiledText* text = nullptr,
    CompileTimings timings = {}, std::vector<DeferredCommit> deferred = {},
    absl::Span<const kernels::Reach> reaches = {}, std::vector<size_t> kernelsUpTo = {});

/// Name and vector width in bits of what kHost means here, e.g. "avx512 (sapphirerapids)", for reports.
std::string hostTargetDescription();

}  // namespace fw::jit
