// Ranges. One whose bounds are not all known is no object yet, but says what its items are, so that a loop over it, or
// over what is made of it (enumerate, zip, reversed), can be one loop of the graph. Whoever looks at it as an object
// holds its bounds fast.
#include <algorithm>

#include "cpython/objects.h"
#include "frame_eval/builtins.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/numpy/support.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using cpython::checked;

namespace {

struct RangeStep {
  Trace& trace;
  Value* range;
  Py_ssize_t size, at = 0;

  Value* operator()(Interpreter&) {
    return at < size ? trace.constant(checked(PySequence_GetItem(range->object.get(), at++))) : nullptr;
  }
  std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
    return VirtualIterator::Recipe{iterFunction(t), {range}, static_cast<size_t>(at)};
  }
  std::optional<VirtualIterator::Items> items(Interpreter&) {
    int64_t fields[4];
    constexpr int64_t kWide = int64_t{1} << 61;
    if (!cpython::readRange(range->object.get(), fields)) return std::nullopt;
    for (int64_t field : fields)
      if (field < -kWide || field > kWide) return std::nullopt;
    graph::SymContext& syms = trace.syms();
    const graph::SymId first = syms.constant(fields[0] + fields[2] * at), step = syms.constant(fields[2]);
    return VirtualIterator::Items{syms.constant(size - at), [&t = trace, first, step](graph::SymId number) {
                                    graph::SymContext& s = t.syms();
                                    return t.pyInt(s.add(first, s.mul(step, number)));
                                  }};
  }
  void skip() { ++at; }
};

/// Of a range whose bounds are not all known.
struct SymbolicRangeStep {
  Trace& trace;
  graph::SymId first, step, size;
  int64_t at = 0;

  Value* operator()(Interpreter&) {
    if (at >= trace.specialize(size)) return nullptr;
    return item(trace.syms().constant(at++));
  }
  /// Of a range whose bounds are held fast.
  std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
    const int64_t begin = t.specialize(first), by = t.specialize(step), end = begin + by * t.specialize(size);
    Ref range = checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "LLL", begin, end, by));
    return VirtualIterator::Recipe{iterFunction(t), {t.constant(std::move(range))}, static_cast<size_t>(at)};
  }
  std::optional<VirtualIterator::Items> items(Interpreter&) {
    graph::SymContext& syms = trace.syms();
    const graph::SymId taken = syms.constant(at);
    return VirtualIterator::Items{syms.sub(size, taken), [step = *this, taken](graph::SymId number) {
                                    return step.item(step.trace.syms().add(taken, number));
                                  }};
  }
  void skip() { ++at; }
  Value* item(graph::SymId number) const {
    graph::SymContext& syms = trace.syms();
    return trace.pyInt(syms.canonical(syms.add(first, syms.mul(step, number))));
  }
};

/// Of a range of which array data decides where it begins, or how long it is.
struct DataRangeStep {
  Trace& trace;
  Value *first, *step;
  graph::SymId size;

  Value* operator()(Interpreter&) {
    trace.fail(BreakReason::kDataDependentShape, "a range that array data decides, item by item");
  }
  std::optional<VirtualIterator::Items> items(Interpreter& in) {
    return VirtualIterator::Items{size, [range = *this, &in](graph::SymId number) {
                                    Value* at = in.binary(cpython::kNbMultiply, false, range.step,
                                                          range.trace.pyInt(range.trace.syms().canonical(number)));
                                    return in.binary(cpython::kNbAdd, false, range.first, at);
                                  }};
  }
  void skip() { trace.fail(BreakReason::kDataDependentShape, "a range that array data decides, item by item"); }
};

/// range(start, stop, step), of `size` items, which is not negative. `data`: array data or turns of a loop decide
/// more than where it begins and ends.
Value* makeRange(Trace& trace, Value* start, Value* stop, Value* step, graph::SymId size, bool data) {
  Value* range = trace.make(ValueKind::kRange);
  range->items = {start, stop, step};
  range->sym = size;
  range->opened = data;
  return range;
}

}  // namespace

void Trace::holdRange(Value* range) {
  Ref bounds = checked(PyTuple_New(3));
  for (size_t i = 0; i < 3; ++i)
    PyTuple_SET_ITEM(bounds.get(), static_cast<Py_ssize_t>(i),
                     checked(PyLong_FromLongLong(specialize(asSym(range->items[i])))).release());
  range->object = checked(PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), bounds.get()));
  range->kind = ValueKind::kConstant;
  range->items.clear();
}

/// iter(range) or reversed(range); null for what is no range.
Value* Interpreter::rangeIterator(Value* range, bool reversed) {
  if (range->kind == ValueKind::kObject && PyRange_Check(range->object.get())) trace_.openRange(range);
  if (range->isConstant() && PyRange_Check(range->object.get())) {
    if (reversed) {
      Ref backwards = checked(PySlice_New(nullptr, nullptr, checked(PyLong_FromLong(-1)).get()));
      range = trace_.constant(checked(PyObject_GetItem(range->object.get(), backwards.get())));
    }
    Py_ssize_t size = PyObject_Size(range->object.get());
    if (size < 0) raisesPending();
    return makeIterator(trace_, &PyRangeIter_Type, RangeStep{trace_, range, size});
  }
  if (range->kind != ValueKind::kRange) return nullptr;
  Value *first = range->items[0], *step = range->items[2];
  if (range->opened) {
    if (reversed) {
      Value* last = trace_.pyInt(trace_.syms().sub(range->sym, trace_.syms().constant(1)));
      first = binary(cpython::kNbAdd, false, first, binary(cpython::kNbMultiply, false, step, last));
      step = unary(numpy::Unary::kNegative, step);
    }
    return makeIterator(trace_, &PyRangeIter_Type, DataRangeStep{trace_, first, step, range->sym});
  }
  graph::SymContext& syms = trace_.syms();
  graph::SymId from = trace_.asSym(first), by = trace_.asSym(step);
  if (reversed) {
    from = syms.canonical(syms.add(from, syms.mul(by, syms.sub(range->sym, syms.constant(1)))));
    by = syms.canonical(syms.neg(by));
  }
  return makeIterator(trace_, &PyRangeIter_Type, SymbolicRangeStep{trace_, from, by, range->sym});
}

// ---- making -------------------------------------------------------------------------------------------------------

/// range() of bounds that are not all known. Null for others.
Value* Builtins::rangeOfSymbols(const CallArgs& args) {
  if (!interpreter.mayRoll()) return nullptr;
  Value *zero = number(0), *one = number(1);
  const std::vector<Value*>& given = args.positional;
  Value* first = given.size() > 1 ? given[0] : zero;
  Value* stop = given.size() > 1 ? given[1] : given[0];
  Value* step = given.size() > 2 ? given[2] : one;
  if (Value* range = rangeOfData(first, stop, step)) return range;
  graph::SymContext& syms = trace.syms();
  const graph::SymId from = trace.asSym(first), to = trace.asSym(stop), by = trace.asSym(step);
  if (syms.asConst(from) && syms.asConst(to) && syms.asConst(by)) return nullptr;
  constexpr int64_t kWide = int64_t{1} << 60;
  for (graph::SymId bound : {from, to, by})
    if (!trace.ensureWithin(bound, -kWide, kWide)) return nullptr;
  if (trace.turns.contains(by) || trace.decided.contains(by)) return nullptr;
  const graph::SymId none = syms.constant(0);
  const bool up = trace.decide(none, guards::Relation::kLt, by);
  if (!up && !trace.decide(by, guards::Relation::kLt, none)) return nullptr;  // raises
  const graph::SymId span = syms.canonical(up ? syms.sub(to, from) : syms.sub(from, to));
  const graph::SymId stride = up ? by : syms.canonical(syms.neg(by));
  if (!trace.turns.contains(span) && !trace.decide(none, guards::Relation::kLt, span))
    return makeRange(trace, first, stop, step, none, false);
  graph::SymId size = span;
  if (graph::refinedRange(syms, stride).lo < 1) return nullptr;
  if (!syms.isConst(stride, 1))
    size = syms.canonical(syms.floorDiv(syms.add(span, syms.sub(stride, syms.constant(1))), stride));
  return makeRange(trace, first, stop, step, size, false);
}

/// The same of bounds that array data decides, or a step that turns of a loop do. Null for others.
Value* Builtins::rangeOfData(Value* first, Value* stop, Value* step) {
  const Frame& frame = *interpreter.frame_;
  if (trace.loops->refused.contains({frame.code->identity(), frame.pc + 1})) return nullptr;
  DataInts ints{trace};
  bool data = false;
  for (Value** bound : {&first, &stop, &step}) {
    const bool element = (*bound)->kind == ValueKind::kArrayScalar && !trace.numbers().of(*bound) &&
                         graph::isInteger(trace.graph().type((*bound)->node).dtype);
    if (!element && !DataInts::isInt(*bound)) return nullptr;
    if (element) *bound = ints.fromNumber((*bound)->node);
    data |= (*bound)->kind == ValueKind::kDataInt;
  }
  Value *zero = number(0), *one = number(1);
  data |= step->kind == ValueKind::kPyInt && trace.turns.contains(step->sym);
  if (!data) return nullptr;
  bool up = true;
  if (step->kind == ValueKind::kPyInt) {
    const graph::SymId by = trace.syms().canonical(step->sym), none = trace.syms().constant(0);
    if (!trace.turns.contains(by) || trace.turns.decide(none, guards::Relation::kLt, by) != true) return nullptr;
  } else {
    step = ints.of(step);
    up = step->range.lo > 0;
    if (step->range.lo <= 0 && step->range.hi >= 0) {  // what is written with a minus goes down, or the call fails
      up = trace.graph().node(step->node).op != graph::Op::kNegative;
      step = ints.within(step, up ? graph::SymRange{1, kTurnInts.hi} : graph::SymRange{kTurnInts.lo, -1});
    }
  }
  auto binary = [&](int op, Value* left, Value* right) {
    Value* result = ints.binary(op, left, right);
    return result ? result : ints.of(zero);
  };
  Value* stride = up ? step : binary(cpython::kNbSubtract, zero, step);
  Value* span = up ? binary(cpython::kNbSubtract, stop, first) : binary(cpython::kNbSubtract, first, stop);
  Value* last = binary(cpython::kNbAdd, span, binary(cpython::kNbSubtract, stride, one));
  Value* positive = ints.of(stride);  // it is: what is known of a turn's sign, its range need not say
  positive->range.lo = std::max<int64_t>(1, positive->range.lo);
  Value* size = binary(cpython::kNbFloorDivide, last, positive);
  graph::Graph& g = trace.graph();
  const graph::ValueId none = g.constant(graph::Scalar::ofInt(graph::DType::kI64, 0));
  const graph::ValueId turns =
      numpy::ufuncNode(trace, graph::Op::kWhere, {g.binary(graph::Op::kLess, size->node, none), none, size->node});
  constexpr int64_t kMost = int64_t{1} << 46;
  const graph::SymId count =
      trace.decided.define(turns, trace.syms().constant(0), trace.syms().constant(kMost), {0, kMost});
  return makeRange(trace, first, stop, step, count, true);
}

Value* Builtins::callRange(const CallArgs& args) {
  expect(args, 1, 3);
  if (Value* range = rangeOfSymbols(args)) return range;
  Ref bounds = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i) {
    int64_t bound = trace.specialize(trace.asSym(args.positional[i]));
    PyTuple_SET_ITEM(bounds.get(), i, checked(PyLong_FromLongLong(bound)).release());
  }
  return interpreter.fold(PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), bounds.get()));
}

}  // namespace fw::capture
