// First step of planning: finds loops that may rewrite arrays of the caller (rewriting.h).
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/bound_sizes.h"
#include "graph/passes/control.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"
#include "graph/raising.h"
#include "graph/rewriting.h"
#include "graph/symint_facts.h"

namespace fw::graph {

bool rewritesInputs(const Graph& graph) {
  for (size_t i = 0; i < graph.size(); ++i)
    if (graph.node(ValueId(i)).attrs.has(AttrKey::kRewrites)) return true;
  return false;
}

std::vector<BufferId> rewrittenInputs(const Plan& plan) {
  std::vector<BufferId> inputs;
  if (!plan.rewrites) return inputs;
  for (const Step& step : plan.steps)  // no loop in another one rewrites any
    if (const auto* loop = std::get_if<LoopStep>(&step.what))
      inputs.insert(inputs.end(), loop->rewrites.begin(), loop->rewrites.end());
  return inputs;
}

size_t shortLoops(const SymContext& syms, absl::Span<const std::optional<SymId>> trips) {
  size_t count = 0;
  for (int64_t turns = 1; count + 1 < trips.size(); ++count) {
    const std::optional<int64_t> trip = trips[count] ? syms.asConst(*trips[count]) : std::nullopt;
    if (!trip || *trip < 0 || (turns *= std::max<int64_t>(*trip, 1)) > kShortTurns) break;
  }
  return count;
}

namespace {

constexpr size_t kMaxRewritten = 4;  ///< arrays of one loop: what is saved of all of them stays in the first cache
constexpr size_t kMaxNodes = 200;    ///< in the loop: longer ones are no function of their own

using Users = std::vector<std::vector<ValueId>>;

Users usersOf(const Graph& graph) {
  Users users(graph.size());
  const std::vector<bool> live = liveValues(graph);
  for (size_t i = 0; i < graph.size(); ++i)
    for (ValueId operand : graph.node(ValueId(i)).operands)
      if (live[i]) users[operand.index].push_back(ValueId(i));
  return users;
}

/// Whether a nest of loops and branches is one over numbers, of which LLVM makes a function (jit/scalar_loops.h).
class Numbers {
 public:
  bool areAll(const Graph& body) {
    for (size_t i = 0; i < body.size(); ++i) {
      const Node& node = body.node(ValueId(i));
      if (++nodes_ > kMaxNodes || node.attrs.has(AttrKey::kErrors)) return false;
      collectBound(node, bound_);
      if (node.attrs.has(AttrKey::kSymbol)) bound_.insert(node.attrs.sym(AttrKey::kSymbol));
      const bool whole = node.op == Op::kInput || node.op == Op::kUpdate || node.op == Op::kProject ||
                         hasRegions(node.op) || isView(body, ValueId(i));
      if (node.op == Op::kCall || !(whole || isOneElement(body, ValueId(i)))) return false;
      if (classOf(body, ValueId(i)) == OpClass::kReduction || classOf(body, ValueId(i)) == OpClass::kScan) return false;
      for (const std::unique_ptr<Graph>& region : node.regions)
        if (!areAll(*region)) return false;
    }
    return true;
  }
  /// Symbols that the nest gives their values.
  const absl::flat_hash_set<SymId>& bound() const { return bound_; }

 private:
  size_t nodes_ = 0;
  absl::flat_hash_set<SymId> bound_;
};

/// What a nest of loops does to an array that it carries: it may be done again from the beginning, whatever part of it
/// has been done, if every element that is read was stored before, or never is. And stores are to places that are known
/// beforehand.
class Accesses {
 public:
  Accesses(SymContext& syms, const absl::flat_hash_set<SymId>& bound) : syms_(syms), bound_(bound) {}

  /// Of carried value number `index` of the outermost loop.
  bool mayBeRepeated(const Node& loop, size_t index) { return changes(loop, index) && readsAreOfStores(); }

 private:
  struct Access {
    bool stores;
    SymList starts;
    std::vector<const Node*> loops;  ///< around it, outermost first
    bool keeps = false;              ///< what is read is put back by the next store
  };
  static constexpr int kMaxStores = 4;
  static constexpr size_t kMaxAccesses = 64;

  static std::optional<SymId> symbolOf(const Node& loop) {
    return loop.attrs.has(AttrKey::kSymbol) ? std::optional(loop.attrs.sym(AttrKey::kSymbol)) : std::nullopt;
  }

  bool add(const Graph& region, bool stores, ValueId element, const SymList& starts, bool keeps = false) {
    accesses_.push_back({stores, starts, path_, keeps});
    return accesses_.size() <= kMaxAccesses && isOneElement(region, element);
  }

  // ---- the way of the array through the nest; accesses are found in the order of the program

  /// A loop stores to it.
  bool changes(const Node& loop, size_t index) {
    path_.push_back(&loop);
    const bool fits = leads(*loop.regions[0], index, index + leadingOutputs(Op::kLoop));
    path_.pop_back();
    return fits;
  }

  /// From an input of a region to that output, over updates and what loops and branches leave in its place.
  bool leads(const Graph& region, size_t input, size_t output) {
    ValueId value = inputOf(region, input);
    if (!value.valid()) return false;
    const Users users = usersOf(region);
    while (true) {
      if (std::count(region.outputs().begin(), region.outputs().end(), value) > 0)
        return region.outputs()[output] == value && readsOnly(region, users, value) &&
               std::count(region.outputs().begin(), region.outputs().end(), value) == 1;
      const std::optional<ValueId> next = nextVersion(region, users, value);
      if (!next) return false;
      value = *next;
    }
  }

  /// What the one step makes of the array that changes it; all others read it.
  std::optional<ValueId> nextVersion(const Graph& region, const Users& users, ValueId value) {
    std::optional<ValueId> changing;
    const std::optional<ValueId> kept = keptBy(region, users, value);
    for (ValueId user : users[value.index]) {
      if (user == kept || reads(region, value, user)) continue;
      if (changing) return std::nullopt;
      changing = user;
    }
    if (!changing) return std::nullopt;
    const Node& node = region.node(*changing);
    if (node.op == Op::kUpdate) {
      const SymList& starts = node.attrs.syms(AttrKey::kStarts);
      if (kept && !keeps(region.node(*kept), value, resultOf(region, node.operands[1]), starts)) return std::nullopt;
      if (node.operands[0] != value || node.operands[1] == value) return std::nullopt;
      if (!add(region, true, node.operands[1], starts) || !isKnown(starts)) return std::nullopt;
      return changing;
    }
    if (kept) return std::nullopt;
    const std::optional<size_t> result = stays(node, value);
    if (!result) return std::nullopt;
    const ValueId project = projectsOf(region, *changing)[*result];
    return project.valid() ? std::optional(project) : std::nullopt;
  }

  /// The result of a loop or branch that is the array again.
  std::optional<size_t> stays(const Node& node, ValueId value) {
    const auto at = std::find(node.operands.begin(), node.operands.end(), value);
    if (std::count(node.operands.begin(), node.operands.end(), value) != 1) return std::nullopt;
    const auto operand = static_cast<size_t>(at - node.operands.begin());
    if (node.op == Op::kLoop) return changes(node, operand) ? std::optional(operand) : std::nullopt;
    if (node.op != Op::kCond || operand == 0) return std::nullopt;
    for (size_t result = 0; result < node.type.tuple.size(); ++result) {
      const size_t known = accesses_.size();
      const auto leadsThere = [&](const auto& region) { return leads(*region, operand - 1, result); };
      if (std::all_of(node.regions.begin(), node.regions.end(), leadsThere)) return result;
      accesses_.resize(known);
    }
    return std::nullopt;
  }

  bool readsOnly(const Graph& region, const Users& users, ValueId value) {
    const auto isReader = [&](ValueId user) { return reads(region, value, user); };
    return std::all_of(users[value.index].begin(), users[value.index].end(), isReader);
  }

  /// Adds what a step reads of it, if it does nothing else to it.
  bool reads(const Graph& region, ValueId value, ValueId user) {
    const Node& node = region.node(user);
    if (node.op == Op::kSlice) return add(region, false, user, node.attrs.syms(AttrKey::kStarts));
    const bool loop = node.op == Op::kLoop;
    if (!loop && node.op != Op::kCond) return false;
    const auto at = std::find(node.operands.begin(), node.operands.end(), value);
    const auto operand = static_cast<size_t>(at - node.operands.begin());
    if (std::count(node.operands.begin(), node.operands.end(), value) != 1 || operand < leadingOperands(node.op))
      return false;
    const size_t known = accesses_.size(), input = operand - leadingOperands(node.op);
    if (loop) path_.push_back(&node);
    const bool fits = std::all_of(node.regions.begin(), node.regions.end(), [&](const std::unique_ptr<Graph>& inside) {
      const ValueId given = inputOf(*inside, input);
      if (!given.valid()) return true;
      const auto handedOn = std::count(inside->outputs().begin(), inside->outputs().end(), given);
      const bool through = loop && carriesThrough(*inside, input);
      return handedOn == (through ? 1 : 0) && readsOnly(*inside, usersOf(*inside), given);
    });
    if (loop) path_.pop_back();
    if (!fits) accesses_.resize(known);
    return fits;
  }

  // ---- branches that leave an element as it is: they read it, and it is stored in its place

  static size_t resultOf(const Graph& region, ValueId project) {
    return static_cast<size_t>(region.node(project).attrs.integer(AttrKey::kIndex));
  }
  /// The branch that answers what an update of the array stores, if it is given the array.
  static std::optional<ValueId> keptBy(const Graph& region, const Users& users, ValueId value) {
    for (ValueId user : users[value.index]) {
      const Node& update = region.node(user);
      if (update.op != Op::kUpdate || update.operands[0] != value) continue;
      const Node& stored = region.node(update.operands[1]);
      if (stored.op != Op::kProject || users[update.operands[1].index].size() != 1) continue;
      const ValueId branch = stored.operands[0];
      if (region.node(branch).op == Op::kCond && contains(users[value.index], branch)) return branch;
    }
    return std::nullopt;
  }
  /// Whether a branch does nothing with an array that it is given but to answer that element of it, as this result.
  bool keeps(const Node& branch, ValueId array, size_t result, const SymList& starts) {
    const auto at = std::find(branch.operands.begin(), branch.operands.end(), array);
    if (branch.op != Op::kCond || at == branch.operands.begin()) return false;
    if (std::count(branch.operands.begin(), branch.operands.end(), array) != 1) return false;
    const auto input = static_cast<size_t>(at - branch.operands.begin()) - leadingOperands(Op::kCond);
    return std::all_of(branch.regions.begin(), branch.regions.end(), [&](const std::unique_ptr<Graph>& region) {
      const ValueId inside = inputOf(*region, input), answer = region->outputs()[result];
      if (!inside.valid()) return true;
      if (contains(region->outputs(), inside)) return false;
      const Users users = usersOf(*region);
      const bool once = std::count(region->outputs().begin(), region->outputs().end(), answer) == 1;
      return std::all_of(users[inside.index].begin(), users[inside.index].end(), [&](ValueId user) {
        const Node& node = region->node(user);
        if (node.op == Op::kSlice) {
          if (user != answer) return add(*region, false, user, node.attrs.syms(AttrKey::kStarts));
          const bool same = node.attrs.syms(AttrKey::kStarts) == starts;
          return same && once && users[user.index].empty() && add(*region, false, user, starts, /*keeps=*/true);
        }
        const Node& project = region->node(answer);
        return node.op == Op::kCond && project.op == Op::kProject && project.operands[0] == user && once &&
               users[answer.index].empty() && keeps(node, inside, resultOf(*region, answer), starts);
      });
    });
  }

  // ---- places

  /// Turns decide it and nothing else, so that what is there can be saved some turns at a time.
  bool isKnown(const SymList& starts) {
    std::vector<std::optional<SymId>> trips;
    for (size_t i = path_.size(); i-- > 0;)
      trips.push_back(path_[i]->attrs.has(AttrKey::kTrip) ? std::optional(path_[i]->attrs.sym(AttrKey::kTrip))
                                                          : std::nullopt);
    const size_t shorts = shortLoops(syms_, trips), chunk = path_.size() - 1 - shorts;
    bool alongLast = false, acrossRows = false;
    for (size_t axis = 0; axis < starts.size(); ++axis) {
      const bool isLast = axis + 1 == starts.size();
      absl::flat_hash_set<SymId> others = bound_;
      for (size_t i = 0; i < path_.size(); ++i) {
        const std::optional<SymId> symbol = symbolOf(*path_[i]);
        if (!symbol) continue;
        others.erase(*symbol);
        if (!mentions(syms_, starts[axis], *symbol)) continue;
        alongLast |= isLast && i < chunk;
        if (i < chunk) continue;
        acrossRows |= !isLast;
        const std::optional<SymId> slope = slopeOf(syms_, starts[axis], *symbol);
        if (!slope || !syms_.asConst(*slope) || (!isLast && i > chunk)) return false;
      }
      if (mentions(syms_, starts[axis], others)) return false;
    }
    return !(alongLast && acrossRows);  // column after column: next to nothing of what is saved would be overwritten
  }

  bool readsAreOfStores() {
    const auto stores = [](const Access& access) { return access.stores; };
    if (std::count_if(accesses_.begin(), accesses_.end(), stores) > kMaxStores) return false;
    for (size_t read = 0; read < accesses_.size(); ++read) {
      if (accesses_[read].stores) continue;
      bool back = accesses_[read].keeps;
      for (size_t store = 0; store < accesses_.size(); ++store) {
        if (!accesses_[store].stores || (back && store > read && std::exchange(back, false))) continue;
        if (!isBefore(accesses_[store], accesses_[read], store < read)) return false;
      }
    }
    return true;
  }

  /// Whether a store to an element that is read comes before that, whatever the turns: `first` says which is first in
  /// one turn of all loops around both.
  bool isBefore(const Access& store, const Access& read, bool first) {
    if (isElsewhere(store, read)) return true;
    const size_t most = std::min(store.loops.size(), read.loops.size());
    for (size_t i = 0; i < most && store.loops[i] == read.loops[i]; ++i) {
      const std::optional<SymId> later = turnsLater(store, read, *store.loops[i]);
      if (!later) return false;
      if (syms_.provablyLess(*later, syms_.constant(0)) == true) return true;
      if (!syms_.isConst(*later, 0)) return false;
    }
    return first;
  }

  bool isElsewhere(const Access& store, const Access& read) {
    for (size_t axis = 0; axis < store.starts.size(); ++axis) {
      const SymId stored = store.starts[axis], loaded = read.starts[axis];
      if (!(mentions(syms_, stored, bound_) && mentions(syms_, loaded, bound_)) &&
          syms_.provablyEqual(stored, loaded) == false)
        return true;
    }
    return false;
  }

  /// How many turns of a loop, times a positive number, the element is stored after it is read. nullopt: no axis tells.
  std::optional<SymId> turnsLater(const Access& store, const Access& read, const Node& loop) {
    const std::optional<SymId> symbol = symbolOf(loop);
    if (!symbol) return std::nullopt;
    absl::flat_hash_set<SymId> others = bound_;
    others.erase(*symbol);
    for (size_t axis = 0; axis < store.starts.size(); ++axis) {
      if (!mentions(syms_, store.starts[axis], *symbol) || mentions(syms_, store.starts[axis], others)) continue;
      const std::optional<SymId> slope = slopeOf(syms_, store.starts[axis], *symbol);
      const std::optional<int64_t> step = slope ? syms_.asConst(*slope) : std::nullopt;
      if (!step || *step == 0) continue;
      const SymId distance = syms_.canonical(syms_.sub(read.starts[axis], store.starts[axis]));
      return *step > 0 ? distance : syms_.canonical(syms_.neg(distance));
    }
    return std::nullopt;
  }

  SymContext& syms_;
  const absl::flat_hash_set<SymId>& bound_;
  std::vector<const Node*> path_;  ///< loops, outermost first
  std::vector<Access> accesses_;   ///< in the order of the program
};

class Finder {
 public:
  explicit Finder(Graph& graph) : graph_(graph), users_(usersOf(graph)) {}

  void run() {
    if (graph_.commits().empty() || graph_.commits().size() > kMaxRewritten) return;
    for (size_t i = 0; i < graph_.size(); ++i)
      if (graph_.node(ValueId(i)).op == Op::kCall) return;  // what a call has done is not undone with the arrays
    IntList carried;
    for (ValueId store : graph_.commits())
      if (!isRewritten(store, carried)) return;
    if (raisesBeside()) return;
    Numbers numbers;
    const Node& loop = graph_.node(loop_);
    if (!numbers.areAll(*loop.regions[0])) return;
    absl::flat_hash_set<SymId> bound = numbers.bound();
    if (loop.attrs.has(AttrKey::kSymbol)) bound.insert(loop.attrs.sym(AttrKey::kSymbol));
    for (int64_t index : carried)
      if (!Accesses(graph_.syms(), bound).mayBeRepeated(loop, static_cast<size_t>(index))) return;
    graph_.mutableNode(loop_).attrs.set(AttrKey::kRewrites, std::move(carried));
  }

 private:
  /// Whether something may go wrong that is neither in front of the loop nor behind it for certain: Python may come to
  /// it first, when a run has only found out behind the loop.
  bool raisesBeside() const {
    std::vector<bool> front(graph_.size()), behind(graph_.size());
    front[loop_.index] = behind[loop_.index] = true;
    for (size_t i = loop_.index + 1; i-- > 0;)
      for (ValueId operand : graph_.node(ValueId(i)).operands)
        if (front[i]) front[operand.index] = true;
    for (size_t i = loop_.index; i < graph_.size(); ++i)
      for (ValueId operand : graph_.node(ValueId(i)).operands)
        if (behind[operand.index]) behind[i] = true;
    const std::vector<bool> live = liveValues(graph_);
    for (size_t i = 0; i < graph_.size(); ++i)
      if (live[i] && !front[i] && !behind[i] &&
          (classOf(graph_, ValueId(i)) == OpClass::kControl || mayRaise(graph_, ValueId(i))))
        return true;
    return false;
  }

  /// A store of what the loop has made of the array that it stores to.
  bool isRewritten(ValueId store, IntList& carried) {
    const Node& node = graph_.node(store);
    const ValueId target = node.operands[0], value = node.operands[1];
    const Node& project = graph_.node(value);
    if (graph_.node(target).op != Op::kInput || project.op != Op::kProject) return false;
    const ValueId made = project.operands[0];
    const Node& loop = graph_.node(made);
    if (loop.op != Op::kLoop || (loop_.valid() && loop_ != made)) return false;
    loop_ = made;
    const auto index = static_cast<size_t>(project.attrs.integer(AttrKey::kIndex));
    const Layout& layout = graph_.type(target).layout;
    if (loop.operands[index] != target || layout != packedLike(layout) || memoryLayout(loop, index) != layout)
      return false;
    const std::vector<ValueId>& users = users_[target.index];
    const auto isOther = [&](ValueId user) { return user != made && user != store; };
    if (std::any_of(users.begin(), users.end(), isOther) || std::count(users.begin(), users.end(), made) != 1 ||
        std::count(loop.operands.begin(), loop.operands.end(), target) != 1 ||
        std::count(users.begin(), users.end(), store) != 1)
      return false;
    carried.push_back(static_cast<int64_t>(index));
    return isOnlyRead(value);
  }

  /// Behind the loop.
  bool isOnlyRead(ValueId value) const {
    for (ValueId output : graph_.outputs())
      if (output == value) return false;
    const std::vector<ValueId>& users = users_[value.index];
    return std::all_of(users.begin(), users.end(), [&](ValueId user) {
      if (graph_.node(user).op == Op::kStore) return graph_.node(user).operands[1] == value;
      switch (classOf(graph_, user)) {
        case OpClass::kView: return isOnlyRead(user);
        case OpClass::kElementwise:
        case OpClass::kReduction:
        case OpClass::kScan: return true;
        case OpClass::kSource:
        case OpClass::kUpdate:
        case OpClass::kJoin:
        case OpClass::kControl:
        case OpClass::kCreation: return false;
      }
      return false;
    });
  }

  Graph& graph_;
  const Users users_;
  ValueId loop_;
};

}  // namespace

absl::Status findRewrites(PlanDraft& draft, const PassContext& context) {
  if (context.target.rewritesInputs && !context.isOff("rewrites")) Finder(draft.graph).run();
  return absl::OkStatus();
}

}  // namespace fw::graph
