// Decisions on array data: both ways are traced, and meet again where all paths do.
#pragma once

#include <optional>

#include "frame_eval/branch_join.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

struct Branching {
  Interpreter& interpreter;
  Trace& trace;
  std::string loopRefused{};  ///< why the loop that the branch decides about is none of the graph

  /// The truth of a value that is array data, as a bool of the graph; none if the truth is known, can be guarded, or is
  /// an error.
  std::optional<graph::ValueId> condition(Value* value);
  /// At a jump of the frame being executed that is taken where the predicate is `jumpsIf`. Goes on where the arms have
  /// joined. Breaks at the jump if one of them cannot be traced.
  void take(const Instr& instr, graph::ValueId predicate, bool jumpsIf);

 private:
  struct Place;
  struct BothArms;
  struct WritesNewArrays;
  bool takeBoth(const BothArms& both, bool last);
  int joinOf(const Frame& frame, int branch);
  std::optional<ArmEnd> run(const Place& place, BranchState& before, int pc, const Instr* jump);
  void follow(const Place& place, int pc, const Instr* jump);
  void join(const Place& place, BranchState& before, ArmEnd& first, ArmEnd& second, graph::ValueId predicate,
            ArmNodes arms);
  void backTo(const Place& place);
  [[noreturn]] void refuse(const Place& place, const std::string& why);
};

}  // namespace fw::capture
