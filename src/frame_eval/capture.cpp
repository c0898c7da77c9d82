// capture(): one call is executed symbolically; what comes out is completed (exit plan, canonical sizes) or becomes a Break.
// InternalError and PythonError pass through to the boundary.
#include "frame_eval/capture.h"

#include "frame_eval/exit_builder.h"
#include "frame_eval/interpreter.h"
#include "graph/op.h"

namespace fw::capture {

/// Has access to the parts of a Trace, to move them out.
struct CaptureSession {
  static Captured finish(Trace& trace, ExitPlan exit) {
    trace.graph_.canonicalizeSyms();
    guards::sortGuards(trace.guards_);
    return {std::move(trace.graph_), std::move(trace.guards_), std::move(exit)};
  }
};

namespace {

/// True if some output of the graph is computed from or into an array.
bool computesArrays(const graph::Graph& graph) {
  for (graph::ValueId id : graph.outputs()) {
    std::vector<graph::ValueId> work{id};
    std::vector<bool> seen(graph.size());
    while (!work.empty()) {
      graph::ValueId at = work.back();
      work.pop_back();
      if (seen[at.index]) continue;
      seen[at.index] = true;
      const graph::Node& node = graph.node(at);
      if (node.type.rank() > 0) return true;
      work.insert(work.end(), node.operands.begin(), node.operands.end());
    }
  }
  return false;
}

}  // namespace

std::variant<Captured, Break> capture(const CallView& call, const CaptureOptions& options) {
  Trace trace;
  Interpreter interpreter(trace, options);
  try {
    Value* result = interpreter.run(call);
    ExitPlan exit = buildExit(trace, result);
    bool arrays = computesArrays(trace.graph());
    for (const ExitNode& node : exit.nodes) {
      arrays |= node.kind == ExitNode::Kind::kArray || node.kind == ExitNode::Kind::kArrayScalar;
    }
    if (!arrays) trace.fail(BreakReason::kNothingToCompile, "");
    return CaptureSession::finish(trace, std::move(exit));
  } catch (const CaptureBreak& b) {
    return Break{b.reason, b.detail, interpreter.file(), trace.line};
  }
}

}  // namespace fw::capture
