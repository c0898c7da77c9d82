// Where the arms of a branch meet, by the control flow of the code (splice/control_flow.h).
#pragma once

#include <vector>

#include "frame_eval/interpreter_state.h"
#include "frame_eval/loops.h"

namespace fw::capture {

/// Whether all ways from `pc` pass the other one.
bool isBehind(const JoiningFlow& flow, int at, int pc);
/// The nearest instruction that all ways lead to which begin at those. -1 if there is none.
int meeting(const JoiningFlow& flow, const std::vector<int>& begins);
/// The nearest instruction at which all ways from a branch meet that end with the turn or leave the loop: one that some
/// of them pass in another turn only is none.
int joinInTurn(const JoiningFlow& flow, const RollingBody& body, const std::vector<int>& begins, int join);
/// Where a turn of the loop begins about which a branch decides: the innermost one without an iterator. Also for the
/// branch in front of a loop that the compiler has made of `while`, with the condition written twice. -1: of none.
int loopOf(const Bytecode& code, const CodeFlow& flow, int branch);
/// Instructions that can be reached from this one.
size_t tailOf(const ControlFlow& flow, int instr);
/// Whether something happens on a way out of the loop before it comes to the join.
bool actsBehind(const Bytecode& code, const JoiningFlow& flow, const RollingBody& body, int join);

}  // namespace fw::capture
