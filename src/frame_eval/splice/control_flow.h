// Control flow and liveness over neutral instructions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cpython/bytecode.h"

namespace fw::capture {

/// Whether the instruction reads, or writes, the slot of localsplus that is its argument.
bool readsSlot(cpython::Opcode op);
bool writesSlot(cpython::Opcode op);
/// Control does not go on to the next instruction.
bool endsFlow(cpython::Opcode op);

/// Edges of the graph whose nodes are the instructions.
struct ControlFlow {
  std::vector<std::array<int, 2>> next;  ///< going on and jumping, -1 for none; without exceptions
  std::vector<int> handler;              ///< where an exception goes, -1 if out of the function

  int size() const { return static_cast<int>(next.size()); }
  /// Calls visit(successor) for every edge, those of exceptions included.
  template <typename Visit>
  void forEach(int instr, Visit visit) const {
    for (int to : next[instr])
      if (to >= 0) visit(to);
    if (handler[instr] >= 0) visit(handler[instr]);
  }
};

struct Loop {
  int header;
  std::vector<bool> contains;  ///< by instruction
  int size;                    ///< instructions in it
};

/// Where paths that have parted meet again.
struct JoiningFlow {
  ControlFlow flow;  ///< without handlers
  std::vector<int>
      joins;  ///< by instruction: the nearest one that all ways from it to a return pass; the number of
              ///< instructions if only the return itself; -1 if there is no way. Ways that raise do not count
};
JoiningFlow flowOf(const cpython::Bytecode& code);

/// Whether nothing happens on the way from one instruction to another, of a few steps; but that items are dropped from
/// the stack, if they may be.
bool leadsTo(const cpython::Bytecode& code, int from, int to, bool mayDrop);

/// Heights of the stack in front of instructions.
struct StackHeights {
  std::vector<int> at;        ///< -1 where no way leads
  std::map<int, int> behind;  ///< outside of `inside`
  bool known = true;          ///< nothing happens there that only the exception machinery knows
};
/// From an instruction on, in front of which it is `height`; without exceptions. `inside`: no farther than that.
StackHeights heightsFrom(const cpython::Bytecode& code, int entry, int height,
                         const std::vector<bool>* inside = nullptr);

/// Where the statement ends that an instruction belongs to: the nearest one behind it, of those that all ways from
/// `from` pass, with as little on the stack as any of them has. -1 if there is none.
int endOfStatement(const cpython::Bytecode& code, const JoiningFlow& flow, int from, int instr);

/// Natural loops, smaller ones first; loops with the same header are one. An instruction belongs to a loop if it can
/// reach a back edge without passing the header, wherever it stands in the code.
std::vector<Loop> naturalLoops(const ControlFlow& flow);

/// Slots of localsplus that some path may read before it writes them.
class Liveness {
 public:
  /// Slots of `always` are live everywhere.
  Liveness(const cpython::Bytecode& code, const ControlFlow& flow, const std::vector<bool>& always);
  const std::vector<bool>& before(int instr) const { return sets_[setOf_[instr]]; }

 private:
  std::vector<std::vector<bool>> sets_;  // neighbours mostly have the same: kept once
  std::vector<int> setOf_;
};

}  // namespace fw::capture
