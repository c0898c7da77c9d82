// The arms are traced one after the other from the same state (branch_state.h), each to the nearest instruction that
// every way from the branch to the end of the function passes, or to the return. There the two states become one
// (branch_join.h). Guards found in an arm are guards of the whole.
//
// An arm must not do what cannot be undone in the other: side effects, writes into arrays from outside, exceptions that
// leave it. A short rest of the outermost function is traced on both sides, the arms then end at its return. Else the
// branch breaks, as it does if a value that is not the same on both sides is looked at behind it. Nothing is rolled
// back in that case: the trace is thrown away.
#include "frame_eval/branching.h"

#include <algorithm>
#include <array>

#include "absl/cleanup/cleanup.h"
#include "frame_eval/arm_joins.h"
#include "frame_eval/branching_place.h"
#include "frame_eval/choices.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/splice/control_flow.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::Opcode;
using graph::ValueId;

namespace {

/// Branches inside of arms of branches; compiled code nests as deep.
constexpr unsigned kMaxDepth = 16;
/// Of one trace: what follows a branch that may return is traced twice. From the first number on, a loop that is
/// unrolled around the next one is to become one of the graph.
constexpr unsigned kManyBranches = 48;
constexpr unsigned kMaxBranches = 192;

/// Times that the arms of one branch are traced.
constexpr int kMostNewArrays = 4;

/// Instructions behind a branch that are traced twice, so that what the arms leave needs no memory of its own: what
/// follows is fused with each of them.
constexpr size_t kMaxTail = 120;
/// Of such branches inside of each other.
constexpr unsigned kMaxReturning = 2;

/// What a chained comparison leaves on the stack where it ends early is dropped on the way.
void dropNumbers(Frame& frame, size_t depth) {
  constexpr int kMostSteps = 8;
  for (int steps = 0; steps < kMostSteps && frame.stack.size() > depth; ++steps) {
    const Value* top = frame.stack.back();
    if (!top->isNumeric() && !top->isConstant()) return;
    const Instr& instr = frame.code->instructions[frame.pc];
    const bool drops = instr.op == Opcode::kPopTop;
    if (!drops && instr.op != Opcode::kNop && instr.op != Opcode::kJump) return;
    if (drops) frame.stack.pop_back();
    frame.pc = instr.op == Opcode::kJump ? static_cast<size_t>(instr.target) : frame.pc + 1;
  }
}

}  // namespace

struct Branching::WritesNewArrays {};

namespace {

constexpr std::string_view kRefusal = "the condition is array data, and ";

/// Why a side cannot be traced. Of branches in branches, what stopped the innermost one counts.
std::string reasonOf(const CaptureBreak& b, int line) {
  if (b.reason != BreakReason::kDataDependentBranch || !b.detail.starts_with(kRefusal)) return b.inLine(line);
  std::string inner = b.detail.substr(kRefusal.size());
  return inner.starts_with("in line ") ? inner : "in line " + std::to_string(line) + ": " + inner;
}

}  // namespace

void Branching::refuse(const Place& place, const std::string& why, const std::optional<Remedy>& remedy) {
  trace.line = place.line;
  CaptureBreak b(BreakReason::kDataDependentBranch, std::string(kRefusal) + why, place.at);
  b.remedy = remedy;
  throw b;
}

std::optional<ValueId> Branching::condition(Value* value) {
  // Outside of branches and loops Python would have to take over where it has raised what is handled.
  const bool mayEnd = trace.branches.depth == 0 && trace.turns.bodies == 0;
  if (trace.keepsWrites || (interpreter.resumeAt() >= 0 && mayEnd)) return std::nullopt;
  graph::Graph& g = trace.graph();
  // The host waits for it, as the library does. Denormal numbers of less than 64 bits would count as zero there.
  const bool data = trace.onDevice() && value->isNumeric() && value->kind != ValueKind::kPyInt;
  if (data && graph::isFloat(g.type(value->node).dtype) && g.type(value->node).dtype != graph::DType::kF64)
    return std::nullopt;
  switch (value->kind) {
    case ValueKind::kDataInt: return g.cast(value->node, graph::DType::kBool);
    case ValueKind::kPyBool:
    case ValueKind::kPyFloat:
    case ValueKind::kArrayScalar:
      if (trace.numbers().of(value)) return std::nullopt;
      return g.cast(value->node, graph::DType::kBool);
    case ValueKind::kPyInt:
      if (trace.turns.contains(value->sym)) {
        if (trace.turns.decide(value->sym, guards::Relation::kNe, trace.syms().constant(0))) return std::nullopt;
      } else if (!trace.decided.contains(value->sym)) {
        return std::nullopt;
      }
      return g.cast(g.sym(value->sym), graph::DType::kBool);
    case ValueKind::kPyComplex:
      if (value->source.valid()) return std::nullopt;
      return g.cast(value->node, graph::DType::kBool);
    case ValueKind::kArray: {
      const graph::SymShape shape = g.type(value->node).shape;
      for (graph::SymId size : shape)
        if (trace.decided.contains(size) || trace.hint(size) != 1) return std::nullopt;
      graph::IntList axes;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        (void)trace.decide(shape[axis], guards::Relation::kEq, trace.syms().constant(1));
        axes.push_back(static_cast<int64_t>(axis));
      }
      const ValueId element = axes.empty() ? value->node : g.squeeze(value->node, std::move(axes));
      return g.cast(element, graph::DType::kBool);
    }
    case ValueKind::kLongList: {
      const LongList list{trace, value};
      if (list.knownEmpty()) return std::nullopt;
      return g.cast(list.length()->node, graph::DType::kBool);
    }
    case ValueKind::kPooledList: {
      const PooledList list{trace, value};
      if (list.knownEmpty()) return std::nullopt;
      return g.cast(list.length()->node, graph::DType::kBool);
    }
    case ValueKind::kWorkTable: return g.cast(value->items[0]->node, graph::DType::kBool);
    default: return std::nullopt;
  }
}

int Branching::joinOf(const Frame& frame, int branch) {
  const Bytecode& code = *frame.code;
  const CodeFlow& flow = interpreter.flowIn(code);
  const int join = flow.joining.joins[static_cast<size_t>(branch)];
  if (join < 0) return -1;
  if (trace.loops)
    if (auto later = trace.loops->laterJoins.find({code.identity(), branch}); later != trace.loops->laterJoins.end())
      return later->second;
  if (const int header = loopOf(code, flow, branch); header >= 0) {
    Rolling loop(interpreter, *interpreter.frame_, static_cast<size_t>(header));
    if (!loop.isWanted()) {
      loopRefused = loop.whyNot();
      return -1;
    }
  }
  if (!frame.rolling.empty()) return joinInTurn(flow.joining, frame.rolling.back(), {branch}, join);
  const int end = static_cast<int>(code.instructions.size());
  const bool twice = trace.branches.mayReturnTwice && &frame == interpreter.frames_.front().get() &&
                     trace.branches.depth < kMaxReturning && join != end && tailOf(flow.joining.flow, join) <= kMaxTail;
  trace.branches.returning += twice;
  return twice ? end : join;
}

/// Of ways that begin at two instructions.
int Branching::joinOfBoth(const Frame& frame, int first, int second) const {
  const JoiningFlow& flow = interpreter.flowIn(*frame.code).joining;
  const int join = meeting(flow, {first, second});
  return join < 0 || frame.rolling.empty() ? join : joinInTurn(flow, frame.rolling.back(), {first, second}, join);
}

/// Traces one arm and goes back. None if the arm raises, and does nothing or what Python has to do (the message says
/// what array data is): Python makes the call then, from its beginning, also where the function handles it. If those
/// are all calls, the compiled code gives way.
std::optional<ArmEnd> Branching::run(const Place& place, BranchState& before, const std::function<void()>& enter) {
  Frame& frame = place.frame;
  const size_t begin = trace.graph().size();
  bool endsInRaise = false;
  trace.decided.enterArm();
  const absl::Cleanup leave = [this] { trace.decided.leaveArm(); };
  try {
    ++frame.arms;
    enter();
    endsInRaise = frame.pc < frame.code->instructions.size() &&
                  interpreter.flowIn(*frame.code).joining.joins[frame.pc] < 0 &&
                  (interpreter.leavesRaises() || !interpreter.isHandled());
    const int header = place.leaves ? static_cast<int>(place.leaves->header) : -1;
    if (place.edges)
      interpreter.runTo(frame, header, header, &place.leaves->loop->contains);
    else
      interpreter.runTo(frame, place.join, header);
    --frame.arms;
  } catch (const UnjoinedUse& use) {
    if (use.branch < place.number) throw;  // of a branch before this one
    refuse(place, "in it, " + use.detail, use.remedy);
  } catch (CaptureBreak& b) {
    raised = before.changed().empty() ? b.raised : nullptr;  // whoever handles it finds what has been done
    const bool raises = endsInRaise || raised ||
                        (b.reason == BreakReason::kPythonException &&
                         (frame.code->instructions[frame.pc - 1].op == Opcode::kRaiseVarargs ||
                          b.detail.find("Error: ") != std::string::npos));
    if ((raises || b.warns) && interpreter.frame_ == &frame && !before.irreversible()) {
      --frame.arms;
      trace.leavesRaises |= interpreter.isHandled();
      before.restore();
      return std::nullopt;
    }
    if (b.handler >= 0 && interpreter.leavesRaises() && trace.loops && !std::exchange(trace.loops->handlesRaises, true))
      throw LoopsDecided{};
    if (b.handler >= 0 && place.branch >= 0 && interpreter.frame_ == &frame && !place.returns()) {
      const int join = joinOfBoth(frame, place.join, b.handler);
      if (join >= 0) b.remedy = Remedy{frame.code->identity(), static_cast<size_t>(place.branch), join};
    }
    refuse(place, reasonOf(b, trace.line), b.remedy);
  }
  if (auto why = before.irreversible()) refuse(place, "what depends on it " + *why);
  if (before.writesNewArrays()) throw WritesNewArrays{};
  if (!place.edges && place.returns() != (frame.result != nullptr)) refuse(place, "only one side returns");
  int leftTo = -1;
  if (place.leaves && frame.pc != place.leaves->header) {
    leftTo = static_cast<int>(frame.pc);
    leaveLoop(place);
  }
  trace.branches.graph.endArm(begin);
  ArmEnd end{frame.slots, frame.stack,      frame.result,         frame.goesOn,
             frame.way,   before.changed(), interpreter.handled_, leftTo};
  before.restore();
  return end;
}

/// An arm has left the loop: what remains of the turn is to say so.
void Branching::leaveLoop(const Place& place) {
  Frame& frame = place.frame;
  const RollingBody& body = *place.leaves;
  frame.goesOn = trace.constant(Py_False);
  if (!place.edges) {
    if (body.iterator) frame.stack.push_back(body.iterator);
    return;
  }
  constexpr size_t kMostEdges = 4;
  dropNumbers(frame, body.stack.size());
  const bool begins =
      frame.stack.size() >= body.stack.size() && std::equal(body.stack.begin(), body.stack.end(), frame.stack.begin());
  LoopEdge left{static_cast<int>(frame.pc), {}};
  if (begins) left.iterators.assign(frame.stack.begin() + static_cast<ptrdiff_t>(body.stack.size()), frame.stack.end());
  const auto isIterator = [](const Value* v) {  // also one that a loop inside has left on the way
    return v->kind == ValueKind::kIterator || (v->kind == ValueKind::kUnjoined && v->lazy);
  };
  const bool known = begins && std::all_of(left.iterators.begin(), left.iterators.end(), isIterator);
  if (frame.result || frame.yielded || !known) refuse(place, "leaves a loop with more on the stack");
  frame.stack = body.stack;
  std::vector<LoopEdge>& edges = *body.edges;
  auto edge = std::find_if(edges.begin(), edges.end(), [&](const LoopEdge& e) { return e.pc == left.pc; });
  if (edge == edges.end()) {
    if (edges.size() == kMostEdges) refuse(place, "leaves a loop in many ways");
    edge = edges.insert(edges.end(), std::move(left));
  } else if (edge->iterators.size() != left.iterators.size()) {
    refuse(place, "leaves a loop with more on the stack");
  }
  frame.way = trace.pyInt(trace.syms().constant(edge - edges.begin() + 1));
}

/// Whether one side leaves the loop whose body is traced. What it does on its way to the join it does behind the loop
/// (`s += x[i]; break`): no turn has done it.
void Branching::findLeaves(Place& place) {
  if (place.frame.rolling.empty() || place.frame.rolling.back().contains(place.join)) return;
  RollingBody& body = place.frame.rolling.back();
  const bool skips = body.behind >= 0 && !leadsTo(*place.frame.code, body.behind, place.join, false);  // an `else`
  place.edges = place.returns() || skips || (body.exit >= 0 && body.exit != place.join) ||
                actsBehind(*place.frame.code, interpreter.flowIn(*place.frame.code).joining, body, place.join);
  if (!place.edges) body.exit = place.join;
  place.leaves = body;
}

/// One loop of the graph has each branch once: a loop that is unrolled around the code at hand, in it or in a function
/// that calls it, is to become one.
void Branching::rollAround() {
  for (auto at = interpreter.frames_.rbegin(); at != interpreter.frames_.rend(); ++at) {
    Frame& frame = **at;
    for (const Loop& loop : interpreter.flowIn(*frame.code).loops) {
      const auto header = static_cast<size_t>(loop.header);
      const bool unrolled = frame.unrolled.contains(header + 1) && loop.contains[frame.pc - 1];
      if (unrolled && Rolling(interpreter, frame, header).isWanted()) return;
    }
  }
}

/// Branches of the trace are counted.
void Branching::enter(const Place& place) {
  Branches& branches = trace.branches;
  const bool deep = branches.depth == kMaxDepth;
  if (deep || branches.begun >= kManyBranches) rollAround();
  if (deep || branches.begun >= kMaxBranches)
    refuse(place, deep ? "too many such branches are nested" : "there are too many such branches");
  ++branches.begun;
  ++branches.depth;
}

void Branching::choose(Value* number, absl::Span<const Way> ways) {
  if (ways.size() == 1) return ways[0].enter();
  Frame& frame = *interpreter.frame_;
  const JoiningFlow& flow = interpreter.flowIn(*frame.code).joining;
  std::vector<int> begins;
  for (const Way& way : ways) begins.push_back(way.pc);
  const int join = meeting(flow, begins);
  Place place{frame, trace.at, trace.line, join, trace.branches.ended, -1};
  if (join < 0) refuse(place, "a way out of a loop leads nowhere");
  findLeaves(place);
  graph::Graph& g = trace.graph();
  enter(place);
  const ValueId wanted = g.constant(graph::Scalar::ofInt(graph::DType::kI64, ways[0].number));
  const ValueId predicate = g.binary(graph::Op::kEqual, number->node, wanted);
  const BothArms both{place, {ways[0].enter, [&] { choose(number, ways.subspan(1)); }}, predicate};
  takeBoth(both);
}

void Branching::take(const Instr& instr, ValueId predicate, bool jumpsIf, const std::optional<Told>& told) {
  Frame& frame = *interpreter.frame_;
  const int next = static_cast<int>(frame.pc);
  Place place{frame, trace.at, trace.line, joinOf(frame, next - 1), trace.branches.ended, next - 1};
  if (place.join < 0) refuse(place, "decides how often a loop runs" + (loopRefused.empty() ? "" : "; " + loopRefused));
  findLeaves(place);
  enter(place);
  const auto goOn = [&] { frame.pc = static_cast<size_t>(next); };
  const auto jump = [&] {
    goOn();
    interpreter.jump(instr);
  };
  BothArms both{place, {jump, goOn}, predicate, told};
  if (!jumpsIf) std::swap(both.begin[0], both.begin[1]);
  takeBoth(both);
}

namespace {

bool isContainer(const Value* value) {
  return value->kind == ValueKind::kArray || value->kind == ValueKind::kList || value->kind == ValueKind::kLongList ||
         value->kind == ValueKind::kTuple || value->kind == ValueKind::kDict;
}

}  // namespace

/// A call that answers None where others answer an array, a list and the like is Python's, as one that raises is: no
/// value stands for both. If most do, both sides are compiled apart.
void Branching::leaveNothing(const Place& place, std::optional<ArmEnd>& first, std::optional<ArmEnd>& second) {
  const bool known = first && second && first->result && second->result;
  if (!known || !place.returns() || place.edges || !interpreter.leavesRaises()) return;
  for (auto* arms : {&first, &second}) {
    const ArmEnd& other = arms == &first ? *second : *first;
    if (!(*arms)->result->isNone() || !isContainer(other.result)) continue;
    trace.leavesRaises = true;
    arms->reset();
    return;
  }
}

void Branching::takeBoth(const BothArms& both) {
  for (int attempt = 0; !tryBoth(both, attempt == kMostNewArrays); ++attempt) {}
}

/// False if an arm writes into arrays that nobody has looked at before: they are known now.
bool Branching::tryBoth(const BothArms& both, bool last) {
  const Place& place = both.place;
  Branches& branches = trace.branches;
  BranchState before(interpreter, place.frame);
  ArmNodes arms{trace.graph().size(), 0, 0};
  const unsigned depth = branches.depth, begun = branches.begun;
  std::optional<ArmEnd> first, second;
  try {
    first = run(place, before, [&] { both.enter(0); });
    trace.decided.forget(arms.begin);
    arms.middle = trace.graph().size();
    second = run(place, before, [&] { both.enter(1); });
  } catch (const WritesNewArrays&) {
    if (last) refuse(place, "what depends on it writes into more and more arrays of the caller");
    before.restore();
    backTo(place);
    branches.depth = depth;
    branches.drop(arms.begin, begun);
    return false;
  }
  trace.decided.forget(arms.begin);
  arms.end = trace.graph().size();
  --branches.depth;
  leaveNothing(place, first, second);
  if (first && second) {
    join(both, before, *first, *second, arms);
    return true;
  }
  if (!first && !second) throw CaptureBreak(BreakReason::kPythonException, "both sides of a decision raise", place.at);
  backTo(place);
  branches.graph.drop(arms.begin);
  const ValueId holds = first ? both.predicate : trace.graph().unary(graph::Op::kLogicalNot, both.predicate);
  // Python raises it, from the beginning: until then nothing has happened.
  if (!raised || !branches.handles(holds, raised)) branches.graph.require(holds);
  both.enter(first ? 0 : 1);
  return true;
}

void Branching::backTo(const Place& place) {
  interpreter.frame_ = &place.frame;
  trace.at = place.at;
  trace.line = place.line;
  trace.graph().setLine(static_cast<uint32_t>(place.line));
}

/// A variable without a value where an arm has left the loop in a way on which nobody reads it may have any there:
/// `v = stack.pop()` of a turn that has ended in `return v`, and in front of it the test of the loop.
void Branching::bindUnread(const Place& place, ArmEnd& arm, const ArmEnd& other) {
  const Bytecode& code = *place.frame.code;
  if (arm.leftTo < 0 || !code.handlers.empty()) return;
  const std::vector<bool>& live = interpreter.flowIn(code).live.before(arm.leftTo);
  for (size_t i = 0; i < arm.slots.size(); ++i)
    if (!arm.slots[i] && other.slots[i] && !live[i]) arm.slots[i] = Choices{trace}.anyLike(other.slots[i]);
}

void Branching::join(const BothArms& both, BranchState& before, ArmEnd& first, ArmEnd& second, ArmNodes arms) {
  const Place& place = both.place;
  Frame& frame = place.frame;
  backTo(place);
  both.forget(first, second);
  const bool returns = place.returns() && !place.edges;
  if (!returns && first.stack.size() != second.stack.size()) refuse(place, "the stacks differ");
  if (first.handled != second.handled) refuse(place, "only one side ends a handler");
  interpreter.handled_ = first.handled;
  bindUnread(place, first, second);
  bindUnread(place, second, first);
  Join join(trace, before, first, second);
  auto merge = [&](Value*& a, Value*& b, const std::string& what) {
    for (Value** v : {&a, &b})
      if (a != b && *v && (*v)->kind == ValueKind::kUnread) interpreter.look(*v);
    return join.merge(a, b, what);
  };
  if (returns) {
    frame.result = merge(first.result, second.result, "what is returned");
  } else {
    for (size_t i = 0; i < frame.slots.size(); ++i) {
      if (first.slots[i] == second.slots[i])
        frame.slots[i] = first.slots[i];
      else
        frame.slots[i] = merge(first.slots[i], second.slots[i], text(frame.code->variableAt(static_cast<int>(i))));
    }
    frame.stack.clear();
    for (size_t i = 0; i < first.stack.size(); ++i)
      frame.stack.push_back(merge(first.stack[i], second.stack[i], "the value"));
    frame.goesOn = merge(first.goesOn, second.goesOn, "whether a loop goes on");
    frame.way = merge(first.way, second.way, "how a loop is left");
    frame.pc = place.leaves ? place.leaves->header : static_cast<size_t>(place.join);
  }
  if (!join.mergeContents()) refuse(place, "what depends on it changes an object that outlives the call");
  trace.branches.sites.resize(trace.branches.ended);
  trace.branches.sites.push_back({frame.code->identity(), place.leaves ? -1 : place.branch, place.join});
  join.finish(both.predicate, arms);
}

// ---- instructions -------------------------------------------------------------------------------------------------

void Interpreter::branch(const Instr& instr, bool jumpsIf) {
  Value* value = popCondition();
  Branching branching{*this, trace_};
  if (auto predicate = branching.condition(value)) return branching.take(instr, *predicate, jumpsIf);
  if (trace_.truth(value) == jumpsIf) jump(instr);
}

void Interpreter::branchOnNone(const Instr& instr, bool jumpsIf) {
  Value* value = popRaw();
  Branching branching{*this, trace_};
  if (Choices::is(value)) {
    const auto none = std::find_if(value->items.begin(), value->items.end(), std::mem_fn(&Value::isNone));
    if (none == value->items.end()) return jumpsIf ? void() : jump(instr);
    Choices choices{trace_};
    const Branching::Told told{value, {*none, choices.without(value, *none)}};
    return branching.take(instr, choices.isThing(value, *none), jumpsIf, told);
  }
  if (MixedNumbers::mayBeNone(value)) {
    MixedNumbers numbers{trace_};
    const Branching::Told told{value, {trace_.constant(Py_None), numbers.assumed(value)}};
    return branching.take(instr, numbers.isNone(value)->node, jumpsIf, told);
  }
  if (isNone(value) == jumpsIf) jump(instr);
}

void Interpreter::onPopJumpIfFalse(const Instr& instr) { branch(instr, false); }
void Interpreter::onPopJumpIfTrue(const Instr& instr) { branch(instr, true); }

void Interpreter::onToBool(const Instr&) {
  Value* v = popCondition();
  if (v->kind == ValueKind::kPyBool) return push(v);
  if (auto data = Branching{*this, trace_}.condition(v)) return push(trace_.number(ValueKind::kPyBool, *data));
  push(trace_.constant(trace_.truth(v) ? Py_True : Py_False));
}

void Interpreter::onUnaryNot(const Instr&) {
  Value* v = popCondition();
  auto inverted = [&](ValueId node) {
    push(trace_.number(ValueKind::kPyBool, trace_.graph().unary(graph::Op::kLogicalNot, node)));
  };
  if (v->kind == ValueKind::kPyBool) return inverted(v->node);
  if (auto data = Branching{*this, trace_}.condition(v)) return inverted(*data);
  push(trace_.constant(trace_.truth(v) ? Py_False : Py_True));
}

}  // namespace fw::capture
