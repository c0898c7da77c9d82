// Structural pattern matching, and len() as patterns ask for it. Which objects are sequences or mappings follows
// from the flags of their types; subjects of user classes are matched by attributes only.
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/type_lookups.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

void Interpreter::onMatchSequence(const Instr&) {
  PyTypeObject* type = trace_.typeOf(trace_.open(top()));
  push(trace_.constant(type->tp_flags & Py_TPFLAGS_SEQUENCE ? Py_True : Py_False));
}

void Interpreter::onMatchMapping(const Instr&) {
  PyTypeObject* type = trace_.typeOf(trace_.open(top()));
  push(trace_.constant(type->tp_flags & Py_TPFLAGS_MAPPING ? Py_True : Py_False));
}

/// Stack: subject, tuple of keys. Pushes the values, or None if one is missing.
void Interpreter::onMatchKeys(const Instr& instr) {
  Value* keys = trace_.open(top());
  Value* subject = trace_.open(top(2));
  if (subject->kind != ValueKind::kDict || subject->cls) unsupported(instr);
  std::vector<Value*> values;
  for (Value* item : iterate(keys)) {
    int at = findKey(subject, key(item));
    if (at < 0) return push(trace_.constant(Py_None));
    values.push_back(subject->items[at]);
  }
  push(trace_.tuple(std::move(values)));
}

/// Stack: subject, class, names of keyword patterns; `arg` positional patterns. Becomes the attributes, or None.
void Interpreter::onMatchClass(const Instr& instr) {
  Value* names = pop();
  Value* cls = pop();
  Value* subject = pop();
  bool known = cls->isConstant() && PyType_Check(cls->object.get()) && Py_TYPE(cls->object.get()) == &PyType_Type;
  if (!known) unsupported(instr);
  auto* type = reinterpret_cast<PyTypeObject*>(cls->object.get());
  if (!PyType_IsSubtype(trace_.typeOf(subject), type)) return push(trace_.constant(Py_None));
  std::vector<Value*> attributes;
  std::vector<PyObject*> wanted;
  Ref matchArgs;
  if (instr.arg > 0) {
    guardTypeVersion(type);
    Ref dunder = checked(PyUnicode_InternFromString("__match_args__"));
    PyObject* found = lookUp(type, dunder.get());
    if (!found) {
      constexpr unsigned long kMatchSelf = 1UL << 22;  // _Py_TPFLAGS_MATCH_SELF
      if (!(type->tp_flags & kMatchSelf) || instr.arg > 1) unsupported(instr);
      attributes.push_back(subject);
    } else {
      if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) < instr.arg) unsupported(instr);
      for (int i = 0; i < instr.arg; ++i) wanted.push_back(PyTuple_GET_ITEM(found, i));
      matchArgs = Ref::create(found);
    }
  }
  for (Value* name : iterate(names)) wanted.push_back(name->object.get());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!PyUnicode_CheckExact(wanted[i]) || !PyUnicode_CHECK_INTERNED(wanted[i])) unsupported(instr);
    for (size_t j = 0; j < i; ++j) {
      if (wanted[i] == wanted[j]) unsupported(instr);  // raises
    }
    if (!hasAttribute(subject, wanted[i])) return push(trace_.constant(Py_None));
    attributes.push_back(getAttribute(subject, wanted[i]));
  }
  push(trace_.tuple(std::move(attributes)));
}

void Interpreter::onGetLen(const Instr&) { push(length(trace_.open(top()))); }

}  // namespace fw::capture
