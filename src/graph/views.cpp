// Chains of views as one affine map. Resolving walks up from the base: every view node transforms offset, shape and
// byte strides of the map below it. All nodes but reshape always succeed; a reshape succeeds if the axes it merges
// are contiguous among themselves, proven on the symbolic strides.
#include "graph/views.h"

#include <algorithm>

#include "absl/status/status.h"
#include "graph/axes.h"
#include "graph/support/check.h"

namespace fw::graph {

SymList packedStrides(SymContext& syms, const SymShape& shape, const Layout& layout, DType dtype) {
  SymList strides(shape.size(), syms.constant(0));
  SymId step = syms.constant(itemSize(dtype));
  for (size_t i = layout.order.size(); i-- > 0;) {
    int axis = layout.order[i];
    if (layout.isBroadcast(axis)) continue;
    strides[static_cast<size_t>(axis)] = layout.isNegative(axis) ? syms.neg(step) : step;
    step = syms.mul(step, shape[static_cast<size_t>(axis)]);
  }
  return strides;
}

namespace {

/// Ends of the next group: the smallest pair of prefixes with equal products.
std::optional<std::pair<size_t, size_t>> nextGroup(SymContext& syms, const SymShape& from, const SymShape& to, size_t i,
                                                   size_t j) {
  for (size_t total = 2; total <= from.size() - i + to.size() - j; ++total) {
    for (size_t n = 1; n < total; ++n) {
      size_t m = total - n;
      if (i + n > from.size() || j + m > to.size()) continue;
      SymId left = syms.product(absl::MakeSpan(from).subspan(i, n));
      SymId right = syms.product(absl::MakeSpan(to).subspan(j, m));
      if (equalSizes(syms, left, right)) return std::make_pair(i + n, j + m);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<AxisGroup> reshapeGroups(SymContext& syms, const SymShape& from, const SymShape& to) {
  std::vector<AxisGroup> groups;
  auto push = [&](size_t i, size_t iEnd, size_t j, size_t jEnd) {
    groups.push_back({static_cast<int>(i), static_cast<int>(iEnd), static_cast<int>(j), static_cast<int>(jEnd)});
  };
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // Axes of size 1 without a partner stand alone, on either side.
    bool fromUnit = i < from.size() && syms.isConst(from[i], 1), toUnit = j < to.size() && syms.isConst(to[j], 1);
    if (fromUnit && !toUnit) {
      push(i, i + 1, j, j);
      ++i;
    } else if (toUnit && !fromUnit) {
      push(i, i, j, j + 1);
      ++j;
    } else {
      auto next = nextGroup(syms, from, to, i, j).value_or(std::make_pair(from.size(), to.size()));
      push(i, next.first, j, next.second);
      i = next.first;
      j = next.second;
    }
  }
  return groups;
}

ValueId viewBase(const Graph& graph, ValueId value) {
  while (info(graph.node(value).op).cls == OpClass::kView &&
         !(graph.node(value).op == Op::kReshape && graph.node(value).attrs.integerOr(AttrKey::kCopy, 0) != 0)) {
    value = graph.node(value).operands[0];
  }
  return value;
}

namespace {

/// Byte strides of a reshaped view; error if the strides do not allow one.
absl::Status reshapeView(SymContext& syms, AffineView& view, const SymShape& to) {
  SymList strides(to.size(), syms.constant(0));
  for (const AxisGroup& g : reshapeGroups(syms, view.shape, to)) {
    int inner = -1;
    for (int a = g.fromEnd; a-- > g.from;) {
      auto at = static_cast<size_t>(a);
      if (syms.isConst(view.shape[at], 1)) continue;
      if (inner >= 0) {
        auto below = static_cast<size_t>(inner);
        SymId wanted = syms.mul(view.strides[below], view.shape[below]);
        if (!equalSizes(syms, view.strides[at], wanted)) {
          return absl::FailedPreconditionError("reshape merges axes that are not provably contiguous: stride " +
                                               syms.print(view.strides[at]) + " is not " + syms.print(wanted));
        }
      }
      inner = a;
    }
    SymId step = syms.constant(0);
    for (int a = g.fromEnd; a-- > g.from;) {
      if (syms.isConst(view.shape[static_cast<size_t>(a)], 1)) continue;
      step = view.strides[static_cast<size_t>(a)];
      break;
    }
    for (int a = g.toEnd; a-- > g.to;) {
      if (syms.isConst(to[static_cast<size_t>(a)], 1)) continue;
      strides[static_cast<size_t>(a)] = step;
      step = syms.mul(step, to[static_cast<size_t>(a)]);
    }
  }
  view.shape = to;
  view.strides = std::move(strides);
  return absl::OkStatus();
}

void sliceView(SymContext& syms, AffineView& view, const Node& node) {
  const SymList& starts = node.attrs.syms(AttrKey::kStarts);
  const SymList& steps = node.attrs.syms(AttrKey::kSteps);
  for (size_t d = 0; d < starts.size(); ++d) {
    view.offset = syms.add(view.offset, syms.mul(starts[d], view.strides[d]));
    view.strides[d] = syms.mul(view.strides[d], steps[d]);
  }
  view.shape = node.type.shape;
}

void transposeView(AffineView& view, const IntList& perm) {
  SymShape shape;
  SymList strides;
  for (int64_t axis : perm) {
    shape.push_back(view.shape[static_cast<size_t>(axis)]);
    strides.push_back(view.strides[static_cast<size_t>(axis)]);
  }
  view.shape = std::move(shape);
  view.strides = std::move(strides);
}

void broadcastView(SymContext& syms, AffineView& view, const SymShape& to) {
  size_t shift = to.size() - view.shape.size();
  SymList strides(to.size(), syms.constant(0));
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (!isStretched(syms, view.shape[d], to[d + shift])) strides[d + shift] = view.strides[d];
  }
  view.shape = to;
  view.strides = std::move(strides);
}

absl::Status apply(SymContext& syms, AffineView& view, const Node& node) {
  if (node.op == Op::kReshape) return reshapeView(syms, view, node.type.shape);
  if (node.op == Op::kSlice) {
    sliceView(syms, view, node);
  } else if (node.op == Op::kTranspose) {
    transposeView(view, node.attrs.ints(AttrKey::kPerm));
  } else if (node.op == Op::kBroadcast) {
    broadcastView(syms, view, node.type.shape);
  } else if (node.op == Op::kDiagonal) {
    view.shape.pop_back();
    view.strides = {syms.add(view.strides[0], view.strides[1])};
  } else if (node.op == Op::kWindows) {
    view.strides.push_back(view.strides[static_cast<size_t>(node.attrs.integer(AttrKey::kAxis))]);
    view.shape = node.type.shape;
  } else if (node.op == Op::kExpand) {
    for (int64_t axis : node.attrs.ints(AttrKey::kAxes)) {
      view.shape.insert(view.shape.begin() + axis, syms.constant(1));
      view.strides.insert(view.strides.begin() + axis, syms.constant(0));
    }
  } else {
    FW_CHECK(node.op == Op::kSqueeze);
    const IntList& axes = node.attrs.ints(AttrKey::kAxes);
    for (size_t i = axes.size(); i-- > 0;) {
      view.shape.erase(view.shape.begin() + axes[i]);
      view.strides.erase(view.strides.begin() + axes[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AffineView> resolveView(const Graph& graph, ValueId value, const SymList& baseStrides) {
  SymContext& syms = graph.syms();
  std::vector<ValueId> chain;
  ValueId base = viewBase(graph, value);
  for (ValueId v = value; v != base; v = graph.node(v).operands[0]) chain.push_back(v);
  const ValueType& type = graph.type(base);
  FW_CHECK(baseStrides.size() == type.shape.size());
  AffineView view{base, syms.constant(0), type.shape, baseStrides};
  for (size_t i = chain.size(); i-- > 0;) {
    if (absl::Status s = apply(syms, view, graph.node(chain[i])); !s.ok()) return s;
  }
  return view;
}

}  // namespace fw::graph
