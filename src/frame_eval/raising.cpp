#include "frame_eval/raising.h"

#include <algorithm>
#include <string_view>

#include "frame_eval/arm_joins.h"
#include "frame_eval/branching.h"
#include "frame_eval/branching_place.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/unwind.h"

namespace fw::capture {

using cpython::Opcode;
using graph::DType;
using graph::Op;
using graph::SymId;
using graph::ValueId;

const cpython::Handler* handlerOf(const Bytecode& code, int at) {
  const auto covers = [&](const cpython::Handler& h) { return h.start <= at && at < h.end; };
  const auto found = std::find_if(code.handlers.begin(), code.handlers.end(), covers);
  return found == code.handlers.end() ? nullptr : &*found;
}

bool isExcept(const Bytecode& code, int handler) {
  auto at = static_cast<size_t>(handler);
  if (code.instructions[at].op != Opcode::kPushExcInfo) return false;
  if (code.instructions[++at].op == Opcode::kPopTop) return true;  // of everything
  for (; at < code.instructions.size(); ++at) {
    const cpython::Instr& instr = code.instructions[at];
    if (instr.op == Opcode::kCheckExcMatch) return true;
    const bool names = instr.op == Opcode::kLoadGlobal || instr.op == Opcode::kLoadName ||
                       instr.op == Opcode::kLoadAttr || instr.op == Opcode::kLoadFast ||
                       instr.op == Opcode::kLoadDeref || instr.op == Opcode::kBuildTuple;
    if (!names) return false;
  }
  return false;
}

ControlFlow withExcepts(const Bytecode& code, ControlFlow flow) {
  for (int i = 0; i < flow.size(); ++i) {
    const cpython::Handler* handler = handlerOf(code, i);
    if (handler && isExcept(code, handler->target)) flow.handler[static_cast<size_t>(i)] = handler->target;
  }
  return flow;
}

namespace {

/// Where a handler goes on when it has handled: the only way out of a loop without an end.
int behindHandler(const Bytecode& code, const JoiningFlow& flow, int at) {
  while (at >= 0 && at < flow.flow.size() && code.instructions[static_cast<size_t>(at)].op != Opcode::kPopExcept)
    at = flow.joins[static_cast<size_t>(at)];
  return at >= 0 && at < flow.flow.size() ? flow.joins[static_cast<size_t>(at)] : -1;
}

/// The instruction that the frame has begun is no branch where it raises.
[[noreturn]] void unfork(Trace& trace, const Frame& frame) {
  trace.loops->unforked.insert({frame.code->identity(), frame.pc - 1});
  throw LoopsDecided{};
}

}  // namespace

std::optional<Raising> Branching::raisingAt(Frame& frame) const {
  constexpr unsigned kMostNested = 10;  // a `try` has checks behind checks
  Branches& branches = trace.branches;
  const int at = static_cast<int>(frame.pc) - 1;
  const cpython::Handler* handler = handlerOf(*frame.code, at);
  if (!handler) return std::nullopt;
  const bool caught = isExcept(*frame.code, handler->target);
  const bool forks = caught && !interpreter.leavesRaises() && interpreter.mayRoll() && !trace.onDevice() &&
                     interpreter.resumeAt() < 0 && branches.depth < kMostNested &&
                     !trace.loops->unforked.contains({frame.code->identity(), static_cast<size_t>(at)});
  auto assumed = std::exchange(branches.assumed, {});
  if (assumed.frame != &frame || assumed.at != at) assumed.known.clear();
  return Raising{&frame,         &interpreter.frame_, caught,          forks, std::move(assumed.known),
                 branches.depth, trace.turns.bodies,  branches.raising};
}

bool Branches::handles(ValueId holds, PyObject* type) {
  if (!raising || !raising->caught) return false;
  const RaisingCheck check{type, trace_.graph().node(holds).op};
  if (raising->asked < raising->known.size()) {
    if (raising->known[raising->asked++] == check) return true;
    unfork(trace_, *raising->owner);  // it asks for other things when it is traced again
  }
  ++raising->asked;
  const auto& before = raising->before;
  const bool isAlone = raising->arms == depth && raising->turns == trace_.turns.bodies && before &&
                       !before->irreversible() && before->changed().empty() &&
                       raising->calls == trace_.libraryCalls.size();
  if (raising->forks && isAlone) {
    raising->known.push_back(check);
    throw DataRaise(holds, std::move(raising->known));
  }
  raising->forks = false;  // `known` are the first ones
  trace_.leavesRaises = true;
  return false;
}

void DataInts::require(ValueId condition, PyObject* raised) {
  if (!trace_.branches.handles(condition, raised)) require(condition);
}

void DataInts::requireWithin(Value* value, SymId least, SymId most, PyObject* raised) {
  graph::Graph& g = trace_.graph();
  const Raising* raising = trace_.branches.raising;
  // Code that stands for others looks before it leaps.
  if (!raising || !raising->caught || isSubstitute((*raising->now)->object())) return;
  const ValueId above = g.binary(Op::kLessEqual, g.cast(g.sym(least), DType::kI64), value->node);
  const ValueId below = g.binary(Op::kLessEqual, value->node, g.cast(g.sym(most), DType::kI64));
  (void)trace_.branches.handles(g.binary(Op::kLogicalAnd, above, below), raised);
}

bool isLeftToPython(PyTypeObject* type) { return std::string_view(type->tp_name) == "_LeftToPythonError"; }

void raiseCertain(Trace& trace, PyObject* type, const std::string& what) {
  const Raising* raising = trace.branches.raising;
  if (raising && raising->caught && trace.loops && !std::exchange(trace.loops->handlesRaises, true))
    throw LoopsDecided{};
  const std::string name = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  if (!raising || !raising->forks) trace.fail(BreakReason::kPythonException, name + ": " + what);
  Value* exception = trace.make(ValueKind::kException);
  exception->object = cpython::Ref::create(type);
  exception->items = {trace.constant(cpython::checked(PyUnicode_FromString(what.c_str())))};
  exception->name = what;
  throw VirtualRaise(exception);
}

void Branching::checkUnwinds(const Frame& frame, int end, bool leaves, Value* exception) const {
  const JoiningFlow& flow = interpreter.flowIn(*frame.code).joining;
  const cpython::Handler* handler = handlerOf(*frame.code, static_cast<int>(frame.pc) - 1);
  const bool forks = !interpreter.leavesRaises();
  const bool ends = handler && flow.joins[static_cast<size_t>(handler->target)] < 0;  // it raises again
  if (forks && handler && (ends || leaves || isBehind(flow, end, handler->target))) return;
  CaptureBreak b(forks ? BreakReason::kDataDependentBranch : BreakReason::kPythonException,
                 "an exception leaves it for a handler");
  auto* type = reinterpret_cast<PyTypeObject*>(exception->object.get());
  trace.leavesRaises |= !forks;
  if (handler)
    b.handler = handler->target;
  else if (forks && storesArguments(type) && exception->overlay.empty())
    b.raised = exception->object.get();
  throw b;
}

void Branching::fork(Frame& frame, size_t pc, const std::vector<Value*>& stack, const DataRaise& raise) {
  const int at = static_cast<int>(pc), target = handlerOf(*frame.code, at)->target;
  while (interpreter.frames_.back().get() != &frame) interpreter.frames_.pop_back();
  interpreter.frame_ = &frame;
  frame.pc = pc + 1;
  frame.stack = stack;
  int join = joinOfBoth(frame, at + 1, target);
  if (join < 0 && !frame.rolling.empty())
    join = behindHandler(*frame.code, interpreter.flowIn(*frame.code).joining, target);
  Place place{frame, trace.at, trace.line, join, trace.branches.ended, at};
  if (auto later = trace.loops->laterJoins.find({frame.code->identity(), pc}); later != trace.loops->laterJoins.end())
    place.join = later->second;
  if (place.join < 0 || (place.join > at && hasStop(frame, at, place.join))) unfork(trace, frame);
  findLeaves(place);
  const auto goesOn = [&] {
    frame.stack = stack;
    frame.pc = pc;
    trace.branches.assumed = {&frame, at, raise.checks};
  };
  const auto raises = [&] {
    frame.stack = stack;
    frame.pc = pc + 1;
    try {
      interpreter.raiseAbout(raise.checks.back().type, "what it says");
    } catch (const VirtualRaise& raised) {
      (void)interpreter.unwind(frame, raised.exception);
    }
  };
  try {
    enter(place);
    takeBoth({place, {goesOn, raises}, raise.holds});
  } catch (const CaptureBreak& b) {  // what would hold it up were it not for the handler has its say again
    if (b.remedy) throw;
    frame.pc = pc + 1;
    unfork(trace, frame);
  }
}

}  // namespace fw::capture
