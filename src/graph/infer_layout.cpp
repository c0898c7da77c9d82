// Layouts of results. Fresh arrays get the order that NumPy's allocation gives them and are packed; views transform the
// operand's layout exactly as far as Layout can say it, and otherwise to a weaker contiguity.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "graph/axes.h"
#include "graph/cast_inside.h"
#include "graph/infer_internal.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

using Operands = absl::Span<const ValueType* const>;
using Order = absl::InlinedVector<int8_t, 4>;

uint32_t bit(int64_t axis) { return 1u << axis; }
bool has(uint32_t set, int64_t axis) { return (set >> axis & 1) != 0; }

/// Axes that have a stride worth speaking of.
uint32_t realAxes(const SymContext& syms, const SymShape& shape, const Layout& layout) {
  uint32_t all = (1u << shape.size()) - 1;
  return all & ~(unitAxes(syms, shape) | layout.broadcastAxes);
}

int innermost(const Layout& layout, uint32_t axes) {
  for (size_t i = layout.order.size(); i-- > 0;) {
    if (has(axes, layout.order[i])) return layout.order[i];
  }
  return -1;
}

int outermost(const Layout& layout, uint32_t axes) {
  for (int8_t a : layout.order) {
    if (has(axes, a)) return a;
  }
  return -1;
}

/// Signs and zeros of axes of size 1 mean nothing.
void forgetUnitAxes(const SymContext& syms, const SymShape& shape, Layout& layout) {
  uint32_t units = unitAxes(syms, shape);
  layout.broadcastAxes &= ~units;
  layout.negativeAxes &= ~units;
}

/// Axes of one stride in their order after each has been multiplied by its step: by falling stride, and as in C order
/// where that is one. `before` and `after` are the axes that have a stride before and after.
void orderTies(Layout& layout, uint32_t before, uint32_t after, absl::Span<const int64_t> steps) {
  if (layout.tiedAxes == 0) return;
  const uint32_t tied = std::exchange(layout.tiedAxes, 0);
  const auto step = [&](int8_t axis) { return steps[static_cast<size_t>(axis)]; };
  absl::InlinedVector<size_t, 4> places;  // of one stride, those that still have one
  Order axes;
  const auto close = [&] {
    std::sort(axes.begin(), axes.end(),
              [&](int8_t a, int8_t b) { return std::pair(-step(a), a) < std::pair(-step(b), b); });
    for (size_t k = 0; k < axes.size(); ++k) {
      layout.order[places[k]] = axes[k];
      if (k == 0) continue;
      if (step(axes[k]) == step(axes[k - 1]))
        layout.tiedAxes |= bit(axes[k]);
      else
        layout.interleaved = true;
    }
    places.clear();
    axes.clear();
  };
  for (size_t i = 0; i < layout.order.size(); ++i) {
    const int8_t axis = layout.order[i];
    if (!has(before, axis)) continue;
    if (!has(tied, axis)) close();
    if (!has(after, axis)) continue;
    places.push_back(i);
    axes.push_back(axis);
  }
  close();
}

/// NB: the steps are constants wherever axes are tied, and 1 or -1 where they interleave: capture leaves the rest to
/// Python, because the order would depend on strides.
Layout sliceLayout(SymContext& syms, const ValueType& operand, const Attrs& attrs, const SymShape& shape) {
  const SymList& steps = attrs.syms(AttrKey::kSteps);
  Layout result = operand.layout;
  absl::InlinedVector<int64_t, 4> factors;
  uint32_t changed = 0, strided = 0;
  for (int i = 0; i < operand.rank(); ++i) {
    auto at = static_cast<size_t>(i);
    bool forward = syms.isConst(steps[at], 1), backward = syms.isConst(steps[at], -1);
    if (syms.range(steps[at]).hi < 0) result.negativeAxes ^= bit(i) & ~operand.layout.broadcastAxes;
    if (!forward && !backward) strided |= bit(i);
    factors.push_back(std::abs(syms.range(steps[at]).hi));
    bool sameSize = shape[at] == operand.shape[at] || syms.provablyEqual(shape[at], operand.shape[at]) == true;
    if (!sameSize || strided & bit(i)) changed |= bit(i);
  }
  uint32_t real = realAxes(syms, operand.shape, operand.layout);
  changed &= real;
  strided &= real;
  forgetUnitAxes(syms, shape, result);
  const uint32_t left = realAxes(syms, shape, result);
  orderTies(result, real, left, factors);
  if (std::popcount(left) < 2) result.interleaved = false;
  if (left == 0) {
    result.contiguity = Contiguity::kPacked;
    return result;
  }
  int outer = outermost(operand.layout, real), inner = innermost(operand.layout, real);
  bool stillPacked = (changed & ~bit(outer < 0 ? 0 : outer)) == 0 && (strided & changed) == 0;
  if (result.contiguity == Contiguity::kPacked && !stillPacked) result.contiguity = Contiguity::kInner;
  bool innerGone = inner >= 0 && (has(strided, inner) || syms.isConst(shape[static_cast<size_t>(inner)], 1));
  if (result.contiguity == Contiguity::kInner && innerGone) result.contiguity = Contiguity::kStrided;
  return result;
}

Layout transposeLayout(const SymContext& syms, const ValueType& operand, const IntList& perm, const SymShape& shape) {
  const Layout& layout = operand.layout;
  Layout result;
  result.contiguity = layout.contiguity;
  result.interleaved = layout.interleaved;
  Order inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int8_t>(i);
    if (has(layout.broadcastAxes, perm[i])) result.broadcastAxes |= bit(static_cast<int64_t>(i));
    if (has(layout.negativeAxes, perm[i])) result.negativeAxes |= bit(static_cast<int64_t>(i));
    if (has(layout.tiedAxes, perm[i])) result.tiedAxes |= bit(static_cast<int64_t>(i));
  }
  for (int8_t a : layout.order) result.order.push_back(inverse[static_cast<size_t>(a)]);
  const uint32_t real = realAxes(syms, shape, result);
  orderTies(result, real, real, absl::InlinedVector<int64_t, 4>(perm.size(), 1));
  return result;
}

uint32_t insertBit(uint32_t set, int axis) {
  uint32_t below = set & (bit(axis) - 1);
  return below | (set & ~(bit(axis) - 1)) << 1;
}

/// A new axis of size 1 goes where it keeps C order C and F order F.
Layout expandLayout(Layout layout, const IntList& axes) {
  for (int64_t axis64 : axes) {
    auto axis = static_cast<int8_t>(axis64);
    bool cOrder = layout.isCOrder(), fOrder = !cOrder && layout.isFOrder();
    for (int8_t& a : layout.order) a = static_cast<int8_t>(a >= axis ? a + 1 : a);
    layout.broadcastAxes = insertBit(layout.broadcastAxes, axis);
    layout.negativeAxes = insertBit(layout.negativeAxes, axis);
    layout.tiedAxes = insertBit(layout.tiedAxes, axis);
    int8_t rank = static_cast<int8_t>(layout.order.size());
    auto position = cOrder ? axis : fOrder ? static_cast<int8_t>(rank - axis) : int8_t{0};
    layout.order.insert(layout.order.begin() + position, axis);
  }
  return layout;
}

Layout squeezeLayout(const Layout& layout, const IntList& axes) {
  Layout result;
  result.contiguity = layout.contiguity;
  result.interleaved = layout.interleaved;
  auto dropped = [&](int a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); };
  Order renamed(layout.order.size(), -1);
  int8_t next = 0;
  for (int a = 0; a < layout.rank(); ++a) {
    if (dropped(a)) continue;
    if (layout.isBroadcast(a)) result.broadcastAxes |= bit(next);
    if (layout.isNegative(a)) result.negativeAxes |= bit(next);
    if (has(layout.tiedAxes, a)) result.tiedAxes |= bit(next);
    renamed[static_cast<size_t>(a)] = next++;
  }
  for (int8_t a : layout.order) {
    if (renamed[static_cast<size_t>(a)] >= 0) result.order.push_back(renamed[static_cast<size_t>(a)]);
  }
  return result;
}

Layout broadcastLayout(SymContext& syms, const ValueType& operand, const SymShape& shape) {
  int shift = static_cast<int>(shape.size()) - operand.rank();
  Layout result;
  result.contiguity = operand.layout.contiguity;
  result.broadcastAxes = operand.layout.broadcastAxes << shift | (bit(shift) - 1);
  result.negativeAxes = operand.layout.negativeAxes << shift;
  result.tiedAxes = operand.layout.tiedAxes << shift;
  result.interleaved = operand.layout.interleaved;
  for (int i = 0; i < shift; ++i) result.order.push_back(static_cast<int8_t>(i));
  for (int8_t a : operand.layout.order) result.order.push_back(static_cast<int8_t>(a + shift));
  for (int i = 0; i < operand.rank(); ++i) {
    if (isStretched(syms, operand.shape[static_cast<size_t>(i)], shape[static_cast<size_t>(i + shift)]))
      result.broadcastAxes |= bit(i + shift);
  }
  forgetUnitAxes(syms, shape, result);
  return result;
}

/// The stride is the sum of two, whose signs have to say what its sign is.
absl::StatusOr<Layout> diagonalLayout(const SymContext& syms, const ValueType& operand, const SymShape& shape) {
  const uint32_t real = realAxes(syms, operand.shape, operand.layout), negative = operand.layout.negativeAxes & real;
  if (negative != 0 && negative != real)
    return absl::InvalidArgumentError("the sign of a diagonal's stride is not known");
  Layout result = Layout::c(1);
  if (negative != 0) result.negativeAxes = 1;
  if (real == 0 && operand.layout.broadcastAxes != 0) result.broadcastAxes = 1;
  forgetUnitAxes(syms, shape, result);
  if (realAxes(syms, shape, result) != 0) result.contiguity = Contiguity::kStrided;
  return result;
}

/// The windows lie behind the axis that they are of, with its stride. Capture makes none of memory that is shared
/// already.
Layout windowsLayout(SymContext& syms, const ValueType& operand, const Attrs& attrs, const SymShape& shape) {
  const auto axis = static_cast<int8_t>(attrs.integer(AttrKey::kAxis)), added = static_cast<int8_t>(operand.rank());
  Layout result = operand.layout;
  result.order.insert(std::find(result.order.begin(), result.order.end(), axis) + 1, added);
  if (result.isBroadcast(axis)) result.broadcastAxes |= bit(added);
  if (result.isNegative(axis)) result.negativeAxes |= bit(added);
  const bool both = !syms.isConst(shape[static_cast<size_t>(axis)], 1) && !syms.isConst(shape.back(), 1);
  if (both && !result.isBroadcast(axis)) result.tiedAxes |= bit(added);
  if (result.contiguity == Contiguity::kPacked) result.contiguity = Contiguity::kInner;
  forgetUnitAxes(syms, shape, result);
  if (realAxes(syms, shape, result) == 0) result.contiguity = Contiguity::kPacked;
  return result;
}

/// Whether the real axes of a packed operand in [from, fromEnd) follow each other in memory in C order.
bool mergesWhenPacked(const Layout& layout, uint32_t real, const AxisGroup& g) {
  int previous = -1;
  bool closed = false;
  for (int8_t a : layout.order) {
    if (!has(real, a)) continue;
    if (a < g.from || a >= g.fromEnd) {
      closed = previous >= 0;
      continue;
    }
    if (closed || a < previous || (previous >= 0 && layout.isNegative(a) != layout.isNegative(previous))) return false;
    previous = a;
  }
  return true;
}

absl::StatusOr<Layout> reshapeLayout(SymContext& syms, const ValueType& operand, const Attrs& attrs,
                                     const SymShape& shape) {
  if (attrs.integerOr(AttrKey::kCopy, 0) != 0) return Layout::c(static_cast<int>(shape.size()));
  const Layout& from = operand.layout;
  uint32_t real = realAxes(syms, operand.shape, from);
  std::vector<AxisGroup> groups = reshapeGroups(syms, operand.shape, shape);
  Layout result;
  result.contiguity = from.contiguity;
  std::vector<bool> placed(groups.size(), false);
  auto place = [&](size_t g) {
    if (placed[g]) return;
    placed[g] = true;
    for (int a = groups[g].to; a < groups[g].toEnd; ++a) result.order.push_back(static_cast<int8_t>(a));
  };
  for (size_t g = 0; g < groups.size(); ++g) {
    const AxisGroup& group = groups[g];
    uint32_t inside = (bit(group.fromEnd) - 1) & ~(bit(group.from) - 1),
             toAxes = (bit(group.toEnd) - 1) & ~(bit(group.to) - 1);
    bool merges = (real & inside) == 0 || (from.broadcastAxes & inside) == 0;
    if (from.contiguity == Contiguity::kPacked) merges = merges && mergesWhenPacked(from, real, group);
    bool isBroadcast = (real & inside) == 0 && (from.broadcastAxes & inside) != 0;
    const auto isEmpty = [&] { return syms.provablyEqual(syms.product(operand.shape), syms.constant(0)) == true; };
    if (!merges && isEmpty()) return Layout::c(static_cast<int>(shape.size()));
    if (!merges) return absl::InvalidArgumentError("the operand's memory cannot be viewed under that shape");
    if (isBroadcast) result.broadcastAxes |= toAxes;
    if ((from.negativeAxes & inside & real) != 0) result.negativeAxes |= toAxes;
  }
  // Groups without a real axis have no say; C order puts them in front of the first group behind them.
  if (from.isCOrder()) {
    for (size_t g = 0; g < groups.size(); ++g) place(g);
  } else {
    for (int8_t a : from.order) {
      for (size_t g = 0; g < groups.size(); ++g) {
        if (groups[g].from <= a && a < groups[g].fromEnd) place(g);
      }
    }
    for (size_t g = 0; g < groups.size(); ++g) place(g);
  }
  forgetUnitAxes(syms, shape, result);
  if (realAxes(syms, shape, result) == 0) result.contiguity = Contiguity::kPacked;
  return result;
}

absl::StatusOr<Layout> viewLayout(SymContext& syms, Op op, const ValueType& operand, const Attrs& attrs,
                                  const SymShape& shape) {
  if (op == Op::kSlice) return sliceLayout(syms, operand, attrs, shape);
  if (op == Op::kTranspose) return transposeLayout(syms, operand, attrs.ints(AttrKey::kPerm), shape);
  if (op == Op::kExpand) return expandLayout(operand.layout, attrs.ints(AttrKey::kAxes));
  if (op == Op::kSqueeze) return squeezeLayout(operand.layout, attrs.ints(AttrKey::kAxes));
  if (op == Op::kDiagonal) return diagonalLayout(syms, operand, shape);
  if (op == Op::kWindows) return windowsLayout(syms, operand, attrs, shape);
  if (op == Op::kBroadcast) return broadcastLayout(syms, operand, shape);
  if (op == Op::kReshape) return reshapeLayout(syms, operand, attrs, shape);
  FW_UNREACHABLE();
}

/// NumPy allocates the result of a reduction like a ufunc's: the kept axes in the operand's order. argmax and argmin
/// are no ufuncs and answer in C order.
Layout reductionLayout(SymContext& syms, Op op, const ValueType& operand, const Attrs& attrs, int rank) {
  if (op == Op::kArgmax || op == Op::kArgmin) return Layout::c(rank);
  const IntList& axes = attrs.ints(AttrKey::kAxes);
  LayoutOperand self{&operand.layout, unitAxes(syms, operand.shape)};
  Layout whole = ufuncResultLayout(operand.rank(), {&self, 1});
  if (rank != operand.rank()) return squeezeLayout(whole, axes);
  return whole;
}

}  // namespace

ValueId castInside(Graph& graph, ValueId value, DType to) {
  ValueType type = graph.type(value);
  if (type.dtype == to || type.rank() < 2) return graph.cast(value, to);
  const LayoutOperand self{&type.layout, unitAxes(graph.syms(), type.shape)};
  type.layout = ufuncResultLayout(type.rank(), {&self, 1});
  type.dtype = to;
  return graph.addTyped(Op::kCast, {value}, std::move(type));
}

absl::StatusOr<Layout> inferLayout(SymContext& syms, Op op, Operands operands, const Attrs& attrs,
                                   const SymShape& shape) {
  int rank = static_cast<int>(shape.size());
  absl::InlinedVector<LayoutOperand, 4> all;
  for (const ValueType* t : operands) all.push_back({&t->layout, unitAxes(syms, t->shape)});
  switch (info(op).cls) {
    case OpClass::kSource:
    case OpClass::kCreation:
    case OpClass::kScan:
    case OpClass::kGather:
    case OpClass::kControl: return Layout::c(rank);
    case OpClass::kElementwise:
      if (op == Op::kCast || op == Op::kCopy) return likeLayout(operands[0]->layout, all[0].unitAxes);
      return ufuncResultLayout(rank, all);
    case OpClass::kReduction: return reductionLayout(syms, op, *operands[0], attrs, rank);
    case OpClass::kView: return viewLayout(syms, op, *operands[0], attrs, shape);
    case OpClass::kJoin: return concatenateLayout(rank, all);
    case OpClass::kUpdate: return operands[0]->layout;
  }
  FW_UNREACHABLE();
}

}  // namespace fw::graph
