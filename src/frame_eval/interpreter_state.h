// What the symbolic interpreter remembers while it executes: its frames, exceptions on their way, and what it has
// guarded.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "frame_eval/capture.h"
#include "frame_eval/frame.h"
#include "frame_eval/splice/control_flow.h"
#include "frame_eval/trace.h"

namespace fw::capture {

class Survey;

/// Where the keys of a dict of the trace stand, as long as the dict begins with them.
struct KeyIndex {
  std::vector<Value*> keys;
  Ref positions;  ///< a dict
};

/// Flow of control in some code, without handlers.
struct CodeFlow {
  explicit CodeFlow(const Bytecode& code)
      : joining(flowOf(code)),
        flow(withExcepts(code, joining.flow)),
        loops(naturalLoops(flow)),
        live(code, flow, std::vector<bool>(static_cast<size_t>(code.slotCount()))) {}
  JoiningFlow joining;
  ControlFlow flow;         ///< with the ways to handlers
  std::vector<Loop> loops;  ///< smaller ones first
  Liveness live;
};

struct InterpreterState {
  InterpreterState(Trace& trace, const CaptureOptions& options) : trace_(trace), options_(options) {}

  Trace& trace_;
  const CaptureOptions& options_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame* frame_ = nullptr;
  absl::flat_hash_map<PyCodeObject*, std::unique_ptr<Bytecode>> decoded_;
  absl::flat_hash_map<std::pair<PyCodeObject*, int>, std::unique_ptr<Bytecode>> consumed_;  ///< by Consumer
  absl::flat_hash_set<PyTypeObject*> guardedTypes_;
  absl::flat_hash_set<std::pair<SourceId, PyObject*>> absentAttributes_;  ///< guarded NoInstanceAttr
  absl::flat_hash_set<SourceId> guardedFunctions_;
  absl::flat_hash_map<SourceId, Value*> settings_;  ///< numbers read from globals, defaults, modules
  absl::flat_hash_map<std::pair<PyObject*, PyObject*>, Value*>
      writtenGlobals_;                             ///< by globals dict and name; null: deleted
  absl::flat_hash_map<SourceId, Value*> globals_;  ///< names read before, with their guards
  const std::vector<bool>* stops_ = nullptr;       ///< regions: of the outermost frame
  PyObject* const* liveSlots_ = nullptr;           ///< regions: what the frame holds
  Survey* survey_ = nullptr;
  int executed_ = 0;
  absl::flat_hash_set<LoopDecisions::Key> begun_;     ///< loops with a turn by itself in which data decides
  absl::flat_hash_set<LoopDecisions::Key> unrolled_;  ///< loops of which turns have been traced one by one
  std::vector<Handled> handled_;                      ///< exceptions being handled, innermost last
  int inFlight_ = -1;                                 ///< an exception is on its way to its handler: as Handled::at
  int catchers_ = 0;                                  ///< see CatchScope
  absl::flat_hash_map<Value*, Py_hash_t> keyHashes_;  ///< see keyHash()
  std::vector<Value*> generators_;                    ///< all that were made
  absl::flat_hash_map<PyObject*, Value*> functions_;  ///< see knownFunction()
  absl::flat_hash_map<const Value*, KeyIndex> keyIndices_;                 ///< see findKey()
  absl::flat_hash_map<const Bytecode*, std::unique_ptr<CodeFlow>> flows_;  ///< see flowIn()

  /// Whether loops may become loops of the graph, and what goes with that.
  bool mayRoll() const { return trace_.loops && !trace_.keepsWrites && !survey_; }
  /// Of a list that is made here (LoopDecisions::lists); none where it has to be one that the trace knows.
  LoopDecisions::Key site() const;
  /// Whether anything but the instruction at hand, which has taken it from the stack, refers to a Value.
  bool isHeld(const Value* value) const;
  /// Whether a call that raises in an arm what the function handles is Python's as a whole.
  bool leavesRaises() const {
    const bool handles = trace_.loops && trace_.loops->handlesRaises;
    return !handles && (!options_.changing || !options_.changing->contains(kHandledRaises));
  }
  /// Whether code of a frame handles what is raised here.
  bool isHandled() const;

  /// Of code with branches on array data, or with loops that become loops of the graph.
  const CodeFlow& flowIn(const Bytecode& code) {
    auto& known = flows_[&code];
    if (!known) known = std::make_unique<CodeFlow>(code);
    return *known;
  }
};

}  // namespace fw::capture
