// Where a branch stands, and its arms: what the parts of Branching hand each other.
#pragma once

#include <array>
#include <functional>
#include <optional>

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
};

}  // namespace fw::capture
