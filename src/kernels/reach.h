// How far an access can reach: a box around all bytes that it touches, for a check when the code runs. What the proof
// (access_proof.h) leaves open is checked so: once a call, before anything is computed.
#pragma once

#include <optional>
#include <vector>

#include "kernels/kernel.h"

namespace fw::kernels {

struct Reach {
  graph::BufferId buffer;
  SymId offset;
  int64_t bytes = 0;  ///< of one element
  /// Byte stride along an index within [first, last].
  struct Term {
    SymId stride, first, last;
  };
  std::vector<Term> terms;
  /// Nothing is touched where one of these is negative: last - first of every loop around.
  std::vector<SymId> spans;
};

/// nullopt: the bounds of a loop around the access are no arithmetic on symbols and outer indices.
std::optional<Reach> reachOf(const Kernel& kernel, uint32_t access, graph::SymContext& syms);
/// Of a result that is a view.
Reach reachOf(const graph::OutputBinding& output, const graph::Plan& plan, graph::SymContext& syms);

}  // namespace fw::kernels
