// Commits: how a store gets its value. Cheap and safe values are computed in the commit's own loop, where an array that
// is copied, filled or changed by a mask costs no temporary; everything is judged before commits begin, so that an
// error found on the way leaves the inputs as they were. Three ways, the first that is possible:
//
//   quiet     computed in the commit. Nothing would have to be reported: NumPy warns about nothing that these
//   operations
//             do, for any operands
//   checked   computed in the commit as well, and before in a kCheck group, which stores nothing and leaves its
//             floating-point flags to be judged (isWorthChecking). Two passes that read and one that writes, where a
//             temporary takes two passes that write and a further array in the cache
//   memory    computed into a temporary, which the commit copies
//
// Neighbours that store to the same elements of different arrays, one reading what another has stored (v += a * t;
// x += v * t), are checked as one: a single loop computes the values of all of them before it stores any.
//
// A backend may defer checks: it then runs such a commit in parts that stay in the cache, each checked before it is
// stored. A flag in a later part comes when earlier ones are stored and nothing can be declined any more, so this is
// for callers who can report it and go on (runtime::CommitProgress).
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/alias.h"
#include "graph/passes/fuse_draft.h"
#include "graph/passes/control.h"
#include "graph/passes/overwritten.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"
#include "graph/raising.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr size_t kMaxTogether = 6;  // stores of one commit

/// Which members a commit may compute itself.
enum class Reach : uint8_t { kQuiet, kChecked };

/// A commit can compute it, and cannot fail over it when it has begun to store.
bool isQuiet(const Graph& graph, ValueId id) {
  const OpClass cls = classOf(graph, id);
  return (cls == OpClass::kElementwise || cls == OpClass::kCreation) && !mayRaise(graph, id);
}

/// Adds what a store writes.
absl::Status addTarget(Overwritten& targets, const Graph& graph, ValueId store, const Draft& draft) {
  const ValueId target = graph.node(store).operands[0];
  absl::StatusOr<AffineView> view = resolveView(graph, target, materialisedStrides(graph, viewBase(graph, target)));
  if (!view.ok()) return absl::UnimplementedError("plan: a store through " + std::string(view.status().message()));
  targets.add(Footprint(graph, target), *view, draft.axisMap.at(store), draft.domain);
  return absl::OkStatus();
}

/// `value`, a view of an input, may be read in the loop of a commit: what is there is what the call has found.
absl::StatusOr<bool> undisturbed(const Graph& graph, const Writes& earlier, const Overwritten& targets, ValueId value,
                                 const IntList& axes, const SymShape& domain) {
  if (earlier.mayAlias(graph, value)) return false;
  return targets.undisturbed(value, axes, domain);
}

/// What drafts ask of the whole graph.
struct CommitFacts {
  explicit CommitFacts(const Graph& graph) : updated(overwrittenValues(graph)), readers(graph.size()) {
    for (ValueId output : graph.outputs()) outputs.insert(viewBase(graph, output));
    const std::vector<bool> live = liveValues(graph);
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      if (!live[i] || isView(graph, ValueId(i))) continue;
      for (ValueId operand : node.operands) readers[viewBase(graph, operand).index].push_back(ValueId(i));
    }
  }

  absl::flat_hash_set<ValueId> updated;       ///< memory that others take over once other readers are through
  absl::flat_hash_set<ValueId> outputs;       ///< of the call, and what they are views of
  std::vector<std::vector<ValueId>> readers;  ///< live nodes that are no views, by what they read, also through views
};

class CommitDrafter {
 public:
  CommitDrafter(const Graph& graph, const Target& target, const CommitFacts& facts, absl::Span<const ValueId> stores,
                const Writes& earlier)
      : graph_(graph),
        target_(target),
        facts_(facts),
        stores_(stores),
        earlier_(earlier),
        targets_(graph) {}

  /// One store. Plain: from memory.
  absl::StatusOr<CommitDraft> run(bool plain) {
    absl::StatusOr<Draft> draft = begin();
    if (!draft.ok()) return draft.status();
    CommitDraft result;
    absl::StatusOr<bool> direct = attempt(Reach::kChecked, *draft, result);
    result.checked = direct.ok() && *direct && isWorthChecking(*draft, result);
    if (direct.ok() && !result.checked) direct = attempt(Reach::kQuiet, *draft, result);
    if (!direct.ok()) return direct.status();
    const bool computes = draft->values.size() > 1;
    if (plain && computes) result.checked = false;
    if (!*direct || (plain && computes)) {  // the store alone, from memory
      draft = begin();
      const ValueId base = viewBase(graph_, graph_.node(stores_[0]).operands[1]);
      result.readsWritten = graph_.node(base).op == Op::kInput;
      result.kept.clear();
      if (!isSource(graph_, base)) result.kept.push_back(base);
    }
    return finish(*std::move(draft), std::move(result));
  }

  /// Several; nullopt if they cannot be one commit.
  absl::StatusOr<std::optional<CommitDraft>> runTogether() {
    absl::StatusOr<Draft> draft = begin();
    if (!draft.ok()) return draft.status();
    if (draft->values.size() < stores_.size()) return std::nullopt;
    CommitDraft result;
    absl::StatusOr<bool> direct = attempt(Reach::kChecked, *draft, result);
    if (!direct.ok()) return direct.status();
    if (!*direct || !isWorthChecking(*draft, result)) return std::nullopt;
    result.checked = true;
    return finish(*std::move(draft), std::move(result));
  }

 private:
  bool isStore(ValueId id) const { return std::find(stores_.begin(), stores_.end(), id) != stores_.end(); }

  /// A draft of the stores alone; has fewer of them if they are too different for one commit.
  absl::StatusOr<Draft> begin() {
    targets_.clear();
    Draft all;
    for (ValueId store : stores_) {
      absl::StatusOr<Draft> draft = singleDraft(graph_, store);
      if (!draft.ok()) return draft.status();
      const IntList& axes = draft->axisMap.at(store);
      if (targets_.empty())
        all = *draft;
      else if (!isLike(*draft, store, all))
        return all;
      else
        all.values.push_back(store);
      all.axisMap[store] = axes;
      if (absl::Status status = addTarget(targets_, graph_, store, *draft); !status.ok()) return status;
    }
    return all;
  }

  /// The store runs over the same elements, in the same order, as the others, and writes an array of its own.
  bool isLike(const Draft& draft, ValueId store, const Draft& all) const {
    const ValueId first = stores_[0];
    const ValueType &type = graph_.type(graph_.node(store).operands[0]),
                    &other = graph_.type(graph_.node(first).operands[0]);
    const ValueId base = viewBase(graph_, graph_.node(store).operands[0]);
    return type.dtype == other.dtype && type.layout.order == other.layout.order && draft.domain == all.domain &&
           draft.axisMap.at(store) == all.axisMap.at(first) && !targets_.writes(base);
  }

  CommitDraft finish(Draft draft, CommitDraft result) const {
    std::sort(draft.values.begin(), draft.values.end());
    result.fromMemory = needsMemory(draft, result);
    std::vector<ValueId> outputs(stores_.begin(), stores_.end());
    result.group = {Group::Kind::kCommit, 0, draft.domain, {}, draft.values, draft.axisMap, outputs};
    return result;
  }

  /// Drafts the commit with all members within reach; false if it cannot compute its value itself.
  absl::StatusOr<bool> attempt(Reach reach, Draft& draft, CommitDraft& result) {
    inMemory_.clear();
    while (true) {
      absl::StatusOr<Draft> fresh = begin();
      if (!fresh.ok()) return fresh.status();
      draft = *std::move(fresh);
      result.kept.clear();
      absl::StatusOr<bool> direct = collect(reach, draft, result);
      if (!direct.ok() || !*direct || !keepMembers(draft, result)) return direct;
    }
  }

  /// Loud members are those that may raise flags. Those of lower rank are computed once, into little memory.
  bool mayCheck(ValueId id, const IntList& axes, size_t rank) const {
    const auto runs = std::count_if(axes.begin(), axes.end(), [](int64_t axis) { return axis >= 0; });
    return classOf(graph_, id) == OpClass::kElementwise && recomputeCost(graph_, id) <= target_.checkedCost &&
           static_cast<size_t>(runs) == rank;
  }

  /// Flags that it raises are not for whoever judges those of the commit.
  bool hasOwnRules(ValueId id) const { return rulesOf(graph_.node(id).attrs).any() && mayRaiseFlags(graph_, id); }

  /// A temporary of full size.
  bool needsMemory(const Draft& draft, const CommitDraft& result) const {
    return std::any_of(result.kept.begin(), result.kept.end(),
                       [&](ValueId id) { return graph_.type(id).shape.size() >= draft.domain.size(); });
  }

  bool isWorthChecking(const Draft& draft, const CommitDraft& result) const {
    int cost = 0;
    bool loud = false;
    for (ValueId id : draft.values) {
      if (isStore(id)) continue;
      loud |= !isQuiet(graph_, id);
      cost += recomputeCost(graph_, id);
    }
    // A temporary of full size is written and read anyway: the value may as well be the temporary.
    const bool affordable = cost <= target_.checkedCost * static_cast<int>(stores_.size());
    return loud && affordable && !needsMemory(draft, result) && !isReadElsewhere(draft);
  }

  /// True if anything else reads a loud member, which then has memory of its own.
  bool isReadElsewhere(const Draft& draft) const {
    const auto isElsewhere = [&](ValueId reader) { return !draft.contains(reader); };
    return std::any_of(draft.values.begin(), draft.values.end(), [&](ValueId id) {
      const std::vector<ValueId>& readers = facts_.readers[id.index];
      return !isQuiet(graph_, id) && std::any_of(readers.begin(), readers.end(), isElsewhere);
    });
  }

  /// A member that is read through a real view as well has to be in memory, for all its readers. True if there was one.
  bool keepMembers(const Draft& draft, const CommitDraft& result) {
    const size_t before = inMemory_.size();
    for (ValueId id : result.kept)
      if (draft.contains(id)) inMemory_.insert(id);
    return inMemory_.size() != before;
  }

  /// Adds to `draft` what the commit computes itself; false if that cannot be.
  absl::StatusOr<bool> collect(Reach reach, Draft& draft, CommitDraft& result) const {
    std::vector<ValueId> open(stores_.begin(), stores_.end());
    while (!open.empty()) {  // readers have greater ids than what they read
      const auto last = std::max_element(open.begin(), open.end());
      const ValueId user = *last;
      open.erase(last);
      for (size_t i = isStore(user) ? 1 : 0; i < graph_.node(user).operands.size(); ++i) {
        const ValueId operand = graph_.node(user).operands[i];
        const IndexMap map = followIndexMaps(graph_, operand);
        const ValueId memory = viewBase(graph_, operand);
        const Op op = graph_.node(memory).op;
        if (op == Op::kConstant || op == Op::kSym) continue;
        if (!isStore(user) && facts_.updated.contains(memory))
          return false;  // the value that it had then may be gone by now
        if (op == Op::kInput) {
          absl::StatusOr<bool> free =
              undisturbed(graph_, earlier_, targets_, operand, operandAxes(graph_, draft, user, i), draft.domain);
          if (!free.ok() || !*free) return free;
        } else if (map.base != memory || facts_.outputs.contains(memory) || inMemory_.contains(memory)) {
          result.kept.push_back(memory);
        } else {
          const IntList axes = axesThrough(graph_, draft, user, i, map);
          const bool checked = reach == Reach::kChecked && mayCheck(memory, axes, draft.domain.size());
          if ((!checked && !isQuiet(graph_, memory)) || hasOwnRules(memory)) {
            result.kept.push_back(memory);
            continue;
          }
          const auto [at, fresh] = draft.axisMap.try_emplace(map.base, axes);
          if (!fresh && at->second != axes) return false;
          if (!fresh) continue;
          if (draft.values.size() == target_.commitValues) return false;
          draft.values.push_back(map.base);
          open.push_back(map.base);
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  const Target& target_;
  const CommitFacts& facts_;
  absl::Span<const ValueId> stores_;
  const Writes& earlier_;
  Overwritten targets_;                    // by this commit
  absl::flat_hash_set<ValueId> inMemory_;  // see keepMembers()
};

}  // namespace

absl::StatusOr<bool> readsWritten(const Graph& graph, ValueId store, const Writes& earlier) {
  const ValueId value = graph.node(store).operands[1];
  if (graph.node(viewBase(graph, value)).op != Op::kInput) return false;
  absl::StatusOr<Draft> draft = singleDraft(graph, store);
  if (!draft.ok()) return draft.status();
  Overwritten targets(graph);
  if (absl::Status status = addTarget(targets, graph, store, *draft); !status.ok()) return status;
  absl::StatusOr<bool> free =
      undisturbed(graph, earlier, targets, value, operandAxes(graph, *draft, store, 1), draft->domain);
  if (!free.ok()) return free.status();
  return !*free;
}

absl::StatusOr<std::vector<CommitDraft>> draftCommits(const Graph& graph, const Target& target, bool plain) {
  const absl::Span<const ValueId> stores = graph.commits();
  const CommitFacts facts(graph);
  std::vector<CommitDraft> alone, result;
  Writes before;
  for (size_t i = 0; i < stores.size(); ++i) {
    absl::StatusOr<CommitDraft> draft = CommitDrafter(graph, target, facts, stores.subspan(i, 1), before).run(plain);
    if (!draft.ok()) return draft.status();
    alone.push_back(*std::move(draft));
    before.add(graph, stores[i]);
  }
  Writes earlier;
  for (size_t i = 0; i < stores.size();) {
    size_t end = plain ? i : std::min(stores.size(), i + kMaxTogether);
    std::optional<CommitDraft> together;
    for (; end > i + 1 && !together; --end) {
      const auto fromMemory = [](const CommitDraft& draft) { return draft.fromMemory; };
      if (std::none_of(alone.begin() + i, alone.begin() + end, fromMemory)) break;
      auto drafter = CommitDrafter(graph, target, facts, stores.subspan(i, end - i), earlier);
      absl::StatusOr<std::optional<CommitDraft>> draft = drafter.runTogether();
      if (!draft.ok()) return draft.status();
      together = *std::move(draft);
    }
    const size_t next = together ? end + 1 : i + 1;
    result.push_back(together ? *std::move(together) : std::move(alone[i]));
    for (; i < next; ++i) earlier.add(graph, stores[i]);
  }
  return result;
}

}  // namespace fw::graph
