// The rung `statements`: what capture saw, done again with NumPy on the arrays themselves, one statement after the
// other. No versions of arrays, no commits, no pass, no fusion: what a write changes, whoever reads the memory
// afterwards sees. Of the plan it uses only where inputs and outputs of the call are.
#pragma once

#include <memory>

#include "bindings/backend.h"

namespace fw::bindings {

/// kAborted if the script cannot be followed.
absl::StatusOr<std::unique_ptr<runtime::Executable>> makeStatements(graph::Graph graph, graph::Plan plan,
                                                                    const Script& script);

}  // namespace fw::bindings
