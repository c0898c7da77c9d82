// Two views of one base are compared axis by axis of the base: where the indices that they take along any axis have
// nothing in common, the views have nothing in common. Indices are progressions, apart if they lie in ranges that do
// not meet, or differ modulo a divisor of both steps. Comparing indices rather than addresses needs no strides:
// x[:, 0] and x[:, 1] are apart whatever they are.
#include "graph/alias.h"

#include <algorithm>
#include <numeric>

#include "graph/support/check.h"

namespace fw::graph {
namespace {

bool isEmpty(SymContext& syms, SymId count) { return syms.range(count).hi <= 0; }

bool isOneAtMost(SymContext& syms, SymId count) { return syms.range(count).hi <= 1; }

struct Bounds {
  SymId low, high;
};

/// Least and greatest index, if the sign of the step is known. Those of nothing are anything.
std::optional<Bounds> boundsOf(SymContext& syms, const Progression& p) {
  if (isOneAtMost(syms, p.count)) return Bounds{p.start, p.start};
  const SymId last = syms.add(p.start, syms.mul(p.step, syms.sub(p.count, syms.constant(1))));
  if (syms.range(p.step).lo > 0) return Bounds{p.start, last};
  if (syms.range(p.step).hi < 0) return Bounds{last, p.start};
  return std::nullopt;
}

/// Least and greatest index, if everything is constant and there are some: the quick answer for most pairs.
std::optional<std::pair<int64_t, int64_t>> constantBounds(const SymContext& syms, const Progression& p) {
  const std::optional<int64_t> start = syms.asConst(p.start), step = syms.asConst(p.step),
                               count = syms.asConst(p.count);
  if (!start || !step || !count || *count < 1) return std::nullopt;
  return std::minmax(*start, *start + *step * (*count - 1));
}

bool rangesApart(SymContext& syms, const Progression& a, const Progression& b) {
  const auto known = constantBounds(syms, a), other = constantBounds(syms, b);
  if (known && other) return known->second < other->first || other->second < known->first;
  const std::optional<Bounds> x = boundsOf(syms, a), y = boundsOf(syms, b);
  if (!x || !y) return false;
  return syms.provablyLess(x->high, y->low) == true || syms.provablyLess(y->high, x->low) == true;
}

/// Distances between elements of one progression: multiples of this, which is 0 for a single one.
std::optional<int64_t> strideOf(SymContext& syms, const Progression& p) {
  return isOneAtMost(syms, p.count) ? 0 : syms.asConst(p.step);
}

/// The starts differ, and so does every element, modulo a divisor of both steps.
bool residuesApart(SymContext& syms, const Progression& a, const Progression& b) {
  const std::optional<int64_t> x = strideOf(syms, a), y = strideOf(syms, b);
  if (!x || !y) return false;
  const int64_t divisor = std::gcd(*x, *y);
  if (divisor == 0) return syms.provablyEqual(a.start, b.start) == false;
  const std::optional<int64_t> rest =
      syms.asConst(syms.mod(syms.sub(a.start, b.start), syms.constant(std::abs(divisor))));
  return rest && *rest != 0;
}

bool isSame(SymContext& syms, const Progression& a, const Progression& b) {
  return equalSizes(syms, a.start, b.start) && equalSizes(syms, a.count, b.count) &&
         (isOneAtMost(syms, a.count) || equalSizes(syms, a.step, b.step));
}

}  // namespace

Alias alias(SymContext& syms, const Progression& a, const Progression& b) {
  if (isEmpty(syms, a.count) || isEmpty(syms, b.count)) return Alias::kNone;
  if (isSame(syms, a, b)) return Alias::kSame;
  return rangesApart(syms, a, b) || residuesApart(syms, a, b) ? Alias::kNone : Alias::kMay;
}

std::optional<CommonPart> commonPart(SymContext& syms, const Progression& read, const Progression& stored, SymId size) {
  const SymId zero = syms.constant(0), one = syms.constant(1);
  if (equalSizes(syms, stored.start, zero) && syms.isConst(stored.step, 1) && equalSizes(syms, stored.count, size))
    return CommonPart{read.start, zero, read.count, read.step, true};
  if (isSame(syms, read, stored)) return CommonPart{zero, zero, read.count, one, true};
  const std::optional<int64_t> step = syms.asConst(stored.step);
  if (!step || (!isOneAtMost(syms, read.count) && !equalSizes(syms, stored.step, read.step))) return std::nullopt;
  const SymId distance = syms.sub(read.start, stored.start);
  if (!syms.isConst(syms.mod(distance, stored.step), 0)) return std::nullopt;
  // What is read begins at element `shift` of what was stored.
  const SymId shift = syms.floorDiv(distance, stored.step);
  const SymId from = syms.max(shift, zero), to = syms.min(stored.count, syms.add(shift, read.count));
  const SymId count = syms.max(syms.sub(to, from), zero);
  return CommonPart{from, syms.sub(from, shift), count, one, equalSizes(syms, count, read.count)};
}

// ---- views --------------------------------------------------------------------------------------------------------

Footprint::Footprint(const Graph& graph, ValueId view)
    : syms_(&graph.syms()),
      view_(view),
      base_(viewBase(graph, view)) {
  std::vector<ValueId> chain;
  for (ValueId at = view; at != base_; at = graph.node(at).operands[0]) chain.push_back(at);
  const SymShape& shape = graph.type(base_).shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    reached_.push_back({syms_->constant(0), syms_->constant(1), shape[axis]});
    axes_.push_back({static_cast<int>(axis), shape[axis]});
  }
  for (size_t i = chain.size(); i-- > 0;) apply(graph.node(chain[i]));
}

Footprint Footprint::ofUpdate(const Graph& graph, ValueId update) {
  return ofUpdate(graph, update, graph.node(update).operands[0]);
}

Footprint Footprint::ofUpdate(const Graph& graph, ValueId update, ValueId base) {
  const Node& node = graph.node(update);
  Footprint result(graph, base);
  result.view_ = ValueId();  // no value of the graph
  result.slice(node.attrs.syms(AttrKey::kStarts), node.attrs.syms(AttrKey::kSteps), graph.type(node.operands[1]).shape);
  return result;
}

void Footprint::apply(const Node& node) {
  if (node.op == Op::kSlice) {
    slice(node.attrs.syms(AttrKey::kStarts), node.attrs.syms(AttrKey::kSteps), node.type.shape);
  } else if (node.op == Op::kTranspose) {
    std::vector<Axis> axes;
    for (int64_t axis : node.attrs.ints(AttrKey::kPerm)) axes.push_back(axes_[static_cast<size_t>(axis)]);
    axes_ = std::move(axes);
  } else if (node.op == Op::kDiagonal) {  // some of what both axes reach
    axes_ = {{kNone, node.type.shape[0]}};
    exact_ = false;
  } else if (node.op == Op::kWindows) {  // all that the axis reaches, more than once
    axes_[static_cast<size_t>(node.attrs.integer(AttrKey::kAxis))] = {kNone, SymId()};
    axes_.push_back({kNone, node.type.shape.back()});
    for (size_t i = 0; i < axes_.size(); ++i) axes_[i].size = node.type.shape[i];
    exact_ = false;
  } else if (node.op == Op::kExpand) {
    for (int64_t axis : node.attrs.ints(AttrKey::kAxes))
      axes_.insert(axes_.begin() + axis, Axis{kNone, syms_->constant(1)});
  } else if (node.op == Op::kSqueeze) {
    const IntList& axes = node.attrs.ints(AttrKey::kAxes);
    for (size_t i = axes.size(); i-- > 0;) axes_.erase(axes_.begin() + axes[i]);
  } else if (node.op == Op::kBroadcast) {
    stretch(node.type.shape);
  } else {
    FW_CHECK(node.op == Op::kReshape);
    reshape(node);
  }
}

void Footprint::slice(const SymList& starts, const SymList& steps, const SymShape& shape) {
  for (size_t i = 0; i < axes_.size(); ++i) {
    axes_[i].size = shape[i];
    if (axes_[i].of == kNone) continue;
    Progression& reached = reached_[static_cast<size_t>(axes_[i].of)];
    reached = {syms_->add(reached.start, syms_->mul(starts[i], reached.step)), syms_->mul(steps[i], reached.step),
               shape[i]};
  }
}

/// Axes that have another size afterwards repeat what they had, which is one element.
void Footprint::stretch(const SymShape& to) {
  std::vector<Axis> axes(to.size() - axes_.size());
  axes.insert(axes.end(), axes_.begin(), axes_.end());
  for (size_t i = 0; i < to.size(); ++i) {
    const bool runs = axes[i].of != kNone, kept = runs && equalSizes(*syms_, axes[i].size, to[i]);
    exact_ = exact_ && (!runs || kept || isOneAtMost(*syms_, axes[i].size));
    axes[i] = {kept ? axes[i].of : kNone, to[i]};
  }
  axes_ = std::move(axes);
}

/// Axes that stay, up to some of size 1, keep their meaning. Of others only the whole is known.
void Footprint::reshape(const Node& node) {
  SymShape from;
  for (const Axis& axis : axes_) from.push_back(axis.size);
  std::vector<Axis> axes;
  for (SymId size : node.type.shape) axes.push_back({kNone, size});
  for (const AxisGroup& group : reshapeGroups(*syms_, from, node.type.shape)) {
    const int before = group.fromEnd - group.from, after = group.toEnd - group.to;
    if (before == 1 && after == 1)
      axes[static_cast<size_t>(group.to)].of = axes_[static_cast<size_t>(group.from)].of;
    else if (before != 0 && after != 0)
      exact_ = false;
  }
  axes_ = std::move(axes);
}

Alias Footprint::with(const Footprint& other) const {
  if (base_ != other.base_) return Alias::kNone;
  const auto isEmptyAxis = [&](const Axis& axis) { return isEmpty(*syms_, axis.size); };
  for (const Footprint* view : {this, &other})
    if (std::any_of(view->axes_.begin(), view->axes_.end(), isEmptyAxis)) return Alias::kNone;
  bool same = true;
  for (size_t axis = 0; axis < reached_.size(); ++axis) {
    const Alias along = alias(*syms_, reached_[axis], other.reached_[axis]);
    if (along == Alias::kNone) return Alias::kNone;
    same &= along == Alias::kSame;
  }
  if (view_.valid() && view_ == other.view_) return Alias::kSame;
  same &= exact_ && other.exact_ && axes_.size() == other.axes_.size();
  for (size_t i = 0; same && i < axes_.size(); ++i)
    same = axes_[i].of == other.axes_[i].of && equalSizes(*syms_, axes_[i].size, other.axes_[i].size);
  return same ? Alias::kSame : Alias::kMay;
}

std::optional<int> Footprint::line() const {
  FW_CHECK(axes_.size() == 1);
  return exact_ ? std::optional(axes_[0].of) : std::nullopt;
}

std::optional<int> Footprint::baseAxis(size_t axis) const {
  return exact_ && axes_[axis].of != kNone ? std::optional(axes_[axis].of) : std::nullopt;
}

Alias alias(const Graph& graph, ValueId a, ValueId b) { return Footprint(graph, a).with(Footprint(graph, b)); }

bool sameElements(SymContext& syms, const AffineView& a, const AffineView& b) {
  if (a.base != b.base || a.shape.size() != b.shape.size() || !equalSizes(syms, a.offset, b.offset)) return false;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (!equalSizes(syms, a.shape[i], b.shape[i])) return false;
    if (!isOneAtMost(syms, a.shape[i]) && !equalSizes(syms, a.strides[i], b.strides[i])) return false;
  }
  return true;
}

ValueId firstVersion(const Graph& graph, ValueId value) {
  while (graph.node(value).op == Op::kUpdate) value = graph.node(value).operands[0];
  return value;
}

void Writes::add(const Graph& graph, ValueId store) {
  Footprint target(graph, graph.node(store).operands[0]);
  std::vector<Footprint>& targets = targets_[target.base()];
  if (targets.size() <= kMaxCompared) targets.push_back(std::move(target));
}

bool Writes::mayAlias(const Graph& graph, ValueId view) const {
  const auto found = targets_.find(viewBase(graph, view));
  if (found == targets_.end()) return false;
  if (found->second.size() > kMaxCompared) return true;
  const Footprint reached(graph, view);
  const auto meets = [&](const Footprint& target) { return reached.with(target) != Alias::kNone; };
  return std::any_of(found->second.begin(), found->second.end(), meets);
}

}  // namespace fw::graph
