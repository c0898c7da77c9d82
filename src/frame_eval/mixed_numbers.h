// Numbers of which array data decides whether they are an int, a float or a np.float64: `s = 0`, and under a condition
// `s += x[i]`. Such a number is one f64 of the graph, which holds ints of its range exactly, and its class another
// value. Where the class makes no difference the f64 stands for the number; what leaves the region is made by the class;
// everything else is refused (Trace::operand).
#pragma once

#include <optional>
#include <string>

#include "frame_eval/trace.h"

namespace fw::capture {

class MixedNumbers {
 public:
  /// Of results of arithmetic, the greatest one of the operands.
  enum Class : int64_t { kInt, kFloat, kNumpy };

  explicit MixedNumbers(Trace& trace) : trace_(trace) {}

  static bool is(const Value* value) { return value->which != nullptr; }
  static bool mayBeInt(const Value* value) { return is(value) && value->which->range.lo == kInt; }
  /// Whether it can be one of several: a float, a np.float64, a small int that is known, or one that is.
  bool canBe(const Value* value) const;
  /// The f64 of what can be.
  graph::ValueId node(Value* value);
  /// Its class, a kDataInt.
  Value* classOf(Value* value);
  /// Where it is if it is an int; {0, 0} if it is none.
  graph::SymRange intRange(const Value* value) const;

  /// Either, as the bool tells. `first` and `second` can be.
  Value* choose(graph::ValueId condition, Value* first, Value* second);
  /// One number of the class. `why`: what is said where it is refused.
  Value* make(graph::ValueId node, Value* which, graph::SymRange range, const std::string& why);
  /// That number, which has been made elsewhere.
  Value* note(Value* number, Value* which, graph::SymRange range, const std::string& why);
  /// What begins a turn of a loop. Ints are within kGiven.
  Value* given(graph::ValueId placeholder, graph::ValueId which, bool mayBeInt);
  /// At the end of a turn: fails the call where it is an int that is not.
  void handOn(Value* end);

  /// Operator by CPython's number NB_*, on numbers of which one at least is mixed and none a NumPy operand for certain.
  Value* binary(int op, Value* left, Value* right);
  /// The bool, which is Python's or NumPy's, as nobody knows.
  Value* compare(int op, Value* left, Value* right);
  Value* negative(Value* value);

 private:
  graph::ValueId operand(Value* value, Value* about);
  Trace& trace_;
};

}  // namespace fw::capture
