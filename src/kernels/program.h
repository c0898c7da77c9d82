// All kernels of a plan: what code is made of, together with the plan's steps.
#pragma once

#include <string>
#include <vector>

#include "graph/deferred_commit.h"
#include "kernels/kernel.h"
#include "kernels/reach.h"

namespace fw::kernels {

/// What runs for a plan. Behind the kernels of the steps, those of the commits.
struct KernelProgram {
  std::vector<Kernel> kernels;
  /// By group of the plan: the number of kernels that it and those in front of it have. Empty: all kernels in order.
  std::vector<size_t> kernelsUpTo;
  std::vector<Kernel> commits;                  ///< one each
  std::vector<graph::DeferredCommit> deferred;  ///< by rising number
  /// Accesses that are not proved to stay inside of their buffers, to be compared with them once a call, before
  /// anything is computed.
  std::vector<Reach> reaches;
};

/// Every kernel with an empty line behind it.
std::string print(const KernelProgram& program, const graph::SymContext& syms);

}  // namespace fw::kernels
