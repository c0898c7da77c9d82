#include "graph/passes/control.h"

#include "graph/alias.h"
#include "graph/support/check.h"

namespace fw::graph {

ValueId inputOf(const Graph& region, size_t index) {
  const std::vector<ValueId> inputs = region.inputs();
  return index < inputs.size() ? inputs[index] : ValueId();
}

bool carriesThrough(const Graph& body, size_t index) {
  const ValueId output = body.outputs()[index + leadingOutputs(Op::kLoop)];
  const Node& node = body.node(output);
  return node.op == Op::kInput && node.attrs.integer(AttrKey::kIndex) == static_cast<int64_t>(index);
}

Layout packedLike(Layout layout) { return layout.packed(); }

Layout memoryLayout(const Node& control, size_t index) {
  if (index < control.type.tuple.size() && control.op == Op::kLoop) return packedLike(control.type.tuple[index].layout);
  for (const std::unique_ptr<Graph>& region : control.regions)
    if (const ValueId input = inputOf(*region, index); input.valid()) return packedLike(region->type(input).layout);
  return {};
}

bool isGiven(const Graph& graph, ValueId value) {
  const Node& node = graph.node(firstVersion(graph, value));
  return node.op == Op::kProject && node.type.rank() > 0 && graph.node(node.operands[0]).op == Op::kCall;
}

std::vector<ValueId> projectsOf(const Graph& graph, ValueId control) {
  std::vector<ValueId> projects(graph.type(control).tuple.size());
  for (size_t i = control.index; i < graph.size(); ++i) {
    const Node& node = graph.node(ValueId(i));
    if (node.op == Op::kProject && node.operands[0] == control)
      projects[static_cast<size_t>(node.attrs.integer(AttrKey::kIndex))] = ValueId(i);
  }
  return projects;
}

}  // namespace fw::graph
