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
// - Loops, branches and binds are groups of their own, with their projects, and read memory.
// - concatenate is a group of its own and reads materialised values. So is what a gather takes
//   from, which may be any of it at every point; its indices are read as the operands of any elementwise value.
// - An update is computed with the value that it stores where members read of the memory that it continues nothing but
//   the element that is stored to at the same point, or what is not stored to (overwritten.h), or rows at a known
//   distance: then what is stored is held back (Group::Held). Nobody reads the update inside.
// - Constants of a shape, iota and cheap arithmetic on scalars of the call are cloned into every group that reads them.
// - Groups of one domain that do not depend on each other and load the same array are joined, for memory traffic.
// - The copy that a sum in stretches reads (linear_sum.h) joins that sum alone, and only where its kernel copies one
//   stretch at a time; otherwise it is a group of its own, with what it copies.
// - What goes on in the memory of a value comes behind all who read that value.
// - Groups never depend on each other in a cycle.
//
// Method: nodes are taken in order; each starts alone and is joined to the groups of its operands where the rules allow
// it. A second round tries every remaining edge again, now that all readers are known; a third joins side by side.
//
// Cost: every question about a group looks at no more than the group itself and what reads it directly, but for the
// search for cycles, which gives up after kMaxSearch operands and then leaves two groups apart. A group is tried with
// the kNeighbours before it that load the same array. So time is linear in the nodes.
#include <algorithm>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "graph/alias.h"
#include "graph/axes.h"
#include "graph/bound_sizes.h"
#include "graph/linear_sum.h"
#include "graph/passes/control.h"
#include "graph/passes/fuse_draft.h"
#include "graph/passes/group_order.h"
#include "graph/passes/rewriter.h"
#include "graph/raising.h"
#include "graph/refused.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr int kMaxSearch = 4096;    // operands looked at for a way from one group to another
constexpr size_t kNeighbours = 32;  // groups that load one array, tried with the next that does

class Fuser {
 public:
  Fuser(const Graph& graph, const Target& target, absl::Span<const ValueId> roots,
        const absl::flat_hash_set<ValueId>& unclonable)
      : graph_(graph),
        target_(target),
        live_(liveValues(graph, roots)),
        sizes_(graph),
        users_(graph.size()),
        groupOf_(graph.size(), -1),
        cloneCost_(graph.size(), -1),
        readBefore_(graph.size()),
        overwritten_(overwrittenValues(graph)) {
    for (ValueId root : roots) outputs_.insert(viewBase(graph, root));
    for (size_t i = 0; i < graph.size(); ++i) rules_ |= graph.node(ValueId(i)).attrs.has(AttrKey::kErrors);
    for (size_t i = 0; i < graph.size(); ++i)
      if (live_[i])
        for (ValueId operand : graph.node(ValueId(i)).operands) users_[operand.index].push_back(ValueId(i));
    for (size_t i = 0; i < graph.size(); ++i)
      if (live_[i]) findReadBefore(ValueId(i));
    for (size_t i = 0; i < graph.size(); ++i)
      if (live_[i] && !unclonable.contains(ValueId(i))) cloneCost_[i] = cloneCost(ValueId(i));
  }

  absl::Status run(bool plain) {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const ValueId id(i);
      if (!live_[i] || isSource(graph_, id) || isView(graph_, id) || clonable(id)) continue;
      if (graph_.node(id).op == Op::kProject) {
        addProject(id);
        continue;
      }
      absl::StatusOr<Draft> draft = singleDraft(graph_, id);
      if (!draft.ok()) return Refused::of(graph_, id).in(draft.status());
      if (!settleUpdates(graph_, target_, *draft))
        return absl::InternalError("plan: an update reads what it overwrites");
      groupOf_[i] = static_cast<int>(drafts_.size());
      drafts_.push_back(*std::move(draft));
      order_.append();
      if (!plain) joinOperands(id);
    }
    if (plain) return absl::OkStatus();
    for (size_t i = 0; i < graph_.size(); ++i)
      if (groupOf_[i] >= 0) joinOperands(ValueId(i));
    joinNeighbours();
    return absl::OkStatus();
  }

  /// Groups in execution order; clones that one group needs under two axis maps are added to `conflicts`.
  std::vector<Group> finish(std::vector<ValueId>& conflicts) const {
    std::vector<Group> groups;
    for (int at : executionOrder()) {
      Group group;
      Draft draft = drafts_[at];
      addClones(draft, conflicts);
      group.kind = draft.kind;
      group.domain = draft.domain;
      group.reducedAxes = draft.reduced;
      group.held = draft.held;
      for (ValueId id : draft.values)
        if (groupOf_[id.index] == at && materialised(id)) group.outputs.push_back(id);
      group.values = std::move(draft.values);
      group.axisMap = std::move(draft.axisMap);
      groups.push_back(std::move(group));
    }
    return groups;
  }

 private:
  bool clonable(ValueId id) const { return cloneCost_[id.index] >= 0; }

  void addProject(ValueId id) {
    const int group = groupOf_[id.index] = groupOf_[graph_.node(id).operands[0].index];
    drafts_[group].values.push_back(id);
    IntList& axes = drafts_[group].axisMap[id];
    for (int axis = 0; axis < graph_.type(id).rank(); ++axis) axes.push_back(axis);
  }

  /// What goes on in the memory of another value comes behind all that reads that one.
  void findReadBefore(ValueId step) {
    for (ValueId before : overwrittenBy(graph_, step))
      (void)anyReader(before, [&](ValueId reader) {
        if (reader != step && graph_.node(reader).op != Op::kStore) readBefore_[step.index].push_back(reader);
        return false;
      });
  }

  /// Cost of computing a leaf-like value again wherever it is read; -1 if it is not one.
  int cloneCost(ValueId id) const {
    const OpClass cls = classOf(graph_, id);
    const bool scalar = graph_.type(id).rank() == 0 && cls == OpClass::kElementwise;
    if ((cls != OpClass::kCreation && !scalar) || outputs_.contains(id)) return -1;
    if (rules_ && mayRaiseFlags(graph_, id)) return -1;  // whoever reads it may go by others
    int cost = recomputeCost(graph_, id);
    for (ValueId operand : graph_.node(id).operands) {
      const ValueId base = followIndexMaps(graph_, operand).base;
      if (isSource(graph_, base) ? graph_.type(base).rank() != 0 : !clonable(base)) return -1;
      if (overwritten_.contains(base)) return -1;  // some reader may come behind the update
      if (!isSource(graph_, base)) cost += cloneCost_[base.index];
    }
    return cost <= target_.cloneCost && !readFromMemory(id) ? cost : -1;
  }

  /// True if some reader needs `id` in memory: through a real view, or a join or update.
  bool readFromMemory(ValueId id) const {
    for (ValueId user : users_[id.index]) {
      const OpClass cls = classOf(graph_, user);
      if (cls == OpClass::kJoin || cls == OpClass::kControl) return true;
      if (firstRead(graph_, user) > 0 && graph_.node(user).operands[0] == id) return true;
      if (cls != OpClass::kView) continue;
      const IndexMap map = followIndexMaps(graph_, user);
      if (map.base == user || readFromMemory(user)) return true;
    }
    return false;
  }

  /// Whether `test` holds for one that reads `id`, views followed upwards.
  template <class Test>
  bool anyReader(ValueId id, const Test& test) const {
    return std::any_of(users_[id.index].begin(), users_[id.index].end(),
                       [&](ValueId user) { return isView(graph_, user) ? anyReader(user, test) : test(user); });
  }

  bool materialised(ValueId id) const {
    if (outputs_.contains(id) || ownsMemory(graph_, id)) return true;
    const int own = groupOf_[id.index];
    return anyReader(id, [&](ValueId reader) { return groupOf_[reader.index] != own; });
  }

  /// Nothing but the two groups reads the producer.
  bool closed(int producer, int consumer) const {
    const auto outside = [&](ValueId reader) {
      const int group = groupOf_[reader.index];
      return group != producer && group != consumer;
    };
    return std::none_of(drafts_[producer].values.begin(), drafts_[producer].values.end(),
                        [&](ValueId id) { return outputs_.contains(id) || anyReader(id, outside); });
  }

  /// Calls `visit` with every group that `group` reads, once or more often.
  template <class Visit>
  void forEachSource(int group, const Visit& visit) const {
    const auto source = [&](ValueId value) {
      const int other = groupOf_[value.index];
      if (other >= 0 && other != group) visit(other);
    };
    for (ValueId id : drafts_[group].values) {
      for (ValueId operand : graph_.node(id).operands) source(viewBase(graph_, operand));
      for (ValueId call : sizes_.needs(id)) source(call);
      for (ValueId reader : readBefore_[id.index]) source(reader);
    }
  }

  /// What has to run between the two if they become one at the place of `first`: the groups behind it that `second`
  /// needs. Nullopt if one of those reads `first`, so that there would be a cycle, or if this takes long to find out.
  std::optional<std::vector<int>> between(int first, int second) {
    seen_.resize(drafts_.size(), 0);
    ++search_;
    std::vector<int> found, open = {second};
    int looked = 0;
    bool cycle = false;
    while (!open.empty() && !cycle) {
      const int at = open.back();
      open.pop_back();
      forEachSource(at, [&](int source) {
        ++looked;
        if (source == first) cycle |= at != second;
        if (!order_.isBefore(first, source) || std::exchange(seen_[source], search_) == search_) return;
        found.push_back(source);
        open.push_back(source);
      });
      cycle |= looked > kMaxSearch && !open.empty();
    }
    if (cycle) return std::nullopt;
    return found;
  }

  /// Makes one group of two, the first of which comes before the other.
  void replace(int first, int second, Draft joined, std::vector<int> moved) {
    std::sort(moved.begin(), moved.end(), [&](int a, int b) { return order_.isBefore(a, b); });
    for (int group : moved) order_.moveBefore(group, first);
    const int into = std::min(first, second), gone = std::max(first, second);
    if (into == second) order_.moveBefore(into, first);
    order_.remove(gone);
    drafts_[into] = std::move(joined);
    drafts_[gone].dead = true;
    drafts_[gone].values.clear();
    for (ValueId id : drafts_[into].values) groupOf_[id.index] = into;
  }

  void joinOperands(ValueId user) {
    const size_t count = graph_.node(user).operands.size();
    for (size_t i = firstRead(graph_, user); i < count; ++i) {
      const IndexMap map = followIndexMaps(graph_, graph_.node(user).operands[i]);
      const int producer = groupOf_[map.base.index], consumer = groupOf_[user.index];
      if (producer < 0 || producer == consumer) continue;
      if (!mayJoin(target_, drafts_[producer], drafts_[consumer])) continue;
      std::optional<std::vector<int>> moved = between(producer, consumer);
      if (!moved) continue;
      std::optional<Draft> joined = joinAlongEdge(graph_, target_, drafts_[producer], drafts_[consumer], user, i, map,
                                                  closed(producer, consumer));
      if (joined) replace(producer, consumer, *std::move(joined), *std::move(moved));
    }
  }

  /// Arrays of more than one element that a group loads.
  absl::flat_hash_set<ValueId> loads(int group) const {
    absl::flat_hash_set<ValueId> result;
    for (ValueId id : drafts_[group].values)
      for (size_t i = firstRead(graph_, id); i < graph_.node(id).operands.size(); ++i) {
        const ValueId base = viewBase(graph_, graph_.node(id).operands[i]);
        if (groupOf_[base.index] != group && !clonable(base) && graph_.type(base).rank() > 0) result.insert(base);
      }
    return result;
  }

  size_t outputCount(int group) const {
    size_t count = 0;
    for (ValueId id : drafts_[group].values) count += materialised(id);
    return count;
  }

  /// Joins group `b` with the first of `candidates`, in order, that it can be one with. Answers which, or `b`.
  int joinNeighbour(int b, const absl::flat_hash_set<ValueId>& mine, std::vector<int> candidates) {
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    for (int a : candidates) {
      if (drafts_[a].dead || drafts_[a].domain != drafts_[b].domain || !mayJoin(target_, drafts_[a], drafts_[b]))
        continue;
      if (outputCount(a) + outputCount(b) > target_.groupOutputs) continue;
      const absl::flat_hash_set<ValueId> other = loads(a);
      const bool shared = std::any_of(mine.begin(), mine.end(), [&](ValueId id) { return other.contains(id); });
      if (!shared) continue;
      const int first = order_.isBefore(a, b) ? a : b, second = first == a ? b : a;
      bool direct = false;
      forEachSource(second, [&](int source) { direct |= source == first; });
      std::optional<std::vector<int>> moved = direct ? std::nullopt : between(first, second);
      std::optional<Draft> joined = moved ? joinSideBySide(graph_, target_, drafts_[a], drafts_[b]) : std::nullopt;
      if (!joined) continue;
      replace(first, second, *std::move(joined), *std::move(moved));
      return a;
    }
    return b;
  }

  void joinNeighbours() {
    absl::flat_hash_map<ValueId, std::vector<int>> loadedBy;  // the last groups that load an array
    for (int b = 0; b < static_cast<int>(drafts_.size()); ++b) {
      if (drafts_[b].dead) continue;
      const absl::flat_hash_set<ValueId> mine = loads(b);
      std::vector<int> candidates;
      for (ValueId array : mine)
        if (const auto known = loadedBy.find(array); known != loadedBy.end())
          candidates.insert(candidates.end(), known->second.begin(), known->second.end());
      const int now = joinNeighbour(b, mine, std::move(candidates));
      for (ValueId array : mine) {
        std::vector<int>& groups = loadedBy[array];
        if (std::find(groups.begin(), groups.end(), now) != groups.end()) continue;
        if (groups.size() == kNeighbours) groups.erase(groups.begin());
        groups.push_back(now);
      }
    }
  }

  /// Readers after what they read, otherwise by first value.
  std::vector<int> executionOrder() const {
    enum State : uint8_t { kNew, kOpen, kDone };
    std::vector<int> order, open;
    std::vector<State> state(drafts_.size(), kNew);
    for (int root = 0; root < static_cast<int>(drafts_.size()); ++root) {
      if (!drafts_[root].dead) open.push_back(root);
      while (!open.empty()) {
        const int at = open.back();
        if (state[at] != kNew) {
          open.pop_back();
          if (std::exchange(state[at], kDone) == kOpen) order.push_back(at);
          continue;
        }
        state[at] = kOpen;
        std::vector<int> sources;
        forEachSource(at, [&](int source) {
          if (state[source] != kDone) sources.push_back(source);
        });
        std::sort(sources.begin(), sources.end(), std::greater<>());
        for (int source : sources) {
          FW_CHECK_MSG(state[source] == kNew, "groups depend on each other");
          open.push_back(source);
        }
      }
    }
    return order;
  }

  void addClones(Draft& draft, std::vector<ValueId>& conflicts) const {
    if (draft.kind == Group::Kind::kJoin || draft.kind == Group::Kind::kControl) return;
    // Readers have greater ids than what they read, so one sweep downwards meets every reader before the clone.
    std::priority_queue open(std::less<ValueId>(), draft.values);
    while (!open.empty()) {
      const ValueId user = open.top();
      open.pop();
      for (size_t i = firstRead(graph_, user); i < graph_.node(user).operands.size(); ++i) {
        const IndexMap map = followIndexMaps(graph_, graph_.node(user).operands[i]);
        if (!clonable(map.base)) continue;
        const IntList axes = axesThrough(graph_, draft, user, i, map);
        const auto [at, fresh] = draft.axisMap.try_emplace(map.base, axes);
        if (fresh) {
          draft.values.push_back(map.base);
          open.push(map.base);
        } else if (at->second != axes) {
          conflicts.push_back(map.base);
        }
      }
    }
    std::sort(draft.values.begin(), draft.values.end());
  }

  const Graph& graph_;
  const Target& target_;
  std::vector<bool> live_;
  BoundSizes sizes_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<int> groupOf_;  // draft of every value, -1 for sources, views and clones
  std::vector<int> cloneCost_;
  bool rules_ = false;                            // some values go by error rules of their own
  absl::flat_hash_set<ValueId> outputs_;          // of the call, and what commits read
  std::vector<std::vector<ValueId>> readBefore_;  // by update, loop, branch: what it must not overtake
  const absl::flat_hash_set<ValueId> overwritten_;
  std::vector<Draft> drafts_;
  GroupOrder order_;
  std::vector<uint32_t> seen_;  // by group: the last search that came by
  uint32_t search_ = 0;
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

absl::StatusOr<std::vector<Group>> fuse(const Graph& graph, absl::Span<const ValueId> kept, const Target& target,
                                        bool plain) {
  std::vector<ValueId> roots = graph.outputs();
  roots.insert(roots.end(), kept.begin(), kept.end());
  absl::flat_hash_set<ValueId> unclonable;
  while (true) {
    Fuser fuser(graph, target, roots, unclonable);
    if (absl::Status status = fuser.run(plain); !status.ok()) return status;
    std::vector<ValueId> conflicts;
    std::vector<Group> groups = fuser.finish(conflicts);
    if (conflicts.empty()) return groups;
    unclonable.insert(conflicts.begin(), conflicts.end());
  }
}

}  // namespace fw::graph
