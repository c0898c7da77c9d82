// An order of groups in which each comes after everything that it reads, kept up as groups are joined.
//
// A list with labels that grow along it: who comes first is one comparison, and a move costs no more than the move,
// until there is no label left between two neighbours; then all are labelled anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fw::graph {

class GroupOrder {
 public:
  GroupOrder() : entries_(1) {}  // the first entry stands between the last group and the first

  /// Group number size(), behind all others.
  void append();
  int size() const { return static_cast<int>(entries_.size()) - 1; }

  bool isBefore(int a, int b) const { return entry(a).label < entry(b).label; }
  /// `group` then stands right before `other`.
  void moveBefore(int group, int other);
  void remove(int group);

 private:
  struct Entry {
    uint64_t label = 0;
    size_t previous = 0, next = 0;
  };
  const Entry& entry(int group) const { return entries_[static_cast<size_t>(group) + 1]; }
  void insert(size_t at, size_t before);
  void relabel();

  std::vector<Entry> entries_;
};

}  // namespace fw::graph
