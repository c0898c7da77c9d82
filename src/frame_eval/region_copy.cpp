#include "frame_eval/region_copy.h"

#include <algorithm>

#include "graph/op.h"
#include "graph/views.h"

namespace fw::capture {

using graph::AttrKey;
using graph::Attrs;
using graph::DType;
using graph::Graph;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::ValueId;

int RegionArguments::number(ValueId id) {
  auto [it, added] = numbers_.try_emplace(id, static_cast<int>(first_ + values_.size()));
  if (added) values_.push_back(id);
  return it->second;
}

Attrs unmarked(const Attrs& attrs) {
  Attrs result;
  for (const auto& [key, value] : attrs.entries())
    if (key != kRegionMark) result.set(key, value);
  return result;
}

RegionCopy::RegionCopy(Graph& outer, size_t begin, uint32_t line, RegionArguments& arguments)
    : outer_(outer),
      begin_(begin),
      region_(std::make_unique<Graph>(outer)),
      arguments_(arguments) {
  region_->setLine(line);
}

void RegionCopy::give(ValueId id, size_t index) { now_[id] = region_->input(static_cast<int>(index), outer_.type(id)); }

bool RegionCopy::isArgument(ValueId id) const {
  const Node& node = outer_.node(id);
  if (node.op == Op::kInput) return true;
  if (id.index >= begin_) return false;
  const OpClass cls = graph::info(node.op).cls;
  // An element is a value of its own in Python: who needs it does not need the array, which may change meanwhile. What
  // is laid out anew is an array of its own, and would be in each turn.
  if (cls == OpClass::kView) return node.type.rank() == 0 || graph::viewBase(outer_, id) == id;
  return cls != OpClass::kSource;
}

void RegionCopy::copy(const std::vector<ValueId>& roots) {
  std::vector<ValueId> open = roots, all;
  absl::flat_hash_map<ValueId, bool> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (now_.contains(id) || !seen.try_emplace(id, true).second) continue;
    all.push_back(id);
    if (isArgument(id)) continue;
    const Node& node = outer_.node(id);
    open.insert(open.end(), node.operands.begin(), node.operands.end());
  }
  std::sort(all.begin(), all.end(), [](ValueId a, ValueId b) { return a.index < b.index; });
  for (ValueId id : all)
    now_[id] = isArgument(id) ? region_->input(arguments_.number(id), outer_.type(id)) : copyNode(id);
}

ValueId RegionCopy::copyNode(ValueId id) {
  Node& node = outer_.mutableNode(id);
  std::vector<ValueId> operands;
  for (ValueId operand : node.operands) operands.push_back(now_.at(operand));
  region_->setLine(node.line);
  // A loop's own attribute of that name is its trip count.
  Attrs attrs = graph::info(node.op).cls == OpClass::kControl ? node.attrs : unmarked(node.attrs);
  return region_->addTyped(node.op, operands, node.type, std::move(attrs), std::move(node.regions));
}

ValueId RegionCopy::witness(const std::vector<ValueId>& unread, const std::vector<ValueId>& controls) {
  Graph& g = *region_;
  ValueId all = g.constant(graph::Scalar::ofBool(false));
  auto add = [&](ValueId value) { all = g.binary(Op::kLogicalOr, all, value); };
  for (ValueId id : unread) {
    const ValueId truth = g.cast(now_.at(id), DType::kBool);
    graph::IntList axes;
    for (int axis = 0; axis < g.type(truth).rank(); ++axis) axes.push_back(axis);
    add(axes.empty() ? truth : g.reduce(Op::kAny, truth, std::move(axes), false));
  }
  for (ValueId control : controls) add(lastResult(g, now_.at(control)));
  return all;
}

ValueId lastResult(Graph& graph, ValueId control) {
  const graph::ValueType type = graph.type(control).tuple.back();
  Attrs attrs;
  attrs.set(AttrKey::kIndex, static_cast<int64_t>(graph.type(control).tuple.size() - 1));
  return graph.addTyped(Op::kProject, {control}, type, std::move(attrs));
}

}  // namespace fw::capture
