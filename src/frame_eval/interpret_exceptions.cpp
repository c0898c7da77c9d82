// Exceptions inside the traced code. An exception is a Value of kind kException; raising it throws VirtualRaise
// through the C++ frames of the interpreter, and execute() continues at the handler that the exception table names,
// with the stack that CPython would have there. An exception that nobody handles ends the trace: Python raises it.
// While one is handled, sys.exc_info() is not what the thread believes, so that no region may end there: resumeAt()
// says where Python must take over instead.
#include <algorithm>

#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/raising.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/unwind.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

PyTypeObject* typeOfException(const Value* exception) {
  return reinterpret_cast<PyTypeObject*>(exception->object.get());
}

bool isA(const Value* exception, PyObject* cls) {
  return PyType_IsSubtype(typeOfException(exception), reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace

bool storesArguments(PyTypeObject* type) {
  static PyObject* const kOwnInit[] = {PyExc_StopIteration, PyExc_AttributeError, PyExc_NameError, PyExc_SystemExit};
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (type->tp_new != base->tp_new) return false;
  if (type->tp_init == base->tp_init) return true;
  for (PyObject* known : kOwnInit) {
    if (type->tp_init == reinterpret_cast<PyTypeObject*>(known)->tp_init) return true;
  }
  return false;
}

bool Interpreter::isInstanceOf(Value* exception, PyObject* cls) { return isA(exception, cls); }

// ---- raising ------------------------------------------------------------------------------------------------------

bool InterpreterState::isHandled() const {
  return std::any_of(frames_.begin(), frames_.end(), [](const auto& frame) {
    return handlerOf(*frame->code, static_cast<int>(frame->pc) - 1) != nullptr;
  });
}

void Interpreter::raiseValue(Value* exception) {
  FW_CHECK(exception->kind == ValueKind::kException);
  exception->opened = false;
  if ((catchers_ == 0 && !isHandled()) || isLeftToPython(typeOfException(exception))) escaped(exception);
  throw VirtualRaise(exception);
}

void Interpreter::escaped(Value* exception) {
  std::string what = typeOfException(exception)->tp_name;
  if (!exception->items.empty() && isConstantOf(exception->items[0], &PyUnicode_Type)) {
    what += ": " + text(exception->items[0]->object.get());
  }
  throw CaptureBreak(BreakReason::kPythonException, what, resumeAt());
}

/// What _PyErr_SetObject does: the exception that is being handled becomes the context of a new one, without cycles.
/// Outside of all handlers of the trace it is not known whether the caller handles one.
void Interpreter::setContext(Value* exception) {
  static PyObject* const name = PyUnicode_InternFromString("__context__");
  if (handled_.empty() || handled_.back().exception == exception) return;
  auto contextOf = [&](Value* of) -> Value** {
    for (auto& [key, value] : of->overlay) {
      if (key.get() == name) return &value;
    }
    return nullptr;
  };
  for (Value* at = handled_.back().exception; Value** next = contextOf(at); at = *next) {
    if ((*next)->kind != ValueKind::kException) break;
    if (*next != exception) continue;
    *next = trace_.constant(Py_None);
    break;
  }
  if (Value** known = contextOf(exception)) {
    *known = handled_.back().exception;
  } else {
    exception->overlay.emplace_back(Ref::create(name), handled_.back().exception);
  }
}

void Interpreter::raiseError(PyObject* type, const std::vector<Value*>& args) {
  Value* exception = trace_.make(ValueKind::kException);
  exception->object = Ref::create(type);
  exception->items = args;
  setContext(exception);
  raiseValue(exception);
}

void Interpreter::raiseError(PyObject* type, const std::string& message) {
  raiseError(type, {trace_.constant(checked(PyUnicode_FromString(message.c_str())))});
}

void Interpreter::raiseAbout(PyObject* type, const std::string& what) {
  Value* exception = trace_.make(ValueKind::kException);
  exception->object = Ref::create(type);
  exception->items = {trace_.constant(checked(PyUnicode_FromString(what.c_str())))};
  exception->name = what;
  setContext(exception);
  raiseValue(exception);
}

void Interpreter::raisesPending() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref t = Ref::steal(type), v = Ref::steal(value), tb = Ref::steal(traceback);
  FW_CHECK(t);
  bool interrupt =
      PyErr_GivenExceptionMatches(t.get(), PyExc_MemoryError) || !PyErr_GivenExceptionMatches(t.get(), PyExc_Exception);
  if (interrupt) {
    PyErr_Restore(t.release(), v.release(), tb.release());
    throw cpython::PythonError();
  }
  Ref args = checked(PyObject_GetAttrString(v.get(), "args"));
  std::vector<Value*> items;
  bool plain = PyTuple_CheckExact(args.get()) && isPlain(args.get());
  for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(args.get()); ++i) {
    items.push_back(trace_.constant(PyTuple_GET_ITEM(args.get(), i)));
  }
  if (plain && storesArguments(reinterpret_cast<PyTypeObject*>(t.get()))) raiseError(t.get(), std::move(items));
  raiseAbout(t.get(), reinterpret_cast<PyTypeObject*>(t.get())->tp_name);
}

int Interpreter::resumeAt() const { return handled_.empty() ? inFlight_ : handled_.front().at; }

bool Interpreter::unwind(Frame& frame, Value* exception) {
  const cpython::Handler* h = handlerOf(*frame.code, static_cast<int>(frame.pc) - 1);
  if (!h) return false;
  inFlight_ = handled_.empty() ? trace_.at : handled_.front().at;
  FW_CHECK(frame.stack.size() >= static_cast<size_t>(h->depth));
  const auto depth = static_cast<size_t>(h->depth);
  for (size_t i = frame.stack.size(); i > depth; --i)
    drop(frame.stack[i - 1]);  // a generator of the loop, which ends here
  frame.stack.resize(depth);
  if (h->lasti) frame.stack.push_back(trace_.constant(checked(PyLong_FromSize_t(frame.pc - 1))));
  frame.stack.push_back(exception);
  frame.pc = static_cast<size_t>(h->target);
  return true;
}

// ---- making -------------------------------------------------------------------------------------------------------

Value* Interpreter::makeException(PyObject* cls, CallArgs args) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  Ref newName = checked(PyUnicode_InternFromString("__new__")),
      initName = checked(PyUnicode_InternFromString("__init__"));
  PyObject* init = lookUp(type, initName.get());
  bool ownInit = init && PyFunction_Check(init);
  auto* builtin = type;
  while (builtin->tp_flags & Py_TPFLAGS_HEAPTYPE) builtin = builtin->tp_base;
  if (Value* group = makeGroup(cls, args)) return group;
  bool simple = Py_TYPE(cls) == &PyType_Type && storesArguments(builtin) && type->tp_itemsize == 0 &&
                lookUp(type, newName.get()) == lookUp(builtin, newName.get()) &&
                (ownInit || init == lookUp(builtin, initName.get()));
  if (!simple) trace_.fail(BreakReason::kUnsupportedCall, calleeName(cls));
  guardTypeVersion(type);
  Value* exception = trace_.make(ValueKind::kException);
  exception->object = Ref::create(cls);
  exception->items = args.positional;
  exception->opened = !ownInit;
  if (ownInit) {
    args.positional.insert(args.positional.begin(), exception);
    call(trace_.constant(init), std::move(args));
  } else if (!args.keywords.empty()) {
    trace_.fail(BreakReason::kUnsupportedCall, calleeName(cls) + " with keywords");
  }
  return exception;
}

/// ExceptionGroup(message, exceptions), of exceptions of the trace; null for other classes.
Value* Interpreter::makeGroup(PyObject* cls, const CallArgs& args) {
  static PyObject* const plain = PyDict_GetItemString(PyEval_GetBuiltins(), "ExceptionGroup");
  if (cls != plain || !args.keywords.empty() || args.positional.size() != 2) return nullptr;
  Value* members = args.positional[1];
  bool known = isConstantOf(args.positional[0], &PyUnicode_Type) && !members->cls && !members->items.empty() &&
               !members->source.valid() && (members->kind == ValueKind::kList || members->kind == ValueKind::kTuple);
  for (Value* member : known ? members->items : std::vector<Value*>())
    known = known && member->kind == ValueKind::kException && isA(member, PyExc_Exception);
  if (!known) return nullptr;
  Value* group = trace_.make(ValueKind::kException);
  group->object = Ref::create(cls);
  group->items = args.positional;
  return group;
}

/// The argument of `raise`: an exception, or a class that is called without arguments.
Value* Interpreter::raisable(Value* value) {
  if (value->isConstant() && PyExceptionClass_Check(value->object.get())) return makeException(value->object.get(), {});
  if (value->kind != ValueKind::kException) {
    trace_.fail(BreakReason::kPythonException, std::string("raise of a ") + trace_.typeOf(value)->tp_name);
  }
  return value;
}

// ---- reading ------------------------------------------------------------------------------------------------------

/// Breaks where what is known of the exception is not all that Python would show.
void Interpreter::needText(Value* exception) {
  if (exception->name.empty()) return;
  throw CaptureBreak(BreakReason::kPythonException, exception->name, resumeAt() >= 0 ? resumeAt() : exception->madeAt);
}

Value* Interpreter::exceptionAttribute(Value* self, PyObject* name) {
  std::string attribute = text(name);
  PyTypeObject* type = typeOfException(self);
  PyObject* found = lookUp(type, name);
  guardTypeVersion(type);
  if (attribute == "args") {
    needText(self);
    for (auto& [key, value] : self->overlay) {  // one tuple, until there are others
      if (key.get() == name && value->items == self->items) return value;
    }
    self->overlay.emplace(self->overlay.begin(), Ref::create(name), trace_.tuple(self->items));
    return self->overlay.front().second;
  }
  if (attribute == "__class__") return trace_.constant(self->object);
  if (isA(self, PyExc_BaseExceptionGroup) && (attribute == "exceptions" || attribute == "message")) {
    if (self->items.size() != 2) trace_.fail(BreakReason::kUnsupportedAttribute, "exceptions of this group");
    if (attribute == "message") return self->items[0];
    for (auto& [key, value] : self->overlay)
      if (key.get() == name) return value;
    self->overlay.emplace_back(Ref::create(name), trace_.tuple(self->items[1]->items));
    return self->overlay.back().second;
  }
  if (attribute == "__cause__") return self->base ? self->base : trace_.constant(Py_None);
  if (attribute == "__context__" || attribute == "__suppress_context__") {
    for (auto& [key, value] : self->overlay) {
      if (key.get() == name) return value;
    }
    if (attribute == "__suppress_context__") return trace_.constant(Py_False);
  }
  if (attribute == "value" && isA(self, PyExc_StopIteration)) {
    return self->items.empty() ? trace_.constant(Py_None) : self->items[0];
  }
  bool data = isReadFirst(found);
  if (data && Py_TYPE(found) == &PyProperty_Type)
    return bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(type)), type, name, found);
  if (!data) {
    for (auto& [key, value] : self->overlay) {
      if (key.get() == name && value) return value;
    }
    if (!found)
      raiseAbout(PyExc_AttributeError,
                 "'" + std::string(type->tp_name) + "' object has no attribute '" + attribute + "'");
    if (attribute == "with_traceback" || attribute == "__str__" || attribute == "__repr__" || attribute == "__init__" ||
        attribute == "add_note") {
      if (PyFunction_Check(found))
        return bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(type)), type, name, found);
      Value* method = trace_.make(ValueKind::kMethod);
      method->items = {nullptr, self};
      method->name = attribute;
      return method;
    }
    return bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(type)), type, name, found);
  }
  trace_.fail(BreakReason::kUnsupportedAttribute, std::string(type->tp_name) + "." + attribute);
}

void Interpreter::setExceptionAttribute(Value* self, PyObject* name, Value* value) {
  std::string attribute = text(name);
  PyTypeObject* type = typeOfException(self);
  PyObject* found = lookUp(type, name);
  guardTypeVersion(type);
  self->opened = false;
  if (attribute == "__traceback__" && found == lookUp(reinterpret_cast<PyTypeObject*>(PyExc_BaseException), name)) {
    return;  // reading it breaks
  }
  if (attribute == "args" && (value->kind == ValueKind::kTuple || value->kind == ValueKind::kList)) {
    self->items = value->items;
    self->name.clear();
    return;
  }
  bool generic = type->tp_setattro == PyObject_GenericSetAttr && !(found && Py_TYPE(found)->tp_descr_set);
  if (!generic) trace_.fail(BreakReason::kUnsupportedWrite, std::string(type->tp_name) + "." + attribute);
  for (auto& [key, item] : self->overlay) {
    if (key.get() == name) {
      item = value;
      return;
    }
  }
  self->overlay.emplace_back(Ref::create(name), value);
}

Value* Interpreter::exceptionMethod(Value* self, const std::string& name, const CallArgs& args) {
  if (name == "with_traceback" && args.positional.size() == 1) return self;
  if (name == "__init__" &&
      args.keywords.empty()) {  // makeException() has let through only classes that store the arguments
    self->items = args.positional;
    return trace_.constant(Py_None);
  }
  if (name == "add_note" && args.positional.size() == 1 && args.keywords.empty()) {
    if (trace_.typeOf(args.positional[0]) != &PyUnicode_Type) raiseAbout(PyExc_TypeError, "note must be a str");
    Ref notes = internedName("__notes__");
    for (auto& [key, value] : self->overlay) {
      if (key.get() != notes.get()) continue;
      if (value->kind != ValueKind::kList) trace_.fail(BreakReason::kUnsupportedCall, "add_note() to these notes");
      extendList(value, {args.positional[0]});
      return trace_.constant(Py_None);
    }
    self->overlay.emplace_back(std::move(notes), trace_.list({args.positional[0]}));
    return trace_.constant(Py_None);
  }
  if (name == "__str__" && args.positional.empty()) return exceptionText(self, false);
  if (name == "__repr__" && args.positional.empty()) return exceptionText(self, true);
  trace_.fail(BreakReason::kUnsupportedCall, std::string(typeOfException(self)->tp_name) + "." + name);
}

/// str() or repr(), by an exception of the builtin class that has the same arguments.
Value* Interpreter::exceptionText(Value* self, bool repr) {
  needText(self);
  PyTypeObject* type = typeOfException(self);
  Ref name = checked(PyUnicode_InternFromString(repr ? "__repr__" : "__str__"));
  PyObject* found = lookUp(type, name.get());
  if (found && PyFunction_Check(found)) return call(trace_.constant(found), {.positional = {self}, .keywords = {}});
  PyTypeObject* builtin = type;
  while (builtin->tp_flags & Py_TPFLAGS_HEAPTYPE) builtin = builtin->tp_base;
  if (found != lookUp(builtin, name.get())) trace_.fail(BreakReason::kUnsupportedCall, "str() of this exception");
  guardTypeVersion(type);
  Ref args = trace_.asObject(trace_.tuple(self->items));
  bool known = args && isPlain(args.get()) && (!repr || builtin == type);
  if (!known) trace_.fail(BreakReason::kUnsupportedCall, "the text of this exception");
  Ref real = checked(PyObject_Call(reinterpret_cast<PyObject*>(builtin), args.get(), nullptr));
  return fold(repr ? PyObject_Repr(real.get()) : PyObject_Str(real.get()));
}

// ---- instructions -------------------------------------------------------------------------------------------------

void Interpreter::onLoadAssertionError(const Instr&) { push(trace_.constant(PyExc_AssertionError)); }

void Interpreter::onRaiseVarargs(const Instr& instr) {
  if (instr.arg == 0) {
    if (handled_.empty()) trace_.fail(BreakReason::kPythonException, "raise");
    raiseValue(handled_.back().exception);
  }
  Value* cause = instr.arg == 2 ? pop() : nullptr;
  Value* exception = raisable(pop());
  if (cause) setCause(exception, isNone(cause) ? nullptr : raisable(cause));
  setContext(exception);
  raiseValue(exception);
}

/// PyException_SetCause.
void Interpreter::setCause(Value* exception, Value* cause) {
  exception->base = cause;
  Ref suppress = internedName("__suppress_context__");
  for (auto& [key, value] : exception->overlay) {
    if (key.get() == suppress.get()) return;
  }
  exception->overlay.emplace_back(std::move(suppress), trace_.constant(Py_True));
}

void Interpreter::onPushExcInfo(const Instr& instr) {
  Value* exception = popRaw();
  if (exception->kind != ValueKind::kException || inFlight_ < 0) unsupported(instr);
  push(trace_.make(ValueKind::kNull));  // what was handled before; handled_ knows it
  push(exception);
  handled_.push_back({exception, inFlight_});
  inFlight_ = -1;
}

void Interpreter::onPopExcept(const Instr&) {
  if (handled_.empty())
    trace_.fail(BreakReason::kUnsupportedInstruction, "the end of a handler that Python has entered");
  popRaw();
  handled_.pop_back();
}

void Interpreter::onCheckExcMatch(const Instr& instr) {
  Value* classes = pop();
  Value* exception = top();
  if (exception->kind != ValueKind::kException) unsupported(instr);
  std::vector<Value*> all = isTuple(classes) ? iterate(classes) : std::vector<Value*>{classes};
  bool matches = false;
  for (Value* cls : all) {
    if (!cls->isConstant() || !PyExceptionClass_Check(cls->object.get())) unsupported(instr);
    matches |= isA(exception, cls->object.get());
  }
  push(trace_.constant(matches ? Py_True : Py_False));
}

void Interpreter::onReraise(const Instr& instr) {
  Value* exception = popRaw();
  if (exception->kind != ValueKind::kException) unsupported(instr);
  inFlight_ = -1;
  raiseValue(exception);
}

/// 3.12 and later wrap the body of a generator in a handler that does what 3.11 does in resume().
void Interpreter::onStopIterationError(const Instr& instr) {
  Value* exception = popRaw();
  if (exception->kind != ValueKind::kException) unsupported(instr);
  push(exception);
}

}  // namespace fw::capture
