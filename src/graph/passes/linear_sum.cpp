// Which float sums need a linear copy of their operand. A sum is added in place if its leading reduced axes are
// provably one run, with at most one more reduced axis further out; sums whose innermost axis is kept need no
// stretches.
#include "graph/linear_sum.h"

#include <algorithm>

#include "graph/pairwise_order.h"
#include "graph/passes/planning.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

/// `layout.order` innermost first, without axes of size 1.
IntList layoutOrder(const Graph& graph, const ValueType& type) {
  IntList order;
  for (size_t i = type.layout.order.size(); i-- > 0;) {
    const int axis = type.layout.order[i];
    if (!graph.syms().isConst(type.shape[axis], 1)) order.push_back(axis);
  }
  return order;
}

bool oneRun(SymContext& syms, const ValueType& type, const SymList& strides, const IntList& order, size_t leading) {
  for (size_t i = 1; i < leading; ++i) {
    const SymId step = syms.canonical(syms.mul(strides[order[i - 1]], type.shape[order[i - 1]]));
    if (syms.provablyEqual(syms.canonical(strides[order[i]]), step) != true) return false;
  }
  return true;
}

}  // namespace

IntList iterationOrder(const Graph& graph, ValueId value) {
  const ValueType& type = graph.type(value);
  const Layout& layout = type.layout;
  std::vector<size_t> place(layout.order.size());
  for (size_t i = 0; i < layout.order.size(); ++i) place[layout.order[i]] = i;
  IntList order;
  for (int axis = type.rank(); axis-- > 0;) {
    if (graph.syms().isConst(type.shape[axis], 1)) continue;
    size_t at = order.size();
    for (size_t i = order.size(); i-- > 0 && !layout.isBroadcast(axis);) {
      if (layout.isBroadcast(static_cast<int>(order[i]))) continue;
      if (place[order[i]] > place[axis]) break;
      at = i;
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  return order;
}

ValueId orderingOperand(const Graph& graph, const Node& reduction) {
  const ValueId operand = reduction.operands[0];
  const bool casts = reduction.attrs.integerOr(AttrKey::kBuffered, 0) != 0 && graph.node(operand).op == Op::kCast;
  return casts ? graph.node(operand).operands[0] : operand;
}

std::optional<SymList> numpyStrides(const Graph& graph, ValueId value) {
  const ValueId base = viewBase(graph, value);
  const Node& node = graph.node(base);
  const Layout& layout = node.type.layout;
  std::optional<SymList> strides;
  if (node.op == Op::kUpdate) {
    strides = numpyStrides(graph, node.operands[0]);
  } else if (node.op == Op::kInput) {
    strides = materialisedStrides(graph, base);
  } else if (layout.contiguity == Contiguity::kPacked && !layout.broadcastAxes && !layout.negativeAxes) {
    strides = packedStrides(graph.syms(), node.type.shape, layout, node.type.dtype);
  }
  if (!strides) return std::nullopt;
  absl::StatusOr<AffineView> view = resolveView(graph, value, *strides);
  if (!view.ok()) return std::nullopt;
  return view->strides;
}

absl::StatusOr<std::optional<LinearSum>> linearise(const Graph& graph, const Node& reduction) {
  const ValueId source = orderingOperand(graph, reduction);
  const ValueType& type = graph.type(source);
  const DType dtype = graph.type(reduction.operands[0]).dtype;
  const bool sum = reduction.op == Op::kSum;
  if ((!sum && reduction.op != Op::kProd) || !isInexact(dtype)) return std::nullopt;
  const IntList& axes = reduction.attrs.ints(AttrKey::kAxes);
  const IntList order = iterationOrder(graph, source);
  const bool expected = order == layoutOrder(graph, type);
  if (type.layout.broadcastAxes && !expected && order.size() > 2)
    return absl::UnimplementedError("float reduction of a broadcast operand that is not in C order");
  if (order.empty() || !contains(axes, order[0])) {
    if (!expected) return absl::UnimplementedError("float reduction of a broadcast operand that is not in C order");
    return std::nullopt;
  }
  size_t leading = 1, reduced = 0;
  while (leading < order.size() && contains(axes, order[leading])) ++leading;
  for (int64_t axis : order) reduced += contains(axes, axis);
  const std::optional<SymList> strides = numpyStrides(graph, source);
  bool inPlace = leading == 1 || (strides && oneRun(graph.syms(), type, *strides, order, leading));
  if (reduced > leading) {
    const bool casts = source != reduction.operands[0];
    inPlace = inPlace && sum && reduced == leading + 1 && !casts && dtype != DType::kF16;
  }
  if (inPlace && expected) return std::nullopt;
  if (!strides) return absl::UnimplementedError("float sum over axes whose strides in NumPy are not known");
  LinearSum linear;
  for (size_t i = 0; i < leading; ++i) linear.runStrides.push_back((*strides)[order[i]]);
  linear.layout.order.clear();
  for (int axis = 0; axis < type.rank(); ++axis)
    if (!contains(order, axis)) linear.layout.order.push_back(static_cast<int8_t>(axis));
  for (bool part : {false, true})
    for (size_t i = order.size(); i-- > 0;)
      if (contains(axes, order[i]) == part) linear.layout.order.push_back(static_cast<int8_t>(order[i]));
  return linear;
}

// chunkOf() for two runs n0, n1 without a cast: rows are joined where 2 * n0 <= min(n0 * n1, 8192). One row is no
// different from several where only one fits, and with a single row there is nothing to join.
SymId rowsPerStretch(SymContext& syms, SymId rowSize) {
  const SymId one = syms.constant(1);
  return syms.max(syms.floorDiv(syms.constant(kNumpyBufferElements), syms.max(rowSize, one)), one);
}

bool mayStage(const Graph& graph, ValueId sum) {
  const Node& node = graph.node(sum);
  if (node.op != Op::kSum || !node.attrs.has(kRunStrides) || node.type.dtype == DType::kF16) return false;
  const SymList& strides = node.attrs.syms(kRunStrides);
  if (strides.size() != 2 || node.attrs.integerOr(AttrKey::kBuffered, 0) != 0) return false;
  const ValueId copy = node.operands[0];
  const ValueType& type = graph.type(copy);
  SymContext& syms = graph.syms();
  size_t reduced = 0;
  for (int64_t axis : node.attrs.ints(AttrKey::kAxes)) reduced += !syms.isConst(type.shape[axis], 1);
  const ValueId base = viewBase(graph, graph.node(copy).operands[0]);
  if (reduced != 2 || info(graph.node(base).op).cls == OpClass::kCreation || graph.type(base).rank() == 0) return false;
  const SymId step = syms.canonical(syms.mul(strides[0], type.shape[type.layout.order.back()]));
  return syms.provablyEqual(syms.canonical(strides[1]), step) == false;
}

}  // namespace fw::graph
