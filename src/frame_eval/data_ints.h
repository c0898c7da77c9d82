// Python ints that array data decides: i64 values of the graph. Python's have no bounds; of these, what might not fit
// into 64 bits is asked to stay within kMostDataInt, and fails the call if it does not, so that Python computes it.
// What is known of an int by how it was computed is its range, which saves most of the checks.
#pragma once

#include <optional>

#include "cpython/bytecode.h"
#include "frame_eval/trace.h"

namespace fw::capture {

/// In magnitude. Sums of two fit into 64 bits.
constexpr int64_t kMostDataInt = int64_t{1} << 62;
/// Where ints are that a turn of a loop finds and hands on.
inline constexpr graph::SymRange kTurnInts{-(int64_t{1} << 61), int64_t{1} << 61};

inline bool contains(graph::SymRange outer, graph::SymRange inner) {
  return outer.lo <= inner.lo && inner.hi <= outer.hi;
}
/// The least range that contains both.
inline graph::SymRange hull(graph::SymRange a, graph::SymRange b) {
  return {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

class DataInts {
 public:
  explicit DataInts(Trace& trace) : trace_(trace) {}

  /// An int or a bool, of which one at least is decided by array data or by the turn of a loop.
  static bool isInt(const Value* value);
  /// One that is no bool.
  static bool isWhole(const Value* value);
  /// Either is decided by array data.
  static bool any(const Value* left, const Value* right);

  /// The int of an i64 node that is known to be in the range.
  Value* make(graph::ValueId node, graph::SymRange range);
  /// int(scalar) of a NumPy scalar, a float or a bool.
  Value* fromNumber(graph::ValueId node);
  /// Any int as one of these. Null where it is too large.
  Value* of(Value* value);
  /// The int as a symbol that is in the range; fails the call where it is not.
  graph::SymId symbol(Value* value, graph::SymId least, graph::SymId most);
  /// Whether the int is known to be in the range.
  bool isWithin(Value* value, graph::SymRange range);
  /// Fails the call where it is not in the range.
  Value* within(Value* value, graph::SymRange range);
  /// Fails the call where the bool is false.
  void require(graph::ValueId condition);
  /// The same of what Python raises as that builtin exception where the bool is false (raising.h).
  void require(graph::ValueId condition, PyObject* raised);
  /// Nothing, but where the code handles what Python raises for an index beyond those: there, it is none from now on.
  void requireWithin(Value* value, graph::SymId least, graph::SymId most, PyObject* raised = PyExc_IndexError);

  /// Operator by CPython's number NB_*; null where the graph has no form for it.
  Value* binary(int op, Value* left, Value* right);
  Value* negative(Value* value);
  Value* absolute(Value* value);
  /// NumPy's scalars of ints, which wrap with a warning: the number in the dtype, or the call fails. Null as binary().
  std::optional<graph::ValueId> inDtype(Value* value, graph::DType dtype);
  /// A scalar of ints or a Python int.
  Value* ofScalar(Value* value);
  graph::ValueId asFloat(Value* value);
  /// What either int is behind a branch; null where one is too large.
  Value* join(Value* first, Value* second);
  /// What begins a turn of a loop as such an int, and whether what a turn leaves can be handed on as one. See there.
  Value* given(graph::ValueId placeholder, graph::SymRange range = kTurnInts);
  graph::ValueId begin(Value* value);
  graph::ValueId handOn(Value* given, Value* end);
  /// Where it is in front of a loop and behind each turn, as far as a turn tells that finds any int.
  graph::SymRange inAllTurns(Value* begin, Value* given, Value* end);

 private:
  Value* sum(Value* left, Value* right, bool minus);
  Value* product(Value* left, Value* right);
  Value* power(Value* base, int64_t exponent);
  Value* quotient(Value* left, Value* right, bool rest);
  Value* bits(int op, Value* left, Value* right);
  Value* shift(Value* left, Value* right, bool up);
  Trace& trace_;
};

/// a + b, or what another operator makes of any two ints.
inline Value* added(Trace& trace, Value* a, Value* b, int op = cpython::kNbAdd) {
  DataInts ints{trace};
  return ints.binary(op, ints.of(a), ints.of(b));
}

}  // namespace fw::capture
