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
// for callers who can report it and go on (jit::CommitProgress).
#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/passes/fuse_draft.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"
#include "graph/raising.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr size_t kMaxMembers = 24;
constexpr size_t kMaxTogether = 6;  // stores of one commit
constexpr int kMaxCheckedCost = 8;  // beyond, computing twice costs more than writing and reading a temporary

/// Which members a commit may compute itself.
enum class Reach : uint8_t { kQuiet, kChecked };

/// A commit can compute it, and cannot fail over it when it has begun to store.
bool isQuiet(const Graph& graph, ValueId id) {
  const OpClass cls = classOf(graph, id);
  return (cls == OpClass::kElementwise || cls == OpClass::kCreation) && !mayRaise(graph, id);
}

class CommitDrafter {
 public:
  CommitDrafter(const Graph& graph, absl::Span<const ValueId> stores, absl::Span<const ValueId> earlier)
      : graph_(graph),
        stores_(stores),
        earlier_(earlier) {
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      if (node.op == Op::kUpdate) updated_.insert(viewBase(graph, node.operands[0]));
    }
  }

  /// One store.
  absl::StatusOr<CommitDraft> run() {
    absl::StatusOr<Draft> draft = begin();
    if (!draft.ok()) return draft.status();
    CommitDraft result;
    absl::StatusOr<bool> direct = attempt(Reach::kChecked, *draft, result);
    result.checked = direct.ok() && *direct && isWorthChecking(*draft, result);
    if (direct.ok() && !result.checked) direct = attempt(Reach::kQuiet, *draft, result);
    if (!direct.ok()) return direct.status();
    if (!*direct) {  // the store alone, from memory
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
  /// An address in terms of the domain's axes.
  struct Address {
    SymId offset;
    SymList strides;
  };

  struct Target {
    ValueId base;
    Address address;
  };

  bool isStore(ValueId id) const { return std::find(stores_.begin(), stores_.end(), id) != stores_.end(); }

  /// A draft of the stores alone; has fewer of them if they are too different for one commit.
  absl::StatusOr<Draft> begin() {
    targets_.clear();
    Draft all;
    for (ValueId store : stores_) {
      absl::StatusOr<Draft> draft = singleDraft(graph_, store);
      if (!draft.ok()) return draft.status();
      const ValueId target = graph_.node(store).operands[0];
      absl::StatusOr<AffineView> written = viewOf(target);
      if (!written.ok())
        return absl::UnimplementedError("plan: a store through " + std::string(written.status().message()));
      const IntList& axes = draft->axisMap.at(store);
      if (targets_.empty())
        all = *draft;
      else if (!isLike(*draft, store, all))
        return all;
      else
        all.values.push_back(store);
      all.axisMap[store] = axes;
      targets_.push_back({written->base, along(*written, axes, draft->domain.size())});
    }
    return all;
  }

  /// The store runs over the same elements, in the same order, as the others, and writes an array of its own.
  bool isLike(const Draft& draft, ValueId store, const Draft& all) const {
    const ValueId first = stores_[0];
    const ValueType &type = graph_.type(graph_.node(store).operands[0]),
                    &other = graph_.type(graph_.node(first).operands[0]);
    const ValueId base = viewBase(graph_, graph_.node(store).operands[0]);
    const auto isTarget = [&](const Target& target) { return target.base == base; };
    return type.dtype == other.dtype && type.layout.order == other.layout.order && draft.domain == all.domain &&
           draft.axisMap.at(store) == all.axisMap.at(first) && std::none_of(targets_.begin(), targets_.end(), isTarget);
  }

  CommitDraft finish(Draft draft, CommitDraft result) const {
    std::sort(draft.values.begin(), draft.values.end());
    result.fromMemory = needsMemory(draft, result);
    std::vector<ValueId> outputs(stores_.begin(), stores_.end());
    result.group = {Group::Kind::kCommit, draft.domain, {}, draft.values, draft.axisMap, outputs};
    return result;
  }

  /// Drafts the commit with all members within reach; false if it cannot compute its value itself.
  absl::StatusOr<bool> attempt(Reach reach, Draft& draft, CommitDraft& result) {
    inMemory_.clear();
    for (ValueId output : graph_.outputs()) inMemory_.insert(viewBase(graph_, output));
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
    return classOf(graph_, id) == OpClass::kElementwise && recomputeCost(graph_, id) <= kMaxCheckedCost &&
           static_cast<size_t>(runs) == rank;
  }

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
    const bool affordable = cost <= kMaxCheckedCost * static_cast<int>(stores_.size());
    return loud && affordable && !needsMemory(draft, result) && !isReadElsewhere(draft);
  }

  /// True if anything else reads a loud member, which then has memory of its own.
  bool isReadElsewhere(const Draft& draft) const {
    const std::vector<bool> live = liveValues(graph_);
    for (size_t i = 0; i < live.size(); ++i) {
      if (!live[i] || isView(graph_, ValueId(i)) || draft.contains(ValueId(i))) continue;
      for (ValueId operand : graph_.node(ValueId(i)).operands) {
        const ValueId base = viewBase(graph_, operand);
        if (draft.contains(base) && !isQuiet(graph_, base)) return true;
      }
    }
    return false;
  }

  absl::StatusOr<AffineView> viewOf(ValueId value) const {
    return resolveView(graph_, value, materialisedStrides(graph_, viewBase(graph_, value)));
  }

  Address along(const AffineView& view, const IntList& axes, size_t rank) const {
    SymContext& syms = graph_.syms();
    Address address{syms.canonical(view.offset), SymList(rank, syms.constant(0))};
    for (size_t axis = 0; axis < axes.size(); ++axis)
      if (axes[axis] >= 0) address.strides[axes[axis]] = syms.canonical(view.strides[axis]);
    return address;
  }

  /// `value`, a view of an input read along `axes`, may be read while the commit runs.
  absl::StatusOr<bool> undisturbed(ValueId value, const IntList& axes, size_t rank) const {
    const ValueId base = viewBase(graph_, value);
    for (ValueId store : earlier_)
      if (viewBase(graph_, graph_.node(store).operands[0]) == base) return false;
    const auto isBase = [&](const Target& target) { return target.base == base; };
    const auto written = std::find_if(targets_.begin(), targets_.end(), isBase);
    if (written == targets_.end()) return true;
    absl::StatusOr<AffineView> view = viewOf(value);
    if (!view.ok()) return view.status();
    const Address read = along(*view, axes, rank);
    SymContext& syms = graph_.syms();
    const auto equal = [&](SymId a, SymId b) { return a == b || syms.provablyEqual(a, b) == true; };
    bool same = equal(read.offset, written->address.offset);
    for (size_t i = 0; i < rank; ++i) same &= equal(read.strides[i], written->address.strides[i]);
    return same;
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
        if (!isStore(user) && updated_.contains(memory)) return false;  // the value that it had then may be gone by now
        if (op == Op::kInput) {
          absl::StatusOr<bool> free = undisturbed(operand, operandAxes(graph_, draft, user, i), draft.domain.size());
          if (!free.ok() || !*free) return free;
        } else if (map.base != memory || inMemory_.contains(memory)) {
          result.kept.push_back(memory);
        } else {
          const IntList axes = axesThrough(graph_, draft, user, i, map);
          const bool checked = reach == Reach::kChecked && mayCheck(memory, axes, draft.domain.size());
          if (!checked && !isQuiet(graph_, memory)) {
            result.kept.push_back(memory);
            continue;
          }
          const auto [at, fresh] = draft.axisMap.try_emplace(map.base, axes);
          if (!fresh && at->second != axes) return false;
          if (!fresh) continue;
          if (draft.values.size() == kMaxMembers) return false;
          draft.values.push_back(map.base);
          open.push_back(map.base);
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  absl::Span<const ValueId> stores_, earlier_;
  absl::flat_hash_set<ValueId> updated_;   // memory that an update may take over once its other readers are through
  absl::flat_hash_set<ValueId> inMemory_;  // outputs of the call, and see keepMembers()
  std::vector<Target> targets_;            // of the stores, in order
};

}  // namespace

absl::StatusOr<CommitDraft> draftCommit(const Graph& graph, ValueId store, absl::Span<const ValueId> earlier) {
  return CommitDrafter(graph, {&store, 1}, earlier).run();
}

absl::StatusOr<std::vector<CommitDraft>> draftCommits(const Graph& graph) {
  const absl::Span<const ValueId> stores = graph.commits();
  std::vector<CommitDraft> alone, result;
  for (size_t i = 0; i < stores.size(); ++i) {
    absl::StatusOr<CommitDraft> draft = draftCommit(graph, stores[i], stores.first(i));
    if (!draft.ok()) return draft.status();
    alone.push_back(*std::move(draft));
  }
  for (size_t i = 0; i < stores.size();) {
    size_t end = std::min(stores.size(), i + kMaxTogether);
    std::optional<CommitDraft> together;
    for (; end > i + 1 && !together; --end) {
      const auto fromMemory = [](const CommitDraft& draft) { return draft.fromMemory; };
      if (std::none_of(alone.begin() + i, alone.begin() + end, fromMemory)) break;
      auto drafter = CommitDrafter(graph, stores.subspan(i, end - i), stores.first(i));
      absl::StatusOr<std::optional<CommitDraft>> draft = drafter.runTogether();
      if (!draft.ok()) return draft.status();
      together = *std::move(draft);
    }
    i = together ? end + 1 : i + 1;
    result.push_back(together ? *std::move(together) : std::move(alone[i - 1]));
  }
  return result;
}

}  // namespace fw::graph
