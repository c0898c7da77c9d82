// Frames of the symbolic interpreter.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cpython/bytecode.h"
#include "frame_eval/splice/control_flow.h"
#include "frame_eval/value.h"

namespace fw::capture {

using cpython::Bytecode;

struct GeneratorIterator;

/// A loop that is being unrolled.
struct UnrolledLoop {
  const Value* iterator;  ///< of a `for`
  size_t before;          ///< nodes of the graph when it began
};

/// A loop that becomes one of the graph, but for its first turns.
struct RolledLoop {
  const Value* iterator = nullptr;  ///< which one it is
  int plain = 0;                    ///< turns to come that are traced by themselves
  int begun = 0;                    ///< turns that were, because of what they change
};

/// Where a loop is left from inside.
struct LoopEdge {
  int pc;                         ///< outside of it
  std::vector<Value*> iterators;  ///< of loops inside that are left with it, on the stack
};

/// A body that is being traced for all turns of its loop.
struct RollingBody {
  const Loop* loop;
  size_t header;
  Value* iterator;               ///< of a `for`, which stands on the stack
  std::vector<Value*> stack;     ///< where a turn begins and ends
  std::vector<LoopEdge>* edges;  ///< by which turns have been found to leave it
  int behind = -1;               ///< where it goes on without an item for another turn; -1: it asks for none
  int exit = -1;                 ///< where those end that leave the loop from inside; -1: none does
  bool contains(int instr) const {
    return instr >= 0 && static_cast<size_t>(instr) < loop->contains.size() &&
           loop->contains[static_cast<size_t>(instr)];
  }
};

/// One activation of a Python function.
struct Frame {
  const Bytecode* code = nullptr;
  Ref globals, builtins;
  SourceId function;            ///< below which globals hang
  std::vector<Value*> slots;    ///< localsplus; null is unbound
  std::vector<Value*> closure;  ///< cells, for COPY_FREE_VARS
  std::vector<Value*> stack;
  Value* names = nullptr;  ///< bodies of classes: the namespace, a kDict
  std::vector<Value*>
      initial;  ///< regions: what the slots and stack entries were found to hold, null where nobody looked
  size_t pc = 0;
  std::vector<bool> executed;              ///< by instruction
  bool again = false;                      ///< the one at hand has been executed before, here or by a caller
  bool callerAgain = false;                ///< that of the caller
  int arms = 0;                            ///< of branches on array data that are being traced in it
  Value* goesOn = nullptr;                 ///< a bool: whether the loop whose body is traced has another turn
  Value* way = nullptr;                    ///< an int: by which edge it is left, from 1; 0: where it ends
  Value* result = nullptr;                 ///< set by RETURN_VALUE
  Value* yielded = nullptr;                ///< set by YIELD_VALUE
  GeneratorIterator* generator = nullptr;  ///< whose frame this is
  bool* yieldsFloats = nullptr;            ///< of what is consumed where it is yielded (consumed_generators.h)
  absl::flat_hash_map<size_t, int> backJumps;
  absl::flat_hash_map<size_t, UnrolledLoop> unrolled;  ///< by the instruction that begins an iteration
  absl::flat_hash_map<size_t, RolledLoop> rolled;      ///< the same
  std::vector<RollingBody> rolling;                    ///< whose body is traced for all turns, innermost last

  void enter(size_t instruction) {
    executed.resize(code->instructions.size());
    again = callerAgain || executed[instruction];
    executed[instruction] = true;
  }
  PyCodeObject* object() const { return code->object(); }
};

/// A virtual exception that is being handled.
struct Handled {
  Value* exception;
  int at;  ///< instruction of the outermost frame that raised it
  friend bool operator==(const Handled&, const Handled&) = default;
};

/// How the outermost frame stands where a region ends.
struct FrameEnd {
  Value* result = nullptr;  ///< of a return
  int instruction = -1, depth = 0;
  std::vector<std::pair<int, Value*>> slots;  ///< changed ones; null is unbound
};

}  // namespace fw::capture
