// Code objects taken apart, edited and put together again. An Assembly holds the instructions of this interpreter with
// jump targets, exception ranges and positions by instruction index instead of by offset; new instructions are
// written as neutral ones (bytecode.h) and lowered to this interpreter's. Everything here throws PythonError:
// SystemError for an assembly that no code object can have.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cpython/bytecode.h"
#include "cpython/ref.h"

namespace fw::cpython {

/// One instruction as CPython's compiler writes it (never specialised), without its EXTENDED_ARGs and caches.
struct RawInstr {
  uint8_t opcode = 0;
  uint8_t prefixes = 0;  ///< EXTENDED_ARGs that it gets at least
  int arg = 0;           ///< of jumps: ignored
  int target = -1;       ///< jumps: index of the instruction in the jump's encoding (FOR_ITER: END_FOR)
  int unit = -1;         ///< where it begins in the code that was taken apart (as Instr::unit); -1: new
  Position position;
};

struct Assembly {
  std::vector<RawInstr> instructions;
  std::vector<Handler> handlers;  ///< sorted, not overlapping; indices of instructions
  std::vector<Ref> constants, names, varnames, cellvars, freevars;
  int argCount = 0, posOnlyCount = 0, kwOnlyCount = 0;
  int flags = 0;
  int firstLine = 1;
  Ref name, qualname, filename;

  /// Index in `constants` of this very object, added if it is not there.
  int addConstant(PyObject* object);
  /// Index in `names`, added if it is not there.
  int addName(std::string_view text);
};

/// The code as compiled; specialised and instrumented instructions are mapped back. Refuses module and class bodies
/// with inlined comprehensions (3.12 on): no API makes their hidden variables again.
Assembly disassemble(PyCodeObject* code);

/// A new code object. assemble(disassemble(code)) has the same bytes, exceptions, positions.
Ref assemble(const Assembly& assembly);

/// Largest depth of the value stack over all paths. SystemError if two paths reach an instruction with different
/// depths, a path takes more than there is, or runs past the end.
int stackSize(const Assembly& assembly);

/// The stack depth before each instruction, -1 where no path leads; checks as stackSize().
std::vector<int> stackDepths(const Assembly& assembly, int* largest = nullptr);

/// Where control may go behind an instruction when nothing is raised; -1 for none. A `for` that is exhausted goes
/// behind END_FOR.
struct Successors {
  int next = -1, jump = -1;
};
Successors successors(const Assembly& assembly, int index);

/// Neutral instructions in the form of this interpreter. One may become several or none; targets are indices of `code`
/// (its size: the end) and come out as indices of the result; negative ones are kept. The order of PushNull and the
/// callable is the caller's: appendCallable(). kForIter's target must be behind its kEndFor; kUnsupported is refused.
/// `begin`, if wanted, gets where each neutral instruction begins in the result, and the end. A kJump with
/// kUninterrupted in its flags does not look at signals and other requests when it goes back, so that it cannot raise.
constexpr int kUninterrupted = 1;
std::vector<RawInstr> lower(const std::vector<Instr>& code, std::vector<int>* begin = nullptr);

/// Appends instructions that push the constant and the NULL that kCall and kCallEx want, in this version's order.
void appendCallable(std::vector<Instr>& code, int constant, const Position& position);

/// As a target in Insertion::code: the k-th instruction of that code; k = its size means the instruction behind it,
/// which is the one that it was inserted before. Plain indices mean instructions of the assembly before the
/// insertion.
constexpr int inside(int k) { return -2 - k; }

struct Insertion {
  int before = 0;  ///< index in the assembly
  /// Leaves the stack as it found it on every way to `before`. Positions with line 0 become that of `before`.
  std::vector<Instr> code;
  bool jumpsEnter = true;  ///< do jumps to `before` run the code, or only what falls through to it?
  /// Instructions [first, second) of `code` that no exception handler covers: they cannot raise, and may have taken
  /// from the stack what the handler counts on.
  std::pair<int, int> uncovered = {0, 0};
};

/// Inserts all (each `before` must be one of insertionPoints()), each index meaning the assembly as it was; several
/// before one instruction stand in the order given. A jump from inserted code to an instruction goes where other
/// jumps to it go. Inserted code is covered by the handler of the instruction behind it, but for its uncovered part.
/// What leaves a `for` loop because the iterator is exhausted counts as falling through from END_FOR.
void insert(Assembly& assembly, const std::vector<Insertion>& insertions);

/// Makes two instructions of each that loads or stores two locals (3.13), so that code may be inserted between.
void splitPairs(Assembly& assembly);
/// The inverse, where nothing has come between and no jump enters between.
void joinPairs(Assembly& assembly);

/// For each instruction: may code be inserted before it? Not in the prologue (up to RESUME), not between instructions
/// that CPython runs or reads as a unit, not where an exception handler begins, not where no path leads.
std::vector<bool> insertionPoints(const Assembly& assembly);

}  // namespace fw::cpython
