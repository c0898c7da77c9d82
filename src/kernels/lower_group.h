// Between the files that build kernels from groups.
#pragma once

#include "kernels/group_emitter.h"

namespace fw::kernels {

/// Domain axes in the order of `layout` (largest stride first), of an array whose axes run along `domainAxes`.
IntList loopOrder(const graph::Layout& layout, const IntList& domainAxes);

/// Computes all `outputs` at the current point, then stores them.
absl::Status storeOutputs(GroupEmitter& emitter, const std::vector<ValueId>& outputs);

/// Elements of `outputs` at the current point, and what else may raise there.
absl::StatusOr<std::vector<Value>> elementsOf(GroupEmitter& emitter, const std::vector<ValueId>& outputs);

/// The nest of a group that holds back what its updates store (Group::Held), for outputs that run along all axes.
absl::Status buildHeld(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group,
                       GroupEmitter& emitter, const std::vector<ValueId>& outputs);

/// Where members of a reduction's group that lack its reduced axes are computed; without a reduction there are none.
enum class Rows {
  kOneByOne,  ///< in front of the loops over these axes
  kTogether,  ///< inside of them: whole rows are accumulated
};

/// Keeps the floating-point errors of members that the loops of the kernel compute once per element, or not at all,
/// while NumPy computes them once, whatever the size of what they are broadcast to. Before any loop is opened.
absl::Status keepRaising(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
                         Rows rows);

/// Kernel of a kReduce group.
absl::Status buildReduce(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter);

}  // namespace fw::kernels
