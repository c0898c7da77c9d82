// Bytecode without versions: code objects decoded into neutral instructions (neutral_ops.def).
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/ref.h"

namespace fw::cpython {

enum class Opcode : uint8_t {
#define FW_OPCODE(Id, text, arg, pops, pushes, counted) k##Id,
#include "cpython/neutral_ops.def"
};
/// Argument of kBinaryOp; the in-place operators follow in the same order.
enum BinaryOperator : int {
#define FW_BINARY_OPERATOR(Id, name, inplace) kNb##Id,
#include "cpython/binary_operators.def"
  kNbFirstInplace,
};

inline constexpr int kNoEffect = -1;

enum class OpcodeArg : uint8_t { kNone, kCount, kConst, kName, kSlot, kJump, kOp, kFlags };

struct OpcodeInfo {
  std::string_view text;
  OpcodeArg arg;
  int8_t pops, pushes, counted;
};
const OpcodeInfo& info(Opcode op);

/// Name of a raw instruction of this interpreter ("LOAD_FAST"), for messages.
std::string_view rawName(int opcode);

struct Position {
  int line = 0, endLine = 0, column = -1, endColumn = -1;  ///< columns as in co_positions(), -1 if unknown
  friend bool operator==(const Position&, const Position&) = default;
};

struct Instr {
  Opcode op = Opcode::kNop;
  int arg = 0;
  int flags = 0;    ///< kLoadSuperAttr; kJump: 1 if it goes back, but begins no other turn
  int target = -1;  ///< jumps: index of the instruction to go to
  int unit = 0;     ///< code unit of the raw instruction; several neutral ones may share it
  int copy = 0;     ///< of code that stands several times in this one, which one it is part of
  Position position;
};

/// Entries of the stack that an instruction takes, and leaves in their place when it neither jumps nor raises.
struct StackEffect {
  int pops, pushes;
};
/// pops is kNoEffect where the exception machinery decides, and for instructions that nobody knows.
StackEffect stackEffect(const Instr& instr);

/// Instructions [start, end) are covered by the handler at `target`; the stack is cut to `depth` first.
struct Handler {
  int start, end, target, depth;
  bool lasti;
};

struct Bytecode {
  PyCodeObject* decoded = nullptr;  ///< borrowed
  Ref code;                         ///< keeps it alive; may be dropped by who is kept alive by the code object
  std::vector<Instr> instructions;
  std::vector<Handler> handlers;
  /// Tuples of what arguments count where other code stands in this one; null: those of the code object.
  Ref constants, names, variables;
  struct Inlined {
    Ref code;
    int firstSlot;  ///< of its variables
    int begin;      ///< its first instruction
    int at;         ///< the instruction that enters it, and what stood there
    Instr before;
  };
  std::vector<Inlined> inlined;

  const void* variant =
      nullptr;  ///< where it is not as compiled: which of those it is that are made of the code object

  PyCodeObject* object() const { return decoded; }
  /// The same for the same instructions, in every trace.
  const void* identity() const { return variant ? variant : decoded; }
  PyObject* constantAt(int i) const { return PyTuple_GET_ITEM(constants ? constants.get() : decoded->co_consts, i); }
  PyObject* nameAt(int i) const { return PyTuple_GET_ITEM(names ? names.get() : decoded->co_names, i); }
  PyObject* variableAt(int i) const {
    return PyTuple_GET_ITEM(variables ? variables.get() : decoded->co_localsplusnames, i);
  }
  int slotCount() const {
    return variables ? static_cast<int>(PyTuple_GET_SIZE(variables.get())) : decoded->co_nlocalsplus;
  }
};

/// Decodes the code as compiled: specialised and instrumented instructions are mapped back. Throws PythonError.
Bytecode decode(PyCodeObject* code);

/// One line per instruction: "  3 LOAD_FAST 0".
std::string print(const Bytecode& code);

}  // namespace fw::cpython
