// Diagonals of matrices, which NumPy answers as views that cannot be written, and matrices from a diagonal.
#include <cstdlib>

#include "frame_eval/numpy/library.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

/// Elements [i, i + offset]: the diagonal of the square that begins at the first of them.
Value* diagonalOf(Trace& trace, Value* array, int64_t offset) {
  graph::Graph& g = trace.graph();
  graph::SymContext& syms = trace.syms();
  const graph::Layout& layout = g.type(array->node).layout;
  if (layout.negativeAxes != 0 && layout.negativeAxes != 3)
    unsupported("a diagonal of an array of which one axis is reversed");
  const SymShape shape = shapeOf(trace, array->node);
  const SymId zero = syms.constant(0), one = syms.constant(1);
  const SymId row = syms.constant(offset < 0 ? -offset : 0), column = syms.constant(offset > 0 ? offset : 0);
  const SymId rows = syms.sub(shape[0], row), columns = syms.sub(shape[1], column);
  SymId size = columns;
  if (!sameSize(trace, rows, columns) && trace.decide(rows, Relation::kLt, columns)) size = rows;
  // One that begins outside has no elements, wherever it is.
  if (!trace.decide(zero, Relation::kLe, size))
    return makeView(trace, array, g.diagonal(g.slice(array->node, {zero, zero}, {one, one}, {zero, zero})));
  size = syms.canonical(size);
  ValueId square = array->node;
  if (offset != 0 || shape[0] != size || shape[1] != size)
    square = g.slice(square, {row, column}, {one, one}, {size, size});
  return makeView(trace, array, g.diagonal(square));
}

int64_t offsetOf(Bound& a, std::string_view name) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (!a[name]) return 0;
  const int64_t offset = knownInt(a.trace, a[name]);
  if (std::abs(offset) > kMost) a.refuse(name);
  return offset;
}

Value* readOnly(Value* view) {
  view->frozen = true;
  return view;
}

}  // namespace

namespace handlers {

Value* diagonal(Bound& a) {
  Value* array = a["a"];
  if (array->kind != ValueKind::kArray) a.refuse("something that is no array");
  if (a.trace.graph().type(array->node).rank() != 2) a.refuse("an array that is no matrix");
  const int64_t first = a["axis1"] ? axisArg(a.trace, a["axis1"], 2) : 0;
  const int64_t second = a["axis2"] ? axisArg(a.trace, a["axis2"], 2) : 1;
  if (first == second) raises("axis1 and axis2 cannot be the same");
  const int64_t offset = offsetOf(a, "offset");
  return readOnly(diagonalOf(a.trace, array, first == 0 ? offset : -offset));
}

Value* diag(Bound& a) {
  Value* array = a["v"];
  if (array->kind != ValueKind::kArray) a.refuse("v");
  const ValueType& type = a.trace.graph().type(array->node);
  if (type.rank() == 2) return readOnly(diagonalOf(a.trace, array, offsetOf(a, "k")));
  if (type.rank() != 1) raises("Input must be 1- or 2-d.");
  graph::SymContext& syms = a.trace.syms();
  const SymId n = syms.add(shapeOf(a.trace, array->node)[0], syms.constant(std::abs(offsetOf(a, "k"))));
  return quietValue(a, freshType(type.dtype, {n, n}));
}

}  // namespace handlers
}  // namespace fw::capture::numpy
