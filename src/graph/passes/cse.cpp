// Common subexpressions. Equal pure nodes merge when they are added (hash-consing); what passes and symbol equalities
// found later makes more of them equal, so this canonicalises symbols and adds every node again.
#include "graph/passes/pass_manager.h"
#include "graph/passes/rewriter.h"

namespace fw::graph {

absl::Status eliminateCommonSubexpressions(Graph& graph, const PassContext& context) {
  absl::Status status = forEachRegion(graph, [&](Graph& g) { return eliminateCommonSubexpressions(g, context); });
  if (!status.ok()) return status;
  graph.canonicalizeSyms();
  return rewrite(graph, [](Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    return absl::OkStatus();
  });
}

}  // namespace fw::graph
