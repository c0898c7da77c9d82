// The loop over instructions, and the instructions that only move values: stack, jumps, returns. Exceptions of the
// traced code arrive in the loop and go on at the handler of the frame, if it has one (interpret_exceptions.cpp).
#include "frame_eval/collections.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/branching.h"
#include "frame_eval/choices.h"

#include "absl/cleanup/cleanup.h"
#include "cpython/loop_tests.h"
#include "frame_eval/inlined_generators.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/loops.h"
#include "frame_eval/refusals.h"
#include "frame_eval/unseen_list.h"
#include "frame_eval/unwind.h"
#include "frame_eval/sets.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Opcode;
using guards::SourceKind;

namespace {

/// Instructions between looks at the clock.
constexpr int kBetweenLooks = 64;
/// Of one graph. Compile time grows with them; what is longer is captured in pieces.
constexpr size_t kMaxNodes = 4000;
/// Of few turns that are left, as many more operations may be unrolled: they know what they work on.
constexpr int64_t kFewTurns = 8;
constexpr size_t kMoreForFew = 2;

constexpr int kGeneratorFlags = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;

std::string instructionName(const Instr& instr) {
  return std::string(instr.op == Opcode::kUnsupported ? cpython::rawName(instr.arg) : info(instr.op).text);
}

}  // namespace

std::string Interpreter::file() const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    PyCodeObject* code = (*frame)->object();
    if (!isSubstitute(code)) return text(code->co_filename);  // what stands for NumPy breaks where it is called
  }
  return "";
}

const Bytecode& Interpreter::decoded(PyCodeObject* code) {
  return InlinedGenerators{*this, trace_}.codeWith(decodedAlone(code));
}

const Bytecode& Interpreter::decodedAlone(PyCodeObject* code) {
  auto& slot = decoded_[code];
  if (!slot) {
    slot = std::make_unique<Bytecode>(cpython::decode(code));
    cpython::joinLoopTests(slot->instructions);
  }
  return *slot;
}

void Interpreter::execute(Frame& frame) {
  bool outermost = &frame == frames_.front().get();
  if (frame.object()->co_flags & (outermost ? kGeneratorFlags | CO_GENERATOR : kGeneratorFlags)) {
    trace_.fail(BreakReason::kGenerator, text(frame.object()->co_qualname));
  }
  Frame* caller = frame_;
  frame.callerAgain = caller && caller->again;
  frame_ = &frame;
  if (outermost) Collections{*this, trace_}.makePools();
  try {
    runTo(frame, -1);
  } catch (const VirtualRaise& raise) {
    frame_ = caller;
    throw;
  }
  frame_ = caller;
}

/// Executes the frame until it returns, yields, ends a region, comes to one of two instructions or leaves some.
void Interpreter::runTo(Frame& frame, int stop, int other, const std::vector<bool>* inside) {
  const bool outermost = &frame == frames_.front().get();
  auto isStop = [&] {
    const int at = static_cast<int>(frame.pc);
    return at == stop || at == other || (inside && !(*inside)[frame.pc]);
  };
  while (!frame.result && !frame.yielded && !isStop()) {
    if (++executed_ > options_.maxInstructions) {
      Rolling::requireAll(*this);
      trace_.fail(BreakReason::kGraphLimit, "more than " + std::to_string(options_.maxInstructions) + " instructions");
    }
    if (executed_ % kBetweenLooks == 0 && options_.isLate(trace_.loops))
      trace_.fail(BreakReason::kGraphLimit, "the capture takes too long");
    FW_CHECK(frame.pc < frame.code->instructions.size());
    if (atStop(frame)) {
      if (frame.arms) trace_.fail(BreakReason::kUnsupportedInstruction, "it lies behind a branch");
      break;
    }
    if (trace_.branches.graph.size() > kMaxNodes)
      trace_.fail(BreakReason::kGraphLimit, "more than " + std::to_string(kMaxNodes) + " operations");
    if (survey_ && outermost && passUnknown(frame)) continue;
    const bool begins = trace_.loops && trace_.loops->tooLong.contains({frame.code->identity(), frame.pc}) &&
                        frame.code->instructions[frame.pc].op != Opcode::kForIter;
    if (begins && Rolling(*this, frame, frame.pc).takeWhile()) continue;
    try {
      step(frame);
    } catch (CaptureBreak& b) {
      if (b.unrolls) Rolling::require(*this, frame);
      if (!b.remedy) b.remedy = Branching{*this, trace_}.remedyFor(frame, b);
      throw;
    } catch (const VirtualRaise& raise) {
      frame_ = &frame;
      if (frame.arms) Branching{*this, trace_}.checkUnwinds(frame, stop, inside != nullptr, raise.exception);
      if (unwind(frame, raise.exception)) continue;
      if (outermost) escaped(raise.exception);
      throw;
    }
  }
}

void Interpreter::step(Frame& frame) {
  using Method = void (Interpreter::*)(const Instr&);
  static constexpr Method kMethods[] = {
#define FW_OPCODE(Id, text, arg, pops, pushes, counted) &Interpreter::on##Id,
#include "cpython/neutral_ops.def"
  };
  frame.enter(frame.pc);
  trace_.again = frame.again;
  const Instr& instr = frame.code->instructions[frame.pc++];
  if (instr.position.line > 0) trace_.line = instr.position.line;
  trace_.graph().setLine(static_cast<uint32_t>(trace_.line));
  const size_t nodes = trace_.graph().size();
  const bool splits = trace_.loops && !trace_.loops->splits.empty() &&
                      trace_.loops->splits.contains({frame.code->identity(), frame.pc - 1});
  if (splits && Branching{*this, trace_}.split(frame)) return;
  const auto method = kMethods[static_cast<int>(instr.op)];
  auto raising = frame.code->handlers.empty() ? std::nullopt : Branching{*this, trace_}.raisingAt(frame);
  if (!raising) return (this->*method)(instr), checkRefusals(trace_.graph(), nodes);
  trace_.branches.raising = &*raising;
  const absl::Cleanup leave = [&] { trace_.branches.raising = raising->outer; };
  if (raising->forks) {
    const std::vector<Value*> stack = frame.stack;
    const size_t pc = frame.pc - 1;
    raising->before = std::make_shared<BranchState>(static_cast<InterpreterState&>(*this), frame);
    raising->calls = trace_.libraryCalls.size();
    try {
      (this->*method)(instr);
    } catch (const DataRaise& raise) {
      trace_.branches.raising = raising->outer;  // what an arm raises is for those farther out
      Branching{*this, trace_}.fork(frame, pc, stack, raise);
    }
  } else {
    (this->*method)(instr);
  }
  checkRefusals(trace_.graph(), nodes);
}

/// Notes which instruction of the outermost frame is executed; true if a region ends before it.
bool Interpreter::atStop(const Frame& frame) {
  if (&frame != frames_.front().get()) return false;
  bool entered = trace_.at >= 0;
  if (entered && stops_ && frame.pc < stops_->size() && (*stops_)[frame.pc]) {
    if (resumeAt() >= 0) throw CaptureBreak(BreakReason::kPythonException, "an exception is being handled", resumeAt());
    return true;
  }
  trace_.at = static_cast<int>(frame.pc);
  return false;
}

Value* Interpreter::popRaw() {
  FW_CHECK(!frame_->stack.empty());
  Value* v = look(frame_->stack.back());
  frame_->stack.pop_back();
  return v;
}

std::pair<Value*, Value*> Interpreter::popPair() {
  Value* second = popRaw();
  Value* first = pop();
  return {first, trace_.open(second)};
}

Value* Interpreter::pop() { return trace_.open(popRaw()); }

Value* Interpreter::popCondition() {
  Value* v = popRaw();
  if (Choices::is(v))
    return Choices{trace_}.ofEach(
        *this, v, [&](Value* thing) { return trace_.constant(trace_.truth(trace_.open(thing)) ? Py_True : Py_False); });
  if (isUnseenList(v)) return v;
  trace_.open(v);
  Value* answer = objectBool(v);
  return answer ? answer : v;
}

Value* Interpreter::top(int depth) { return look(frame_->stack.at(frame_->stack.size() - static_cast<size_t>(depth))); }

std::vector<Value*> Interpreter::popMany(size_t count) {
  std::vector<Value*> values = popManyRaw(count);
  for (Value* value : values)
    if (!Choices::is(value)) trace_.open(value);
  return values;
}

std::vector<Value*> Interpreter::popManyRaw(size_t count) {
  FW_CHECK(frame_->stack.size() >= count);
  for (size_t i = 0; i < count; ++i) (void)top(static_cast<int>(count - i));
  std::vector<Value*> values(frame_->stack.end() - static_cast<ptrdiff_t>(count), frame_->stack.end());
  frame_->stack.resize(frame_->stack.size() - count);
  return values;
}

PyObject* Interpreter::nameAt(int index) const { return frame_->code->nameAt(index); }

void Interpreter::unsupported(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedInstruction, instructionName(instr));
}

void Interpreter::raises(const std::string& what) { trace_.fail(BreakReason::kPythonException, what); }

Value* Interpreter::fold(PyObject* fresh) {
  if (!fresh) raisesPending();
  return virtualized(Ref::steal(fresh));
}

/// A fresh object as a Value: lists, dicts and sets may be changed, so that they are not constants.
Value* Interpreter::virtualized(Ref object) {
  PyObject* o = object.get();
  if (PySet_CheckExact(o)) return Sets{*this, trace_}.of(std::move(object), {});
  if (PyDict_CheckExact(o)) {
    Value* dict = trace_.make(ValueKind::kDict);
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &item);)
      setKey(dict, trace_.constant(key), virtualized(Ref::create(item)));
    return dict;
  }
  bool list = PyList_CheckExact(o);
  if (!list && (!PyTuple_CheckExact(o) || isPlain(o))) return trace_.constant(std::move(object));
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    items.push_back(virtualized(Ref::create(PySequence_Fast_GET_ITEM(o, i))));
  return list ? trace_.list(std::move(items)) : trace_.tuple(std::move(items));
}

// ---- stack --------------------------------------------------------------------------------------------------------

#define FW_INSTRUCTION_BREAK(Id, Reason) \
  void Interpreter::on##Id(const Instr& instr) { trace_.fail(BreakReason::k##Reason, instructionName(instr)); }
#include "frame_eval/instruction_breaks.def"

void Interpreter::onNop(const Instr&) {}
void Interpreter::onResume(const Instr&) {}
void Interpreter::onPopTop(const Instr&) {
  FW_CHECK(!frame_->stack.empty());
  const Value* top = frame_->stack.back();
  if (top->kind == ValueKind::kUnjoined && !top->opened) return frame_->stack.pop_back();  // made by the trace
  drop(frame_->stack.back());
  popRaw();
}
void Interpreter::onPushNull(const Instr&) { push(trace_.make(ValueKind::kNull)); }
void Interpreter::onCopy(const Instr& instr) { push(top(instr.arg)); }

void Interpreter::onSwap(const Instr& instr) {
  auto& stack = frame_->stack;
  std::swap(stack.back(), stack.at(stack.size() - static_cast<size_t>(instr.arg)));
}

// ---- jumps and returns --------------------------------------------------------------------------------------------

void Interpreter::jump(const Instr& instr) {
  auto target = static_cast<size_t>(instr.target);
  // A `for` is limited by its iterator.
  bool whileLoop = target < frame_->pc && !instr.flags && frame_->code->instructions[target].op != Opcode::kForIter;
  if (whileLoop) {
    Rolling rolling(*this, *frame_, target);
    const bool planned = rolling.isPlanned();  // its first turns may be traced by themselves
    trace_.turns.unrolled = true;
    rolling.noteUnrolled();
    if (!planned && ++frame_->backJumps[frame_->pc] > options_.maxUnroll)
      rolling.tooLong("more than " + std::to_string(options_.maxUnroll) + " iterations");
    if (auto why = planned ? std::nullopt : limitUnrolled(nullptr)) rolling.tooLong(*why);
  }
  frame_->pc = target;
}

/// At the instruction that begins another iteration. Compile time grows with the operations, so that a long loop of
/// much code costs more than it brings: says so, then.
std::optional<std::string> Interpreter::limitUnrolled(const Value* iterator) {
  const size_t size = trace_.graph().size();
  auto [loop, first] = frame_->unrolled.try_emplace(frame_->pc, UnrolledLoop{iterator, size});
  if (first || loop->second.iterator != iterator) {
    loop->second = {iterator, size};
    return std::nullopt;
  }
  const auto items = iterator && iterator->lazy ? iterator->lazy->items(*this) : std::nullopt;
  const auto left = items ? trace_.syms().asConst(trace_.syms().canonical(items->count)) : std::nullopt;
  const size_t most = static_cast<size_t>(options_.maxUnrolledOps) * (left && *left <= kFewTurns ? kMoreForFew : 1);
  if (size - loop->second.before > most) {
    return "unrolled, the loop has more than " + std::to_string(options_.maxUnrolledOps) + " operations";
  }
  return std::nullopt;
}

void Interpreter::onJump(const Instr& instr) { jump(instr); }
void Interpreter::onPopJumpIfNone(const Instr& instr) { branchOnNone(instr, true); }
void Interpreter::onPopJumpIfNotNone(const Instr& instr) { branchOnNone(instr, false); }

/// Guards no more than the type of an object that has not been looked into.
bool Interpreter::isNone(Value* v) {
  if (Choices::is(v)) trace_.branches.refuse(v);
  if (v->kind == ValueKind::kObject && v->object.get() != Py_None) (void)trace_.typeOf(v);
  return v->kind == ValueKind::kObject ? trace_.open(v)->isNone() : v->isNone();
}

void Interpreter::onReturnValue(const Instr&) { frame_->result = popRaw(); }

}  // namespace fw::capture
