// Where a branch stands, and its arms: what the parts of Branching hand each other.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "frame_eval/branching.h"
#include "frame_eval/loops.h"

namespace fw::capture {

struct Branching::Place {
  Frame& frame;
  int at, line;  ///< of the outermost frame, of the user's code
  int join;      ///< instruction of the frame; its number of instructions: the return
  unsigned number;
  int branch;                           ///< instruction of the frame that decides; -1: none of it does
  std::optional<RollingBody> leaves{};  ///< the body of a loop that one side leaves: both end where its turn does
  bool edges = false;                   ///< sides that leave it end at its edge
  bool returns() const { return join == static_cast<int>(frame.code->instructions.size()); }
};

struct Branching::BothArms {
  Place place;
  std::array<std::function<void()>, 2> begin;  ///< makes the frame what it is where an arm begins
  graph::ValueId predicate;
  std::optional<Told> told{};

  void enter(size_t arm) const {
    begin[arm]();
    if (!told) return;
    for (std::vector<Value*>* values : {&place.frame.slots, &place.frame.stack})
      std::replace(values->begin(), values->end(), told->of, told->as[arm]);
  }
  /// A variable that no arm has changed is again what it was in front of them.
  void forget(ArmEnd& first, ArmEnd& second) const {
    for (auto values : {&ArmEnd::slots, &ArmEnd::stack}) {
      std::vector<Value*>&a = first.*values, &b = second.*values;
      for (size_t i = 0; told && i < std::min(a.size(), b.size()); ++i)
        if (a[i] == told->as[0] && b[i] == told->as[1]) a[i] = b[i] = told->of;
    }
  }
};

}  // namespace fw::capture
