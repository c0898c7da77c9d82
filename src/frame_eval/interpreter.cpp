// The loop over instructions, and the instructions that only move values: stack, jumps, returns. An
// exception that Python would raise ends the trace, so that handlers are never entered and `try` bodies need nothing.
#include "frame_eval/interpreter.h"

#include "frame_eval/interpret_common.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Opcode;
using guards::SourceKind;

namespace {

constexpr int kGeneratorFlags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;

}  // namespace

std::string Interpreter::file() const {
  if (frames_.empty()) return "";
  return text(frames_.back()->object()->co_filename);
}

const Bytecode& Interpreter::decoded(PyCodeObject* code) {
  auto& slot = decoded_[code];
  if (!slot) slot = std::make_unique<Bytecode>(cpython::decode(code));
  return *slot;
}

void Interpreter::execute(Frame& frame) {
  using Method = void (Interpreter::*)(const Instr&);
  static constexpr Method kMethods[] = {
#define FW_OPCODE(Id, text, arg) &Interpreter::on##Id,
#include "cpython/neutral_ops.def"
  };
  if (frame.object()->co_flags & kGeneratorFlags) {
    trace_.fail(BreakReason::kGenerator, text(frame.object()->co_qualname));
  }
  Frame* caller = frame_;
  frame_ = &frame;
  while (!frame.result) {
    if (++executed_ > options_.maxInstructions) {
      trace_.fail(BreakReason::kGraphLimit, "more than " + std::to_string(options_.maxInstructions) + " instructions");
    }
    FW_CHECK(frame.pc < frame.code->instructions.size());
    if (atStop(frame)) break;
    const Instr& instr = frame.code->instructions[frame.pc++];
    if (instr.position.line > 0) trace_.line = instr.position.line;
    trace_.graph().setLine(static_cast<uint32_t>(trace_.line));
    (this->*kMethods[static_cast<int>(instr.op)])(instr);
  }
  frame_ = caller;
}

/// Notes which instruction of the outermost frame is executed; true if a region ends before it.
bool Interpreter::atStop(const Frame& frame) {
  if (&frame != frames_.front().get()) return false;
  bool entered = trace_.at >= 0;
  if (entered && stops_ && (*stops_)[frame.pc]) return true;
  trace_.at = static_cast<int>(frame.pc);
  return false;
}

Value* Interpreter::popRaw() {
  FW_CHECK(!frame_->stack.empty());
  Value* v = look(frame_->stack.back());
  frame_->stack.pop_back();
  return v;
}

Value* Interpreter::pop() { return trace_.open(popRaw()); }

Value* Interpreter::top(int depth) { return look(frame_->stack.at(frame_->stack.size() - static_cast<size_t>(depth))); }

std::vector<Value*> Interpreter::popMany(size_t count) {
  std::vector<Value*> values = popManyRaw(count);
  for (Value* value : values) trace_.open(value);
  return values;
}

std::vector<Value*> Interpreter::popManyRaw(size_t count) {
  FW_CHECK(frame_->stack.size() >= count);
  for (size_t i = 0; i < count; ++i) (void)top(static_cast<int>(count - i));
  std::vector<Value*> values(frame_->stack.end() - static_cast<ptrdiff_t>(count), frame_->stack.end());
  frame_->stack.resize(frame_->stack.size() - count);
  return values;
}

PyObject* Interpreter::nameAt(int index) const { return PyTuple_GET_ITEM(frame_->object()->co_names, index); }

void Interpreter::unsupported(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedInstruction,
              std::string(instr.op == Opcode::kUnsupported ? cpython::rawName(instr.arg) : info(instr.op).text));
}

void Interpreter::raises(std::string what) { trace_.fail(BreakReason::kPythonException, std::move(what)); }

void Interpreter::raisesPending() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  Ref t = Ref::steal(type), v = Ref::steal(value), tb = Ref::steal(traceback);
  FW_CHECK(t);
  bool interrupt = PyErr_GivenExceptionMatches(t.get(), PyExc_MemoryError) ||
                   !PyErr_GivenExceptionMatches(t.get(), PyExc_Exception);
  if (interrupt) {
    PyErr_Restore(t.release(), v.release(), tb.release());
    throw cpython::PythonError();
  }
  std::string what = reinterpret_cast<PyTypeObject*>(t.get())->tp_name;
  if (v) {
    Ref s = Ref::steal(PyObject_Str(v.get()));
    if (s) {
      what += ": " + text(s.get());
    } else {
      PyErr_Clear();
    }
  }
  raises(what);
}

Value* Interpreter::fold(PyObject* fresh) {
  if (!fresh) raisesPending();
  return trace_.constant(Ref::steal(fresh));
}

// ---- stack ---------------------------------------------------------------------------------------------------------

void Interpreter::onUnsupported(const Instr& instr) { unsupported(instr); }
void Interpreter::onNop(const Instr&) {}
void Interpreter::onResume(const Instr&) {}
void Interpreter::onPopTop(const Instr&) { popRaw(); }
void Interpreter::onPushNull(const Instr&) { push(trace_.make(ValueKind::kNull)); }
void Interpreter::onCopy(const Instr& instr) { push(top(instr.arg)); }

void Interpreter::onSwap(const Instr& instr) {
  auto& stack = frame_->stack;
  std::swap(stack.back(), stack.at(stack.size() - static_cast<size_t>(instr.arg)));
}

// ---- jumps and returns ---------------------------------------------------------------------------------------------

void Interpreter::jump(const Instr& instr) {
  auto target = static_cast<size_t>(instr.target);
  // A `for` is limited by its iterator.
  bool whileLoop = target < frame_->pc && frame_->code->instructions[target].op != Opcode::kForIter;
  if (whileLoop && ++frame_->backJumps[frame_->pc] > options_.maxUnroll) {
    trace_.fail(BreakReason::kLoopLimit, "more than " + std::to_string(options_.maxUnroll) + " iterations");
  }
  frame_->pc = target;
}

void Interpreter::jumpIf(const Instr& instr, bool taken) {
  if (taken) jump(instr);
}

void Interpreter::onJump(const Instr& instr) { jump(instr); }
void Interpreter::onPopJumpIfFalse(const Instr& instr) { jumpIf(instr, !trace_.truth(pop())); }
void Interpreter::onPopJumpIfTrue(const Instr& instr) { jumpIf(instr, trace_.truth(pop())); }

void Interpreter::onPopJumpIfNone(const Instr& instr) { jumpIf(instr, isNone(popRaw())); }
void Interpreter::onPopJumpIfNotNone(const Instr& instr) { jumpIf(instr, !isNone(popRaw())); }

/// Guards no more than the type of an object that has not been looked into.
bool Interpreter::isNone(Value* v) {
  if (v->kind == ValueKind::kObject && v->object.get() != Py_None) (void)trace_.typeOf(v);
  return v->kind == ValueKind::kObject ? trace_.open(v)->object.get() == Py_None && v->isConstant()
                                       : v->isConstant() && v->object.get() == Py_None;
}

void Interpreter::onReturnValue(const Instr&) { frame_->result = popRaw(); }
void Interpreter::onReturnGenerator(const Instr&) {
  trace_.fail(BreakReason::kGenerator, text(frame_->object()->co_qualname));
}

// ---- exceptions and with -------------------------------------------------------------------------------------------

void Interpreter::onLoadAssertionError(const Instr&) { raises("the assertion does not hold"); }
void Interpreter::onRaiseVarargs(const Instr&) { raises("raise"); }
void Interpreter::onBeforeWith(const Instr&) { trace_.fail(BreakReason::kUnsupportedInstruction, "with"); }
void Interpreter::onPushExcInfo(const Instr& instr) { unsupported(instr); }
void Interpreter::onPopExcept(const Instr& instr) { unsupported(instr); }
void Interpreter::onCheckExcMatch(const Instr& instr) { unsupported(instr); }
void Interpreter::onWithExceptStart(const Instr& instr) { unsupported(instr); }
void Interpreter::onReraise(const Instr& instr) { unsupported(instr); }

}  // namespace fw::capture
