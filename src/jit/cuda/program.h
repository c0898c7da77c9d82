// What a plan has become: launchers in the place of its groups, and what is known of its loops.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "jit/cuda/device.h"
#include "jit/cuda/launcher.h"
#include "runtime/cuda/launch_graph.h"
#include "runtime/sym_program.h"

namespace fw::jit::cuda {

/// Of one group.
using Launchers = std::vector<std::unique_ptr<Launcher>>;

struct LoopFacts {
  bool endless = false;  ///< it goes on until its trip is over: nobody has to look
  /// Turns that are one graph, behind which all handles are where they were; 0: turns are not all alike.
  int64_t turns = 0;
  std::unique_ptr<runtime::cuda::LaunchGraph> graph;
};

struct DeviceProgram {
  DeviceProgram(Device& on, graph::Graph of, graph::Plan planned)
      : device(on),
        graph(std::move(of)),
        plan(std::move(planned)) {}

  Device& device;
  graph::Graph graph;
  graph::Plan plan;
  runtime::SymProgram offsets;  ///< of temporaries in the workspace, by buffer
  std::vector<Launchers> groups, commits;
  std::vector<graph::BufferId> hostNumbers;  ///< inputs that are numbers in memory of the host
  absl::flat_hash_map<const graph::LoopStep*, LoopFacts> loops;
  mutable std::atomic<bool> complete = false;  ///< the last call found all of its kernels
};

}  // namespace fw::jit::cuda
