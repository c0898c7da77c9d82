// `with`: the special methods of context managers, looked up in the type. Managers made by contextlib are Python code
// and are inlined like any other.
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/locks.h"
#include "frame_eval/type_lookups.h"

namespace fw::capture {

using cpython::checked;

/// A method that the language calls by itself: looked up in the type only. Null if there is none.
Value* Interpreter::boundSpecial(Value* self, const char* name) {
  const bool lock = self->kind == ValueKind::kObject && Locks::isLock(Py_TYPE(self->object.get()));
  if (lock) return Locks{*this, trace_}.method(self, name);
  bool user = self->kind == ValueKind::kInstance || (self->kind == ValueKind::kObject && self->opened);
  if (!user) return nullptr;
  trace_.refuseOpaque(self);
  PyTypeObject* type = trace_.typeOf(self);
  Ref interned = checked(PyUnicode_InternFromString(name));
  PyObject* found = lookUp(type, interned.get());
  if (!found) return nullptr;
  guardTypeVersion(type);
  return trace_.open(
      bindDescriptor(self, trace_.constant(reinterpret_cast<PyObject*>(type)), type, interned.get(), found));
}

void Interpreter::onBeforeWith(const Instr&) {
  Value* manager = pop();
  Value* exit = boundSpecial(manager, "__exit__");
  Value* enter = exit ? boundSpecial(manager, "__enter__") : nullptr;
  if (!enter) {
    trace_.fail(BreakReason::kUnsupportedInstruction, std::string("with ") + trace_.typeOf(manager)->tp_name);
  }
  push(exit);
  push(call(enter, {}));
}

/// Stack: exit, lasti, previous exception, exception. The traceback is not known, only that there is one.
void Interpreter::onWithExceptStart(const Instr& instr) {
  Value* exception = top();
  if (exception->kind != ValueKind::kException) unsupported(instr);
  Value* exit = trace_.open(top(4));
  Value* traceback = trace_.make(ValueKind::kOpaque);
  traceback->cls = Ref::create(reinterpret_cast<PyObject*>(&PyTraceBack_Type));
  CallArgs args{.positional = {trace_.constant(exception->object), exception, traceback}, .keywords = {}};
  push(call(exit, std::move(args)));
}

}  // namespace fw::capture
