// From a planned graph to an Executable on CUDA: arrays, results and temporaries are memory of the device.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "jit/cuda/device.h"
#include "kernels/cuda/lower.h"
#include "runtime/executable.h"

namespace fw::jit::cuda {

struct CompileOptions {
  std::vector<int> onHost;  ///< inputs of the graph that are numbers in memory of the host
  bool wait = false;        ///< calls wait for the compiler
};

/// Values follow CuPy, not NumPy (kernels::Numbers), and no flag is raised. The host of a context is a
/// runtime::cuda::Host; everything happens in the order of its stream, and only steps that decide something wait for
/// it. Answers kStatusDecline where the device or the compiler fails. Kernels are compiled when sizes first ask for
/// them, in threads of their own: until they are there, it answers kStatusNotYet. The executable holds a copy of the
/// graph. kUnimplemented for what has no form on CUDA.
absl::StatusOr<std::unique_ptr<runtime::Executable>> compile(Device& device, graph::Graph graph, graph::Plan plan,
                                                             kernels::cuda::Program program,
                                                             CompileOptions options = {});

}  // namespace fw::jit::cuda
