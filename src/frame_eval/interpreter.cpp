// The loop over instructions, and the instructions that only move values: stack, locals, cells, jumps, returns. An
// exception that Python would raise ends the trace, so that handlers are never entered and `try` bodies need nothing.
#include "frame_eval/interpreter.h"

#include "frame_eval/policy.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using cpython::Opcode;
using guards::SourceKind;

namespace {

constexpr int kGeneratorFlags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;

std::string text(PyObject* str) {
  const char* s = PyUnicode_AsUTF8(str);
  if (!s) throw cpython::PythonError();
  return s;
}

}  // namespace

Value* Interpreter::run(const CallView& view) {
  auto* code = reinterpret_cast<PyCodeObject*>(view.function->func_code);
  trace_.code = view.function->func_code;
  frames_.push_back(std::make_unique<Frame>());
  Frame& frame = *frames_.back();
  frame.code = &decoded(code);
  frame.function = trace_.sources().intern(SourceKind::kFunction);
  frame.globals = Ref::create(view.function->func_globals);
  frame.builtins = Ref::create(view.function->func_builtins);
  trace_.line = code->co_firstlineno;
  if (isDisabled(view.function->func_code)) trace_.fail(BreakReason::kDisabled, text(code->co_qualname));
  trace_.guard({.kind = guards::GuardKind::kFunctionCode, .source = frame.function,
                .object = Ref::create(view.function->func_code)});
  frame.slots.assign(static_cast<size_t>(code->co_nlocalsplus), nullptr);
  int count = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
              !!(code->co_flags & CO_VARKEYWORDS);
  if (code->co_flags & kGeneratorFlags) trace_.fail(BreakReason::kGenerator, text(code->co_qualname));
  for (int i = 0; i < count; ++i) {
    frame.slots[i] = trace_.fromSource(trace_.sources().intern(SourceKind::kArg, {}, i), view.args[i]);
  }
  if (PyObject* closure = view.function->func_closure) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i) {
      Value* cell = trace_.make(ValueKind::kCell);
      cell->object = Ref::create(PyTuple_GET_ITEM(closure, i));
      cell->source = trace_.sources().intern(SourceKind::kCell, frame.function, i);
      cell->items = {nullptr};
      frame.closure.push_back(cell);
    }
  }
  execute(frame);
  return frame.result;
}

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
    const Instr& instr = frame.code->instructions[frame.pc++];
    if (instr.position.line > 0) trace_.line = instr.position.line;
    trace_.graph().setLine(static_cast<uint32_t>(trace_.line));
    (this->*kMethods[static_cast<int>(instr.op)])(instr);
  }
  frame_ = caller;
}

Value* Interpreter::pop() {
  FW_CHECK(!frame_->stack.empty());
  Value* v = frame_->stack.back();
  frame_->stack.pop_back();
  return v;
}

std::vector<Value*> Interpreter::popMany(size_t count) {
  FW_CHECK(frame_->stack.size() >= count);
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
void Interpreter::onPopTop(const Instr&) { pop(); }
void Interpreter::onPushNull(const Instr&) { push(trace_.make(ValueKind::kNull)); }
void Interpreter::onCopy(const Instr& instr) { push(top(instr.arg)); }

void Interpreter::onSwap(const Instr& instr) {
  auto& stack = frame_->stack;
  std::swap(stack.back(), stack.at(stack.size() - static_cast<size_t>(instr.arg)));
}

// ---- locals and cells ----------------------------------------------------------------------------------------------

void Interpreter::onLoadConst(const Instr& instr) {
  push(trace_.constant(PyTuple_GET_ITEM(frame_->object()->co_consts, instr.arg)));
}

void Interpreter::onLoadFast(const Instr& instr) {
  Value* v = frame_->slots.at(static_cast<size_t>(instr.arg));
  if (!v) raises("UnboundLocalError: " + text(PyTuple_GET_ITEM(frame_->object()->co_localsplusnames, instr.arg)));
  push(v);
}

void Interpreter::onLoadFastAndClear(const Instr& instr) {
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  push(slot ? slot : trace_.make(ValueKind::kNull));
  slot = nullptr;
}

void Interpreter::onStoreFast(const Instr& instr) {
  Value* v = pop();
  frame_->slots.at(static_cast<size_t>(instr.arg)) = v->kind == ValueKind::kNull ? nullptr : v;
}

void Interpreter::onDeleteFast(const Instr& instr) {
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  if (!slot) raises("UnboundLocalError: " + text(PyTuple_GET_ITEM(frame_->object()->co_localsplusnames, instr.arg)));
  slot = nullptr;
}

void Interpreter::onMakeCell(const Instr& instr) {
  Value*& slot = frame_->slots.at(static_cast<size_t>(instr.arg));
  Value* cell = trace_.make(ValueKind::kCell);
  cell->items = {slot};
  slot = cell;
}

void Interpreter::onCopyFreeVars(const Instr& instr) {
  FW_CHECK(frame_->closure.size() == static_cast<size_t>(instr.arg));
  size_t first = frame_->slots.size() - frame_->closure.size();
  for (size_t i = 0; i < frame_->closure.size(); ++i) frame_->slots[first + i] = frame_->closure[i];
}

void Interpreter::onLoadDeref(const Instr& instr) {
  Value* cell = frame_->slots.at(static_cast<size_t>(instr.arg));
  FW_CHECK(cell && cell->kind == ValueKind::kCell);
  if (!cell->items[0] && cell->source.valid()) {
    PyObject* content = PyCell_GET(cell->object.get());
    if (content) cell->items[0] = trace_.fromSource(cell->source, content);
  }
  if (!cell->items[0]) {
    raises("NameError: " + text(PyTuple_GET_ITEM(frame_->object()->co_localsplusnames, instr.arg)) + " is not bound");
  }
  push(cell->items[0]);
}

void Interpreter::onStoreDeref(const Instr& instr) {
  Value* cell = frame_->slots.at(static_cast<size_t>(instr.arg));
  FW_CHECK(cell && cell->kind == ValueKind::kCell);
  if (cell->source.valid()) {
    trace_.fail(BreakReason::kUnsupportedWrite,
                "nonlocal " + text(PyTuple_GET_ITEM(frame_->object()->co_localsplusnames, instr.arg)));
  }
  cell->items[0] = pop();
}

void Interpreter::onDeleteDeref(const Instr& instr) {
  Value* cell = frame_->slots.at(static_cast<size_t>(instr.arg));
  FW_CHECK(cell && cell->kind == ValueKind::kCell);
  if (cell->source.valid()) unsupported(instr);
  if (!cell->items[0]) raises("NameError");
  cell->items[0] = nullptr;
}

// ---- globals -------------------------------------------------------------------------------------------------------

void Interpreter::onLoadGlobal(const Instr& instr) {
  PyObject* name = nameAt(instr.arg);
  auto& sources = trace_.sources();
  SourceId globals = sources.intern(SourceKind::kGlobals, frame_->function);
  SourceId item = sources.intern(SourceKind::kDictItem, globals, 0, name);
  Value*& known = globals_[item];
  if (known) return push(known);
  PyObject* found = PyDict_GetItemWithError(frame_->globals.get(), name);
  if (!found && PyErr_Occurred()) throw cpython::PythonError();
  if (!found) {
    if (!PyDict_CheckExact(frame_->builtins.get())) trace_.fail(BreakReason::kUnsupportedObject, "replaced builtins");
    found = PyDict_GetItemWithError(frame_->builtins.get(), name);
    if (!found && PyErr_Occurred()) throw cpython::PythonError();
    if (!found) raises("NameError: " + text(name));
    trace_.guard({.kind = guards::GuardKind::kDictNotContains, .source = globals, .object = Ref::create(name)});
    item = sources.intern(SourceKind::kDictItem, sources.intern(SourceKind::kBuiltins, frame_->function), 0, name);
  }
  Value* value = setting(item, found);
  globals_[sources.intern(SourceKind::kDictItem, globals, 0, name)] = value;
  push(value);
}

void Interpreter::onStoreGlobal(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedWrite, "global " + text(nameAt(instr.arg)));
}
void Interpreter::onDeleteGlobal(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedWrite, "global " + text(nameAt(instr.arg)));
}
void Interpreter::onImportName(const Instr& instr) {
  trace_.fail(BreakReason::kUnsupportedInstruction, "import " + text(nameAt(instr.arg)));
}
void Interpreter::onImportFrom(const Instr& instr) { unsupported(instr); }

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

void Interpreter::onPopJumpIfNone(const Instr& instr) {
  Value* v = pop();
  jumpIf(instr, v->isConstant() && v->object.get() == Py_None);
}

void Interpreter::onPopJumpIfNotNone(const Instr& instr) {
  Value* v = pop();
  jumpIf(instr, !(v->isConstant() && v->object.get() == Py_None));
}

void Interpreter::onReturnValue(const Instr&) { frame_->result = pop(); }
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
