// f-strings. What is formatted has to be known while tracing; CPython formats it.
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

Value* Interpreter::formatValue(Value* value, Value* spec) {
  if (value->kind == ValueKind::kException && !spec) return exceptionText(value, false);
  Value* known = trace_.specializeNumber(value);
  if (!known || !isPlain(known->object.get()) || (spec && !spec->isConstant())) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("formatting of a ") + trace_.typeOf(value)->tp_name);
  }
  return fold(PyObject_Format(known->object.get(), spec ? spec->object.get() : nullptr));
}

void Interpreter::onFormatSimple(const Instr&) { push(formatValue(pop(), nullptr)); }

void Interpreter::onFormatWithSpec(const Instr&) {
  Value* spec = pop();
  push(formatValue(pop(), spec));
}

void Interpreter::onConvertValue(const Instr& instr) {
  Value* value = pop();
  if (value->kind == ValueKind::kException && instr.arg != 3) return push(exceptionText(value, instr.arg == 2));
  Value* known = trace_.specializeNumber(value);
  if (!known || !isPlain(known->object.get())) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("formatting of a ") + trace_.typeOf(value)->tp_name);
  }
  PyObject* o = known->object.get();
  push(fold(instr.arg == 1 ? PyObject_Str(o) : instr.arg == 2 ? PyObject_Repr(o) : PyObject_ASCII(o)));
}

void Interpreter::onBuildString(const Instr& instr) {
  std::vector<Value*> parts = popMany(static_cast<size_t>(instr.arg));
  Ref list = checked(PyList_New(0));
  for (Value* part : parts) {
    FW_CHECK(isConstantOf(trace_.open(part), &PyUnicode_Type));
    checked(PyList_Append(list.get(), part->object.get()));
  }
  Ref empty = checked(PyUnicode_FromString(""));
  push(fold(PyUnicode_Join(empty.get(), list.get())));
}

}  // namespace fw::capture
