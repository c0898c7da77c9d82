// Functions that look at the same elements under another shape. Whether NumPy answers with a view or a copy is decided
// as NumPy decides it, from the strides, where these are known as expressions.
#include <algorithm>

#include "frame_eval/numpy/binding.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"
#include "graph/views.h"

namespace fw::capture::numpy {

Value* arrayValue(Trace& trace, Value* value) {
  if (value->kind == ValueKind::kArray) return value;
  ValueId node = asArray(trace, value);
  // Memory of its own, which views of it can name as their base.
  return trace.array(trace.graph().type(node).rank() == 0 ? copyAs(trace, node, graph::Layout::c(0)) : node);
}

namespace {

int rankOf(Trace& trace, Value* array) { return trace.graph().type(array->node).rank(); }

/// Strides in bytes, as far as they follow from shapes; nullopt for views of arguments that are not packed.
std::optional<SymList> stridesOf(Trace& trace, ValueId node) {
  graph::Graph& g = trace.graph();
  ValueId base = graph::viewBase(g, node);
  const ValueType& type = g.type(base);
  if (type.layout.contiguity != graph::Contiguity::kPacked || type.layout.broadcastAxes || type.layout.negativeAxes)
    return std::nullopt;
  auto view = graph::resolveView(g, node, graph::packedStrides(trace.syms(), type.shape, type.layout, type.dtype));
  if (!view.ok()) return std::nullopt;
  return view->strides;
}

bool isOne(Trace& trace, SymId size) { return trace.decide(size, Relation::kEq, trace.syms().constant(1)); }

/// Flag C_CONTIGUOUS.
bool isContiguous(Trace& trace, ValueId node) {
  const ValueType type = trace.graph().type(node);
  if (type.layout.isPackedC()) return true;
  if (trace.graph().node(node).op == Op::kInput) return false;  // its layout class says so
  SymShape shape = shapeOf(trace, node);
  const SymId count = elementCount(trace, shape);
  // As an equality, which the graph knows: the layout of what has no elements allows every shape without any.
  if (!isPositive(trace, count)) return trace.decide(count, Relation::kEq, trace.syms().constant(0));
  auto strides = stridesOf(trace, node);
  if (!strides) unsupported("a reshape of a view of an array that is not contiguous");
  SymId expected = trace.syms().constant(graph::itemSize(type.dtype));
  for (size_t i = shape.size(); i-- > 0;) {
    if (isOne(trace, shape[i])) continue;
    if (!trace.decide((*strides)[i], Relation::kEq, expected)) return false;
    expected = trace.syms().mul(expected, shape[i]);
  }
  return true;
}

/// NumPy's attempt to reshape without a copy (C order): groups of old and new axes with the same number of elements,
/// inside which the old axes have to follow each other in memory.
bool viewableAs(Trace& trace, ValueId node, const SymShape& to) {
  if (isContiguous(trace, node)) return true;
  auto strides = stridesOf(trace, node);
  if (!strides) {
    if (trace.graph().type(node).rank() == 1) return true;  // a single axis can always be split
    unsupported("a reshape of an argument that is not contiguous");
  }
  graph::SymContext& syms = trace.syms();
  SymShape from;
  SymList steps;
  SymShape shape = shapeOf(trace, node);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (isOne(trace, shape[i])) continue;
    from.push_back(shape[i]);
    steps.push_back((*strides)[i]);
  }
  size_t oi = 0, oj = 1, ni = 0, nj = 1;
  while (ni < to.size() && oi < from.size()) {
    SymId np = to[ni], op = from[oi];
    while (!sameSize(trace, np, op)) {
      if (trace.decide(np, Relation::kLt, op)) {
        FW_CHECK(nj < to.size());
        np = syms.mul(np, to[nj++]);
      } else {
        FW_CHECK(oj < from.size());
        op = syms.mul(op, from[oj++]);
      }
    }
    for (size_t ok = oi; ok + 1 < oj; ++ok) {
      if (!trace.decide(steps[ok], Relation::kEq, syms.mul(from[ok + 1], steps[ok + 1]))) return false;
    }
    ni = nj++;
    oi = oj++;
  }
  return true;
}

Value* reshapeTo(Trace& trace, Value* value, const SymShape& to) {
  Value* array = arrayValue(trace, value);
  SymShape from = shapeOf(trace, array->node);
  if (from == to) return makeView(trace, array, array->node);
  // Where the memory does not allow the shape, NumPy answers a view of a copy.
  if (!viewableAs(trace, array->node, to)) {
    array = trace.array(copyAs(trace, array->node, graph::Layout::c(static_cast<int>(from.size()))));
  }
  return makeView(trace, array, trace.graph().reshape(array->node, to, false));
}

/// Takes common factors out of two products; those of `b` are not 0.
void cancel(graph::SymContext& syms, SymShape& a, SymShape& b) {
  for (SymId& y : b) {
    for (SymId& x : a) {
      if (syms.isConst(y, 1)) break;
      if (const std::optional<SymId> more = graph::exactQuotient(syms, x, y)) {
        x = *more;
        y = syms.constant(1);
      } else if (const std::optional<SymId> rest = graph::exactQuotient(syms, y, x)) {
        x = syms.constant(1);
        y = *rest;
      }
    }
  }
  for (SymShape* product : {&a, &b})
    product->erase(std::remove(product->begin(), product->end(), syms.constant(1)), product->end());
}

/// The size that stands for -1, given the others.
SymId missingSize(Trace& trace, SymShape total, SymShape known) {
  graph::SymContext& syms = trace.syms();
  if (!isPositive(trace, elementCount(trace, known)))
    raises("cannot reshape an array of size 0 with an unknown dimension");
  cancel(syms, total, known);
  // One factor after the other: their ranges are known, that of a product made before its factors were guarded may be
  // not.
  SymId size = elementCount(trace, total), divisor = elementCount(trace, known);
  if (syms.asConst(divisor)) known = {divisor};
  for (SymId factor : known) {
    (void)isPositive(trace, factor);
    factor = syms.canonical(factor);
    if (graph::refinedRange(syms, factor).lo <= 0) factor = syms.constant(trace.specialize(factor));
    size = syms.floorDiv(size, factor);
  }
  if (!sameSize(trace, syms.mul(size, divisor), elementCount(trace, total)))
    raises("cannot reshape array into this shape");
  return syms.canonical(size);
}

Value* reshapeBy(Trace& trace, Value* array, const std::vector<Value*>& sizes) {
  graph::SymContext& syms = trace.syms();
  SymShape to, known;
  int missing = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SymId s = sizeArg(trace, sizes[i]);
    if (trace.decide(s, Relation::kLt, syms.constant(0))) {
      if (missing >= 0) raises("can only specify one unknown dimension");
      missing = static_cast<int>(i);
    } else {
      known.push_back(s);
    }
    to.push_back(s);
  }
  array = arrayValue(trace, array);
  SymShape from = shapeOf(trace, array->node);
  if (missing >= 0) {
    to[static_cast<size_t>(missing)] = missingSize(trace, from, known);
  } else if (!sameSize(trace, elementCount(trace, from), elementCount(trace, to))) {
    raises("cannot reshape array into this shape");
  }
  for (SymId& s : to) s = syms.canonical(s);
  return reshapeTo(trace, array, to);
}

std::vector<Value*> shapeItems(Trace& trace, Value* shape) {
  if (auto items = sequenceItems(trace, shape)) return *items;
  if (shape->kind == ValueKind::kArray && rankOf(trace, shape) > 0) unsupported("sizes or axes that an array holds");
  return {shape};
}

Value* transposeBy(Trace& trace, Value* array, const IntList& perm) {
  array = arrayValue(trace, array);
  if (rankOf(trace, array) < 2) return makeView(trace, array, array->node);
  return makeView(trace, array, trace.graph().transpose(array->node, perm));
}

IntList reversed(int rank) {
  IntList perm;
  for (int i = rank; i-- > 0;) perm.push_back(i);
  return perm;
}

IntList naturalOrder(int rank) {
  IntList perm = reversed(rank);
  std::reverse(perm.begin(), perm.end());
  return perm;
}

Value* transposeAxes(Trace& trace, Value* array, const std::vector<Value*>& axes) {
  array = arrayValue(trace, array);
  int rank = rankOf(trace, array);
  if (static_cast<int>(axes.size()) != rank) raises("axes don't match array");
  IntList perm;
  for (Value* axis : axes) {
    int64_t a = axisArg(trace, axis, rank);
    if (std::find(perm.begin(), perm.end(), a) != perm.end()) raises("repeated axis in transpose");
    perm.push_back(a);
  }
  return transposeBy(trace, array, perm);
}

/// int or tuple of ints, in the order given.
IntList axisList(Trace& trace, Value* axes, int rank) {
  IntList list;
  for (Value* axis : shapeItems(trace, axes)) {
    int64_t a = axisArg(trace, axis, rank);
    if (std::find(list.begin(), list.end(), a) != list.end()) raises("repeated axis");
    list.push_back(a);
  }
  return list;
}

Value* flipAxes(Trace& trace, Value* array, const IntList& axes) {
  array = arrayValue(trace, array);
  graph::SymContext& syms = trace.syms();
  SymShape shape = shapeOf(trace, array->node);
  SymList starts(shape.size(), syms.constant(0)), steps(shape.size(), syms.constant(1));
  for (int64_t axis : axes) {
    auto i = static_cast<size_t>(axis);
    starts[i] = syms.sub(shape[i], syms.constant(1));
    steps[i] = syms.constant(-1);
  }
  if (shape.empty() && !trace.onDevice()) return trace.arrayOrScalar(array->node);  // array[()]
  if (axes.empty() || shape.empty()) return makeView(trace, array, array->node);
  return makeView(trace, array, trace.graph().slice(array->node, starts, steps, shape));
}

Value* atLeast(Trace& trace, Value* value, int rank) {
  Value* array = arrayValue(trace, value);
  int have = rankOf(trace, array);
  if (have >= rank) return array;
  IntList axes = naturalOrder(rank - have);
  return makeView(trace, array, trace.graph().expand(array->node, axes));
}

Value* atLeastAll(Bound& a, int rank) {
  std::vector<Value*> results;
  for (Value* v : a.rest) results.push_back(atLeast(a.trace, v, rank));
  return results.size() == 1 ? results[0] : a.trace.tuple(std::move(results));
}

}  // namespace

Value* atLeastRank(Trace& trace, Value* value, int rank) { return atLeast(trace, value, rank); }

Value* ravelValue(Trace& trace, Value* value) {
  Value* array = arrayValue(trace, value);
  SymShape to{elementCount(trace, shapeOf(trace, array->node))};
  if (isContiguous(trace, array->node)) {
    return makeView(trace, array,
                    rankOf(trace, array) == 1 ? array->node : trace.graph().reshape(array->node, to, false));
  }
  if (trace.onDevice()) unsupported("ravel of an array that is not contiguous on a device");
  if (rankOf(trace, array) == 1) return trace.array(copyAs(trace, array->node, graph::Layout::c(1)));
  return trace.array(trace.graph().reshape(array->node, to, true));
}

namespace handlers {

Value* reshape(Bound& a) {
  checkOrder(a["order"], "");
  if (!a["shape"]) a.refuse("no shape");
  return reshapeBy(a.trace, a["a"], shapeItems(a.trace, a["shape"]));
}

Value* reshapeMethod(Bound& a) {
  checkOrder(a["order"], "");
  if (a.rest.empty()) a.refuse("no shape");
  if (a["a"]->kind != ValueKind::kArray) a.refuse("a NumPy scalar");
  return reshapeBy(a.trace, a["a"], a.rest.size() == 1 ? shapeItems(a.trace, a.rest[0]) : a.rest);
}

Value* ravel(Bound& a) {
  checkOrder(a["order"], "");
  return ravelValue(a.trace, a["a"]);
}

Value* flatten(Bound& a) {
  checkOrder(a["order"], "");
  graph::Graph& g = a.trace.graph();
  ValueId node = a.array("a");
  if (g.type(node).rank() == 1) return a.trace.array(copyAs(a.trace, node, graph::Layout::c(1)));
  return a.trace.array(g.reshape(node, {elementCount(a.trace, shapeOf(a.trace, node))}, true));
}

Value* transpose(Bound& a) {
  if (a["a"]->kind != ValueKind::kArray) a.refuse("something that is no array");
  Value* array = arrayValue(a.trace, a["a"]);
  if (absent(a["axes"])) return transposeBy(a.trace, array, reversed(rankOf(a.trace, array)));
  return transposeAxes(a.trace, array, shapeItems(a.trace, a["axes"]));
}

Value* transposeMethod(Bound& a) {
  if (a["a"]->kind != ValueKind::kArray) a.refuse("a NumPy scalar");
  bool none = a.rest.empty() || (a.rest.size() == 1 && isNone(a.rest[0]));
  if (none) return transposeBy(a.trace, a["a"], reversed(rankOf(a.trace, a["a"])));
  return transposeAxes(a.trace, a["a"], a.rest.size() == 1 ? shapeItems(a.trace, a.rest[0]) : a.rest);
}

Value* matrixTranspose(Bound& a) {
  Value* array = arrayValue(a.trace, a["x"]);
  int rank = rankOf(a.trace, array);
  if (rank < 2) raises("matrix_transpose of an array of rank below 2");
  IntList perm = naturalOrder(rank);
  std::swap(perm[static_cast<size_t>(rank) - 1], perm[static_cast<size_t>(rank) - 2]);
  return transposeBy(a.trace, array, perm);
}

Value* swapaxes(Bound& a) {
  Value* array = arrayValue(a.trace, a["a"]);
  int rank = rankOf(a.trace, array);
  IntList perm = naturalOrder(rank);
  int i = axisArg(a.trace, a["axis1"], rank), j = axisArg(a.trace, a["axis2"], rank);
  std::swap(perm[static_cast<size_t>(i)], perm[static_cast<size_t>(j)]);
  return transposeBy(a.trace, array, perm);
}

Value* moveaxis(Bound& a) {
  Value* array = arrayValue(a.trace, a["a"]);
  int rank = rankOf(a.trace, array);
  IntList source = axisList(a.trace, a["source"], rank), destination = axisList(a.trace, a["destination"], rank);
  if (source.size() != destination.size()) raises("moveaxis needs as many destinations as sources");
  IntList order;
  for (int i = 0; i < rank; ++i) {
    if (std::find(source.begin(), source.end(), i) == source.end()) order.push_back(i);
  }
  std::vector<std::pair<int64_t, int64_t>> moves;
  for (size_t i = 0; i < source.size(); ++i) moves.emplace_back(destination[i], source[i]);
  std::sort(moves.begin(), moves.end());
  for (auto [to, from] : moves) order.insert(order.begin() + to, from);
  return transposeBy(a.trace, array, order);
}

Value* rollaxis(Bound& a) {
  Value* array = arrayValue(a.trace, a["a"]);
  int rank = rankOf(a.trace, array);
  int axis = axisArg(a.trace, a["axis"], rank);
  int64_t start = a["start"] ? knownInt(a.trace, a["start"]) : 0;
  if (start < 0) start += rank;
  if (start < 0 || start > rank) raises("AxisError: start of rollaxis");
  if (axis < start) --start;
  if (axis == start) return makeView(a.trace, array, array->node);
  IntList perm = naturalOrder(rank);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin() + start, axis);
  return transposeBy(a.trace, array, perm);
}

Value* expandDims(Bound& a) {
  Value* array = arrayValue(a.trace, a["a"]);
  std::vector<Value*> items = shapeItems(a.trace, a["axis"]);
  IntList axes = axisList(a.trace, a["axis"], rankOf(a.trace, array) + static_cast<int>(items.size()));
  std::sort(axes.begin(), axes.end());
  return makeView(a.trace, array, a.trace.graph().expand(array->node, axes));
}

Value* squeeze(Bound& a) {
  if (a["a"]->kind != ValueKind::kArray) a.refuse("something that is no array");
  Value* array = arrayValue(a.trace, a["a"]);
  SymShape shape = shapeOf(a.trace, array->node);
  IntList axes;
  if (absent(a["axis"])) {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (sameSize(a.trace, shape[i], a.trace.syms().constant(1))) axes.push_back(static_cast<int64_t>(i));
    }
  } else {
    axes = axesArg(a.trace, a["axis"], static_cast<int>(shape.size()));
    for (int64_t axis : axes) {
      if (!sameSize(a.trace, shape[static_cast<size_t>(axis)], a.trace.syms().constant(1))) {
        raises("cannot select an axis to squeeze out which has size not equal to one");
      }
    }
  }
  if (axes.empty()) return array;
  return makeView(a.trace, array, a.trace.graph().squeeze(array->node, axes));
}

Value* broadcastTo(Bound& a) {
  Value* array = arrayValue(a.trace, a["array"]);
  SymShape shape = shapeArg(a.trace, a["shape"]);
  Value* view = makeView(a.trace, array, broadcastInto(a.trace, array->node, shape, false));
  view->frozen = true;
  return view;
}

Value* slidingWindowView(Bound& a) {
  Value* array = a["x"];
  if (array->kind != ValueKind::kArray) a.refuse("something that is no array");
  if (a.trace.onDevice()) a.refuse("an array of a device");
  graph::Graph& g = a.trace.graph();
  const graph::Layout& layout = g.type(array->node).layout;
  if (layout.tiedAxes || layout.interleaved || layout.broadcastAxes) a.refuse("an array whose elements share memory");
  std::vector<Value*> sizes{a["window_shape"]};
  if (auto items = sequenceItems(a.trace, sizes[0])) sizes = *items;
  const int rank = rankOf(a.trace, array);
  std::vector<int> axes;
  if (absent(a["axis"])) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  } else if (auto items = sequenceItems(a.trace, a["axis"])) {
    for (Value* item : *items) axes.push_back(axisArg(a.trace, item, rank));
  } else {
    axes.push_back(axisArg(a.trace, a["axis"], rank));
  }
  if (axes.size() != sizes.size()) raises("ValueError: Must provide a window for each axis");
  graph::SymContext& syms = a.trace.syms();
  ValueId node = array->node;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::find(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<ptrdiff_t>(i))
      a.refuse("an axis twice");
    const SymId size = sizeArg(a.trace, sizes[i]), own = shapeOf(a.trace, node)[static_cast<size_t>(axes[i])];
    if (!a.trace.decide(syms.constant(1), Relation::kLe, size)) a.refuse("a window of no elements");
    if (!a.trace.decide(size, Relation::kLe, own)) raises("ValueError: window shape cannot be larger than input array");
    node = g.windows(node, axes[i], syms.canonical(size));
  }
  Value* view = makeView(a.trace, array, node);
  view->frozen = true;
  return view;
}

Value* flip(Bound& a) {
  Value* array = arrayValue(a.trace, a["m"]);
  return flipAxes(a.trace, array, axesArg(a.trace, a["axis"], rankOf(a.trace, array)));
}

/// Turned by multiples of 90 degrees: NumPy's own way by flips and a transposition.
Value* rot90(Bound& a) {
  Value* array = arrayValue(a.trace, a["m"]);
  const int rank = rankOf(a.trace, array);
  IntList axes{0, 1};
  if (!absent(a["axes"])) {
    axes.clear();
    for (Value* axis : shapeItems(a.trace, a["axes"])) axes.push_back(axisArg(a.trace, axis, rank));
  }
  if (axes.size() != 2 || rank < 2 || axes[0] == axes[1]) raises("axes that rot90 does not turn");
  const int64_t turns = a["k"] ? ((knownInt(a.trace, a["k"]) % 4) + 4) % 4 : 1;
  IntList perm = naturalOrder(rank);
  std::swap(perm[static_cast<size_t>(axes[0])], perm[static_cast<size_t>(axes[1])]);
  switch (turns) {
    case 0: return flipAxes(a.trace, array, {});
    case 1: return transposeBy(a.trace, flipAxes(a.trace, array, {axes[1]}), perm);
    case 2: return flipAxes(a.trace, array, axes);
    default: return flipAxes(a.trace, transposeBy(a.trace, array, perm), {axes[1]});
  }
}

Value* fliplr(Bound& a) {
  Value* array = arrayValue(a.trace, a["m"]);
  if (rankOf(a.trace, array) < 2) raises("Input must be >= 2-d.");
  return flipAxes(a.trace, array, {1});
}

Value* flipud(Bound& a) {
  Value* array = arrayValue(a.trace, a["m"]);
  if (rankOf(a.trace, array) < 1) raises("Input must be >= 1-d.");
  return flipAxes(a.trace, array, {0});
}

Value* atleast1d(Bound& a) { return atLeastAll(a, 1); }
Value* atleast2d(Bound& a) { return atLeastAll(a, 2); }

}  // namespace handlers
}  // namespace fw::capture::numpy
