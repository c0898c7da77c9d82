// Numbers of which array data decides whether they are Python's or NumPy's: `s = 0`, and under a condition
// `s += x[i]`. Such a number is one value of the graph, and its class another one:
//
//   f64: an int, a float or a np.float64. Ints are in a range that f64 holds exactly
//   i64: an int or a np.int64
//
// Either may be None as well: `last = None`, and under a condition `last = i`. Whoever computes with it takes it for
// present, which is checked.
//
// Where the class makes no difference the value stands for the number; what leaves the region is made by the class;
// everything else is refused (Trace::operand).
#pragma once

#include <optional>
#include <string>

#include "frame_eval/trace.h"

namespace fw::capture {

class MixedNumbers {
 public:
  /// Of results of arithmetic, the greatest one of the operands.
  enum Class : int64_t { kNone = -1, kInt, kFloat, kNumpy };

  explicit MixedNumbers(Trace& trace) : trace_(trace) {}

  static bool is(const Value* value) { return value->which && value->kind != ValueKind::kChosen; }
  /// An int or None as well.
  static bool mayBeInt(const Value* value) { return is(value) && value->which->range.lo <= kInt; }
  static bool mayBeNone(const Value* value) { return is(value) && value->which->range.lo == kNone; }
  /// The type of what may be the one or the other, of which one is mixed or both are of different classes: kF64, kI64.
  /// A small int goes with both. None: there is no such number.
  std::optional<graph::DType> common(const Value* first, const Value* second) const;
  /// Whether a number of that type can begin as it.
  bool canBe(const Value* value, graph::DType dtype) const;
  /// An int that array data decides as one of f64; fails the call where it is out of the range of those.
  Value* ofInt(Value* value);
  /// What stands for it, of that type.
  graph::ValueId node(Value* value, graph::DType dtype);
  /// Its class, a kDataInt.
  Value* classOf(Value* value);
  /// Where it is if it is an int; {0, 0} if it is none.
  graph::SymRange intRange(Value* value, graph::DType dtype);

  /// Either, as the bool tells. They have a common type.
  Value* choose(graph::ValueId condition, Value* first, Value* second);
  /// The number, of which is not known more from now on. `why`: what is said where it is refused.
  Value* note(Value* number, Value* which, graph::SymRange range, const std::string& why);
  /// What begins a turn of a loop.
  Value* given(graph::ValueId placeholder, graph::ValueId which, graph::SymRange classes);
  /// The classes that it may be of.
  graph::SymRange classes(const Value* value) const;
  Class leastClass(const Value* value) const { return static_cast<Class>(classes(value).lo); }
  /// What the turn leaves. Fails the call where it is out of the range of what begins one.
  graph::ValueId handOn(Value* end, graph::DType dtype);

  /// The bool.
  Value* isNone(Value* value);
  /// The value itself; the number where it may be None as well, which fails the call.
  Value* present(Value* value);
  /// The same where somebody else sees to it that None makes no difference.
  Value* assumed(Value* value);

  /// Operator by CPython's number NB_*, and comparison by Py_LT ..., of numbers of which one at least is mixed. Null:
  /// one of them is NumPy's for certain and decides what happens. A comparison of Python's numbers answers a bool that
  /// may be a np.bool_ (Value::joined).
  Value* binary(int op, Value* left, Value* right);
  Value* compare(int op, Value* left, Value* right);
  Value* negative(Value* value);

 private:
  bool isExact(const Value* value) const;
  bool isWhole(const Value* value) const;
  bool isDecided(const Value* value) const;
  Value* asInt(Value* value);
  Value* make(graph::ValueId node, Value* which, graph::SymRange range, const std::string& why);
  Value* greatestClass(Value* left, Value* right, bool divides);
  graph::ValueId asFloat(Value* value, Value* about);
  Trace& trace_;
};

}  // namespace fw::capture
