// A kernel written down completely, for comparison: with places and symbolic integers numbered in the order of their
// first appearance, and without those floating-point constants that decide nothing about the code, since they are only
// added, subtracted and multiplied. Kernels of one text are alike; with the same arguments they are equal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace fw::jit {

/// What the text leaves out.
struct KernelArguments {
  std::vector<std::pair<graph::BufferId, graph::SymId>> places;  ///< where accesses begin: buffer and offset
  std::vector<graph::SymId> syms;                                ///< that are no constants
  std::vector<kernels::ExprId> numbers;                          ///< constants
};

struct KernelText {
  std::string text;  ///< binary
  KernelArguments arguments;
};

KernelText writeDown(const kernels::Kernel& kernel, const graph::SymContext& syms);

}  // namespace fw::jit
