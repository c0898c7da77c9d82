// Order of guards. What must come first is a graph of the guards and two nodes per source, so that it has a number of
// edges linear in the set: `shape` of a source is reached when the guards of its type, length ... have passed, `done`
// when all guards about it and about the sources on its path have. Guards whose predecessors have passed wait in a
// heap, the best first: those that failed often, then the cheap ones, then in the order given. A guard is as urgent as
// the most urgent that waits for it, else one that fails often would stand behind all that its own predecessors stand
// behind.
#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "graph/support/check.h"
#include "guards/set_index.h"

namespace fw::guards {

namespace {

/// Guards that others of the same source rely on.
bool isShapeGuard(GuardKind kind) {
  return kind == GuardKind::kType || kind == GuardKind::kArrayMeta || kind == GuardKind::kTypeVersion ||
         kind == GuardKind::kLength || kind == GuardKind::kFunctionCode || kind == GuardKind::kIdentity ||
         kind == GuardKind::kWeakIdentity || kind == GuardKind::kWeakType || kind == GuardKind::kWeakFunctionCode;
}

class Sorter {
 public:
  Sorter(const GuardSet& set, const std::vector<uint32_t>& history)
      : set_(set),
        guards_(set.guards.size()),
        next_(guards_ + 2 * set.sources->size()),
        waitsFor_(next_.size()),
        urgency_(next_.size()) {
    addEdges();
    for (size_t i = 0; i < guards_ && i < history.size(); ++i) urgency_[i] = std::bit_width(history[i]);
    spreadUrgency();
  }

  std::vector<size_t> order() {
    auto later = [this](size_t a, size_t b) { return rank(a) > rank(b); };
    std::priority_queue<size_t, std::vector<size_t>, decltype(later)> ready(later);
    std::vector<size_t> reached, sorted;
    for (size_t node = 0; node < next_.size(); ++node)
      if (waitsFor_[node] == 0) reached.push_back(node);
    while (true) {
      while (!reached.empty()) {
        size_t node = reached.back();
        reached.pop_back();
        if (node < guards_)
          ready.push(node);
        else
          pass(node, reached);
      }
      if (ready.empty()) break;
      size_t guard = ready.top();
      ready.pop();
      sorted.push_back(guard);
      pass(guard, reached);
    }
    return sorted;
  }

 private:
  size_t shape(SourceId id) const { return guards_ + 2 * id.index; }
  size_t done(SourceId id) const { return guards_ + 2 * id.index + 1; }

  void addEdge(size_t before, size_t after) {
    next_[before].push_back(after);
    ++waitsFor_[after];
  }

  void addEdges() {
    for (size_t i = 0; i < set_.sources->size(); ++i) {
      SourceId id(i);
      addEdge(shape(id), done(id));
      if (SourceId base = (*set_.sources)[id].base; base.valid()) addEdge(done(base), shape(id));
    }
    SetIndex index(set_);
    for (size_t i = 0; i < guards_; ++i) {
      const Guard& g = set_.guards[i];
      forEachSource(g, [&](SourceId id) {
        if (isShapeGuard(g.kind)) {
          if (SourceId base = (*set_.sources)[id].base; base.valid()) addEdge(done(base), i);
          addEdge(i, shape(id));
        } else {
          addEdge(shape(id), i);
          // A guard of several objects holds nothing up: one of them may hang below another.
          if (id == g.source && !g.other.valid()) addEdge(i, done(id));
        }
      });
      forEachPrerequisite(set_, index, g, [&](int by) {
        if (by >= 0) addEdge(static_cast<size_t>(by), i);
      });
    }
  }

  /// The guards in an order in which all predecessors stand first, backwards.
  void spreadUrgency() {
    if (std::all_of(urgency_.begin(), urgency_.end(), [](int u) { return u == 0; })) return;
    std::vector<uint32_t> waitsFor = waitsFor_;
    std::vector<size_t> order;
    for (size_t node = 0; node < next_.size(); ++node)
      if (waitsFor[node] == 0) order.push_back(node);
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t after : next_[order[i]])
        if (--waitsFor[after] == 0) order.push_back(after);
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      for (size_t after : next_[*node]) urgency_[*node] = std::max(urgency_[*node], urgency_[after]);
  }

  void pass(size_t node, std::vector<size_t>& reached) {
    for (size_t after : next_[node])
      if (--waitsFor_[after] == 0) reached.push_back(after);
  }

  std::tuple<int, int, size_t> rank(size_t guard) const {
    return {-urgency_[guard], guardCost(set_.guards[guard].kind), guard};
  }

  const GuardSet& set_;
  const size_t guards_;
  std::vector<std::vector<size_t>> next_;
  std::vector<uint32_t> waitsFor_;
  std::vector<int> urgency_;
};

}  // namespace

void reorder(GuardSet& set, std::vector<uint32_t>& history) {
  std::vector<size_t> order = Sorter(set, history).order();
  FW_CHECK(order.size() == set.guards.size());
  history.resize(set.guards.size());
  std::vector<Guard> guards;
  std::vector<uint32_t> counts;
  guards.reserve(order.size());
  for (size_t i : order) {
    guards.push_back(std::move(set.guards[i]));
    counts.push_back(history[i]);
  }
  set.guards = std::move(guards);
  history = std::move(counts);
}

void sortGuards(GuardSet& set) {
  std::vector<uint32_t> none;
  reorder(set, none);
}

}  // namespace fw::guards
