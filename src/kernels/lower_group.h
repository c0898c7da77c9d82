// Between the files that build kernels from groups.
#pragma once

#include "kernels/group_emitter.h"

namespace fw::kernels {

/// Domain axes in the order of `layout` (largest stride first), of an array whose axes run along `domainAxes`.
IntList loopOrder(const graph::Layout& layout, const IntList& domainAxes);

/// Computes all `outputs` at the current point, then stores them.
absl::Status storeOutputs(GroupEmitter& emitter, const std::vector<ValueId>& outputs);

/// Kernel of a kReduce group.
absl::Status buildReduce(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter);

}  // namespace fw::kernels
