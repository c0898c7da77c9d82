// The bounds are clipped in the graph, as numbers; what comes out becomes two symbols, the size and then the place.
// In this order: the place lies where so many elements fit into the axis, which its definition checks, so that accesses
// are proved whatever the size is taken to be later.
#include "frame_eval/numpy/data_slices.h"

#include <algorithm>

#include "frame_eval/data_ints.h"
#include "graph/symint_facts.h"

namespace fw::capture::numpy {
namespace {

class Clipped {
 public:
  Clipped(Trace& trace, SymId n, int64_t step)
      : trace_(trace),
        graph_(trace.graph()),
        n_(n),
        most_(std::max<int64_t>(0, graph::refinedRange(trace.syms(), n).hi)),
        low_(step > 0 ? 0 : -1) {}

  int64_t most() const { return most_; }
  ValueId number(int64_t value) { return graph_.constant(Scalar::ofInt(DType::kI64, value)); }
  ValueId low() { return number(low_); }
  ValueId high() { return low_ == 0 ? graph_.sym(n_) : graph_.sym(trace_.syms().sub(n_, trace_.syms().constant(1))); }

  ValueId bound(Value* given) {
    DataInts ints{trace_};
    if (given->which) trace_.branches.refuse(given);
    Value* value = given->kind == ValueKind::kArrayScalar ? ints.fromNumber(given->node) : ints.of(given);
    if (!value) unsupported("a bound of a slice beyond 62 bits");
    ValueId node = value->node;
    const graph::SymRange range = value->range;
    if (range.lo < 0) {
      const ValueId fromEnd = graph_.binary(Op::kAdd, node, graph_.sym(n_));
      node = range.hi < 0 ? fromEnd : select(graph_.binary(Op::kLess, node, number(0)), fromEnd, node);
      node = greater(node, low());
    }
    return select(graph_.binary(Op::kLess, high(), node), high(), node);
  }

  ValueId greater(ValueId a, ValueId b) { return select(graph_.binary(Op::kLess, a, b), b, a); }
  ValueId select(ValueId condition, ValueId yes, ValueId no) {
    return ufuncNode(trace_, Op::kWhere, {condition, yes, no});
  }

 private:
  Trace& trace_;
  graph::Graph& graph_;
  SymId n_;
  int64_t most_, low_;
};

}  // namespace

bool isDataIndex(Trace& trace, Value* index) {
  return index->kind == ValueKind::kDataInt ||
         (index->kind == ValueKind::kArrayScalar && graph::isInteger(trace.graph().type(index->node).dtype) &&
          !trace.onDevice());
}

SliceOf sliceByData(Trace& trace, SymId n, Value* start, Value* stop, int64_t step) {
  graph::Graph& g = trace.graph();
  graph::SymContext& syms = trace.syms();
  Clipped clipped(trace, n, step);
  const bool up = step > 0;
  const int64_t stride = up ? step : -step;
  ValueId first = isNone(start) ? (up ? clipped.low() : clipped.high()) : clipped.bound(start);
  const ValueId last = isNone(stop) ? (up ? clipped.high() : clipped.low()) : clipped.bound(stop);
  const ValueId zero = clipped.number(0);
  ValueId count = last;
  if (!up || !isNone(start)) {
    count = clipped.greater(up ? g.binary(Op::kSubtract, last, first) : g.binary(Op::kSubtract, first, last), zero);
    if (stride != 1)
      count = g.binary(Op::kFloorDivide, g.binary(Op::kAdd, count, clipped.number(stride - 1)), clipped.number(stride));
  } else if (stride != 1) {
    count = g.binary(Op::kFloorDivide, g.binary(Op::kAdd, count, clipped.number(stride - 1)), clipped.number(stride));
  }
  // What is empty begins at the first element, and is stepped through by 1: the latter is left to Python.
  const int64_t least = stride == 1 && up ? 0 : 1;
  const SymId size = trace.decided.define(count, syms.constant(least), n, {least, clipped.most()});
  if (isNone(start)) return {up ? syms.constant(0) : syms.sub(n, syms.constant(1)), syms.constant(step), size};
  if (least == 0) first = clipped.select(g.binary(Op::kEqual, count, zero), zero, first);
  // The last element is at start + step * (size - 1).
  const SymId one = syms.constant(1), end = syms.sub(n, one);
  const SymId reach = syms.mul(syms.constant(stride), syms.sub(size, one));
  const SymId place = up ? trace.decided.define(first, syms.constant(0), syms.sub(end, reach), {0, clipped.most()})
                         : trace.decided.define(first, reach, end, {0, clipped.most()});
  return {place, syms.constant(step), size};
}

}  // namespace fw::capture::numpy
