// Between the two forms of reduction kernels: rows (lower_reduce.cpp) and columns (lower_columns.cpp).
#pragma once

#include <optional>

#include "kernels/reduction.h"

namespace fw::kernels {

struct ReduceGroup {
  std::vector<Reduction> reductions;          ///< in dependence order
  absl::flat_hash_map<ValueId, int> level;    ///< reductions below a value, one after another
  int stages = 0;                             ///< greatest level
  absl::flat_hash_set<ValueId> domainValues;  ///< run along a reduced axis
  absl::flat_hash_set<ValueId> fullValues;    ///< run along every axis of the domain
  IntList order;                              ///< domain axes, outermost first
  IntList kept;                               ///< of order, those that are not reduced
};

absl::StatusOr<ReduceGroup> analyseReduceGroup(const graph::Graph& graph, const graph::Group& group,
                                               const GroupEmitter& emitter);

/// Accumulators in memory, for each of the reductions.
struct ColumnPlan {
  std::vector<const MemoryRef*> accumulators;
};

/// A plan to accumulate whole rows into memory, if the innermost axis is kept and all reductions allow it.
std::optional<ColumnPlan> planColumns(const graph::Graph& graph, const graph::Group& group, const GroupEmitter& emitter,
                                      const ReduceGroup& g);

absl::Status buildColumns(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
                          const ReduceGroup& g, const ColumnPlan& plan);

/// The loops in which the position of an extreme is looked for.
struct PositionNest {
  ValueId id;                  ///< the reduction
  ScalarOp combine;            ///< MinSecond or MaxSecond
  Val worst;                   ///< what nothing is worse than
  std::vector<NestAxis> axes;  ///< kept ones, which are open, and reduced ones
  size_t kept = 0;
  MemoryRef flat;          ///< flat index (C order of the reduced axes) as if it were an address
  bool vectorize = false;  ///< the innermost loop
  bool isShort = false;    ///< all reduced axes together are a few elements
};
/// The flat index, as NumPy counts it, in one pass (lower_first.cpp).
absl::StatusOr<Val> positionOfExtreme(KernelBuilder& b, GroupEmitter& emitter, const PositionNest& nest);

/// The group copies its operand stretch by stretch (graph::mayStage()).
bool isStaged(const graph::Group& group, const graph::Graph& graph, const ReduceGroup& g);
absl::Status buildStaged(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
                         const ReduceGroup& g);

}  // namespace fw::kernels
