#include "graph/passes/group_order.h"

namespace fw::graph {
namespace {

constexpr uint64_t kGap = uint64_t{1} << 32;

}  // namespace

void GroupOrder::append() {
  entries_.emplace_back();
  insert(entries_.size() - 1, 0);
}

void GroupOrder::remove(int group) {
  const Entry& gone = entry(group);
  entries_[gone.previous].next = gone.next;
  entries_[gone.next].previous = gone.previous;
}

void GroupOrder::moveBefore(int group, int other) {
  remove(group);
  insert(static_cast<size_t>(group) + 1, static_cast<size_t>(other) + 1);
}

void GroupOrder::insert(size_t at, size_t before) {
  const size_t previous = entries_[before].previous;
  entries_[at].previous = previous;
  entries_[at].next = before;
  entries_[previous].next = entries_[before].previous = at;
  const uint64_t low = entries_[previous].label;  // 0 in front of all
  const uint64_t high = before == 0 ? low + 2 * kGap : entries_[before].label;
  entries_[at].label = low + (high - low) / 2;
  if (entries_[at].label == low) relabel();
}

void GroupOrder::relabel() {
  uint64_t label = 0;
  for (size_t at = entries_[0].next; at != 0; at = entries_[at].next) entries_[at].label = label += kGap;
}

}  // namespace fw::graph
