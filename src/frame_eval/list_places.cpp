// Where items of lists that stand in arrays are: the place that an index names.
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::SymId;
using graph::ValueId;
using guards::Relation;

/// Not a number that may be None, or a float, as well.
bool LongList::isPlace(Trace& trace, const Value* index) {
  return numpy::isPlace(trace, index) && !MixedNumbers::mayBeNone(index);
}

/// An index that may be an int of Python's or one of NumPy's: both mean the same item.
Value* LongList::place(Value* index) const {
  return index->which ? DataInts{trace}.make(index->node, {-kMostDataInt, kMostDataInt}) : index;
}

Value* LongList::placeWithin(Value* index, Value* length) const {
  graph::SymContext& syms = trace.syms();
  graph::Graph& g = trace.graph();
  const SymId zero = syms.constant(0);
  if (isSymbolicInt(index) && isSymbolicInt(length)) {
    SymId at = trace.asSym(index);
    const SymId size = trace.asSym(length);
    if (const auto known = syms.asConst(at); known && *known < 0) at = syms.canonical(syms.add(size, at));
    const bool late = isLate(trace, at) || isLate(trace, size);
    const auto holds = [&](SymId left, Relation relation, SymId right) {
      return late ? trace.turns.decide(left, relation, right) == true : trace.decide(left, relation, right);
    };
    if (holds(zero, Relation::kLe, at) && holds(at, Relation::kLt, size)) return trace.pyInt(at);
  }
  DataInts ints{trace};
  Value* number = ints.ofScalar(place(index));
  length = ints.of(length);
  if (!number || !length) refuse("an item of a list by this index");
  if (number->range.lo >= 0 && number->range.hi < length->range.lo) return number;
  if (number->range.lo < 0) {
    const ValueId fromEnd = ints.binary(cpython::kNbAdd, number, length)->node;
    const ValueId below =
        g.binary(graph::Op::kLess, number->node, g.constant(graph::Scalar::ofInt(graph::DType::kI64, 0)));
    const bool always = number->range.hi < 0;
    number = ints.make(always ? fromEnd : numpy::ufuncNode(trace, graph::Op::kWhere, {below, fromEnd, number->node}),
                       {-kMostDataInt, kMostDataInt});
  }
  const SymId size = ints.symbol(length, zero, room()), last = syms.canonical(syms.sub(size, syms.constant(1)));
  ints.requireWithin(number, zero, last);
  (void)ints.symbol(number, zero, last);
  const auto most = syms.asConst(room());
  return ints.make(number->node, {0, most ? *most - 1 : kMostDataInt});
}

}  // namespace fw::capture
