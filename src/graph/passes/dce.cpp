// Dead code: keeps inputs and what outputs and commits need. A rewrite visits nothing else.
#include "graph/passes/pass_manager.h"
#include "graph/passes/rewriter.h"

namespace fw::graph {

absl::Status eliminateDeadCode(Graph& graph, const PassContext& context) {
  absl::Status status = forEachRegion(graph, [&](Graph& g) { return eliminateDeadCode(g, context); });
  if (!status.ok()) return status;
  return rewrite(graph, [](Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    return absl::OkStatus();
  });
}

}  // namespace fw::graph
