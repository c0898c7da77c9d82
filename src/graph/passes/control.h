// Loops, branches and binds in plans: what a step needs to know of a kControl node.
#pragma once

#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/passes/planning.h"

namespace fw::graph {

/// Operands in front of those that the regions get: the predicate, the number.
inline size_t leadingOperands(Op op) { return op == Op::kLoop ? 0 : 1; }
/// Outputs of a region in front of the results: whether a loop goes on.
inline size_t leadingOutputs(Op op) { return op == Op::kLoop ? 1 : 0; }
inline bool hasRegions(Op op) { return op == Op::kLoop || op == Op::kCond || op == Op::kBind; }

/// The region's input number `index`; invalid if it reads none of that number.
ValueId inputOf(const Graph& region, size_t index);
/// A loop hands this carried value on as it was.
bool carriesThrough(const Graph& body, size_t index);
/// What result number `index` of a loop is where its turns only hand it on: what the loop was given. Invalid if they
/// do not, or `control` is no loop.
ValueId handedOn(const Graph& graph, ValueId control, size_t index);

/// Packed memory with the axes in the same order.
Layout packedLike(Layout layout);
/// Memory that value number `index` of a control node has in its regions and as its result.
Layout memoryLayout(const Node& control, size_t index);

/// The value in whose memory an update, or the result of a loop, branch or bind goes on, once prepareForPlan has
/// decided; invalid: it has memory of its own.
ValueId continues(const Graph& graph, ValueId value);
/// The operands in whose memory an update, loop, branch or bind leaves something else, once prepareForPlan has decided,
/// whether anybody reads that or not: whoever reads one of them comes before the step.
std::vector<ValueId> overwrittenBy(const Graph& graph, ValueId step);
/// Those of all steps: what is computed from these must not move behind those.
absl::flat_hash_set<ValueId> overwrittenValues(const Graph& graph);

/// The first version of the memory that a value lives in, once prepareForPlan has decided: updates lead to their bases,
/// what loops and branches change in place to what they are given.
ValueId memoryOf(const Graph& graph, ValueId value);

/// The input in whose place result number `result` of a control node is, if the memory of that output is this input in
/// each of its regions (nullopt: none).
std::optional<size_t> staysIn(Op control, size_t result, absl::Span<const std::optional<size_t>> inputs);

/// The value's memory comes from a library call.
bool isGiven(const Graph& graph, ValueId value);

/// The project of every element of the tuple, invalid where nobody takes it.
std::vector<ValueId> projectsOf(const Graph& graph, ValueId control);

}  // namespace fw::graph
