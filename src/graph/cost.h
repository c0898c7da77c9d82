// What computing a value costs: the op table's column `cost`, resolved for the types of one node.
#pragma once

#include "graph/graph.h"

namespace fw::graph {

/// Never Cost::kModulus.
inline Cost costOf(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  const Cost cost = info(node.op).cost;
  if (cost != Cost::kModulus) return cost;
  return isComplex(graph.type(node.operands[0]).dtype) ? Cost::kFunction : Cost::kCheap;
}

}  // namespace fw::graph
