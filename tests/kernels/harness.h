// Runs a graph the long way: text, plan, one kernel per group, each verified and interpreted on real memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "kernels/builder.h"
#include "kernels/kernel.h"

namespace fw::kernels::testing {

struct BuiltGraph {
  graph::Graph graph;
  graph::Plan plan;
  std::vector<Kernel> kernels;

  std::string text() const;
};

/// Parses and plans `text` and builds its kernels; an unsound kernel is an internal error.
absl::StatusOr<BuiltGraph> build(std::string_view text, const graph::Target& target = {}, Arithmetic arithmetic = {});

struct Result {
  std::vector<std::vector<std::byte>> outputs;  ///< output buffers, in their layout
  uint64_t status = 0;
};
/// inputs[i]: data pointer of input i.
absl::StatusOr<Result> run(BuiltGraph& built, absl::Span<void* const> inputs, absl::Span<const int64_t> symbols);

}  // namespace fw::kernels::testing
