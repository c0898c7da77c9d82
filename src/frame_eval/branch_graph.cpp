// Nodes know no arms but by their number. That an equal node is not shared between an arm and what comes behind it is
// seen to by a mark on the nodes of an arm that has ended (hash-consing compares attributes): whether a flag is raised
// inside of an arm, outside, or both, is then told by the nodes.
//
// settle() goes backwards once. A node is needed if an output is computed from it; the results of a branch need what
// the arms answer for them. What is left in an arm and may raise is needed by the bool that stands for such values:
// Python would have reported its flags, too. Arms then become regions, inner ones first. A region reads what was there
// before its branch as arguments, but views of such values and constants are made inside.
#include "frame_eval/branch_graph.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "graph/op.h"
#include "graph/passes/pass_manager.h"
#include "graph/passes/rewriter.h"
#include "graph/raising.h"
#include "graph/support/check.h"

namespace fw::capture {

using graph::AttrKey;
using graph::Attrs;
using graph::DType;
using graph::Graph;
using graph::Node;
using graph::Op;
using graph::OpClass;
using graph::ValueId;

namespace {

constexpr int kNone = -1, kDropped = -2;
constexpr AttrKey kMark = AttrKey::kTrip;

/// Those that may be equal to another node. No op that a trace adds has a trip count.
bool isMarked(const Node& node) {
  const OpClass cls = graph::info(node.op).cls;
  return cls != OpClass::kSource && cls != OpClass::kControl;
}

Attrs unmarked(const Attrs& attrs) {
  Attrs result;
  for (const auto& [key, value] : attrs.entries())
    if (key != kMark) result.set(key, value);
  return result;
}

bool isControl(const Node& node) { return graph::info(node.op).cls == OpClass::kControl; }

}  // namespace

void BranchGraph::endArm(size_t begin) {
  const graph::SymId mark = graph_.syms().constant(static_cast<int64_t>(begin));
  for (size_t i = begin; i < graph_.size(); ++i) {
    Node& node = graph_.mutableNode(ValueId(i));
    if (isMarked(node) && !node.attrs.has(kMark)) node.attrs.set(kMark, mark);
  }
}

std::vector<ValueId> BranchGraph::add(ValueId predicate, ArmNodes arms, const std::vector<Pair>& results) {
  graph::ValueType type;
  for (const Pair& pair : results) type.tuple.push_back(graph_.type(pair[0]));
  Branch branch{.node = graph_.addTyped(Op::kCond, {predicate}, type), .predicate = predicate, .arms = arms};
  branch.results = results;
  for (size_t i = 0; i < results.size(); ++i) {
    Attrs attrs;
    attrs.set(AttrKey::kIndex, static_cast<int64_t>(i));
    branch.projects.push_back(graph_.addTyped(Op::kProject, {branch.node}, type.tuple[i], std::move(attrs)));
  }
  branches_.push_back(std::move(branch));
  return branches_.back().projects;
}

void BranchGraph::drop(size_t begin) {
  endArm(begin);
  dropped_.emplace_back(begin, graph_.size());
}

/// A bind of the condition to a symbol that is 1. What it answers counts as a value that is computed for its flags.
void BranchGraph::require(ValueId condition) {
  const graph::ValueType type{DType::kBool, {}, {}, {}};
  const ValueId bind =
      graph_.addTyped(Op::kBind, {graph_.cast(condition, DType::kI64)}, {DType::kBool, {}, {}, {type}});
  Attrs attrs;
  attrs.set(AttrKey::kIndex, int64_t{0});
  graph_.addTyped(Op::kProject, {bind}, type, std::move(attrs));
  required_.push_back(bind);
}

/// Symbols are made when the trace makes no more of its own.
void BranchGraph::makeRequired() {
  graph::SymContext& syms = graph_.syms();
  const graph::SymId one = syms.constant(1);
  for (size_t i = 0; i < required_.size(); ++i) {
    Node& node = graph_.mutableNode(required_[i]);
    node.attrs.set(AttrKey::kSymbol, syms.symbol("required" + std::to_string(i), {0, 1}));
    node.attrs.set(AttrKey::kLeast, one).set(AttrKey::kMost, one);
    auto region = std::make_unique<Graph>(graph_);
    region->outputs().push_back(region->constant(graph::Scalar::ofBool(true)));
    node.regions.push_back(std::move(region));
  }
}

void BranchGraph::findParents() {
  armOf_.assign(graph_.size(), kNone);
  for (size_t b = branches_.size(); b-- > 0;) {  // outer ones first, so that inner ones overwrite them
    Branch& branch = branches_[b];
    if (const int around = armOf_[branch.node.index]; around >= 0) {
      branch.parent = around / 2;
      branch.parentArm = around % 2;
    }
    const ArmNodes& arms = branch.arms;
    for (size_t i = arms.begin; i < arms.end; ++i) armOf_[i] = static_cast<int>(2 * b) + (i < arms.middle ? 0 : 1);
  }
  for (auto [begin, end] : dropped_)
    for (size_t i = begin; i < end; ++i) armOf_[i] = kDropped;
}

void BranchGraph::findNeeded() {
  std::vector<bool> needed(graph_.size());
  for (ValueId id : graph_.outputs()) needed[id.index] = true;
  for (ValueId id : graph_.commits()) needed[id.index] = true;
  absl::flat_hash_map<ValueId, Branch*> byNode;
  std::vector<std::vector<Branch*>> beginning(graph_.size());
  for (Branch& branch : branches_) {
    branch.used.assign(branch.results.size(), false);
    byNode[branch.node] = &branch;
    beginning[branch.arms.begin].push_back(&branch);  // inner ones first
  }
  for (size_t i = graph_.size(); i-- > 0;) {  // operands stand before what is computed from them
    const ValueId id(i);
    const Node& node = graph_.node(id);
    const std::optional<Op> projects =
        node.op == Op::kProject ? std::optional(graph_.node(node.operands[0]).op) : std::nullopt;
    const bool required = projects == Op::kBind;
    const bool called = projects == Op::kCall && !needed[node.operands[0].index];  // it may raise
    const bool raises = !isControl(node) && graph::mayRaise(graph_, id);
    if (!needed[i] && (raises || required || called) && armOf_[i] != kDropped) {
      needed[i] = true;
      if (const int arm = armOf_[i]; arm >= 0)
        branches_[static_cast<size_t>(arm / 2)].unread[arm % 2].push_back(id);
      else if (!called)  // outside of arms calls are made in any case
        graph_.outputs().push_back(id);
    }
    if (needed[i]) {
      for (ValueId operand : node.operands) needed[operand.index] = true;
      if (projects == Op::kCond) {
        Branch& branch = *byNode.at(node.operands[0]);
        const auto index = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
        branch.used[index] = true;
        for (ValueId answer : branch.results[index]) needed[answer.index] = true;
      }
    }
    for (Branch* branch : beginning[i]) {
      auto any = [](const auto& lists) { return !lists[0].empty() || !lists[1].empty(); };
      branch->witness = any(branch->unread) || any(branch->unreadInner);
      if (!branch->witness) continue;
      needed[branch->predicate.index] = true;
      if (branch->parent >= 0)
        branches_[static_cast<size_t>(branch->parent)].unreadInner[branch->parentArm].push_back(branch);
    }
  }
}

/// What a cond gives to its regions, in the order of their inputs.
struct BranchGraph::Arguments {
  std::vector<ValueId> values;
  absl::flat_hash_map<ValueId, int> numbers;

  int number(ValueId id) {
    auto [it, added] = numbers.try_emplace(id, static_cast<int>(values.size()));
    if (added) values.push_back(id);
    return it->second;
  }
};

/// One arm as a graph of its own.
class BranchGraph::Region {
 public:
  Region(Graph& outer, const Branch& branch, Arguments& arguments)
      : outer_(outer),
        region_(std::make_unique<Graph>(outer)),
        branch_(branch),
        arguments_(arguments) {
    region_->setLine(outer.node(branch.node).line);
  }

  std::unique_ptr<Graph> make(int arm) {
    std::vector<ValueId> roots;
    for (size_t i = 0; i < branch_.results.size(); ++i)
      if (branch_.used[i]) roots.push_back(branch_.results[i][static_cast<size_t>(arm)]);
    const size_t results = roots.size();
    const auto& unread = branch_.unread[static_cast<size_t>(arm)];
    const auto& inner = branch_.unreadInner[static_cast<size_t>(arm)];
    roots.insert(roots.end(), unread.begin(), unread.end());
    for (const Branch* branch : inner) roots.push_back(branch->node);
    copy(roots);
    for (size_t i = 0; i < results; ++i) region_->outputs().push_back(now_.at(roots[i]));
    if (branch_.witness) region_->outputs().push_back(witness(unread, inner));
    return std::move(region_);
  }

 private:
  bool isArgument(ValueId id) const {
    const Node& node = outer_.node(id);
    if (node.op == Op::kInput) return true;
    const OpClass cls = graph::info(node.op).cls;
    return id.index < branch_.arms.begin && cls != OpClass::kSource && cls != OpClass::kView;
  }

  void copy(const std::vector<ValueId>& roots) {
    std::vector<ValueId> open = roots, all;
    absl::flat_hash_map<ValueId, bool> seen;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!seen.try_emplace(id, true).second) continue;
      all.push_back(id);
      if (isArgument(id)) continue;
      const Node& node = outer_.node(id);
      open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
    std::sort(all.begin(), all.end(), [](ValueId a, ValueId b) { return a.index < b.index; });
    for (ValueId id : all) now_[id] = isArgument(id) ? argument(id) : copyNode(id);
  }

  ValueId argument(ValueId id) { return region_->input(arguments_.number(id), outer_.type(id)); }

  ValueId copyNode(ValueId id) {
    Node& node = outer_.mutableNode(id);
    std::vector<ValueId> operands;
    for (ValueId operand : node.operands) operands.push_back(now_.at(operand));
    region_->setLine(node.line);
    return region_->addTyped(node.op, operands, node.type, unmarked(node.attrs), std::move(node.regions));
  }

  /// A bool computed from all that is computed for its flags only.
  ValueId witness(const std::vector<ValueId>& unread, const std::vector<const Branch*>& inner) {
    Graph& g = *region_;
    ValueId all = g.constant(graph::Scalar::ofBool(false));
    auto add = [&](ValueId value) { all = g.binary(Op::kLogicalOr, all, value); };
    for (ValueId id : unread) {
      const ValueId truth = g.cast(now_.at(id), DType::kBool);
      graph::IntList axes;
      for (int axis = 0; axis < g.type(truth).rank(); ++axis) axes.push_back(axis);
      add(axes.empty() ? truth : g.reduce(Op::kAny, truth, std::move(axes), false));
    }
    for (const Branch* branch : inner) add(witnessOf(g, now_.at(branch->node)));
    return all;
  }

  Graph& outer_;
  std::unique_ptr<Graph> region_;
  const Branch& branch_;
  Arguments& arguments_;
  absl::flat_hash_map<ValueId, ValueId> now_;

 public:
  /// The last result of a cond that has such a bool.
  static ValueId witnessOf(Graph& g, ValueId cond) {
    const graph::ValueType type = g.type(cond).tuple.back();
    Attrs attrs;
    attrs.set(AttrKey::kIndex, static_cast<int64_t>(g.type(cond).tuple.size() - 1));
    return g.addTyped(Op::kProject, {cond}, type, std::move(attrs));
  }
};

void BranchGraph::make(Branch& branch) {
  if (!branch.witness && std::find(branch.used.begin(), branch.used.end(), true) == branch.used.end()) return;
  Arguments arguments;
  std::vector<std::unique_ptr<Graph>> regions;
  for (int arm = 0; arm < 2; ++arm) regions.push_back(Region(graph_, branch, arguments).make(arm));
  Node& node = graph_.mutableNode(branch.node);
  node.operands = {branch.predicate};
  node.operands.insert(node.operands.end(), arguments.values.begin(), arguments.values.end());
  node.regions = std::move(regions);
  const std::vector<graph::ValueType> types = std::exchange(node.type.tuple, {});
  for (size_t i = 0; i < types.size(); ++i) {
    if (!branch.used[i]) continue;
    graph_.mutableNode(branch.projects[i]).attrs.set(AttrKey::kIndex, static_cast<int64_t>(node.type.tuple.size()));
    node.type.tuple.push_back(types[i]);
  }
  if (!branch.witness) return;
  node.type.tuple.push_back({DType::kBool, {}, {}, {}});
  if (branch.parent < 0) graph_.outputs().push_back(Region::witnessOf(graph_, branch.node));
}

void BranchGraph::settle() {
  makeRequired();
  findParents();
  findNeeded();
  for (Branch& branch : branches_) make(branch);
  for (size_t i = 0; i < graph_.size(); ++i) {
    Node& node = graph_.mutableNode(ValueId(i));
    // Binds and calls live whether they are needed or not; these stand in an arm now.
    if ((node.op == Op::kBind || node.op == Op::kCall) && armOf_[i] != kNone) {
      node.op = Op::kConstant;
      node.operands.clear();
    }
    if (isMarked(node) && node.attrs.has(kMark)) node.attrs = unmarked(node.attrs);
  }
  const absl::Status dropped = graph::rewrite(graph_, [](graph::Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    return absl::OkStatus();
  });
  FW_CHECK(dropped.ok());
}

}  // namespace fw::capture
