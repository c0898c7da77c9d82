// except*: groups of exceptions that the traced code raises, split as BaseExceptionGroup.split does. A group is a
// kException whose arguments are the message and the exceptions. Also what sys.exc_info() and sys.exception() answer
// in a handler of the trace.
#include <algorithm>

#include "frame_eval/builtins.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/nesting.h"
#include "graph/support/check.h"

namespace fw::capture {

namespace {

PyObject* exceptionGroup() {
  static PyObject* const type = PyDict_GetItemString(PyEval_GetBuiltins(), "ExceptionGroup");
  return type;
}

bool isClass(const Value* exception, PyObject* cls) {
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(exception->object.get()),
                          reinterpret_cast<PyTypeObject*>(cls));
}

/// Of the builtin classes; the user's may override derive().
bool isPlainGroup(const Value* exception) {
  return exception->object.get() == exceptionGroup() || exception->object.get() == PyExc_BaseExceptionGroup;
}

}  // namespace

struct GroupSplit {
  Value *match = nullptr, *rest = nullptr;  ///< null: empty
};

struct Groups {
  Trace& trace;

  [[noreturn]] void refuse() const { trace.fail(BreakReason::kUnsupportedInstruction, "except* of these exceptions"); }

  Value* group(PyObject* cls, Value* message, std::vector<Value*> members, const Value* like) const {
    Value* made = trace.make(ValueKind::kException);
    const bool all = std::all_of(members.begin(), members.end(), [](Value* e) { return isClass(e, PyExc_Exception); });
    made->object = Ref::create(all ? exceptionGroup() : cls);
    made->items = {message, trace.list(std::move(members))};
    if (like) {  // what the parts of a group take over from it
      made->base = like->base;
      made->overlay = like->overlay;
    }
    return made;
  }

  std::vector<Value*> members(Value* exception) const {
    const bool known =
        isPlainGroup(exception) && exception->items.size() == 2 && exception->name.empty() &&
        (exception->items[1]->kind == ValueKind::kList || exception->items[1]->kind == ValueKind::kTuple);
    if (!known) refuse();
    for (Value* member : exception->items[1]->items)
      if (member->kind != ValueKind::kException) refuse();
    return exception->items[1]->items;
  }

  bool matches(const Value* exception, const std::vector<Value*>& classes) const {
    return std::any_of(classes.begin(), classes.end(), [&](Value* c) { return isClass(exception, c->object.get()); });
  }

  GroupSplit split(Value* exception, const std::vector<Value*>& classes) const {
    Nesting nesting(trace);
    if (matches(exception, classes)) return {.match = exception};
    if (!isClass(exception, PyExc_BaseExceptionGroup)) return {.rest = exception};
    std::vector<Value*> match, rest;
    for (Value* member : members(exception)) {
      GroupSplit parts = split(member, classes);
      if (parts.match) match.push_back(parts.match);
      if (parts.rest) rest.push_back(parts.rest);
    }
    auto derived = [&](std::vector<Value*> part) {
      return part.empty() ? nullptr : group(PyExc_BaseExceptionGroup, exception->items[0], std::move(part), exception);
    };
    return {derived(std::move(match)), derived(std::move(rest))};
  }
};

/// Stack: exception or group, classes; what does not match and what does stay in their place.
void Interpreter::onCheckEgMatch(const Instr& instr) {
  Value* classes = pop();
  Value* exception = popRaw();
  const bool none = exception->isNone();
  if ((!none && exception->kind != ValueKind::kException) || handled_.empty()) unsupported(instr);
  std::vector<Value*> all = isTuple(classes) ? iterate(classes) : std::vector<Value*>{classes};
  for (Value* cls : all) {
    const bool known = cls->isConstant() && PyExceptionClass_Check(cls->object.get()) &&
                       !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls->object.get()),
                                         reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup));
    if (!known) unsupported(instr);
  }
  Groups groups{trace_};
  GroupSplit parts;
  if (!none) parts = groups.split(exception, all);
  if (parts.match && !isInstanceOf(parts.match, PyExc_BaseExceptionGroup)) {  // a naked exception
    Value* message = trace_.constant(cpython::checked(PyUnicode_FromString("")));
    parts.match = groups.group(PyExc_BaseExceptionGroup, message, {parts.match}, nullptr);
  }
  if (parts.match) handled_.back().exception = parts.match;
  auto orNone = [&](Value* part) { return part ? part : trace_.constant(Py_None); };
  push(orNone(parts.rest));
  push(orNone(parts.match));
}

/// Stack: the exception, a list of what the handlers raised and what they left. None if that is nothing.
void Interpreter::onPrepReraiseStar(const Instr& instr) {
  Value* raised = pop();
  Value* original = popRaw();
  if (raised->kind != ValueKind::kList || original->kind != ValueKind::kException) unsupported(instr);
  std::vector<Value*> left;
  for (Value* one : raised->items)
    if (!isNone(one)) left.push_back(one);
  if (left.empty()) return push(trace_.constant(Py_None));
  // Only what no handler wanted: the parts of the group that are left, in its own form.
  const bool naked = !isInstanceOf(original, PyExc_BaseExceptionGroup);
  const bool unhandled = left.size() == 1 && left[0] == raised->items.back();
  if (!naked && !(unhandled && isInstanceOf(left[0], PyExc_BaseExceptionGroup))) unsupported(instr);
  push(left[0]);
}

Value* Builtins::callExcInfo(const CallArgs& args) {
  expect(args, 0, 0);
  const bool all = std::string_view(name) == "sys.exc_info";
  if (interpreter.handled_.empty()) refuse("outside of the handlers of this code");
  Value* exception = interpreter.handled_.back().exception;
  if (!all) return exception;
  Value* traceback = trace.make(ValueKind::kOpaque);
  traceback->cls = Ref::create(reinterpret_cast<PyObject*>(&PyTraceBack_Type));
  return trace.tuple({trace.constant(exception->object), exception, traceback});
}

}  // namespace fw::capture
