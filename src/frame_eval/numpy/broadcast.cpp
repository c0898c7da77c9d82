// Broadcasting of symbolic shapes. Which sizes are 1 and which are equal is read off the hints, in the order of
// operands and from the last axis to the first, and guarded.
#include <algorithm>

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

bool sameSize(Trace& trace, SymId left, SymId right) {
  graph::SymContext& syms = trace.syms();
  left = syms.canonical(left);
  right = syms.canonical(right);
  if (left == right) return true;
  auto known = syms.provablyEqual(left, right);
  if (known) return *known;
  const bool decided = trace.decided.contains(left) || trace.decided.contains(right);
  if (decided) trace.decided.assumeSame(left, right);
  bool same = decided || trace.decide(left, Relation::kEq, right);
  // The types of older nodes must show what has been learnt: inference compares SymIds.
  if (same) trace.graph().canonicalizeSyms();
  return same;
}

SymShape shapeOf(Trace& trace, ValueId node) {
  SymShape shape = trace.graph().type(node).shape;
  for (SymId& s : shape) s = trace.syms().canonical(s);
  return shape;
}

namespace {

/// One of two sizes that are not one expression is decided by a call. They are the same then, or the other is 1 and
/// known to be: that the decided one is 1 is left to Python. Answers whether they are the same.
bool isSameAsDecided(Trace& trace, SymId a, SymId b) {
  const SymId one = trace.syms().constant(1);
  for (SymId side : {a, b}) {
    if (trace.decided.contains(side)) continue;
    if (trace.decide(side, Relation::kEq, one)) {
      trace.graph().canonicalizeSyms();
      return false;
    }
  }
  if (!sameSize(trace, a, b)) raises("operands could not be broadcast together");
  return true;
}

}  // namespace

SymId unifySizes(Trace& trace, SymId a, SymId b) {
  graph::SymContext& syms = trace.syms();
  a = syms.canonical(a);
  b = syms.canonical(b);
  if (syms.isConst(a, 1)) return b;
  if (syms.isConst(b, 1) || a == b) return a;
  SymId one = syms.constant(1);
  if (trace.decided.contains(a) || trace.decided.contains(b)) {
    const bool same = isSameAsDecided(trace, a, b);
    return same || trace.decided.contains(a) ? syms.canonical(a) : b;
  }
  int64_t x = trace.hint(a), y = trace.hint(b);
  if (x == y && sameSize(trace, a, b)) return syms.canonical(a);
  if (x == 1 && sameSize(trace, a, one)) return b;
  if (y == 1 && sameSize(trace, b, one)) return a;
  raises("operands could not be broadcast together: sizes " + std::to_string(x) + " and " + std::to_string(y));
}

SymShape unify(Trace& trace, absl::Span<const ValueId> operands) {
  SymShape result;
  for (ValueId operand : operands) {
    SymShape shape = shapeOf(trace, operand);
    while (result.size() < shape.size()) result.insert(result.begin(), trace.syms().constant(1));
    size_t shift = result.size() - shape.size();
    for (size_t i = shape.size(); i-- > 0;) result[i + shift] = unifySizes(trace, result[i + shift], shape[i]);
  }
  for (SymId& s : result) s = trace.syms().canonical(s);
  decideUnitAxes(trace, operands);
  return result;
}

void decideUnitAxes(Trace& trace, absl::Span<const ValueId> operands, bool zeroStridesVote) {
  const graph::Graph& g = trace.graph();
  auto isMatrix = [&](ValueId id) { return g.type(id).rank() > 1; };
  const auto matrices = std::count_if(operands.begin(), operands.end(), isMatrix);
  const bool allC = std::all_of(operands.begin(), operands.end(), [&](ValueId id) {
    const graph::Layout& layout = g.type(id).layout;
    return layout.isCOrder() && (!zeroStridesVote || layout.broadcastAxes == 0);
  });
  if (matrices < 2 || allC) return;
  for (ValueId operand : operands)
    for (SymId size : shapeOf(trace, operand)) (void)sameSize(trace, size, trace.syms().constant(1));
  trace.graph().canonicalizeSyms();  // what was known before, types of older nodes need not show yet
}

ValueId broadcastInto(Trace& trace, ValueId node, const SymShape& shape, bool dropLeading) {
  SymId one = trace.syms().constant(1);
  auto fail = [] { raises("could not broadcast input array into this shape"); };
  while (dropLeading && trace.graph().type(node).shape.size() > shape.size()) {
    if (!sameSize(trace, shapeOf(trace, node)[0], one)) fail();
    node = trace.graph().squeeze(node, {0});
  }
  SymShape from = shapeOf(trace, node);
  if (from.size() > shape.size()) fail();
  size_t shift = shape.size() - from.size();
  for (size_t i = from.size(); i-- > 0;) {
    SymId a = trace.syms().canonical(from[i]), b = trace.syms().canonical(shape[i + shift]);
    if (trace.syms().isConst(a, 1) || a == b) continue;
    if (trace.decided.contains(a) || trace.decided.contains(b)) {
      if (isSameAsDecided(trace, a, b)) continue;
      if (!trace.syms().isConst(trace.syms().canonical(a), 1)) fail();
      continue;
    }
    if (trace.hint(a) == trace.hint(b)) {
      if (sameSize(trace, a, b)) continue;
    } else if (trace.hint(a) == 1 && sameSize(trace, a, one)) {
      continue;
    }
    fail();
  }
  SymShape to = shape;
  for (SymId& s : to) s = trace.syms().canonical(s);
  return trace.graph().broadcastTo(node, to);
}

SymId elementCount(Trace& trace, const SymShape& shape) { return trace.syms().canonical(trace.syms().product(shape)); }

}  // namespace fw::capture::numpy
