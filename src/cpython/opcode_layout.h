// What the assembler knows of each instruction of this interpreter: size, control flow, stack effect, and which one a
// neutral instruction becomes. The rows are generated (gen_opcodes.py). For the .cpp files of this folder only.
#pragma once

#include <cstdint>

#include "cpython/bytecode.h"
#include "cpython/ref.h"

namespace fw::cpython {

enum class Flow : uint8_t { kNext, kBranch, kJump, kEnd };  ///< kBranch: goes on, or jumps

/// Stack effect for argument a: perArg * a + perHigh * (a >> 8) + low[a & 15].
struct EffectShape {
  int16_t perArg, perHigh;
  int8_t low[16];
};

struct OpcodeLayout {
  bool known;
  uint8_t caches;  ///< code units behind the instruction
  Flow flow;
  bool backward;               ///< a jump that goes back
  uint8_t effect, jumpEffect;  ///< rows of kEffectShapes, for going on and for jumping
  int16_t opposite;            ///< the same jump in the other direction, -1 if there is none
};

#include "opcode_layout.inc"

static_assert(kLayoutVersion == (PY_VERSION_HEX >> 16), "opcode layout of another Python version");

[[noreturn]] inline void fail(const char* what, int index) {
  PyErr_Format(PyExc_SystemError, "assembler: %s (instruction %d)", what, index);
  throw PythonError();
}

inline const OpcodeLayout& layoutOf(int opcode) { return kLayouts[opcode & 255]; }
inline bool isJump(int opcode) {
  return layoutOf(opcode).flow == Flow::kBranch || layoutOf(opcode).flow == Flow::kJump;
}

inline int stackEffect(int opcode, int arg, bool jump) {
  const EffectShape& shape = kEffectShapes[jump ? layoutOf(opcode).jumpEffect : layoutOf(opcode).effect];
  return shape.perArg * arg + shape.perHigh * (arg >> 8) + shape.low[arg & 15];
}

}  // namespace fw::cpython
