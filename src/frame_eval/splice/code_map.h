// What splicing needs to know of a code object: where compiled regions may begin and end, which loops an instruction
// lies in, which slots are read later. Computed once per code object. Instructions are neutral ones
// (cpython/bytecode.h) by index.
#pragma once

#include <Python.h>

#include <optional>
#include <vector>

#include "cpython/assembler.h"
#include "cpython/bytecode.h"
#include "frame_eval/splice/control_flow.h"

namespace fw::capture {

class CodeMap {
 public:
  /// Throws PythonError. Holds no reference to the code object, which must outlive the map.
  explicit CodeMap(PyCodeObject* code);

  const cpython::Bytecode& code() const { return code_; }
  PyCodeObject* object() const { return code_.object(); }
  int slotCount() const;  ///< size of localsplus

  /// First instruction behind the prologue where a region may begin; -1 if there is none.
  int entry() const;
  /// The last instruction at or before `instr`, in the same straight line, before which control can pass between the
  /// interpreter and compiled code; -1 if there is none (inside an exception handler's entry, in the prologue ...).
  int stopFor(int instr) const;
  /// Where compiled code may begin again once Python has run the instruction at `stop`: its successors without
  /// exceptions, moved forward to the next place where code may stand.
  std::vector<int> startsAfter(int stop) const;
  /// Headers of the natural loops that contain the instruction: targets of back edges (the FOR_ITER of a `for`),
  /// innermost first. A region must not run through one of them if its loop holds a stop.
  std::vector<int> headersOf(int instr) const;
  /// Starts worth probing before anything is known: the entry, bodies of loops and of exception handlers, what follows
  /// calls. In code order.
  std::vector<int> candidates() const;

  /// Height of the value stack before the instruction; -1 if it is unreachable.
  int depth(int instr) const;
  /// Slots of localsplus that some path from here may read before it writes them (exception handlers included). Code
  /// that can look at its own locals by name (locals(), eval ...) reads all of them everywhere.
  const std::vector<bool>& liveBefore(int instr) const { return live_->before(instr); }

  /// Whether a stub may stand before the instruction.
  bool allows(int instr) const;
  /// The code in raw instructions, none of which handles two locals, and where an instruction that allows() begins in
  /// it.
  const cpython::Assembly& assembly() const { return assembly_; }
  int rawIndex(int instr) const { return raw_[instr]; }

 private:
  void matchInstructions();
  void readFlow();
  void findDepths();
  std::vector<bool> slotsReadEverywhere() const;
  /// The next instruction at or behind `instr` that allows(), if nothing but it is reached from there; else -1.
  int forward(int instr) const;

  cpython::Bytecode code_;
  cpython::Assembly assembly_;
  std::vector<int> raw_;       // instruction -> where its raw ones begin; -1 for those inside a raw one
  std::vector<int> owner_;     // instruction -> the raw one that it is part of
  std::vector<int> neutral_;   // raw -> first instruction at or behind it
  std::vector<bool> allowed_;  // by raw instruction
  std::vector<int> depth_;
  std::vector<bool> joined_;  // entered otherwise than from the instruction before it, or not only
  ControlFlow flow_;
  std::vector<Loop> loops_;
  std::optional<Liveness> live_;
};

}  // namespace fw::capture
