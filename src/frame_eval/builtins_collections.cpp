// The collections module: types written in C, and the functions in C behind its Python code, which is inlined.
#include "frame_eval/builtins.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/type_lookups.h"
#include "frame_eval/work_list.h"

namespace fw::capture {

using cpython::checked;

Value* Builtins::callDeque(const CallArgs& args) { return Collections{interpreter, trace}.makeDeque(args); }

Value* Builtins::byStepsOfOurs(const CallArgs& args) {
  const std::string_view full = name;
  return Collections{interpreter, trace}.bySteps("_" + std::string(full.substr(full.find('.') + 1)), args.positional);
}

/// In a list that is worked off, if it may be one.
Value* Builtins::callHeap(const CallArgs& args) {
  expect(args, 1, 2);
  Value* heap = args.positional[0];
  if (heap->kind != ValueKind::kList && !WorkList::is(heap)) refuse("of this list");
  WorkList::require(trace, heap);
  Branches& branches = trace.branches;
  const bool doubled = branches.isDoubled(heap) || (args.positional.size() > 1 && branches.isHeld(args.positional[1]));
  Value* result = byStepsOfOurs(args);
  if (!doubled) branches.forgetDoubled(heap);  // each of its items has been moved to one place
  if (std::string_view(name) == "_heapq.heappop" && result->kind == ValueKind::kTuple) branches.release(result);
  return result;
}

Value* Builtins::callBisect(const CallArgs& args) {
  expect(args, 2, 4);
  return byStepsOfOurs(args);
}

Value* Builtins::callInsort(const CallArgs& args) {
  expect(args, 2, 4);
  Value* list = args.positional[0];
  WorkList::require(trace, list);
  WorkList::noteItem(trace, list, args.positional[1]);
  if (list->kind != ValueKind::kList && !WorkList::is(list)) refuse("of this list");
  return byStepsOfOurs(args);
}

/// Behind Counter.update(): for dicts whose get and __setitem__ are dict's own.
Value* Builtins::callCountElements(const CallArgs& args) {
  expect(args, 2, 2);
  Value *counts = args.positional[0], *iterable = args.positional[1];
  if (counts->kind != ValueKind::kDict) refuse("of this mapping");
  PyTypeObject* type = trace.typeOf(counts);
  Ref get = checked(PyUnicode_InternFromString("get")), set = checked(PyUnicode_InternFromString("__setitem__"));
  for (PyObject* name : {get.get(), set.get()}) {
    if (lookUp(type, name) != lookUp(&PyDict_Type, name)) refuse("of this mapping");
  }
  if (isSubclassValue(counts)) interpreter.guardTypeVersion(type);
  Value* one = number(1);
  for (Value* item : interpreter.iterate(iterable)) {
    Value* key = interpreter.key(item);
    int at = interpreter.findKey(counts, key);
    interpreter.setKey(
        counts, key,
        at < 0 ? one : interpreter.binary(cpython::kNbAdd, false, counts->items[static_cast<size_t>(at)], one));
  }
  return trace.constant(Py_None);
}

/// tuple.__new__(cls, ...), dict.__new__(cls).
Value* Builtins::callContainerNew(const CallArgs& original) {
  CallArgs args = original;
  if (args.positional.empty() || !args.positional[0]->isConstant() || !PyType_Check(args.positional[0]->object.get()))
    refuse("of this class");
  auto* cls = reinterpret_cast<PyTypeObject*>(args.positional[0]->object.get());
  PyObject* builtin = reinterpret_cast<PyCFunctionObject*>(callable)->m_self;
  args.positional.erase(args.positional.begin());
  if (cls == &PyTuple_Type && builtin == reinterpret_cast<PyObject*>(cls)) return callTuple(args);
  PyTypeObject* base = containerBase(cls);
  if (!base || reinterpret_cast<PyObject*>(base) != builtin) refuse("of this class");
  interpreter.guardTypeVersion(cls);
  return Collections{interpreter, trace}.create(cls, args);
}

}  // namespace fw::capture
