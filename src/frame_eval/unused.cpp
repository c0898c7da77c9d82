// A value is needed if outputs or commits are computed from it. Of the others, those that may raise are kept, the last
// ones first: what they are computed from is then needed, too.
#include "frame_eval/unused.h"

#include <vector>

#include "graph/raising.h"

namespace fw::capture {

using graph::ValueId;

void keepUnused(graph::Graph& graph) {
  std::vector<bool> needed(graph.size());
  for (ValueId id : graph.outputs()) needed[id.index] = true;
  for (ValueId id : graph.commits()) needed[id.index] = true;
  for (size_t i = graph.size(); i-- > 0;) {  // operands stand before what is computed from them
    const ValueId id(i);
    if (!needed[i] && graph::mayRaise(graph, id)) {
      needed[i] = true;
      graph.outputs().push_back(id);
    }
    needed[i] = needed[i] || graph.node(id).op == graph::Op::kCall;  // it may raise, and is made in any case
    if (!needed[i]) continue;
    for (ValueId operand : graph.node(id).operands) needed[operand.index] = true;
  }
}

}  // namespace fw::capture
