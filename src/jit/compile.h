// Native code for the kernels and steps of a plan.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/plan.h"
#include "graph/support/deadline.h"
#include "kernels/program.h"
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
  Isa isa = Isa::kHost;  ///< kHost: the widest that this machine has; asking for more than it has is an error
  /// 0: fast code generation, for isolating faults. 2: loops over numbers take liberties, and there is
  /// Executable::exact().
  int optLevel = 2;
  /// Every access is compared with its buffer first, and not made if it is outside: kStatusOutside. The functions then
  /// read the extents of the buffers (Context).
  bool checked = false;
  bool timed = false;  ///< with a meter: code that reads a clock before and behind each kernel and library call
  Deadline deadline;   ///< kDeadlineExceeded beyond it, between kernels and between functions
  /// What would take longer than kForegroundMs is made in a thread of its own: the executable is not ready() at first.
  /// Not loops: one call of Python's may take longer than any compiler.
  bool background = false;
  int64_t limitNs = 0;       ///< of the thread in the background, as deadline; 0: none
  bool keepText = false;     ///< keep LLVM IR and assembly text for FUSEWIRE_LOGS=output_code
  bool textOfKnown = false;  ///< also where the same code exists: it is compiled anew for its text
};

/// The set that the setting `isa` names.
CompileOptions::Isa isaNamed(std::string_view name);

/// Names of the sets that this machine has, "avx2|portable".
std::string setsOfThisMachine();

struct CompiledText {
  std::string llvm, assembly;
};

/// What a call waits for rather than run as Python.
inline constexpr double kForegroundMs = 50;

/// One native function that runs the program's kernels as the plan's steps say, or in order (KernelProgram), another
/// that runs the commits if there are any, a third that observes those that are deferred. Looks at no graph. `timings`
/// says what has been done before. Thread-safe. Not to be called from inside of a compiler (runtime::CompilerUse).
absl::StatusOr<std::unique_ptr<Executable>> compile(kernels::KernelProgram program, const graph::SymContext& syms,
                                                    graph::Plan plan, const CompileOptions& options,
                                                    CompiledText* text = nullptr, CompileTimings timings = {});

/// Name and vector width in bits of what kHost means here, e.g. "avx512 (sapphirerapids)", for reports.
std::string hostTargetDescription();

}  // namespace fw::jit
