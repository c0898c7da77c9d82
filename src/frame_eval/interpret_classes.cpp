// Instructions of class statements and of the bodies of classes, whose names live in a namespace (Frame::names). What
// a class becomes: classes.cpp.
#include "frame_eval/builtins.h"
#include "frame_eval/classes.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

using guards::SourceKind;

namespace {

/// The namespace of a class body; Python runs other code that has one (modules, exec).
Value* namesOf(Trace& trace, const Frame& frame, const char* instruction) {
  if (!frame.names) trace.fail(BreakReason::kUnsupportedInstruction, instruction);
  return frame.names;
}

}  // namespace

void Interpreter::onLoadBuildClass(const Instr& instr) {
  static PyObject* const name = PyUnicode_InternFromString("__build_class__");
  PyObject* builtins = frame_->builtins.get();
  PyObject* found = PyDict_CheckExact(builtins) ? PyDict_GetItemWithError(builtins, name) : nullptr;
  if (!found) unsupported(instr);
  auto& sources = trace_.sources();
  push(setting(sources.intern(SourceKind::kDictItem, sources.intern(SourceKind::kBuiltins, frame_->function), 0, name),
               found));
}

void Interpreter::onLoadName(const Instr& instr) {
  Value* names = namesOf(trace_, *frame_, "LOAD_NAME");
  int at = findKey(names, trace_.constant(nameAt(instr.arg)));
  if (at < 0) return onLoadGlobal(instr);
  push(names->items[static_cast<size_t>(at)]);
}

void Interpreter::onStoreName(const Instr& instr) {
  Value* names = namesOf(trace_, *frame_, "STORE_NAME");
  setKey(names, trace_.constant(nameAt(instr.arg)), pop());
}

void Interpreter::onDeleteName(const Instr& instr) {
  Value* names = namesOf(trace_, *frame_, "DELETE_NAME");
  int at = findKey(names, trace_.constant(nameAt(instr.arg)));
  if (at < 0) raises("NameError: " + text(nameAt(instr.arg)));
  eraseKey(names, at);
}

void Interpreter::onLoadLocals(const Instr&) { push(namesOf(trace_, *frame_, "LOAD_LOCALS")); }

void Interpreter::onLoadClassDeref(const Instr& instr) {
  push(namesOf(trace_, *frame_, "LOAD_CLASSDEREF"));
  onLoadFromDictOrDeref(instr);
}

void Interpreter::onLoadFromDictOrDeref(const Instr& instr) {
  Value* names = pop();
  if (names->kind != ValueKind::kDict || names->cls) unsupported(instr);
  Value* name = trace_.constant(PyTuple_GET_ITEM(frame_->object()->co_localsplusnames, instr.arg));
  int at = findKey(names, name);
  if (at < 0) return onLoadDeref(instr);
  push(names->items[static_cast<size_t>(at)]);
}

void Interpreter::onLoadFromDictOrGlobals(const Instr& instr) {
  Value* names = pop();
  if (names->kind != ValueKind::kDict || names->cls) unsupported(instr);
  int at = findKey(names, trace_.constant(nameAt(instr.arg)));
  if (at < 0) return onLoadGlobal(instr);
  push(names->items[static_cast<size_t>(at)]);
}

void Interpreter::onSetupAnnotations(const Instr&) {
  Value* names = namesOf(trace_, *frame_, "SETUP_ANNOTATIONS");
  Value* name = trace_.constant(internedName("__annotations__"));
  if (findKey(names, name) < 0) setKey(names, name, trace_.make(ValueKind::kDict));
}

Value* Builtins::callBuildClass(const CallArgs& args) { return Classes{interpreter, trace}.build(args); }

Value* Builtins::callDescriptor(const CallArgs& args) { return Classes::descriptor(trace, callable, args); }

}  // namespace fw::capture
