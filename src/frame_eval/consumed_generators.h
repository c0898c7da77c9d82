// Generators that a builtin consumes whole: any(), all(), next(), sum(), min(), max() and list() of them. Their code is
// traced with what the builtin does in the place of the yields, as if the user had written the loop, so that what
// decides about items may be array data, and the loop one of the graph.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

enum class Consumer : uint8_t { kAny, kAll, kNext, kSum, kMin, kMax, kList };

/// The generator's code with the consumer in it. It has a variable more, the last one: what it answers where nothing is
/// found, or begins with. Null for code that handles exceptions or yields from others.
std::unique_ptr<Bytecode> withConsumer(const Bytecode& code, Consumer consumer);

struct ConsumedGenerators {
  Interpreter& in;
  Trace& trace;

  /// What the consumer makes of the iterable; null if it is no generator that is its own, of which nothing has been
  /// taken. `otherwise`: a default of next(), min() or max(), a start of sum(), which has one always.
  Value* consume(Value* iterable, Consumer consumer, Value* otherwise = nullptr);

  /// A call of a function of _substitutes.py.
  Value* byUs(const char* function, std::vector<Value*> args);

 private:
  Value* run(GeneratorIterator& generator, Consumer consumer, Value* first, bool* floats);
};

}  // namespace fw::capture
