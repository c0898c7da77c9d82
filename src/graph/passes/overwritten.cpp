#include "graph/passes/overwritten.h"

#include <algorithm>

#include "graph/passes/planning.h"

namespace fw::graph {
namespace {

/// A view whose axes run along these of a loop nest, as one of the nest's axes.
AffineView along(SymContext& syms, const AffineView& view, const IntList& axes, const SymShape& domain) {
  AffineView result{view.base, syms.canonical(view.offset), domain, SymList(domain.size(), syms.constant(0))};
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] >= 0) result.strides[axes[axis]] = syms.canonical(view.strides[axis]);
  return result;
}

}  // namespace

void Overwritten::add(Footprint footprint, const AffineView& view, const IntList& axes, const SymShape& domain) {
  stores_.push_back({std::move(footprint), along(graph_->syms(), view, axes, domain), axes});
}

void Overwritten::addUpdate(ValueId update, const IntList& axes, const SymShape& domain) {
  SymContext& syms = graph_->syms();
  const Node& node = graph_->node(update);
  AffineView view{node.operands[0], syms.constant(0), graph_->type(node.operands[1]).shape, {}};
  const SymList strides = materialisedStrides(*graph_, node.operands[0]);
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    view.offset = syms.add(view.offset, syms.mul(node.attrs.syms(AttrKey::kStarts)[axis], strides[axis]));
    view.strides.push_back(syms.mul(node.attrs.syms(AttrKey::kSteps)[axis], strides[axis]));
  }
  add(Footprint::ofUpdate(*graph_, update), view, axes, domain);
}

bool Overwritten::writes(ValueId base) const {
  const auto isIts = [&](const Store& store) { return store.footprint.base() == base; };
  return std::any_of(stores_.begin(), stores_.end(), isIts);
}

absl::StatusOr<bool> Overwritten::undisturbed(ValueId value, const IntList& axes, const SymShape& domain) const {
  if (stores_.empty()) return true;
  const Footprint reached(*graph_, value);
  for (const Store& store : stores_) {
    if (reached.with(store.footprint) == Alias::kNone) continue;
    absl::StatusOr<AffineView> view = resolveView(*graph_, value, materialisedStrides(*graph_, reached.base()));
    if (!view.ok()) return view.status();
    if (!sameElements(graph_->syms(), along(graph_->syms(), *view, axes, domain), store.view)) return false;
  }
  return true;
}

namespace {

/// The axis of its base that the view runs along where the nest runs along `axis`.
std::optional<int> baseAxisOf(const Footprint& view, const IntList& axes, int64_t axis) {
  const auto at = std::find(axes.begin(), axes.end(), axis);
  if (at == axes.end()) return std::nullopt;
  return view.baseAxis(static_cast<size_t>(at - axes.begin()));
}

}  // namespace

std::optional<int64_t> Overwritten::delay(ValueId value, const IntList& axes, int64_t along) const {
  SymContext& syms = graph_->syms();
  const Footprint reached(*graph_, value);
  int64_t delay = 0;
  for (const Store& store : stores_) {
    if (reached.with(store.footprint) == Alias::kNone) continue;
    const std::optional<int> axis = baseAxisOf(store.footprint, store.axes, along);
    if (!axis || baseAxisOf(reached, axes, along) != axis) return std::nullopt;
    // Both walk the axis in the same steps: what one point reads another one stores, so many points further on.
    const Progression &stored = store.footprint.along(*axis), &read = reached.along(*axis);
    const std::optional<int64_t> step = syms.asConst(stored.step), other = syms.asConst(read.step),
                                 distance = syms.asConst(syms.canonical(syms.sub(read.start, stored.start)));
    if (!step || *step == 0 || step != other || !distance || *distance % *step != 0) return std::nullopt;
    delay = std::max(delay, -(*distance / *step));
  }
  return delay;
}

}  // namespace fw::graph
