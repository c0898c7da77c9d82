// capture() and captureRegion(): bytecode is executed symbolically from the beginning of a call or from the middle of a frame; what
// comes out is completed (exit plan, guards, canonical sizes) or becomes a Break.
// InternalError and PythonError pass through to the boundary.
#include "frame_eval/capture.h"

#include "frame_eval/exit_builder.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "graph/op.h"

namespace fw::capture {

/// Has access to the parts of a Trace, to move them out.
struct CaptureSession {
  static Captured finish(Trace& trace, ExitPlan exit) {
    trace.guardAliases();
    trace.guardPresence();
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

/// Runs one trace; `execute` answers how its frame ends.
template <typename Execute>
std::variant<Captured, Break> captureWith(const CaptureOptions& options, Execute execute) {
  Trace trace;
  trace.sizes = options.sizes;
  Interpreter interpreter(trace, options);
  try {
    FrameEnd end = execute(interpreter);
    interpreter.checkGenerators();
    numpy::finishWrites(trace);
    ExitPlan exit = buildExit(trace, end);
    bool arrays = options.evenWithoutArrays || !trace.graph().commits().empty() || computesArrays(trace.graph());
    for (const ExitNode& node : exit.nodes) {
      arrays |= node.kind == ExitNode::Kind::kArray || node.kind == ExitNode::Kind::kArrayScalar;
    }
    if (!arrays) return Break{BreakReason::kNothingToCompile, "", interpreter.file(), trace.line};
    return CaptureSession::finish(trace, std::move(exit));
  } catch (const CaptureBreak& b) {
    int at = b.at >= 0 ? b.at : interpreter.resumeAt() >= 0 ? interpreter.resumeAt() : trace.at;
    return Break{b.reason, b.detail, interpreter.file(), trace.line, at};
  }
}

}  // namespace

std::variant<Captured, Break> capture(const CallView& call, const CaptureOptions& options) {
  return captureWith(options, [&](Interpreter& interpreter) { return FrameEnd{.result = interpreter.run(call)}; });
}

std::variant<Captured, Break> captureRegion(const RegionView& region, const CaptureOptions& options) {
  return captureWith(options, [&](Interpreter& interpreter) { return interpreter.runRegion(region); });
}

}  // namespace fw::capture
