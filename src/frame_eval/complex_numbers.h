// Python's complex numbers that the trace computes; see complex_numbers.cpp.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

class ComplexNumbers {
 public:
  ComplexNumbers(Interpreter& interpreter, Trace& trace) : in_(interpreter), trace_(trace) {}

  /// A complex, known or not.
  static bool is(const Value* value);
  /// complex(real, imag) of floats.
  Value* make(graph::ValueId real, graph::ValueId imag);
  /// Operator by CPython's number NB_*, == or !=. Null where the graph has no form for it, or the numbers are the
  /// call's, whose values Python computes with.
  Value* binary(int op, Value* left, Value* right);
  Value* equal(bool equal, Value* left, Value* right);
  Value* negative(Value* value);
  Value* absolute(Value* value);
  Value* part(Value* value, bool real);

 private:
  bool isComputed(Value* value) const;
  graph::ValueId node(Value* value);
  Value* number(graph::ValueId node);
  Value* quotient(graph::ValueId left, graph::ValueId right);
  graph::ValueId power(graph::ValueId base, int64_t exponent);

  Interpreter& in_;
  Trace& trace_;
};

}  // namespace fw::capture
