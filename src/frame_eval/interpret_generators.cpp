// Generators that are made and consumed inside the trace: suspended frames of the interpreter. What CPython does
// when a generator dies before its end (GeneratorExit at the yield) has no time of its own in a trace: a generator
// that ends the trace suspended inside try or with makes a break where it was made.
#include "frame_eval/generator.h"

#include "absl/cleanup/cleanup.h"
#include "frame_eval/consumed_generators.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/unwind.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::Opcode;

Value* GeneratorIterator::next(Interpreter& interpreter) { return interpreter.resume(*this, nullptr, nullptr); }

void Interpreter::onReturnGenerator(const Instr&) {
  if (frame_ == frames_.front().get()) trace_.fail(BreakReason::kGenerator, text(frame_->object()->co_qualname));
  Value* generator = trace_.make(ValueKind::kIterator);
  generator->cls = Ref::create(reinterpret_cast<PyObject*>(&PyGen_Type));
  auto lazy = std::make_unique<GeneratorIterator>();
  frame_->generator = lazy.get();
  lazy->value = generator;
  generator->lazy = std::move(lazy);
  generators_.push_back(generator);
  frame_->result = generator;
}

/// Gives the frame that has just made its generator, or has yielded, to the generator.
void Interpreter::suspend() {
  Frame& frame = *frames_.back();
  frame.result = nullptr;
  frame.generator->frame = std::move(frames_.back());
}

bool Interpreter::suspendedInHandler(const GeneratorIterator& generator) const {
  if (!generator.frame || !generator.started) return false;
  const Bytecode& code = *generator.frame->code;
  int at = static_cast<int>(generator.frame->pc) - 1;
  for (size_t i = 0; i < code.handlers.size(); ++i) {
    const cpython::Handler& h = code.handlers[i];
    if (at < h.start || at >= h.end) continue;
    // The handler around all of a generator's body (3.12) only changes StopIteration; that of `yield from` only passes
    // on.
    Opcode op = code.instructions[h.target].op;
    if (op == Opcode::kStopIterationError) return false;
    if (op != Opcode::kCleanupThrow) return true;
    at = h.target;
    i = static_cast<size_t>(-1);
  }
  return false;
}

void Interpreter::checkGenerators() const {
  for (const Value* v : generators_) {
    auto& generator = static_cast<const GeneratorIterator&>(*v->lazy);
    if (suspendedInHandler(generator)) {
      throw CaptureBreak(BreakReason::kGenerator, "a generator is left inside try or with", v->madeAt);
    }
  }
}

/// Runs to the next yield; null if it returned, with what it returned in `generator.returned`.
Value* Interpreter::resume(GeneratorIterator& generator, Value* sent, Value* thrown) {
  if (generator.running) raiseError(PyExc_ValueError, "generator already executing");
  if (!generator.frame) {  // finished
    if (thrown) raiseValue(thrown);
    generator.returned = nullptr;
    return nullptr;
  }
  if (!generator.started && sent && !isNone(sent)) {
    raiseError(PyExc_TypeError, "can't send non-None value to a just-started generator");
  }
  if (thrown && !generator.started) {
    generator.frame.reset();
    raiseValue(thrown);
  }
  Frame* caller = frame_;
  int callLine = trace_.line;
  size_t handled = handled_.size();
  for (Value* exception : generator.handled) handled_.push_back({exception, resumeAt() >= 0 ? resumeAt() : trace_.at});
  generator.handled.clear();
  Frame& frame = *generator.frame;
  frames_.push_back(std::move(generator.frame));
  generator.running = generator.started = true;
  frame.yielded = nullptr;
  CatchScope scope(catchers_);
  // What it raises leaves it in another state.
  const absl::Cleanup leave = [this, outer = std::exchange(trace_.branches.raising, nullptr)] {
    trace_.branches.raising = outer;
  };
  try {
    if (thrown) {
      frame_ = &frame;
      frame.stack.push_back(trace_.constant(Py_None));  // where a value that is sent lies
      if (!unwind(frame, thrown)) throw VirtualRaise(thrown);
    } else {
      frame.stack.push_back(sent ? sent : trace_.constant(Py_None));
    }
    execute(frame);
  } catch (const VirtualRaise& raise) {
    frames_.pop_back();
    frame_ = caller;
    trace_.line = callLine;
    generator.running = false;
    inFlight_ = -1;
    if (!isInstanceOf(raise.exception, PyExc_StopIteration)) throw;
    Value* error = trace_.make(ValueKind::kException);
    error->object = Ref::create(PyExc_RuntimeError);
    error->items = {trace_.constant(cpython::checked(PyUnicode_FromString("generator raised StopIteration")))};
    setCause(error, raise.exception);
    error->overlay.emplace_back(internedName("__context__"), raise.exception);
    raiseValue(error);
  }
  frame_ = caller;
  trace_.line = callLine;
  generator.running = false;
  if (frame.yielded) {
    for (size_t i = handled; i < handled_.size(); ++i) generator.handled.push_back(handled_[i].exception);
    handled_.resize(handled);
    Value* yielded = frame.yielded;
    generator.frame = std::move(frames_.back());
    frames_.pop_back();
    return yielded;
  }
  generator.returned = frame.result;
  frames_.pop_back();
  return nullptr;
}

void Interpreter::stopIteration(Value* returned) {
  std::vector<Value*> args;
  if (returned && !isNone(returned)) args.push_back(returned);
  raiseError(PyExc_StopIteration, std::move(args));
}

Value* Interpreter::iteratorMethod(Value* self, const std::string& name, const CallArgs& args) {
  if (generatorOf(self)) return generatorMethod(self, name, args);
  bool plain = args.positional.empty() && args.keywords.empty() && self->name.empty();
  if (plain && name == "__iter__") return self;
  if (plain && name == "__next__") {
    Value* item = nextOf(self);
    if (!item) stopIteration(nullptr);
    return item;
  }
  trace_.fail(BreakReason::kUnsupportedCall, "a method of an iterator: " + name);
}

Value* Interpreter::generatorMethod(Value* self, const std::string& name, const CallArgs& args) {
  auto& generator = static_cast<GeneratorIterator&>(*self->lazy);
  size_t count = args.positional.size();
  if (!args.keywords.empty()) trace_.fail(BreakReason::kUnsupportedCall, "generator." + name);
  if ((name == "send" && count == 1) || (name == "__next__" && count == 0)) {
    Value* item = resume(generator, count ? args.positional[0] : nullptr, nullptr);
    if (!item) stopIteration(generator.returned);
    return item;
  }
  if (name == "throw" && count >= 1 && count <= 3) {
    Value* item = throwInto(generator, thrownBy(args));
    if (!item) stopIteration(generator.returned);
    return item;
  }
  if (name == "close" && count == 0) return closeGenerator(generator);
  trace_.fail(BreakReason::kGenerator, "generator." + name);
}

/// The exception that throw(value) or throw(type, value, traceback) raises.
Value* Interpreter::thrownBy(const CallArgs& args) {
  Value* first = trace_.open(args.positional[0]);
  if (args.positional.size() == 1) return raisable(first);
  bool cls = first->isConstant() && PyExceptionClass_Check(first->object.get());
  Value* value = trace_.open(args.positional[1]);
  Value* traceback = args.positional.size() == 3 ? trace_.open(args.positional[2]) : nullptr;
  if (traceback && !isNone(traceback) && traceback->kind != ValueKind::kOpaque) {
    trace_.fail(BreakReason::kGenerator, "generator.throw with this traceback");
  }
  if (cls && isNone(value)) return makeException(first->object.get(), {});
  if (!cls || value->kind != ValueKind::kException || !isInstanceOf(value, first->object.get())) {
    trace_.fail(BreakReason::kGenerator, "generator.throw with these arguments");
  }
  return value;
}

/// The iterator that a suspended generator delegates to by `yield from`, or null.
Value* Interpreter::delegate(const GeneratorIterator& generator) {
  bool sends = generator.frame && generator.started && generator.frame->pc >= 2 &&
               generator.frame->code->instructions[generator.frame->pc - 2].op == Opcode::kSend;
  return sends ? trace_.open(generator.frame->stack.back()) : nullptr;
}

/// Raises the exception where the generator stands; answers as resume().
Value* Interpreter::throwInto(GeneratorIterator& generator, Value* exception) {
  Value* inner = delegate(generator);
  if (!inner || generator.running) return resume(generator, nullptr, exception);
  GeneratorIterator* sub = generatorOf(inner);
  if (!sub && inner->kind == ValueKind::kIterator) return resume(generator, nullptr, exception);  // has no throw()
  if (!sub) trace_.fail(BreakReason::kGenerator, "generator.throw through yield from");
  CatchScope scope(catchers_);
  Value* item = nullptr;
  try {
    generator.running = true;
    bool exit = isInstanceOf(exception, PyExc_GeneratorExit);
    item = exit ? closeGenerator(*sub) : throwInto(*sub, exception);
    generator.running = false;
    if (exit) return resume(generator, nullptr, exception);
  } catch (const VirtualRaise& raise) {
    landed();
    if (!generator.running) throw;
    generator.running = false;
    return resume(generator, nullptr, raise.exception);
  }
  if (item) return item;
  // As SEND does when its iterator has returned; what resume() pushes is the value.
  Frame& frame = *generator.frame;
  frame.stack.pop_back();
  frame.pc = static_cast<size_t>(frame.code->instructions[frame.pc - 2].target);
  return resume(generator, sub->returned ? sub->returned : trace_.constant(Py_None), nullptr);
}

Value* Interpreter::closeGenerator(GeneratorIterator& generator) {
  Value* inner = delegate(generator);
  if (inner || suspendedInHandler(generator)) {
    CatchScope scope(catchers_);
    try {
      if (throwInto(generator, makeException(PyExc_GeneratorExit, {}))) {
        raiseError(PyExc_RuntimeError, "generator ignored GeneratorExit");
      }
      if (generator.returned && !isNone(generator.returned)) {  // 3.13 answers it
        trace_.fail(BreakReason::kGenerator, "generator.close");
      }
    } catch (const VirtualRaise& raise) {
      landed();
      bool expected =
          isInstanceOf(raise.exception, PyExc_GeneratorExit) || isInstanceOf(raise.exception, PyExc_StopIteration);
      if (!expected) throw;
    }
  }
  generator.frame.reset();
  return trace_.constant(Py_None);
}

// ---- instructions -------------------------------------------------------------------------------------------------

void Interpreter::onYieldValue(const Instr&) {
  if (!frame_->generator) trace_.fail(BreakReason::kGenerator, text(frame_->object()->co_qualname));
  Value* value = trace_.open(popRaw());
  if (frame_->yieldsFloats) {
    const PyTypeObject* type = trace_.typeOf(value);
    *frame_->yieldsFloats |= type == &PyFloat_Type || type == &PyComplex_Type;
    return push(value);
  }
  frame_->yielded = value;
}

/// What a generator yields from which nothing has been taken, or what a dict holds whose keys array data decides, as a
/// list; null for others.
Value* Interpreter::collected(Value* iterable) {
  const bool isView = iterable->kind == ValueKind::kIterator && !iterable->name.empty();
  Value* table = isView ? iterable->base : iterable;
  if (WorkTable::is(table)) return WorkTable{*this, trace_, table}.listOf(isView ? iterable->name : "keys");
  return ConsumedGenerators{*this, trace_}.consume(iterable, Consumer::kList);
}

void Interpreter::onGetYieldFromIter(const Instr&) { push(iteratorOf(pop())); }

/// Stack: iterator, value to send. The target is behind END_SEND: the iterator has made room for what it returned.
void Interpreter::onSend(const Instr& instr) {
  Value* sent = popRaw();
  Value* iterator = trace_.open(top());
  Value *item = nullptr, *returned = nullptr;
  if (auto* generator = generatorOf(iterator)) {
    item = resume(*generator, sent, nullptr);
    returned = generator->returned;
  } else {
    if (!isNone(sent)) trace_.fail(BreakReason::kGenerator, "send() through yield from");
    item = nextOf(iterator);
  }
  if (item) return push(item);
  popRaw();
  push(returned ? returned : trace_.constant(Py_None));
  frame_->pc = static_cast<size_t>(instr.target);
}

void Interpreter::onEndSend(const Instr&) { frame_->stack.erase(frame_->stack.end() - 2); }

/// 3.12 on. Stack: iterator, value sent, the exception that `yield from` has met.
void Interpreter::onCleanupThrow(const Instr& instr) {
  Value* exception = popRaw();
  if (exception->kind != ValueKind::kException) unsupported(instr);
  inFlight_ = -1;
  if (!isInstanceOf(exception, PyExc_StopIteration)) raiseValue(exception);
  frame_->stack.resize(frame_->stack.size() - 2);
  push(trace_.constant(Py_None));
  push(exception->items.empty() ? trace_.constant(Py_None) : exception->items[0]);
}

/// What an exhausted generator has returned; null for other iterators.
Value* Interpreter::returnedBy(Value* iterator) {
  GeneratorIterator* generator = generatorOf(iterator);
  return generator ? generator->returned : nullptr;
}

GeneratorIterator* Interpreter::generatorOf(Value* iterator) {
  bool is = iterator->kind == ValueKind::kIterator && iterator->cls.get() == reinterpret_cast<PyObject*>(&PyGen_Type);
  return is ? static_cast<GeneratorIterator*>(iterator->lazy.get()) : nullptr;
}

}  // namespace fw::capture
