// capture() and captureRegion(): bytecode is executed symbolically from the beginning of a call or from the middle of a
// frame; what comes out is completed (exit plan, guards, canonical sizes) or becomes a Break. InternalError and
// PythonError pass through to the boundary.
#include "frame_eval/capture.h"

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "frame_eval/classes.h"
#include "frame_eval/exit_builder.h"
#include "frame_eval/inlined_generators.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/loops.h"
#include "frame_eval/logs.h"
#include "frame_eval/long_list.h"
#include "frame_eval/locks.h"
#include "frame_eval/numpy/error_state.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/survey.h"
#include "frame_eval/unused.h"
#include "graph/op.h"
#include "graph/rank.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

namespace {

/// Nodes that numpy::countsAsArithmetic() counts; -1 if there are some that will be decomposed into such.
int countArithmetic(const graph::Graph& graph) {
  int count = 0;
  for (size_t i = 0; i < graph.size(); ++i) {
    const graph::Node& node = graph.node(graph::ValueId(i));
    if (graph::info(node.op).cpu == "Decompose" && node.op != graph::Op::kPositive) return -1;
    count += numpy::countsAsArithmetic(node);
  }
  return count;
}

}  // namespace

/// Has access to the parts of a Trace, to move them out.
struct CaptureSession {
  /// Guards on classes are about what was looked up there, as far as that can be held.
  static void addClassFacts(Trace& trace) {
    for (guards::Guard& guard : trace.guards_.guards) {
      if (guard.kind != guards::GuardKind::kTypeVersion) continue;
      auto* type = reinterpret_cast<PyTypeObject*>(guard.object.get());
      guard.facts = guards::ClassFacts::create(type, trace.lookups.of(type));
      if (!guard.facts && guard.lo == 0)
        trace.fail(BreakReason::kUnsupportedAttribute, std::string(type->tp_name) + " is out of type versions");
    }
  }

  static Captured finish(Trace& trace, ExitPlan exit) {
    trace.at = -1;  // what is guarded from here on is about the whole
    trace.guardAliases();
    trace.guardPresence();
    addClassFacts(trace);
    trace.graph_.canonicalizeSyms();
    holdWeakly(exit, trace.guards_);
    guards::holdWeakly(trace.guards_);
    guards::sortGuards(trace.guards_);
    const bool ufuncsAreOwn =
        !trace.inlines && trace.branches.graph.empty() && countArithmetic(trace.graph_) == trace.ufuncCalls;
    return {std::move(trace.graph_),
            std::move(trace.guards_),
            std::move(exit),
            std::move(trace.libraryCalls),
            std::move(trace.programWrites),
            ufuncsAreOwn,
            trace.leavesRaises};
  }
};

namespace {

struct Work {
  int64_t cost = 0;     ///< rough nanoseconds that Python and NumPy take for it
  bool arrays = false;  ///< some of it is done on arrays
  bool calls = false;   ///< some of it by a library
  bool loops = false;   ///< some of it many times
};

/// What the outputs and writes of the graph are computed by.
Work workOf(const graph::Graph& graph) {
  constexpr int64_t kArrayOp = 400, kView = 100, kScalarOp = 45;
  std::vector<graph::ValueId> work(graph.outputs().begin(), graph.outputs().end());
  work.insert(work.end(), graph.commits().begin(), graph.commits().end());
  std::vector<bool> seen(graph.size());
  auto isView = [&](graph::ValueId id) { return graph::info(graph.node(id).op).cls == graph::OpClass::kView; };
  Work result;
  while (!work.empty()) {
    const graph::ValueId at = work.back();
    work.pop_back();
    if (seen[at.index]) continue;
    seen[at.index] = true;
    const graph::Node& node = graph.node(at);
    work.insert(work.end(), node.operands.begin(), node.operands.end());
    result.arrays |= node.type.rank() > 0;
    for (const auto& region : node.regions) {  // all of them: what Python does between its decisions costs, too
      const Work inner = workOf(*region);
      result.cost += inner.cost;
      result.arrays |= inner.arrays;
      result.loops |= inner.loops;
    }
    if (node.operands.empty()) continue;
    if (graph::info(node.op).cls == graph::OpClass::kControl) {
      result.calls |= node.op == graph::Op::kCall;
      result.loops |= node.op == graph::Op::kLoop;
      continue;
    }
    result.cost += node.type.rank() == 0 ? kScalarOp : isView(at) ? kView : kArrayOp;
    auto reduced = [&](graph::ValueId operand) { return graph.type(operand).rank() > 0; };
    if (node.type.rank() == 0 && !isView(at) && std::any_of(node.operands.begin(), node.operands.end(), reduced))
      result.cost += kArrayOp;
  }
  return result;
}

/// Whether compiled code is faster than Python. What a region costs by itself - its stub, guards, objects that it makes
/// - a few operations on numbers do not bring in again.
bool isWorthwhile(const graph::Graph& graph, const ExitPlan& exit, bool region) {
  constexpr int64_t kRegionCost = 160;
  const Work work = workOf(graph);
  if (work.loops) return true;
  const bool numpy = work.arrays || !graph.commits().empty() ||
                     std::any_of(exit.nodes.begin(), exit.nodes.end(), [](const ExitNode& node) {
                       return node.kind == ExitNode::Kind::kArray || node.kind == ExitNode::Kind::kArrayScalar;
                     });
  if (work.calls && work.cost < kRegionCost) return false;  // a library is as fast without us
  return numpy && (!region || work.cost >= kRegionCost);
}

/// What traces of one function have found out, by which the next one goes.
struct Decisions {
  LoopDecisions loops;
  LibraryWays ways;
  bool rolls = true;  ///< loops; not where finding out about them has taken too long
};

/// Runs one trace; `execute` answers how its frame ends.
template <typename Execute>
std::variant<Captured, Break> traceOnce(const CaptureOptions& options, bool region, Execute execute,
                                        const SharedMemoryFound& known, bool mayRestart, bool& returnsTwice,
                                        Decisions& decisions) {
  Trace trace;
  trace.loops = decisions.rolls ? &decisions.loops : nullptr;
  trace.ways = &decisions.ways;
  trace.sizes = options.sizes;
  trace.fixesSizes =
      options.sizes != SizePolicy::kDynamic && !(options.changing && options.changing->contains(kProductSizes));
  trace.shared = known.groups;
  trace.mayRestart = mayRestart;
  trace.keepsWrites = options.keepWrites;
  trace.branches.mayReturnTwice = returnsTwice;
  const absl::Cleanup tell = [&] { returnsTwice = trace.branches.returning > 0; };
  for (SharedMemory& memory : trace.shared)
    for (SharedMember& member : memory.members)
      member.source = copyPath(*known.sources, member.source, trace.sources());
  Logs{trace}.begin();
  Interpreter interpreter(trace, options);
  auto brokenAt = [&](BreakReason reason, std::string detail, int at) {
    if (at < 0) at = interpreter.resumeAt() >= 0 ? interpreter.resumeAt() : trace.at;
    return Break{reason, std::move(detail), interpreter.file(), trace.line, at};
  };
  try {
    FrameEnd end = execute(interpreter);
    interpreter.checkGenerators();
    Logs{trace}.finish();
    LongList::finishWrites(trace);
    numpy::finishWrites(trace);
    Locks::check(trace);
    numpy::checkErrorState(trace);
    ExitPlan exit = buildExit(trace, end);
    Classes::check(trace);
    const bool branches = !trace.branches.graph.empty();
    if (branches) trace.branches.graph.settle(!trace.onDevice());
    trace.decided.settle();
    if (!options.evenWithoutArrays && !isWorthwhile(trace.graph(), exit, region))
      return Break{BreakReason::kNothingToCompile, "", interpreter.file(), trace.line, -1, trace.turns.unrolled};
    if (!branches && !trace.onDevice()) keepUnused(trace.graph());
    return CaptureSession::finish(trace, std::move(exit));
  } catch (const CaptureBreak& b) {
    InlinedGenerators{interpreter, trace}.leave();
    Rolling::reconsiderFirstTurns(interpreter, b.at >= 0 ? b.at : trace.at);
    if (trace.loops && trace.loops->mayHelp(b.remedy)) throw LoopsDecided{};
    return brokenAt(b.reason, b.detail, b.at);
  } catch (const graph::TooManyAxes& e) {
    return brokenAt(BreakReason::kUnsupportedArray, std::string("a result has ") + e.what(), -1);
  }
}

/// The same, again for whatever is found out about loops and calls.
template <typename Execute>
std::variant<Captured, Break> traceLoops(const CaptureOptions& options, bool region, Execute execute,
                                         const SharedMemoryFound& known, bool mayRestart, bool& returnsTwice,
                                         Decisions& decisions) {
  const bool mayReturnTwice = returnsTwice;
  while (true) {
    try {
      decisions.loops.unknownBehind.clear();
      returnsTwice = mayReturnTwice;
      return traceOnce(options, region, execute, known, mayRestart, returnsTwice, decisions);
    } catch (const LoopsDecided&) {
      if (options.isLate(&decisions.loops)) decisions.rolls = false;
    } catch (const WayRefused&) {}
  }
}

/// Attempts that may find out about further arrays that share memory.
constexpr int kMaxAttempts = 4;

/// `returnsTwice`: Branches::mayReturnTwice, and whether that was made use of.
template <typename Execute>
std::variant<Captured, Break> captureWith(const CaptureOptions& options, bool region, Execute execute,
                                          bool& returnsTwice, Decisions& decisions) {
  const bool mayReturnTwice = returnsTwice;
  SharedMemoryFound known;
  const bool mayShare = !options.changing || !options.changing->contains(kSharedPlaces);
  for (int attempt = 1; attempt < kMaxAttempts && mayShare; ++attempt) {
    try {
      returnsTwice = mayReturnTwice;
      return traceLoops(options, region, execute, known, true, returnsTwice, decisions);
    } catch (SharedMemoryFound& found) {
      known = std::move(found);
    }
  }
  returnsTwice = mayReturnTwice;
  return traceLoops(options, region, execute, {}, false, returnsTwice, decisions);
}

/// What cannot be captured with the rest of the function in both arms of a branch is traced again with arms that end
/// where they meet.
template <typename Execute>
std::variant<Captured, Break> captureBest(const CaptureOptions& options, bool region, Execute execute) {
  bool returnsTwice = true;
  Decisions decisions;
  auto traced = captureWith(options, region, execute, returnsTwice, decisions);
  if (std::holds_alternative<Captured>(traced) || !returnsTwice) return traced;
  returnsTwice = false;
  return captureWith(options, region, execute, returnsTwice, decisions);
}

}  // namespace

bool CaptureOptions::isLate(const LoopDecisions* loops) const {
  return (loops && !loops->shapes.empty() ? deadlineOfLoops : deadline).isOver();
}

std::variant<Captured, Break> capture(const CallView& call, const CaptureOptions& options) {
  return captureBest(options, false,
                     [&](Interpreter& interpreter) { return FrameEnd{.result = interpreter.run(call)}; });
}

std::variant<Captured, Break> captureRegion(const RegionView& region, const CaptureOptions& options) {
  return captureBest(options, true, [&](Interpreter& interpreter) { return interpreter.runRegion(region); });
}

std::vector<Break> survey(const CallView& call, const CaptureOptions& options, const Break& first) {
  Survey survey(first);
  while (survey.next()) {
    try {
      bool returnsTwice = false;
      Decisions decisions;
      auto execute = [&](Interpreter& interpreter) -> FrameEnd {
        interpreter.follow(&survey);
        interpreter.run(call);
        throw SurveyEnd{};  // what comes then is for complete traces
      };
      auto traced = captureWith(options, false, execute, returnsTwice, decisions);
      if (auto* what = std::get_if<Break>(&traced)) survey.ended(std::move(*what));
    } catch (const SurveyEnd&) {
    } catch (const InternalError&) {  // of a trace that is not used; what was found until then holds
    }
  }
  return survey.take();
}

}  // namespace fw::capture
