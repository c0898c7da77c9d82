// The ladder of backends: who computes a planned graph. One table (backend.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frame_eval/program_write.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "graph/support/config.h"
#include "jit/executable.h"

namespace fw::bindings {

/// A graph ready to run. entry() is the fast way if there is one; run() always works.
class Program {
 public:
  virtual ~Program() = default;
  virtual const graph::Plan& plan() const = 0;
  virtual jit::EntryFn entry() const { return nullptr; }
  /// As jit::EntryFn.
  virtual int32_t run(const int64_t* symbols, void* const* buffers, void* workspace) = 0;
  /// As jit::Executable::commit(): after run() or entry() on the same arguments, if plan().commits is not empty.
  /// Backends without it are not given such plans.
  virtual int32_t commit(const int64_t* symbols, void* const* buffers, void* workspace, jit::CommitProgress* progress);
  /// As in jit::Executable.
  virtual jit::EntryFn check() const { return nullptr; }
  virtual absl::Span<const jit::DeferredCommit> deferred() const { return {}; }
  virtual bool isChecked() const { return false; }
  virtual jit::CompileTimings timings() const { return {}; }
};

/// What capture saw, before any pass.
struct Script {
  const std::string& graph;  ///< text
  std::vector<capture::ProgramWrite> writes;
};

/// What a backend is told besides the graph.
struct ProgramOptions {
  bool deferChecks;                   ///< it may defer checks (jit::CompileOptions)
  std::vector<graph::SymId> guarded;  ///< expressions that guards keep from falling below 0
  Deadline deadline;                  ///< as jit::CompileOptions::deadline
  Script script;
};

/// The backend named by the setting `backend`.
absl::StatusOr<std::unique_ptr<Program>> makeProgram(graph::Graph graph, graph::Plan plan, const Config& config,
                                                     const ProgramOptions& options);

}  // namespace fw::bindings
