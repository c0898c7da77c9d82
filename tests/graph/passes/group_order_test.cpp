// GroupOrder against a list that is searched.
#include "graph/passes/group_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace fw::graph {
namespace {

TEST(GroupOrder, AgreesWithAList) {
  std::mt19937 rng(7);
  GroupOrder order;
  std::vector<int> list;
  for (int step = 0; step < 4000; ++step) {
    const auto any = [&] { return list[rng() % list.size()]; };
    if (list.size() < 3 || rng() % 3 == 0) {
      list.push_back(order.size());
      order.append();
    } else if (const int group = any(), other = any(); group != other) {
      order.moveBefore(group, other);
      list.erase(std::find(list.begin(), list.end(), group));
      list.insert(std::find(list.begin(), list.end(), other), group);
    } else {
      order.remove(group);
      list.erase(std::find(list.begin(), list.end(), group));
    }
    for (size_t i = 1; i < list.size(); i += 1 + list.size() / 16) {
      ASSERT_TRUE(order.isBefore(list[i - 1], list[i]));
      ASSERT_FALSE(order.isBefore(list[i], list[i - 1]));
    }
  }
}

TEST(GroupOrder, ManyMovesToOnePlace) {
  constexpr int kGroups = 1000;
  GroupOrder order;
  for (int i = 0; i < kGroups; ++i) order.append();
  for (int i = 1; i < kGroups; ++i) order.moveBefore(i, 0);  // 1, 2, ..., 0
  for (int i = 2; i < kGroups; ++i) ASSERT_TRUE(order.isBefore(i - 1, i) && order.isBefore(i, 0));
}

}  // namespace
}  // namespace fw::graph
