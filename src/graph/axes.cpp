#include "graph/axes.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::graph {
namespace {

/// Reduced axes of size 1 belong to no domain.
IntList reductionOperandAxes(const Graph& graph, const IntList& axes, const IntList& reduced, const Node& node) {
  const SymShape& shape = graph.type(node.operands[0]).shape;
  const IntList& gone = node.attrs.ints(AttrKey::kAxes);
  const bool keepdims = node.attrs.integerOr(AttrKey::kKeepdims, 0) != 0;
  IntList result;
  size_t nextReduced = 0, kept = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool isGone = std::find(gone.begin(), gone.end(), static_cast<int64_t>(axis)) != gone.end();
    const bool unit = graph.syms().isConst(shape[axis], 1);
    if (isGone && !unit) FW_CHECK(nextReduced < reduced.size());
    result.push_back(unit ? -1 : isGone ? reduced[nextReduced++] : axes[kept]);
    kept += !isGone || keepdims;
  }
  return result;
}

}  // namespace

bool isStretched(SymContext& syms, SymId from, SymId to) {
  if (from == to) return false;
  if (syms.isConst(from, 1)) return !syms.isConst(to, 1);
  return syms.provablyEqual(from, to) != true;
}

IntList gatheredAlong(int from, int rank, const Attrs& attrs) {
  const IntList& gathered = attrs.ints(AttrKey::kAxes);
  const int64_t first = attrs.integer(AttrKey::kAxis), chosen = rank - (from - static_cast<int64_t>(gathered.size()));
  IntList result;
  int64_t next = 0;
  for (int64_t axis = 0; axis < from; ++axis) {
    if (std::find(gathered.begin(), gathered.end(), axis) != gathered.end()) {
      result.push_back(-1);
      continue;
    }
    result.push_back(next < first ? next : next + chosen);
    ++next;
  }
  return result;
}

IntList operandAxes(const Graph& graph, const IntList& axes, const IntList& reduced, ValueId user, size_t index) {
  const Node& node = graph.node(user);
  const OpClass cls = info(node.op).cls;
  if (cls == OpClass::kReduction) return reductionOperandAxes(graph, axes, reduced, node);
  const SymShape& shape = graph.type(node.operands[index]).shape;
  if (cls == OpClass::kGather && index == 0) {
    IntList result = gatheredAlong(static_cast<int>(shape.size()), static_cast<int>(axes.size()), node.attrs);
    for (int64_t& axis : result)
      if (axis >= 0) axis = axes[static_cast<size_t>(axis)];
    return result;
  }
  FW_CHECK(axes.size() >= shape.size());
  const size_t shift = axes.size() - shape.size();
  // The axes of an update are those of the stored value, not of its result; those of a join follow each other.
  const bool broadcasts = cls != OpClass::kUpdate && cls != OpClass::kJoin;
  IntList result;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool stretched = broadcasts && isStretched(graph.syms(), shape[axis], node.type.shape[axis + shift]);
    result.push_back(stretched ? -1 : axes[axis + shift]);
  }
  return result;
}

}  // namespace fw::graph
