// Loops that rewrite arrays of the caller: they store into an input while the call may still be given up. That is no
// harm where giving up and beginning again comes to the same. It does if
//   - of what the array held before, only elements are read that the loop does not store to, or stores there again:
//     whoever computes the call once more finds every other one as it has just stored it, and stores the same;
//   - what the loop has stored since it last knew that all was well can be put back: what is stored where does not
//     depend on data, so that it can be saved beforehand, some turns at a time;
//   - what goes wrong in front of the loop has done so before the loop stores anything, and nothing goes wrong
//     beside it.
// Then the array needs no copy in front of the loop, and none behind it.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/plan.h"

namespace fw::graph {

/// Whether a loop rewrites an input that is this carried value of its. The first step of planning finds out, for a loop
/// that takes part in all commits of the graph, which have nothing left to do.
inline bool rewrites(const Node& loop, size_t carried) {
  return loop.attrs.has(AttrKey::kRewrites) &&
         contains(loop.attrs.ints(AttrKey::kRewrites), static_cast<int64_t>(carried));
}

/// Whether a loop of the graph rewrites its inputs.
bool rewritesInputs(const Graph& graph);
/// The inputs that loops of the plan rewrite.
std::vector<BufferId> rewrittenInputs(const Plan& plan);

/// What a store in a nest of loops overwrites is saved for several turns at once of the innermost loop that is not
/// short. How many loops are: those of few turns in all, by their greatest numbers of turns, innermost first. The
/// outermost one is none.
size_t shortLoops(const SymContext& syms, absl::Span<const std::optional<SymId>> trips);

/// Of the short loops around a store.
inline constexpr int64_t kShortTurns = 64;

}  // namespace fw::graph
