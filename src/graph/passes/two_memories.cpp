// u[1:-1] = f(u[2:], u[:-2]) in a loop, where nothing else changes u: from one turn to the next, the same elements are
// stored over, and the others are what they were in the beginning. So two arrays that begin alike can take turns, one
// is read and the other one is stored to, and no value is held back or copied:
//
//   loop(u) { u' = update(u, f(u)); return u' }   becomes   loop(u, w = u) { w' = update(w, f(u)); return w', u }
//
// The loop exchanges their memory behind every turn, as it does for a program that is written like that. What such a
// program says with copies needs none then: `new = u.copy(); new[1:-1] = f(u); u = new` is the same loop, and so is
// `old = u.copy(); u[1:-1] = f(old)`. Loops inside
// of regions keep one memory: the second one would be filled in every turn of what is around them.
#include "graph/passes/two_memories.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/alias.h"
#include "graph/bound_sizes.h"
#include "graph/passes/control.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"

namespace fw::graph {
namespace {

/// Symbols that may have another value in the next turn.
absl::flat_hash_set<SymId> changingSymbols(const Node& loop) {
  absl::flat_hash_set<SymId> symbols;
  const auto add = [&](const Node& node) {
    if (node.attrs.has(AttrKey::kSymbol)) symbols.insert(node.attrs.sym(AttrKey::kSymbol));
    if (!node.attrs.has(AttrKey::kSizes)) return;
    for (SymId size : node.attrs.syms(AttrKey::kSizes)) symbols.insert(size);
  };
  add(loop);
  const Graph& body = *loop.regions[0];
  for (size_t i = 0; i < body.size(); ++i) add(body.node(ValueId(i)));
  return symbols;
}

bool isCopyOf(const Graph& graph, ValueId id, ValueId array) {
  const Node& node = graph.node(id);
  return node.op == Op::kCopy && node.operands[0] == array && graph.type(id) == graph.type(array);
}

/// The value is computed, element by element, from elements of `array` that are among what the update overwrites, but
/// not from each element itself alone.
bool readsElsewhere(const Graph& body, ValueId update, ValueId array) {
  absl::flat_hash_set<ValueId> seen;
  std::vector<ValueId> open = {body.node(update).operands[1]};
  while (!open.empty()) {
    const ValueId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const ValueId base = viewBase(body, at);
    if (base == array || isCopyOf(body, base, array)) {
      if (Footprint(body, at).with(Footprint::ofUpdate(body, update, base)) == Alias::kMay) return true;
      continue;
    }
    if (classOf(body, base) != OpClass::kElementwise) continue;
    for (ValueId operand : body.node(base).operands) open.push_back(operand);
  }
  return false;
}

/// Whether carried value number `k` is updated in the same place in every turn, from other elements of its own.
bool mayAlternate(const Node& loop, size_t k, const absl::flat_hash_set<SymId>& changing) {
  const Graph& body = *loop.regions[0];
  const ValueId update = body.outputs()[k + leadingOutputs(Op::kLoop)], array = inputOf(body, k);
  const Node& node = body.node(update);
  if (!array.valid() || node.op != Op::kUpdate) return false;
  if (node.operands[0] != array && !isCopyOf(body, node.operands[0], array)) return false;
  const auto leavesIt = [&](ValueId output) { return output == array || isCopyOf(body, output, array); };
  if (std::any_of(body.outputs().begin(), body.outputs().end(), leavesIt)) return false;  // has another place to go to
  const auto changes = [&](SymId id) { return mentions(body.syms(), id, changing); };
  const SymList &starts = node.attrs.syms(AttrKey::kStarts), &steps = node.attrs.syms(AttrKey::kSteps);
  const SymShape& shape = body.type(node.operands[1]).shape;
  if (std::any_of(starts.begin(), starts.end(), changes) || std::any_of(steps.begin(), steps.end(), changes) ||
      std::any_of(shape.begin(), shape.end(), changes))
    return false;
  return readsElsewhere(body, update, array);
}

absl::Status alternate(Graph& graph, ValueId id, size_t k) {
  Node& loop = graph.mutableNode(id);
  Graph& body = *loop.regions[0];
  const ValueId update = body.outputs()[k + leadingOutputs(Op::kLoop)];
  const auto second = static_cast<int>(loop.operands.size());
  const ValueId array = inputOf(body, k);
  absl::Status status = rewrite(body, [&](Rewriter& rw, ValueId at) {
    if (at != update) {
      if (isCopyOf(body, at, array))
        rw.set(at, rw.map(array));
      else
        rw.copyNode(at);
      return absl::OkStatus();
    }
    const Node& node = rw.in().node(at);
    const ValueId memory = rw.out().input(second, rw.in().type(node.operands[0]));
    const ValueId operands[] = {memory, rw.map(node.operands[1])};
    rw.copyNode(at, operands);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  body.outputs().push_back(inputOf(body, k));
  loop.operands.push_back(loop.operands[k]);
  loop.type.tuple.push_back(ValueType(loop.type.tuple[k]));
  return absl::OkStatus();
}

}  // namespace

absl::Status alternateMemories(Graph& graph) {
  for (size_t i = 0; i < graph.size(); ++i) {
    const ValueId id(i);
    if (graph.node(id).op != Op::kLoop) continue;
    const absl::flat_hash_set<SymId> changing = changingSymbols(graph.node(id));
    const size_t carried = graph.node(id).operands.size();
    for (size_t k = 0; k < carried; ++k)
      if (mayAlternate(graph.node(id), k, changing))
        if (absl::Status s = alternate(graph, id, k); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace fw::graph
