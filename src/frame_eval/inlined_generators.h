// Generators that a `for` walks and that nobody else has: their code stands in that of who walks them
// (splice/inlined_generator.h), so that what decides about yields may be array data, and the loops are loops of the
// graph. Which ones is found out by tracing; the trace is made again then. A break in one has it made again without:
// Python could not go on in the middle of a generator that it has not begun.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

struct InlinedGenerators {
  Interpreter& in;
  Trace& trace;

  /// The code as far as is known by now.
  const Bytecode& codeWith(const Bytecode& code) const;
  /// At the instruction that asks an iterator, the top of the stack, for its first item.
  void offer();
  /// ENTER_GENERATOR: the variables of the generator on top of the stack are those of the frame.
  void enter(const Instr& instr);
  /// Behind a break.
  void leave();

 private:
  GeneratorIterator* walked();
  bool isHeldElsewhere(Value* iterator);
  [[noreturn]] void takeOut(const void* from, const Bytecode::Inlined& inlined);
};

}  // namespace fw::capture
