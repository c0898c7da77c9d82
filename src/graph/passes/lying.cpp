#include "graph/passes/lying.h"

#include "graph/passes/control.h"
#include "graph/passes/planning.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

bool hasGaps(const Layout& layout) { return layout.contiguity != Contiguity::kPacked; }

/// The axes that have a negative stride, the other way round.
ValueId turned(Graph& graph, ValueId value, const Layout& layout) {
  if (!layout.negativeAxes) return value;
  SymContext& syms = graph.syms();
  const SymShape shape = graph.type(value).shape;
  SymList starts, steps;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    const bool negative = layout.isNegative(axis);
    starts.push_back(negative ? syms.add(shape[axis], syms.constant(-1)) : syms.constant(0));
    steps.push_back(syms.constant(negative ? -1 : 1));
  }
  return graph.slice(value, std::move(starts), std::move(steps), shape);
}

}  // namespace

bool liesOtherwise(const Graph& graph, ValueId value) {
  const auto irregular = [](const Layout& layout) { return hasGaps(layout) || layout.negativeAxes != 0; };
  const ValueId base = viewBase(graph, value);
  const Layout& layout = graph.type(value).layout;
  return irregular(layout) && !layout.broadcastAxes && irregular(graph.type(base).layout) && !lentInput(graph, base);
}

ValueId copyWithGaps(Graph& graph, ValueId value, int64_t serial) {
  SymContext& syms = graph.syms();
  const Layout layout = graph.type(value).layout;
  SymShape shape = graph.type(value).shape;
  const bool gaps = hasGaps(layout);
  ValueId now = turned(graph, value, layout);
  Layout memory = packedLike(layout);
  if (gaps) {  // every element twice, or every line of them, of which the first is taken
    const bool lines = layout.contiguity == Contiguity::kInner;
    memory.order.insert(memory.order.end() - (lines ? 1 : 0), static_cast<int8_t>(layout.rank()));
    shape.push_back(syms.constant(2));
    now = graph.broadcastTo(graph.expand(now, {layout.rank()}), shape);
  }
  now = addCopy(graph, now, serial, std::move(memory));
  if (gaps) {
    const SymList starts(shape.size(), syms.constant(0)), steps(shape.size(), syms.constant(1));
    shape.back() = syms.constant(1);
    now = graph.squeeze(graph.slice(now, starts, steps, shape), {layout.rank()});
  }
  return turned(graph, now, layout);
}

}  // namespace fw::graph
