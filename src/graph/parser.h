// Reads the text form that print() writes: parse(print(g)) prints the same again.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace fw::graph {

/// Errors are kInvalidArgument "line:column: what".
absl::StatusOr<Graph> parse(std::string_view text);

}  // namespace fw::graph
