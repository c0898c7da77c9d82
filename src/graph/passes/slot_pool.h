// Memory of one size that values of a plan take in turns.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "graph/symint.h"

namespace fw::graph {

/// Slots of one size. Those that are taken come free in the order of the groups that read them last.
class SlotPool {
 public:
  explicit SlotPool(SymId bytes) : bytes_(bytes) {}
  SymId bytes() const { return bytes_; }

  /// The first slot that no group from `from` on reads, taken up to group `to`; nullopt if there is none.
  std::optional<SymId> take(int from, int to) {
    // A slot read by the storing group itself is not free: the group may store before it has read everything.
    for (; !taken_.empty() && taken_.top().first < from; taken_.pop()) free_.push(taken_.top().second);
    if (free_.empty()) return std::nullopt;
    const size_t slot = free_.top();
    free_.pop();
    taken_.emplace(to, slot);
    return offsets_[slot];
  }

  void add(SymId offset, int to) {
    taken_.emplace(to, offsets_.size());
    offsets_.push_back(offset);
  }

 private:
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  SymId bytes_;
  std::vector<SymId> offsets_;
  LeastFirst<std::pair<int, size_t>> taken_;  // last reader, slot
  LeastFirst<size_t> free_;
};

}  // namespace fw::graph
