// Kernels that are alike: the same loops and operations on other places, sizes and numbers. Code is made once for all
// of them, as a function of those, so that it grows with what is different in a program and not with its length.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "jit/kernel_text.h"

namespace fw::jit {

/// Several kernels alike.
struct SharedKernel {
  std::vector<size_t> users;               ///< positions in the list; the first is the one whose code it is
  std::vector<KernelArguments> arguments;  ///< of each, equally long; numbers: those that are another one elsewhere
};

/// Those kernels of a list that are not alone, by first user.
std::vector<SharedKernel> findShared(absl::Span<const kernels::Kernel* const> list, const graph::SymContext& syms);

}  // namespace fw::jit
