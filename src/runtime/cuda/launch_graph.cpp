// A step of a small simulation takes the device a microsecond or two, and a launch takes the host as long: as nodes of
// a graph steps follow each other without the host. Parameters are copied into the graph by the driver, so that
// replacing them does not disturb launches that are under way.
#include "runtime/cuda/launch_graph.h"

#include <algorithm>

namespace fw::runtime::cuda {

LaunchGraph::~LaunchGraph() {
  for (Graph& graph : graphs_) {
    if (!graph.exec) continue;
    driver_.graphExecDestroy(graph.exec);  // when it has run
    driver_.graphDestroy(graph.made);
  }
}

bool LaunchGraph::instantiate(Graph& graph) {
  if (driver_.graphCreate(&graph.made, 0) != 0) return false;
  bool ok = true;
  for (KernelLaunch& launch : graph.launches) {
    void* parameters = launch.parameters.data();
    const KernelNode what = launch.function->nodeOf(launch.size, &parameters);
    void *const before = graph.nodes.empty() ? nullptr : graph.nodes.back(), *node = nullptr;
    ok = driver_.graphAddKernelNode(&node, graph.made, &before, graph.nodes.empty() ? 0 : 1, &what) == 0;
    if (!ok) break;
    graph.nodes.push_back(node);
  }
  ok = ok && driver_.graphInstantiate(&graph.exec, graph.made, 0) == 0;
  if (ok) return true;  // the nodes name what stands in the instantiated graph: its graph lives on
  driver_.graphDestroy(graph.made);
  graph = {};
  return false;
}

/// The graph of this stream and these functions; null if there is none and no room for one. A graph never changes its
/// stream: it does not overlap itself, and streams that wait for each other might wait for ever.
LaunchGraph::Graph* LaunchGraph::graphFor(absl::Span<const KernelLaunch> launches, void* stream) {
  const auto sameFunction = [](const KernelLaunch& a, const KernelLaunch& b) { return a.function == b.function; };
  for (Graph& graph : graphs_) {
    if (graph.exec && graph.stream == stream &&
        std::equal(graph.launches.begin(), graph.launches.end(), launches.begin(), launches.end(), sameFunction))
      return &graph;
    if (graph.exec) continue;
    graph.stream = stream;
    graph.launches.assign(launches.begin(), launches.end());
    if (instantiate(graph)) return &graph;
    plain_ = true;
    return nullptr;
  }
  return nullptr;
}

bool LaunchGraph::update(Graph& graph, absl::Span<const KernelLaunch> launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    KernelLaunch& launch = graph.launches[i];
    if (launch == launches[i]) continue;
    launch = launches[i];
    void* parameters = launch.parameters.data();
    const KernelNode what = launch.function->nodeOf(launch.size, &parameters);
    if (driver_.graphExecKernelNodeSetParams(graph.exec, graph.nodes[i], &what) != 0) return false;
  }
  return true;
}

absl::Status LaunchGraph::launch(absl::Span<const KernelLaunch> launches, void* stream) {
  if (launches.empty()) return absl::OkStatus();
  {
    const std::lock_guard lock(mutex_);
    if (!plain_ && takesGraphs(driver_, stream)) {
      if (Graph* graph = graphFor(launches, stream)) {
        if (update(*graph, launches)) return check(driver_, driver_.graphLaunch(graph->exec, stream), "cuGraphLaunch");
        plain_ = true;
      }
    }
  }
  for (const KernelLaunch& launch : launches) {
    std::vector<uint64_t> parameters = launch.parameters;
    if (absl::Status s = launch.function->launch(launch.size, parameters.data(), stream); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace fw::runtime::cuda
