#include "graph/bound_sizes.h"

#include <algorithm>

namespace fw::graph {

namespace {

void forEachSym(const ValueType& type, absl::FunctionRef<void(SymId)> visit) {
  for (SymId size : type.shape) visit(size);
  for (const ValueType& element : type.tuple) forEachSym(element, visit);
}

}  // namespace

void collectBound(const Node& node, absl::flat_hash_set<SymId>& symbols) {
  if (node.op == Op::kDefine) symbols.insert(node.attrs.sym(AttrKey::kSymbol));
  if (!node.attrs.has(AttrKey::kSizes)) return;
  const SymList& sizes = node.attrs.syms(AttrKey::kSizes);
  symbols.insert(sizes.begin(), sizes.end());
}

void forEachSym(const Node& node, absl::FunctionRef<void(SymId)> visit) {
  absl::flat_hash_set<SymId> own;
  collectBound(node, own);
  const auto pass = [&](SymId id) {
    if (!own.contains(id)) visit(id);
  };
  forEachSym(node.type, pass);
  for (const auto& [key, value] : node.attrs.entries()) {
    if (const auto* sym = std::get_if<SymId>(&value)) pass(*sym);
    if (const auto* list = std::get_if<SymList>(&value)) std::for_each(list->begin(), list->end(), pass);
  }
  for (const std::unique_ptr<Graph>& region : node.regions)
    for (size_t i = 0; i < region->size(); ++i) forEachSym(region->node(ValueId(i)), visit);
}

BoundSizes::BoundSizes(const Graph& graph) {
  absl::flat_hash_set<SymId> symbols;
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(ValueId(i));
    if (node.op == Op::kDefine) {
      calls_[node.attrs.sym(AttrKey::kSymbol)] = ValueId(i);
      symbols.insert(node.attrs.sym(AttrKey::kSymbol));
    }
    if (!node.attrs.has(AttrKey::kSizes)) continue;
    for (SymId size : node.attrs.syms(AttrKey::kSizes)) {
      calls_[size] = ValueId(i);
      symbols.insert(size);
    }
  }
  if (calls_.empty()) return;
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(ValueId(i));
    std::vector<ValueId> needs;
    forEachSym(node, [&](SymId id) {
      if (!mentions(graph.syms(), id, symbols)) return;
      for (const auto& [symbol, call] : calls_)
        if (call.index < i && mentions(graph.syms(), id, symbol)) needs.push_back(call);
    });
    // What is looked at before something is written is not looked at later; loops and branches may write in place.
    if (node.op == Op::kUpdate || !node.regions.empty())
      for (size_t k = 0; k < i; ++k)
        if (graph.node(ValueId(k)).op == Op::kDefine) needs.push_back(ValueId(k));
    // What has no place of its own among the steps comes with its readers.
    for (ValueId operand : node.operands) {
      const OpClass cls = info(graph.node(operand).op).cls;
      const auto known = needs_.find(operand);
      const bool carried = cls == OpClass::kSource || cls == OpClass::kView || cls == OpClass::kCreation ||
                           graph.type(operand).rank() == 0;
      if (carried && known != needs_.end()) needs.insert(needs.end(), known->second.begin(), known->second.end());
    }
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    if (!needs.empty()) needs_[ValueId(i)] = std::move(needs);
  }
}

absl::Span<const ValueId> BoundSizes::needs(ValueId id) const {
  const auto known = needs_.find(id);
  return known == needs_.end() ? absl::Span<const ValueId>() : known->second;
}

}  // namespace fw::graph
