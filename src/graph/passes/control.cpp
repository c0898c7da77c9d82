#include "graph/passes/control.h"

#include <algorithm>

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

ValueId handedOn(const Graph& graph, ValueId control, size_t index) {
  const Node& loop = graph.node(control);
  if (loop.op != Op::kLoop || index >= loop.operands.size()) return {};
  const Graph& body = *loop.regions[0];
  const bool answers = index + leadingOutputs(Op::kLoop) < body.outputs().size();
  return answers && carriesThrough(body, index) ? loop.operands[index] : ValueId();
}

Layout packedLike(Layout layout) { return layout.packed(); }

Layout memoryLayout(const Node& control, size_t index) {
  if (index < control.type.tuple.size() && control.op == Op::kLoop) return packedLike(control.type.tuple[index].layout);
  for (const std::unique_ptr<Graph>& region : control.regions)
    if (const ValueId input = inputOf(*region, index); input.valid()) return packedLike(region->type(input).layout);
  return {};
}

namespace {

/// The number of the input in whose memory result number `index` of a branch, bind or loop is in its place.
std::optional<size_t> placeOfResult(const Node& control, size_t index) {
  std::vector<std::optional<size_t>> inputs;
  for (const std::unique_ptr<Graph>& region : control.regions) {
    const ValueId output = region->outputs()[index + leadingOutputs(control.op)];
    const Node& memory = region->node(memoryOf(*region, output));
    const bool given = memory.op == Op::kInput;
    inputs.push_back(given ? std::optional(static_cast<size_t>(memory.attrs.integer(AttrKey::kIndex))) : std::nullopt);
  }
  return staysIn(control.op, index, inputs);
}

}  // namespace

ValueId continues(const Graph& graph, ValueId value) {
  const Node& node = graph.node(value);
  if (node.op == Op::kUpdate) return node.operands[0];
  if (node.op != Op::kProject || !hasRegions(graph.node(node.operands[0]).op)) return {};
  const Node& control = graph.node(node.operands[0]);
  const std::optional<size_t> input = placeOfResult(control, static_cast<size_t>(node.attrs.integer(AttrKey::kIndex)));
  return input ? control.operands[*input + leadingOperands(control.op)] : ValueId();
}

std::vector<ValueId> overwrittenBy(const Graph& graph, ValueId step) {
  const Node& node = graph.node(step);
  if (node.op == Op::kUpdate) return {node.operands[0]};
  std::vector<ValueId> values;
  if (node.op == Op::kLoop) {  // what it computes anew takes turns with what it was given
    for (size_t i = 0; i < node.operands.size(); ++i)
      if (!carriesThrough(*node.regions[0], i)) values.push_back(node.operands[i]);
  } else if (hasRegions(node.op)) {
    for (size_t i = 0; i < node.type.tuple.size(); ++i)
      if (const std::optional<size_t> input = placeOfResult(node, i))
        values.push_back(node.operands[*input + leadingOperands(node.op)]);
    // What is given to regions that own it, as nobody reads it behind them.
    for (const std::unique_ptr<Graph>& region : node.regions)
      for (ValueId value : overwrittenValues(*region)) {
        const Node& memory = region->node(memoryOf(*region, value));
        if (memory.op != Op::kInput) continue;
        const auto input = static_cast<size_t>(memory.attrs.integer(AttrKey::kIndex));
        values.push_back(node.operands[input + leadingOperands(node.op)]);
      }
  }
  return values;
}

ValueId memoryOf(const Graph& graph, ValueId value) {
  for (ValueId before = continues(graph, value); before.valid(); before = continues(graph, value)) value = before;
  return value;
}

absl::flat_hash_set<ValueId> overwrittenValues(const Graph& graph) {
  absl::flat_hash_set<ValueId> values;
  for (size_t i = 0; i < graph.size(); ++i)
    for (ValueId before : overwrittenBy(graph, ValueId(i))) values.insert(before);
  return values;
}

std::optional<size_t> staysIn(Op control, size_t result, absl::Span<const std::optional<size_t>> inputs) {
  const std::optional<size_t> input = inputs.empty() ? std::nullopt : inputs.front();
  if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& other) { return other != input; })) return std::nullopt;
  // What a loop answers in the place of another carried value moves there.
  return control == Op::kLoop && input != result ? std::nullopt : input;
}

bool isGiven(const Graph& graph, ValueId value) {
  const Node& node = graph.node(memoryOf(graph, value));
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
