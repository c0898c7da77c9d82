// How much a kernel has to do, whatever it takes: for what is told of its time.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "graph/plan.h"
#include "kernels/kernel.h"

namespace fw::kernels {

struct KernelWork {
  /// Of arrays: what is read of each, and what is written of each. An element that is read more than once counts once,
  /// as far as extents tell: an array counts at most as a whole.
  double bytes = 0;
  /// Arithmetic on floats, as the kernel has it: a fused multiply-add is two, a mathematical function what it is made
  /// of.
  double operations = 0;
};

/// With these values of the symbols. Nothing where a loop depends on data.
std::optional<KernelWork> workOf(const Kernel& kernel, const graph::SymContext& syms, const graph::Plan& plan,
                                 absl::Span<const int64_t> symbols);

}  // namespace fw::kernels
