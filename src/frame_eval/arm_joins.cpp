#include "frame_eval/arm_joins.h"

#include <algorithm>

namespace fw::capture {

using cpython::Opcode;

namespace {

/// Whether control comes back to the branch without asking an iterator for more, before it passes the join: then the
/// array data decides how often.
bool isLoop(const Bytecode& code, const ControlFlow& flow, int branch, int join) {
  std::vector<bool> seen(code.instructions.size());
  std::vector<int> open = {branch};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (int to : flow.next[static_cast<size_t>(at)]) {
      if (to == branch) return true;
      const bool stops = to < 0 || to == join || seen[static_cast<size_t>(to)] ||
                         code.instructions[static_cast<size_t>(to)].op == Opcode::kForIter;
      if (stops) continue;
      seen[static_cast<size_t>(to)] = true;
      open.push_back(to);
    }
  }
  return false;
}

}  // namespace

bool isBehind(const JoiningFlow& flow, int at, int pc) {
  while (pc >= 0 && pc != at && pc < flow.flow.size()) {
    const int next = flow.joins[static_cast<size_t>(pc)];
    pc = next == pc ? -1 : next;
  }
  return pc == at;
}

int meeting(const JoiningFlow& flow, const std::vector<int>& begins) {
  int join = begins[0];
  while (join >= 0 && join < flow.flow.size() &&
         !std::all_of(begins.begin(), begins.end(), [&](int begin) { return isBehind(flow, join, begin); }))
    join = flow.joins[static_cast<size_t>(join)];
  return join;
}

int joinInTurn(const JoiningFlow& flow, const RollingBody& body, const std::vector<int>& begins, int join) {
  const int header = static_cast<int>(body.header);
  const auto endsBefore = [&](int join) {  // some turn
    std::vector<bool> seen(flow.flow.next.size());
    std::vector<int> open = begins;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (int to : flow.flow.next[static_cast<size_t>(at)]) {
        if (to < 0 || to == join) continue;
        if (to == header) return true;
        if (!body.contains(to) || seen[static_cast<size_t>(to)]) continue;
        seen[static_cast<size_t>(to)] = true;
        open.push_back(to);
      }
    }
    return false;
  };
  while (body.contains(join) && endsBefore(join)) join = flow.joins[static_cast<size_t>(join)];
  return join;
}

int loopOf(const Bytecode& code, const CodeFlow& flow, int branch) {
  const cpython::Position& at = code.instructions[static_cast<size_t>(branch)].position;
  for (int i = 0; i < static_cast<int>(code.instructions.size()); ++i) {
    const Instr& other = code.instructions[static_cast<size_t>(i)];
    const bool jumps = other.op == Opcode::kPopJumpIfFalse || other.op == Opcode::kPopJumpIfTrue;
    const bool stands = other.copy == code.instructions[static_cast<size_t>(branch)].copy;
    const bool same = i == branch || (jumps && stands && other.position == at);
    if (!same || !isLoop(code, flow.joining.flow, i, flow.joining.joins[static_cast<size_t>(i)])) continue;
    for (const Loop& loop : flow.loops)
      if (loop.contains[static_cast<size_t>(i)] &&
          code.instructions[static_cast<size_t>(loop.header)].op != Opcode::kForIter)
        return loop.header;
  }
  return -1;
}

size_t tailOf(const ControlFlow& flow, int instr) {
  std::vector<bool> seen(flow.next.size());
  std::vector<int> open = {instr};
  size_t count = 0;
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at < 0 || seen[static_cast<size_t>(at)]) continue;
    seen[static_cast<size_t>(at)] = true;
    ++count;
    open.insert(open.end(), {flow.next[static_cast<size_t>(at)][0], flow.next[static_cast<size_t>(at)][1]});
  }
  return count;
}

bool actsBehind(const Bytecode& code, const JoiningFlow& flow, const RollingBody& body, int join) {
  for (int i = 0; i < flow.flow.size(); ++i) {
    if (!body.contains(i) || code.instructions[static_cast<size_t>(i)].op == Opcode::kForIter) continue;
    for (int to : flow.flow.next[static_cast<size_t>(i)])
      if (to >= 0 && !body.contains(to) && flow.joins[static_cast<size_t>(to)] >= 0 && !leadsTo(code, to, join, true))
        return true;
  }
  return false;
}

}  // namespace fw::capture
