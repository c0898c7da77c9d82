// Fusion: which values one kernel computes together.
//
// Rules
// - Views are free. Expand, squeeze and broadcast between two members of a group are a change of indices and live in
//   Group::axisMap. Through any other view (slice, transpose, reshape) a consumer reads memory, so the value below is
//   materialised.
// - A domain has no axes of size statically 1. A value's axisMap has -1 where its own size is statically 1; the entry
// of
//   an update describes the stored value, whose slice is the domain.
// - kMap: elementwise values and creations over one domain; several outputs; every value is computed once.
// - kReduce: reductions over the same axes of one domain, what feeds them, what is computed from their results per row,
//   and what runs over the domain again afterwards. If the reduction leaves no row axes, what runs over the domain
//   again is a group of its own: inside, it would be serial.
// - Column reductions (the innermost axis in memory is kept) run row by row into the memory of an output, so each needs
// one,
//   and what runs over the domain again afterwards is a group of its own.
// - A float sum over several axes is one stretch of memory: what walks the axes differently (broadcast operands, gaps)
// is
//   computed into memory before.
// - Reductions over different axes, and argmax or argmin next to any other reduction, are different groups; nothing is
// computed
//   from an argmax in its own group.
// - A value over fewer axes than its consumer is computed inside the consumer's loops if nothing else reads it and it
// is
//   cheap, or if its axes lead the loop nest, where it is computed once per row. Otherwise it is materialised.
// - concatenate and update are groups of their own and read materialised values (an update also clones, see below).
// - Constants of a shape, iota and cheap arithmetic on scalars of the call are cloned into every group that reads them.
// - Groups of one domain that do not depend on each other and load the same array are joined, for memory traffic.
// - The copy that a sum in stretches reads (linear_sum.h) joins that sum alone, and only where its kernel copies one
//   stretch at a time; otherwise it is a group of its own, with what it copies.
// - Groups never depend on each other in a cycle.
//
// Method: nodes are taken in order; each starts alone and is joined to the groups of its operands where the rules allow
// it. A second round tries every remaining edge again, now that all readers are known; a third joins side by side.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/axes.h"
#include "graph/linear_sum.h"
#include "graph/passes/fuse_draft.h"
#include "graph/passes/rewriter.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr size_t kMaxSideOutputs = 8;
constexpr int kCloneCost = 6;

class Fuser {
 public:
  Fuser(const Graph& graph, absl::Span<const ValueId> roots, const absl::flat_hash_set<ValueId>& unclonable)
      : graph_(graph),
        live_(liveValues(graph, roots)),
        users_(graph.size()),
        groupOf_(graph.size(), -1),
        cloneCost_(graph.size(), -1) {
    for (ValueId root : roots) outputs_.insert(viewBase(graph, root));
    for (size_t i = 0; i < graph.size(); ++i)
      if (live_[i])
        for (ValueId operand : graph.node(ValueId(i)).operands) users_[operand.index].push_back(ValueId(i));
    for (size_t i = 0; i < graph.size(); ++i)
      if (live_[i] && !unclonable.contains(ValueId(i))) cloneCost_[i] = cloneCost(ValueId(i));
  }

  absl::Status run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const ValueId id(i);
      if (!live_[i] || isSource(graph_, id) || isView(graph_, id) || clonable(id)) continue;
      absl::StatusOr<Draft> draft = singleDraft(graph_, id);
      if (!draft.ok()) return draft.status();
      groupOf_[i] = static_cast<int>(drafts_.size());
      drafts_.push_back(*std::move(draft));
      joinOperands(id);
    }
    for (size_t i = 0; i < graph_.size(); ++i)
      if (groupOf_[i] >= 0) joinOperands(ValueId(i));
    joinNeighbours();
    return absl::OkStatus();
  }

  /// Groups in execution order; `conflict` is set to a clone that one group needs under two axis maps.
  std::vector<Group> finish(ValueId& conflict) const {
    std::vector<Group> groups;
    for (int at : executionOrder()) {
      Group group;
      Draft draft = drafts_[at];
      addClones(draft, conflict);
      group.kind = draft.kind;
      group.domain = draft.domain;
      group.reducedAxes = draft.reduced;
      group.values = draft.values;
      group.axisMap = draft.axisMap;
      for (ValueId id : draft.values)
        if (groupOf_[id.index] == at && materialised(id)) group.outputs.push_back(id);
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  bool clonable(ValueId id) const { return cloneCost_[id.index] >= 0; }

  /// Cost of computing a leaf-like value again wherever it is read; -1 if it is not one.
  int cloneCost(ValueId id) const {
    const OpClass cls = classOf(graph_, id);
    const bool scalar = graph_.type(id).rank() == 0 && cls == OpClass::kElementwise;
    if ((cls != OpClass::kCreation && !scalar) || outputs_.contains(id)) return -1;
    int cost = recomputeCost(graph_, id);
    for (ValueId operand : graph_.node(id).operands) {
      const ValueId base = followIndexMaps(graph_, operand).base;
      if (isSource(graph_, base) ? graph_.type(base).rank() != 0 : !clonable(base)) return -1;
      if (!isSource(graph_, base)) cost += cloneCost_[base.index];
    }
    return cost <= kCloneCost && !readFromMemory(id) ? cost : -1;
  }

  /// True if some reader needs `id` in memory: through a real view, or a join or update.
  bool readFromMemory(ValueId id) const {
    for (ValueId user : users_[id.index]) {
      const OpClass cls = classOf(graph_, user);
      if (cls == OpClass::kJoin || cls == OpClass::kControl) return true;
      if (cls == OpClass::kUpdate && graph_.node(user).operands[0] == id) return true;
      if (cls != OpClass::kView) continue;
      const IndexMap map = followIndexMaps(graph_, user);
      if (map.base == user || readFromMemory(user)) return true;
    }
    return false;
  }

  /// Readers of `id`, views followed upwards.
  void readers(ValueId id, std::vector<ValueId>& result) const {
    for (ValueId user : users_[id.index]) {
      if (isView(graph_, user))
        readers(user, result);
      else
        result.push_back(user);
    }
  }

  bool materialised(ValueId id) const {
    if (outputs_.contains(id) || ownsMemory(graph_, id)) return true;
    std::vector<ValueId> all;
    readers(id, all);
    for (ValueId reader : all)
      if (groupOf_[reader.index] != groupOf_[id.index]) return true;
    return false;
  }

  /// Nothing but the two groups reads the producer.
  bool closed(int producer, int consumer) const {
    for (ValueId id : drafts_[producer].values) {
      if (outputs_.contains(id)) return false;
      std::vector<ValueId> all;
      readers(id, all);
      for (ValueId reader : all) {
        const int group = groupOf_[reader.index];
        if (group != producer && group != consumer) return false;
      }
    }
    return true;
  }

  /// Groups that `group` reads.
  void sourcesOf(int group, std::vector<int>& result) const {
    for (ValueId id : drafts_[group].values)
      for (ValueId operand : graph_.node(id).operands) {
        const int from = groupOf_[viewBase(graph_, operand).index];
        if (from >= 0 && from != group) result.push_back(from);
      }
  }

  /// True if `to` reads `from` by way of a third group.
  bool indirect(int from, int to) const {
    std::vector<bool> seen(drafts_.size(), false);
    std::vector<int> open, next;
    sourcesOf(to, open);
    std::erase(open, from);
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      if (at == from) return true;
      if (seen[at]) continue;
      seen[at] = true;
      next.clear();
      sourcesOf(at, next);
      open.insert(open.end(), next.begin(), next.end());
    }
    return false;
  }

  bool reaches(int from, int to) const {
    std::vector<int> direct;
    sourcesOf(to, direct);
    return std::find(direct.begin(), direct.end(), from) != direct.end() || indirect(from, to);
  }

  void replace(int into, int gone, Draft joined) {
    drafts_[into] = std::move(joined);
    drafts_[gone].dead = true;
    drafts_[gone].values.clear();
    for (ValueId id : drafts_[into].values) groupOf_[id.index] = into;
  }

  void joinOperands(ValueId user) {
    const size_t count = graph_.node(user).operands.size();
    for (size_t i = 0; i < count; ++i) {
      const IndexMap map = followIndexMaps(graph_, graph_.node(user).operands[i]);
      const int producer = groupOf_[map.base.index], consumer = groupOf_[user.index];
      if (producer < 0 || producer == consumer || indirect(producer, consumer)) continue;
      std::optional<Draft> joined =
          joinAlongEdge(graph_, drafts_[producer], drafts_[consumer], user, i, map, closed(producer, consumer));
      if (joined) replace(std::min(producer, consumer), std::max(producer, consumer), *std::move(joined));
    }
  }

  /// Arrays of more than one element that a group loads.
  absl::flat_hash_set<ValueId> loads(int group) const {
    absl::flat_hash_set<ValueId> result;
    for (ValueId id : drafts_[group].values)
      for (ValueId operand : graph_.node(id).operands) {
        const ValueId base = viewBase(graph_, operand);
        if (groupOf_[base.index] != group && !clonable(base) && graph_.type(base).rank() > 0) result.insert(base);
      }
    return result;
  }

  size_t outputCount(int group) const {
    size_t count = 0;
    for (ValueId id : drafts_[group].values) count += materialised(id);
    return count;
  }

  void joinNeighbours() {
    for (int b = 1; b < static_cast<int>(drafts_.size()); ++b) {
      for (int a = 0; a < b && !drafts_[b].dead; ++a) {
        if (drafts_[a].dead || drafts_[a].domain != drafts_[b].domain) continue;
        if (outputCount(a) + outputCount(b) > kMaxSideOutputs) continue;
        const absl::flat_hash_set<ValueId> mine = loads(a), other = loads(b);
        const bool shared = std::any_of(mine.begin(), mine.end(), [&](ValueId id) { return other.contains(id); });
        if (!shared || reaches(a, b) || reaches(b, a)) continue;
        if (std::optional<Draft> joined = joinSideBySide(graph_, drafts_[a], drafts_[b]))
          replace(a, b, *std::move(joined));
      }
    }
  }

  /// Readers after what they read, otherwise by first value.
  std::vector<int> executionOrder() const {
    std::vector<int> order, state(drafts_.size(), 0);
    auto visit = [&](auto& self, int at) -> void {
      if (state[at] == 2 || drafts_[at].dead) return;
      FW_CHECK_MSG(state[at] == 0, "groups depend on each other");
      state[at] = 1;
      std::vector<int> sources;
      sourcesOf(at, sources);
      std::sort(sources.begin(), sources.end());
      for (int source : sources) self(self, source);
      state[at] = 2;
      order.push_back(at);
    };
    for (int at = 0; at < static_cast<int>(drafts_.size()); ++at) visit(visit, at);
    return order;
  }

  void addClones(Draft& draft, ValueId& conflict) const {
    if (draft.kind == Group::Kind::kJoin) return;
    // Readers have greater ids than what they read, so one sweep downwards meets every reader before the clone.
    std::vector<ValueId> open = draft.values;
    while (!open.empty()) {
      const auto last = std::max_element(open.begin(), open.end());
      const ValueId user = *last;
      open.erase(last);
      const bool update = classOf(graph_, user) == OpClass::kUpdate;
      for (size_t i = update ? 1 : 0; i < graph_.node(user).operands.size(); ++i) {
        const IndexMap map = followIndexMaps(graph_, graph_.node(user).operands[i]);
        if (!clonable(map.base)) continue;
        const IntList axes = axesThrough(graph_, draft, user, i, map);
        const auto [at, fresh] = draft.axisMap.try_emplace(map.base, axes);
        if (fresh) {
          draft.values.push_back(map.base);
          open.push_back(map.base);
        } else if (at->second != axes) {
          conflict = map.base;
        }
      }
    }
    std::sort(draft.values.begin(), draft.values.end());
  }

  const Graph& graph_;
  std::vector<bool> live_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<int> groupOf_;  // draft of every value, -1 for sources, views and clones
  std::vector<int> cloneCost_;
  absl::flat_hash_set<ValueId> outputs_;  // of the call, and what commits read
  std::vector<Draft> drafts_;
};

}  // namespace

IndexMap followIndexMaps(const Graph& graph, ValueId value) {
  IndexMap map{value, {}};
  SymContext& syms = graph.syms();
  for (int axis = 0; axis < graph.type(value).rank(); ++axis) map.axes.push_back(axis);
  while (true) {
    const Node& node = graph.node(map.base);
    if (node.op != Op::kExpand && node.op != Op::kSqueeze && node.op != Op::kBroadcast) return map;
    const SymShape& outer = node.type.shape;
    const ValueId operand = node.operands[0];
    const SymShape& inner = graph.type(operand).shape;
    IntList below(inner.size(), -1);
    if (node.op == Op::kBroadcast) {
      const size_t shift = outer.size() - inner.size();
      for (size_t axis = 0; axis < inner.size(); ++axis)
        below[axis] = isStretched(syms, inner[axis], outer[axis + shift]) ? -1 : map.axes[axis + shift];
    } else {
      const IntList& axes = node.attrs.ints(AttrKey::kAxes);
      const bool expands = node.op == Op::kExpand;
      const size_t longer = expands ? outer.size() : inner.size();
      size_t shorter = 0;
      for (size_t axis = 0; axis < longer; ++axis) {
        if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end()) continue;
        (expands ? below[shorter] : below[axis]) = expands ? map.axes[axis] : map.axes[shorter];
        ++shorter;
      }
    }
    map.base = operand;
    map.axes = std::move(below);
  }
}

absl::StatusOr<std::vector<Group>> fuse(const Graph& graph, absl::Span<const ValueId> kept) {
  std::vector<ValueId> roots = graph.outputs();
  roots.insert(roots.end(), kept.begin(), kept.end());
  absl::flat_hash_set<ValueId> unclonable;
  while (true) {
    Fuser fuser(graph, roots, unclonable);
    if (absl::Status status = fuser.run(); !status.ok()) return status;
    ValueId conflict;
    std::vector<Group> groups = fuser.finish(conflict);
    if (!conflict.valid()) return groups;
    unclonable.insert(conflict);
  }
}

}  // namespace fw::graph
