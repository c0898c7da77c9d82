#include "graph/passes/in_place.h"

#include <algorithm>
#include <memory>

#include "graph/passes/control.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"

namespace fw::graph {

namespace {

constexpr size_t kAtTheEnd = SIZE_MAX;

/// Steps that may go on in the memory of operand number `index`.
bool mayContinue(const Node& node, size_t index) {
  if (node.op == Op::kUpdate) return index == 0;
  return hasRegions(node.op) && index >= leadingOperands(node.op);
}

}  // namespace

Overwriting::Overwriting(const Graph& graph, absl::flat_hash_set<ValueId> owned)
    : graph_(graph),
      owned_(std::move(owned)),
      users_(graph.size()) {
  for (ValueId output : graph.outputs()) outputs_.insert(viewBase(graph, output));
  const std::vector<bool> live = liveValues(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph.node(ValueId(i));
    for (size_t k = 0; k < node.operands.size(); ++k) {
      users_[node.operands[k].index].push_back(ValueId(i));
      if (mayContinue(node, k)) overwriters_[node.operands[k]].push_back(ValueId(i));
    }
  }
  for (size_t i = 0; i < graph.size(); ++i)
    if (live[i] && isView(graph, ValueId(i))) findTaken(ValueId(i));
  if (taken_.empty()) return;
  outputs_.clear();
  for (ValueId output : graph.outputs()) {
    while (isView(graph, output) && !isTaken(output)) output = graph.node(output).operands[0];
    outputs_.insert(output);
  }
}

/// The greatest number of a value that reads it, also through views.
size_t Overwriting::lastRead(ValueId view) const {
  size_t last = 0;
  for (ValueId output : graph_.outputs())
    if (output == view) last = kAtTheEnd;
  for (ValueId reader : users(view)) {
    const bool stores = graph_.node(reader).op == Op::kStore;
    last = std::max(last, stores ? kAtTheEnd : isView(graph_, reader) ? lastRead(reader) : reader.index);
  }
  return last;
}

void Overwriting::findTaken(ValueId view) {
  const ValueId operand = graph_.node(view).operands[0], base = viewBase(graph_, view);
  if (!isOneElement(graph_, view) || isOneElement(graph_, operand)) return;
  if (!graph_.isRegion() && outputs_.contains(base)) return;  // the caller's view, perhaps
  if (isSource(graph_, base) && !owned_.contains(base)) return;
  const auto overwriters = overwriters_.find(base);
  if (overwriters == overwriters_.end()) return;
  const auto first = std::upper_bound(overwriters->second.begin(), overwriters->second.end(), view);
  if (first != overwriters->second.end() && lastRead(view) > first->index) taken_.insert(view);
}

bool Overwriting::isOurs(ValueId control, size_t index) const {
  const Node& node = graph_.node(control);
  const ValueId operand = node.operands[index];
  const Node& given = graph_.node(operand);
  const size_t leading = leadingOperands(node.op);
  const Layout own = packedLike(given.type.layout);
  const Layout layout = index < leading ? own : memoryLayout(node, index - leading);
  if (isView(graph_, operand) || given.op == Op::kConstant || given.op == Op::kSym) return false;
  if (given.op == Op::kInput && !graph_.isRegion() && given.type.layout != own) return false;
  return layout.rank() != given.type.rank() || own == layout;  // of another rank: nobody reads it
}

bool Overwriting::mayOverwrite(ValueId base, ValueId user) const {
  const Node& changing = graph_.node(user);
  if (std::count(changing.operands.begin(), changing.operands.end(), base) > 1) return false;
  const bool given = isSource(graph_, base) && !owned_.contains(base);
  if (given || isView(graph_, base) || outputs_.contains(base)) return false;
  // Readers through views count as readers of the base. Regions are given copies of views. An update may store a view
  // of its base itself, and would read what it overwrites, but for one element. Commits come at the end.
  const auto reads = [&](ValueId view) { return changing.op != Op::kUpdate || isOneElement(graph_, view); };
  std::vector<ValueId> open = {base};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    for (ValueId reader : users(at)) {
      if (reader == user && (at == base || reads(at))) continue;
      if (isView(graph_, reader) && !isTaken(reader)) {
        open.push_back(reader);
      } else if (reader >= user || graph_.node(reader).op == Op::kStore) {
        return false;
      }
    }
  }
  return true;
}

namespace {

using Inputs = std::vector<std::optional<size_t>>;

/// What is found out about one node, and all that are inside of its regions: each of those once, however many results
/// go through it.
class Answers {
 public:
  const Inputs& of(const Node& control) {
    if (const auto known = known_.find(&control); known != known_.end()) return *known->second;
    auto input = std::make_unique<Inputs>(find(control));
    return *known_.try_emplace(&control, std::move(input)).first->second;
  }

 private:
  Inputs find(const Node& control);
  std::optional<size_t> stays(const Graph& region, const Overwriting& overwriting, ValueId value, bool& changes);

  const Overwriting& inside(const Graph& region) {
    std::unique_ptr<Overwriting>& known = inside_[&region];
    if (!known) {
      const std::vector<ValueId> inputs = region.inputs();
      known = std::make_unique<Overwriting>(region, absl::flat_hash_set<ValueId>(inputs.begin(), inputs.end()));
    }
    return *known;
  }

  absl::flat_hash_map<const Node*, std::unique_ptr<Inputs>> known_;
  absl::flat_hash_map<const Graph*, std::unique_ptr<Overwriting>> inside_;
};

/// The input that a region's value is the latest version of, if all versions can stand in its memory.
std::optional<size_t> Answers::stays(const Graph& region, const Overwriting& overwriting, ValueId value,
                                     bool& changes) {
  for (;;) {
    const Node& node = region.node(value);
    if (node.op == Op::kInput) return static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
    ValueId user = value;
    size_t operand = 0;
    if (node.op == Op::kProject) {
      user = node.operands[0];
      const Node& control = region.node(user);
      const auto result = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
      if (control.op == Op::kLoop) {
        const Graph& body = *control.regions[0];
        if (stays(body, inside(body), body.outputs()[result + leadingOutputs(control.op)], changes) != result)
          return std::nullopt;
        operand = result;
      } else if (hasRegions(control.op)) {
        const std::optional<size_t> input = of(control)[result];
        if (!input) return std::nullopt;
        operand = *input + leadingOperands(control.op);
      } else {
        return std::nullopt;
      }
      if (!overwriting.isOurs(user, operand)) return std::nullopt;
    } else if (node.op != Op::kUpdate) {
      return std::nullopt;
    }
    const ValueId base = region.node(user).operands[operand];
    if (!overwriting.mayOverwrite(base, user)) return std::nullopt;
    changes = true;
    value = base;
  }
}

Inputs Answers::find(const Node& control) {
  const size_t count = control.type.tuple.size();
  Inputs input(count);
  if (control.op == Op::kLoop || !hasRegions(control.op)) return input;
  std::vector<bool> changes(count);
  for (const std::unique_ptr<Graph>& region : control.regions) {
    for (size_t k = 0; k < count; ++k) {
      bool changed = false;
      const std::optional<size_t> here = stays(*region, inside(*region), region->outputs()[k], changed);
      if (region == control.regions.front()) input[k] = here;
      if (here != input[k]) input[k] = std::nullopt;
      if (changed) changes[k] = true;
    }
  }
  absl::flat_hash_set<size_t> taken;
  for (size_t k = 0; k < count; ++k) {
    const bool fits =
        input[k] && changes[k] && memoryLayout(control, *input[k]) == packedLike(control.type.tuple[k].layout);
    if (!fits || !taken.insert(*input[k]).second) input[k] = std::nullopt;
  }
  return input;
}

}  // namespace

std::vector<std::optional<size_t>> answersInPlace(const Node& control) { return Answers().of(control); }

}  // namespace fw::graph
