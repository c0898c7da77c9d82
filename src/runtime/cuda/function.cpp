// Launching an instantiated graph of one kernel takes the host a third of the time of cuLaunchKernel. Its parameters
// are replaced before every launch, which does not disturb launches that are under way. Another grid costs as much
// again as the launch, so that a few graphs are kept. A stream that is being captured takes plain launches only.
#include "runtime/cuda/function.h"

namespace fw::runtime::cuda {
namespace {

/// Of one stream.
constexpr int kGrids = 3;

}  // namespace

bool takesGraphs(const Driver& driver, void* stream) {
  constexpr uintptr_t kPerThread = 2;
  int capturing = 1;
  return reinterpret_cast<uintptr_t>(stream) != kPerThread && driver.streamIsCapturing(stream, &capturing) == 0 &&
         capturing == 0;
}

KernelNode Function::nodeOf(const LaunchSize& size, void** parameters) const {
  KernelNode node{};
  node.function = handle_;
  node.gridX = size.gridX;
  node.gridY = size.gridY;
  node.gridZ = 1;
  node.blockX = size.blockX;
  node.blockY = size.blockY;
  node.blockZ = 1;
  node.sharedBytes = size.sharedBytes;
  node.parameters = parameters;
  return node;
}

bool Function::instantiate(Graph& graph, const LaunchSize& size, void* parameters) {
  void* made = nullptr;
  if (driver_.graphCreate(&made, 0) != 0) return false;
  const KernelNode node = nodeOf(size, &parameters);
  const bool ok = driver_.graphAddKernelNode(&graph.node, made, nullptr, 0, &node) == 0 &&
                  driver_.graphInstantiate(&graph.exec, made, 0) == 0;
  // The node names what stands in the instantiated graph: its graph lives on.
  if (!ok) {
    graph.exec = nullptr;
    driver_.graphDestroy(made);
  }
  return ok;
}

/// The graph for a launch of this kind, from the second one on. Null: a plain launch is better. A graph never changes
/// its stream: it does not overlap itself, and streams that wait for each other might wait for ever.
Function::Graph* Function::graphFor(const LaunchSize& size, void* stream, void* parameters) {
  Graph *seen = nullptr, *free = nullptr, *own = nullptr;
  int owned = 0;
  const auto older = [](Graph* a, Graph& b) { return !a || b.used < a->used ? &b : a; };
  for (Graph& graph : graphs_) {
    const bool here = graph.used != 0 && graph.stream == stream;
    if (here && graph.size == size) {
      if (graph.exec) return &graph;
      seen = &graph;
    }
    if (!graph.exec) {
      free = older(free, graph);
    } else if (here) {
      own = older(own, graph);
      ++owned;
    }
  }
  if (owned < kGrids && seen) {
    plain_ = !instantiate(*seen, size, parameters);
    return plain_ ? nullptr : seen;
  }
  if (owned < kGrids && free) {
    *free = {.stream = stream, .size = size, .used = launches_};
    return nullptr;
  }
  if (own) own->size = size;
  return own;
}

absl::Status Function::launch(const LaunchSize& size, void* parameters, void* stream) {
  {
    const std::lock_guard lock(mutex_);
    ++launches_;
    if (!plain_ && takesGraphs(driver_, stream)) {
      if (Graph* graph = graphFor(size, stream, parameters)) {
        graph->used = launches_;
        const KernelNode node = nodeOf(size, &parameters);
        if (driver_.graphExecKernelNodeSetParams(graph->exec, graph->node, &node) == 0)
          return check(driver_, driver_.graphLaunch(graph->exec, stream), "cuGraphLaunch");
        plain_ = true;
      }
    }
  }
  return check(driver_,
               driver_.launchKernel(handle_, size.gridX, size.gridY, 1, size.blockX, size.blockY, 1, size.sharedBytes,
                                    stream, &parameters, nullptr),
               "cuLaunchKernel");
}

}  // namespace fw::runtime::cuda
