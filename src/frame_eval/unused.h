// Computations of a trace whose results nobody uses, but whose floating-point errors NumPy would report.
#pragma once

#include "graph/graph.h"

namespace fw::capture {

/// Makes them outputs of the graph behind those that the exit plan knows, so that their errors are noticed like all
/// others. What can raise nothing stays without a use, and is dropped.
void keepUnused(graph::Graph& graph);

}  // namespace fw::capture
