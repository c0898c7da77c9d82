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
#include "graph/support/deadline.h"
#include "graph/target.h"
#include "runtime/executable.h"

namespace fw::bindings {

/// What capture saw, before any pass.
struct Script {
  const std::string& graph;  ///< text
  std::vector<capture::ProgramWrite> writes;
};

/// What a backend is told besides the graph.
struct BackendOptions {
  bool deferChecks;                   ///< it may defer checks (jit::CompileOptions)
  std::vector<graph::SymId> guarded;  ///< expressions that guards keep from falling below 0
  Deadline deadline;                  ///< as jit::CompileOptions::deadline
  bool background;                    ///< Python may run calls until there is code
  Script script;
  std::vector<int> hostInputs;  ///< inputs that are numbers of the host, where arrays are on a device
  int device = -1;              ///< which; -1: the host, or not known
};

/// What that backend wants graphs to be planned for.
graph::Target planningTarget(const Config& config, bool onDevice);

/// By the backend that the setting `backend` names.
absl::StatusOr<std::unique_ptr<runtime::Executable>> makeExecutable(graph::Graph graph, graph::Plan plan,
                                                                    const Config& config,
                                                                    const BackendOptions& options);

}  // namespace fw::bindings
