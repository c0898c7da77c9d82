// Floating-point errors of members that do not run along every axis of their group: scalars, rows, columns.
//
// NumPy computes such a value once, into an array of its own, before it is broadcast. A kernel computes it inside the
// loops of the group, and if one of the axes that the value lacks has size 0, nowhere. Three cases:
//
//   no axes       computed in front of all loops anyway; observed there, so that nothing depends on a reader
//   rows          members of a reduction's group that lack reduced axes only: computed for every row all the same, but
//                 where whole rows are accumulated (lower_columns.cpp): there, inside the loops over reduced axes
//   others        the kernel declines where such an axis is empty, and Python runs the call
//
// Outputs of a map have a nest of their own. What a commit computes raises nothing, or was checked in a kCheck group.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/raising.h"
#include "kernels/lower_group.h"

namespace fw::kernels {
namespace {

using graph::contains;
using graph::Group;

/// Members that are computed from the results of reductions of the group, these included.
absl::flat_hash_set<ValueId> behindReductions(const graph::Graph& graph, const Group& group,
                                              const GroupEmitter& emitter) {
  absl::flat_hash_set<ValueId> behind;
  if (group.kind != Group::Kind::kReduce) return behind;
  for (ValueId id : group.values) {
    const graph::Node& node = graph.node(id);
    bool is = graph::info(node.op).cls == graph::OpClass::kReduction;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Operand& operand = emitter.operand(id, i);
      is |= operand.kind == Operand::Kind::kMember && behind.contains(operand.value);
    }
    if (is) behind.insert(id);
  }
  return behind;
}

}  // namespace

absl::Status keepRaising(KernelBuilder& b, const graph::Graph& graph, const Group& group, GroupEmitter& emitter,
                         Rows rows) {
  if (!emitter.target().reportsFlags) return absl::OkStatus();
  if (group.kind == Group::Kind::kCommit || group.kind == Group::Kind::kJoin) return absl::OkStatus();
  graph::SymContext& syms = b.syms();
  const bool reduces = group.kind == Group::Kind::kReduce;
  const absl::flat_hash_set<ValueId> behind = behindReductions(graph, group, emitter);
  const std::vector<NestAxis> none;
  emitter.setAxes(&none, {});
  IntList needed;  // axes that must not be empty
  std::vector<Val> observed;
  for (ValueId id : group.values) {
    if (!graph::mayRaise(graph, id) || (!reduces && contains(group.outputs, id))) continue;
    const IntList& map = group.axisMap.at(id);
    IntList lacking;
    for (int64_t axis = 0; axis < static_cast<int64_t>(group.domain.size()); ++axis)
      if (!contains(map, axis) && syms.range(syms.canonical(group.domain[axis])).lo < 1) lacking.push_back(axis);
    if (lacking.empty()) continue;
    const bool isScalar = std::all_of(map.begin(), map.end(), [](int64_t axis) { return axis < 0; });
    if (isScalar && !behind.contains(id)) {
      absl::StatusOr<Value> value = emitter.element(id);
      if (!value.ok()) return value.status();
      emitter.observe(*value);
      observed.push_back(value->re);
      if (value->isComplex()) observed.push_back(value->im);
      continue;
    }
    // Nobody reads a row where the reduced axis is known to be empty, and the code generator sees that.
    for (int64_t axis : lacking) {
      const bool row = contains(group.reducedAxes, axis) && !syms.isConst(group.domain[axis], 0);
      if (!(row && rows == Rows::kOneByOne) && !contains(needed, axis)) needed.push_back(axis);
    }
  }
  emitter.observeUnused(observed);
  const Val zero = b.constantInt(DType::kI64, 0);
  for (int64_t axis : needed) b.raiseIf(b.op(ScalarOp::kEq, b.param(group.domain[axis]), zero), kDecline);
  return absl::OkStatus();
}

}  // namespace fw::kernels
