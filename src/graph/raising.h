// Which operations can be noticed by more than their results.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "graph/graph.h"

namespace fw::graph {

/// Whether computing the value may raise floating-point flags, or a report of the kind, whoever hears of it.
/// Conservative.
bool mayRaiseFlags(const Graph& graph, ValueId id);
/// The rules that the flags of these values go by; nullopt: they raise none. FW_CHECKs that there is one set of them.
std::optional<ErrorRules> commonRules(const Graph& graph, absl::Span<const ValueId> values);
/// Whether computing the value (of a pure operation) can be noticed by more than its result: floating-point flags, a
/// division of integers by zero, or a kernel that declines (fmax of zeros). Conservative.
bool mayRaise(const Graph& graph, ValueId id);

}  // namespace fw::graph
