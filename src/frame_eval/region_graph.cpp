// Nodes know no regions but by their number. That an equal node is not shared between a region and what comes behind it
// is seen to by a mark on the nodes of a region that has ended (hash-consing compares attributes): whether a flag is
// raised inside, outside, or both, is then told by the nodes.
//
// settle() goes backwards once. A node is needed if an output is computed from it; the results of a branch need what
// the arms answer for them, a loop that is needed at all needs whatever it carries. What is left in a region and may
// raise is needed by the bool that stands for such values: Python would have reported its flags, too. Regions are then
// made, inner ones first. A region reads what was there before as arguments, but views of such values, if they are no
// elements, and constants are made inside.
#include "frame_eval/region_graph.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "frame_eval/region_copy.h"
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

bool isControl(const Node& node) { return graph::info(node.op).cls == OpClass::kControl; }

/// Those that may be equal to another node. No op that a trace adds has a trip count, but loops.
bool isMarked(const Node& node) { return graph::info(node.op).cls != OpClass::kSource && !isControl(node); }

}  // namespace

void RegionGraph::endArm(size_t begin) { endArm(begin, graph_.size()); }

bool RegionGraph::isVisible(ValueId node) const {
  const auto behind = std::upper_bound(ended_.begin(), ended_.end(), std::pair<size_t, size_t>(node.index, SIZE_MAX));
  return behind == ended_.begin() || std::prev(behind)->second <= node.index;
}

void RegionGraph::endArm(size_t begin, size_t end) {
  while (!ended_.empty() && ended_.back().first >= begin) ended_.pop_back();
  ended_.emplace_back(begin, end);
  const graph::SymId mark = graph_.syms().constant(static_cast<int64_t>(begin));
  for (size_t i = begin; i < end; ++i) {
    Node& node = graph_.mutableNode(ValueId(i));
    if (isMarked(node) && !node.attrs.has(kRegionMark)) node.attrs.set(kRegionMark, mark);
  }
}

std::vector<ValueId> RegionGraph::addProjects(Control& control, const graph::ValueType& type) {
  for (size_t i = 0; i < type.tuple.size(); ++i) {
    Attrs attrs;
    attrs.set(AttrKey::kIndex, static_cast<int64_t>(i));
    control.projects.push_back(graph_.addTyped(Op::kProject, {control.node}, type.tuple[i], std::move(attrs)));
  }
  controls_.push_back(std::move(control));
  return controls_.back().projects;
}

std::vector<ValueId> RegionGraph::add(ValueId predicate, ArmNodes arms, const std::vector<Pair>& results) {
  graph::ValueType type;
  for (const Pair& pair : results) type.tuple.push_back(graph_.type(pair[0]));
  Control branch{.node = graph_.addTyped(Op::kCond, {predicate}, type), .predicate = predicate, .arms = arms};
  branch.results = results;
  return addProjects(branch, type);
}

std::vector<ValueId> RegionGraph::given(const std::vector<graph::ValueType>& types) {
  graph::ValueType all;
  all.tuple = types;
  const ValueId node = graph_.addTyped(Op::kLoop, {}, all);
  std::vector<ValueId> values;
  for (size_t i = 0; i < types.size(); ++i) {
    Attrs attrs;
    attrs.set(AttrKey::kIndex, static_cast<int64_t>(i));
    values.push_back(graph_.addTyped(Op::kProject, {node}, types[i], std::move(attrs)));
  }
  return values;
}

std::vector<ValueId> RegionGraph::add(const Loop& loop) {
  endArm(loop.begin, loop.end);
  graph::ValueType type;
  std::vector<ValueId> begins;
  for (const Carried& one : loop.carried) {
    type.tuple.push_back(graph_.type(one.answer));
    begins.push_back(one.begin);
  }
  const ValueId no = graph_.constant(graph::Scalar::ofBool(false));
  Attrs attrs;
  attrs.set(AttrKey::kSymbol, loop.symbol);
  if (loop.trip) attrs.set(AttrKey::kTrip, *loop.trip);
  Control control{.node = graph_.addTyped(Op::kLoop, begins, type, std::move(attrs)),
                  .predicate = {},
                  .arms = {loop.begin, loop.end, loop.end}};
  control.carried = loop.carried;
  control.no = no;
  control.again = loop.again;
  for (const Carried& one : loop.carried) control.results.push_back({one.answer, one.answer});
  return addProjects(control, type);
}

void RegionGraph::drop(size_t begin) {
  endArm(begin);
  while (!dropped_.empty() && dropped_.back().first >= begin) {
    droppedNodes_ -= dropped_.back().second - dropped_.back().first;
    dropped_.pop_back();
  }
  dropped_.emplace_back(begin, graph_.size());
  droppedNodes_ += graph_.size() - begin;
  std::erase_if(controls_, [&](const Control& control) { return control.node.index >= begin; });
  std::erase_if(required_, [&](ValueId bind) { return bind.index >= begin; });
}

/// A bind of the condition to a symbol that is 1. What it answers counts as a value that is computed for its flags.
void RegionGraph::require(ValueId condition) {
  const graph::ValueType type{DType::kBool, {}, {}, {}};
  const ValueId bind =
      graph_.addTyped(Op::kBind, {graph_.cast(condition, DType::kI64)}, {DType::kBool, {}, {}, {type}});
  Attrs attrs;
  attrs.set(AttrKey::kIndex, int64_t{0});
  graph_.addTyped(Op::kProject, {bind}, type, std::move(attrs));
  required_.push_back(bind);
}

/// Symbols are made when the trace makes no more of its own.
void RegionGraph::makeRequired() {
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

void RegionGraph::findParents() {
  armOf_.assign(graph_.size(), kNone);
  for (size_t c = controls_.size(); c-- > 0;) {  // outer ones first, so that inner ones overwrite them
    Control& control = controls_[c];
    if (const int around = armOf_[control.node.index]; around >= 0) {
      control.parent = around / 2;
      control.parentArm = around % 2;
    }
    const ArmNodes& arms = control.arms;
    for (size_t i = arms.begin; i < arms.end; ++i) armOf_[i] = static_cast<int>(2 * c) + (i < arms.middle ? 0 : 1);
  }
  for (auto [begin, end] : dropped_)
    for (size_t i = begin; i < end; ++i) armOf_[i] = kDropped;
}

/// Something in the body may raise, decline or report.
bool RegionGraph::mayReport(const Control& loop) const {
  for (size_t i = loop.arms.begin; i < loop.arms.end; ++i) {
    const Node& node = graph_.node(ValueId(i));
    if (armOf_[i] == kDropped) continue;
    if (node.op == Op::kCall || node.op == Op::kBind || node.op == Op::kDefine ||
        (reportsFlags_ && !isControl(node) && graph::mayRaise(graph_, ValueId(i))))
      return true;
  }
  return false;
}

void RegionGraph::findNeeded() {
  std::vector<bool> needed(graph_.size());
  for (ValueId id : graph_.outputs()) needed[id.index] = true;
  for (ValueId id : graph_.commits()) needed[id.index] = true;
  absl::flat_hash_map<ValueId, Control*> byNode;
  std::vector<std::vector<Control*>> beginning(graph_.size());
  for (Control& control : controls_) {
    control.used.assign(control.results.size(), false);
    byNode[control.node] = &control;
    beginning[control.arms.begin].push_back(&control);  // inner ones first
  }
  auto use = [&](Control& control, size_t result) {
    control.used[result] = true;
    for (ValueId answer : control.results[result]) needed[answer.index] = true;
    if (control.isLoop()) needed[control.carried[result].begin.index] = true;
  };
  for (size_t i = graph_.size(); i-- > 0;) {  // operands stand before what is computed from them
    const ValueId id(i);
    const Node& node = graph_.node(id);
    const std::optional<Op> projects =
        node.op == Op::kProject ? std::optional(graph_.node(node.operands[0]).op) : std::nullopt;
    const bool required = projects == Op::kBind;
    const bool called = projects == Op::kCall && !needed[node.operands[0].index];  // it may raise
    const bool raises = reportsFlags_ && !isControl(node) && graph::mayRaise(graph_, id);
    if (!needed[i] && (raises || required || called) && armOf_[i] != kDropped) {
      needed[i] = true;
      if (const int arm = armOf_[i]; arm >= 0)
        controls_[static_cast<size_t>(arm / 2)].unread[arm % 2].push_back(id);
      else if (!called)  // outside of regions calls are made in any case
        graph_.outputs().push_back(id);
    }
    if (node.op == Op::kDefine && armOf_[i] != kDropped) {
      needed[i] = true;
      if (const int arm = armOf_[i]; arm >= 0) controls_[static_cast<size_t>(arm / 2)].fixed[arm % 2].push_back(id);
    }
    const auto itself = byNode.find(id);
    if (itself != byNode.end() && itself->second->isLoop()) {  // needs, of its operands, those that it uses
      Control& loop = *itself->second;
      const bool runs = needed[i] || mayReport(loop);
      for (size_t r = 0; runs && r < loop.carried.size(); ++r)
        if (loop.carried[r].given.valid()) use(loop, r);
      if (runs && loop.again) needed[loop.again->index] = true;
      loop.reports = runs && !needed[i];
    } else if (needed[i]) {
      for (ValueId operand : node.operands) needed[operand.index] = true;
      if (auto control = projects ? byNode.find(node.operands[0]) : byNode.end(); control != byNode.end())
        use(*control->second, static_cast<size_t>(node.attrs.integer(AttrKey::kIndex)));
    }
    for (Control* control : beginning[i]) {
      auto any = [](const auto& lists) { return !lists[0].empty() || !lists[1].empty(); };
      if (any(control->fixed)) {
        const bool used = std::find(control->used.begin(), control->used.end(), true) != control->used.end();
        // Nobody would make it for its results.
        for (size_t arm = 0; arm < 2 && !used && !any(control->unread) && !any(control->unreadInner); ++arm) {
          if (control->fixed[arm].empty()) continue;
          const ValueId fixed = control->fixed[arm][0];
          if (graph_.node(fixed).op == Op::kDefine) {
            control->unread[arm].push_back(graph_.node(fixed).operands[0]);
          } else {
            byNode.at(fixed)->witness = true;
            control->unreadInner[arm].push_back(byNode.at(fixed));
          }
        }
        if (!control->isLoop()) needed[control->predicate.index] = true;
        if (control->parent >= 0)
          controls_[static_cast<size_t>(control->parent)].fixed[control->parentArm].push_back(control->node);
      }
      control->witness = control->witness || control->reports || any(control->unread) || any(control->unreadInner);
      if (!control->witness) continue;
      if (!control->isLoop()) needed[control->predicate.index] = true;
      if (control->parent >= 0)
        controls_[static_cast<size_t>(control->parent)].unreadInner[control->parentArm].push_back(control);
    }
  }
}

/// Projects of what is used count from 0.
void RegionGraph::keepUsed(Control& control) {
  const std::vector<graph::ValueType> types = std::exchange(graph_.mutableNode(control.node).type.tuple, {});
  std::vector<graph::ValueType>& kept = graph_.mutableNode(control.node).type.tuple;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!control.used[i]) continue;
    graph_.mutableNode(control.projects[i]).attrs.set(AttrKey::kIndex, static_cast<int64_t>(kept.size()));
    kept.push_back(types[i]);
  }
}

namespace {

std::vector<ValueId> nodesOf(const auto& controls) {
  std::vector<ValueId> nodes;
  for (const auto* control : controls) nodes.push_back(control->node);
  return nodes;
}

}  // namespace

void RegionGraph::makeBranch(Control& branch) {
  RegionArguments arguments(0);
  std::vector<std::unique_ptr<Graph>> regions;
  for (size_t arm = 0; arm < 2; ++arm) {
    RegionCopy region(graph_, branch.arms.begin, graph_.node(branch.node).line, arguments);
    const std::vector<ValueId> inner = nodesOf(branch.unreadInner[arm]);
    std::vector<ValueId> roots = branch.unread[arm];
    roots.insert(roots.end(), inner.begin(), inner.end());
    roots.insert(roots.end(), branch.fixed[arm].begin(), branch.fixed[arm].end());
    for (size_t i = 0; i < branch.results.size(); ++i)
      if (branch.used[i]) roots.push_back(branch.results[i][arm]);
    region.copy(roots);
    for (size_t i = 0; i < branch.results.size(); ++i)
      if (branch.used[i]) region.graph().outputs().push_back(region[branch.results[i][arm]]);
    if (branch.witness) region.graph().outputs().push_back(region.witness(branch.unread[arm], inner));
    regions.push_back(region.take());
  }
  Node& node = graph_.mutableNode(branch.node);
  node.operands = {branch.predicate};
  node.operands.insert(node.operands.end(), arguments.values().begin(), arguments.values().end());
  node.regions = std::move(regions);
  keepUsed(branch);
  if (branch.witness) node.type.tuple.push_back({DType::kBool, {}, {}, {}});
}

/// What the body reads from outside is carried, too: every turn hands it on as it was.
void RegionGraph::makeLoop(Control& loop) {
  keepUsed(loop);
  const size_t results = graph_.type(loop.node).tuple.size();
  RegionArguments arguments(results);
  RegionCopy region(graph_, loop.arms.begin, graph_.node(loop.node).line, arguments);
  const std::vector<ValueId> inner = nodesOf(loop.unreadInner[0]);
  std::vector<ValueId> roots = loop.unread[0], operands;
  roots.insert(roots.end(), inner.begin(), inner.end());
  roots.insert(roots.end(), loop.fixed[0].begin(), loop.fixed[0].end());
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    if (!loop.used[i]) continue;
    const Carried& one = loop.carried[i];
    if (one.given.valid()) region.give(one.given, operands.size());
    operands.push_back(one.begin);
    roots.push_back(one.answer);
  }
  if (loop.again) roots.push_back(*loop.again);
  region.copy(roots);
  Graph& body = region.graph();
  std::vector<ValueId> outputs = {loop.again ? region[*loop.again] : body.constant(graph::Scalar::ofBool(true))};
  for (size_t i = 0; i < loop.carried.size(); ++i)
    if (loop.used[i]) outputs.push_back(region[loop.carried[i].answer]);
  Node& node = graph_.mutableNode(loop.node);
  for (ValueId argument : arguments.values()) {
    outputs.push_back(region[argument]);
    operands.push_back(argument);
    node.type.tuple.push_back(graph_.type(argument));
  }
  if (loop.witness) {
    const ValueId before = body.input(static_cast<int>(operands.size()), graph_.type(loop.no));
    operands.push_back(loop.no);
    outputs.push_back(body.binary(Op::kLogicalOr, before, region.witness(loop.unread[0], inner)));
    node.type.tuple.push_back(graph_.type(loop.no));
  }
  body.outputs() = std::move(outputs);
  node.operands.assign(operands.begin(), operands.end());
  node.regions.clear();
  node.regions.push_back(region.take());
}

void RegionGraph::settle(bool reportsFlags) {
  reportsFlags_ = reportsFlags;
  makeRequired();
  findParents();
  findNeeded();
  for (Control& control : controls_) {
    const bool used = std::find(control.used.begin(), control.used.end(), true) != control.used.end();
    if (!used && !control.witness) continue;
    if (control.isLoop())
      makeLoop(control);
    else
      makeBranch(control);
  }
  // The bools of the outermost ones are outputs: then they are computed.
  for (const Control& control : controls_)
    if (control.witness && control.parent < 0) graph_.outputs().push_back(lastResult(graph_, control.node));
  for (size_t i = 0; i < graph_.size(); ++i) {
    Node& node = graph_.mutableNode(ValueId(i));
    // Binds, definitions and calls live whether they are needed or not; these stand in a region now.
    if ((node.op == Op::kBind || node.op == Op::kDefine || node.op == Op::kCall) && i < armOf_.size() &&
        armOf_[i] != kNone) {
      node.op = Op::kConstant;
      node.operands.clear();
    }
    if (isMarked(node) && node.attrs.has(kRegionMark)) node.attrs = unmarked(node.attrs);
  }
  const absl::Status dropped = graph::rewrite(graph_, [](graph::Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    return absl::OkStatus();
  });
  FW_CHECK(dropped.ok());
}

}  // namespace fw::capture
