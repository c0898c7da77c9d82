// Builtins that make one number of many, as loops of the graph: sum(), min() and max() of an array or of a list that
// loops have filled.
#include "frame_eval/branch_join.h"
#include "frame_eval/branching.h"
#include "frame_eval/builtins.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/long_list.h"
#include "frame_eval/mixed_numbers.h"

namespace fw::capture {

using graph::SymId;
using graph::ValueId;
using guards::Relation;

bool Builtins::isLong(const Value* iterable) const {
  if (!interpreter.mayRoll() || trace.onDevice()) return false;
  if (isLongList(iterable)) return true;
  if (iterable->kind != ValueKind::kArray) return false;
  const graph::SymShape& shape = trace.graph().type(iterable->node).shape;
  if (shape.size() != 1) return false;
  const SymId size = trace.syms().canonical(shape[0]);
  return trace.turns.contains(size) || trace.decided.contains(size) ||
         trace.hint(size) > interpreter.options_.maxUnroll;
}

Value* Builtins::fold(Value* iterable, Value* first, absl::FunctionRef<Value*(Value* total, Value* item)> combine) {
  const auto items = interpreter.iteratorOf(iterable)->lazy->items(interpreter);
  graph::SymContext& syms = trace.syms();
  const SymId zero = syms.constant(0), one = syms.constant(1), count = syms.canonical(items->count);
  const auto some = trace.tell(zero, Relation::kLt, count);
  if (!some) refuse("of a sequence that may be empty");
  if (!*some) return first;
  Value* total = items->item(zero);
  if (first) total = combine(first, total);
  DataInts ints{trace};
  const bool whole = DataInts::isWhole(total);
  const ValueKind kind = whole ? ValueKind::kDataInt : numberKind(total);
  if (kind == ValueKind::kNull || MixedNumbers::is(total)) refuse("of numbers of several types");
  const ValueId from = whole ? ints.begin(total) : trace.operand(total).value;
  const SymId rest = syms.canonical(syms.sub(count, one));
  const size_t begin = trace.graph().size();
  const SymId turn = trace.turns.enter(syms.canonical(syms.sub(rest, one)));
  const ValueId placeholder = trace.branches.graph.given({trace.graph().type(from)})[0];
  Value* given = whole ? ints.given(placeholder) : trace.number(kind, placeholder);
  ++trace.turns.bodies;
  Value* end = combine(given, items->item(syms.add(turn, one)));
  --trace.turns.bodies;
  const bool alike = !MixedNumbers::is(end) && DataInts::isWhole(end) == whole && (whole || numberKind(end) == kind);
  if (!alike) refuse("of numbers of several types");
  const ValueId answer = whole ? ints.handOn(given, end) : trace.operand(end).value;
  if (!areAlike(trace, from, answer)) refuse("of numbers of several types");
  const ValueId result = trace.branches.graph.add(
      RegionGraph::Loop{begin, trace.graph().size(), turn, rest, std::nullopt, {{from, placeholder, answer}}})[0];
  trace.decided.forget(begin);
  trace.turns.leave();
  return whole ? ints.make(result, kTurnInts) : trace.number(kind, result);
}

bool sumsPlainly() {
  static const bool plainly = [] {
    const Ref numbers = cpython::checked(Py_BuildValue("[dddd]", 1.0, 1e100, 1.0, -1e100));
    PyObject* sum = PyDict_GetItemString(PyEval_GetBuiltins(), "sum");
    const Ref total = cpython::checked(sum ? PyObject_CallOneArg(sum, numbers.get()) : nullptr);
    return PyFloat_AsDouble(total.get()) == 0.0;
  }();
  return plainly;
}

Value* Builtins::sumOfMany(Value* iterable, Value* start) {
  return fold(iterable, start, [&](Value* total, Value* item) {
    const auto isFloat = [&](Value* v) {
      const ValueKind kind = numberKind(v);
      return kind == ValueKind::kPyFloat || kind == ValueKind::kPyComplex;
    };
    if ((isFloat(total) || isFloat(item)) && !sumsPlainly()) refuse("of Python floats");
    return interpreter.binary(cpython::kNbAdd, false, total, item);
  });
}

Value* Builtins::extremeOfMany(Value* iterable, int op) {
  return fold(iterable, nullptr, [&](Value* best, Value* item) {
    Value* better = interpreter.compare(op, item, best);
    const auto data = Branching{interpreter, trace}.condition(better);
    if (data) return oneOf(*data, item, best);
    return trace.truth(better) ? item : best;
  });
}

}  // namespace fw::capture
