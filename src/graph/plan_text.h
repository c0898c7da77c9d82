// The text form of plans, which shows how a graph is executed, and reads back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/plan.h"

namespace fw::graph {

/// Everything, where print() (plan.h) leaves long expressions out, such as offsets behind many others.
std::string printWhole(const Plan& plan, const Graph& graph);

std::string_view kindName(Group::Kind kind);
std::string_view kindName(BufferKind kind);

/// Reads what printWhole() writes for that very graph: parsePlan(printWhole(p, g), g) prints the same again. Errors are
/// kInvalidArgument "line:column: what"; what it answers passes verify().
absl::StatusOr<Plan> parsePlan(std::string_view text, const Graph& graph, const Target& target = {});

/// Violations of what a plan promises to kernels and code; empty if sound. Whether memory that is used at the same time
/// overlaps is not looked at.
std::vector<std::string> verify(const Plan& plan, const Graph& graph);

}  // namespace fw::graph
