// The reference evaluator as an executable: one element at a time, in no hurry.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "runtime/executable.h"

namespace fw::runtime {

/// Values only: it raises no floating-point status, so NumPy's warnings do not appear.
std::unique_ptr<Executable> makeReference(graph::Graph graph, graph::Plan plan);

}  // namespace fw::runtime
