// Sorting. CPython's own list.sort puts things in order: known keys directly, all others through stand-ins whose
// comparison asks the trace, in the order in which Python would ask. C++ exceptions do not pass through C frames: they
// are kept until the sort has given up.
#include <exception>

#include "frame_eval/collections.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/long_list.h"
#include "frame_eval/unwind.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

/// One sort of keys that are not all known.
struct SortRun {
  std::function<bool(Value*, Value*)> less;
  std::exception_ptr failure;
  bool pending = false;  ///< Python knows of it too
};

struct SortKey {
  PyObject_HEAD
  SortRun* run;
  Value* value;
};

PyObject* compareKeys(PyObject* left, PyObject* right, int) {
  auto *a = reinterpret_cast<SortKey*>(left), *b = reinterpret_cast<SortKey*>(right);
  try {
    return PyBool_FromLong(a->run->less(a->value, b->value));
  } catch (const cpython::PythonError&) {
    a->run->failure = std::current_exception();
    a->run->pending = true;
    return nullptr;
  } catch (...) {
    a->run->failure = std::current_exception();
    PyErr_SetString(PyExc_RuntimeError, "the trace ends here");
    return nullptr;
  }
}

PyTypeObject* sortKeyType() {
  static PyTypeObject type = [] {
    PyTypeObject t{PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "fusewire.SortKey";
    t.tp_basicsize = sizeof(SortKey);
    t.tp_flags = Py_TPFLAGS_DEFAULT;
    t.tp_richcompare = compareKeys;
    return t;
  }();
  if (!(type.tp_flags & Py_TPFLAGS_READY)) checked(PyType_Ready(&type));
  return &type;
}

Ref sortKey(SortRun& run, Value* value) {
  Ref key = checked(reinterpret_cast<PyObject*>(PyObject_New(SortKey, sortKeyType())));
  reinterpret_cast<SortKey*>(key.get())->run = &run;
  reinterpret_cast<SortKey*>(key.get())->value = value;
  return key;
}

}  // namespace

/// The key as a plain object, or none.
Ref Interpreter::knownKey(Value* key) {
  Ref known = key->kind == ValueKind::kTuple ? trace_.asObject(key) : Ref();
  if (Value* number = known ? nullptr : trace_.specializeNumber(key)) known = number->object;
  return known && isPlain(known.get()) ? known : Ref();
}

/// Puts the items into the order that list.sort leaves, also where it fails halfway; answers the failure, null if it
/// succeeds.
std::exception_ptr Interpreter::sortItems(std::vector<Value*>& items, Value* keyFunction, bool reverse) {
  bool compares = keyFunction && keyFunction->kind == ValueKind::kOpaque && keyFunction->name == "functools.cmp_to_key";
  std::vector<Value*> keys;
  bool known = !compares;
  Ref real = checked(PyList_New(0)), order = checked(PyList_New(0));
  for (size_t i = 0; i < items.size(); ++i) {
    keys.push_back(keyFunction && !compares ? call(keyFunction, {.positional = {items[i]}, .keywords = {}})
                                            : trace_.open(items[i]));
    Ref index = checked(PyLong_FromSize_t(i));
    checked(PyList_Append(order.get(), index.get()));
  }
  for (Value* key : keys) {
    Ref object = known ? knownKey(key) : Ref();
    known = static_cast<bool>(object);
    if (!known) break;
    checked(PyList_Append(real.get(), object.get()));
  }
  SortRun run;
  run.less = [&](Value* a, Value* b) {
    if (!compares) return trace_.truth(compare(Py_LT, a, b));
    Value* answer = call(keyFunction->items[0], {.positional = {a, b}, .keywords = {}});
    return trace_.truth(compare(Py_LT, answer, trace_.constant(checked(PyLong_FromLong(0)))));
  };
  if (!known) {
    real = checked(PyList_New(0));
    for (Value* key : keys) checked(PyList_Append(real.get(), sortKey(run, key).get()));
  }
  Ref getItem = checked(PyObject_GetAttrString(real.get(), "__getitem__"));
  Ref sort = checked(PyObject_GetAttrString(order.get(), "sort"));
  Ref none = checked(PyTuple_New(0)), keywords = checked(PyDict_New());
  checked(PyDict_SetItemString(keywords.get(), "key", getItem.get()));
  checked(PyDict_SetItemString(keywords.get(), "reverse", reverse ? Py_True : Py_False));
  Ref done = Ref::steal(PyObject_Call(sort.get(), none.get(), keywords.get()));
  std::exception_ptr failure = run.failure;
  if (failure && !run.pending) PyErr_Clear();
  if (!done && !failure) {
    try {
      raisesPending();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  std::vector<Value*> before = items;
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = before[PyLong_AsSize_t(PyList_GET_ITEM(order.get(), static_cast<Py_ssize_t>(i)))];
  return failure;
}

std::vector<Value*> Interpreter::sorted(std::vector<Value*> items, Value* keyFunction, bool reverse) {
  CatchScope scope(catchers_);
  std::exception_ptr failure = sortItems(items, keyFunction, reverse);
  if (failure) std::rethrow_exception(failure);
  return items;
}

Value* Interpreter::sortList(Value* list, const CallArgs& args) {
  Value* keyFunction = nullptr;
  Value* descends = trace_.constant(Py_False);
  for (auto& [name, value] : args.keywords) {
    if (name == "key" && !isNone(value)) keyFunction = value;
    if (name == "reverse") descends = value;
  }
  if (args.positional.empty() && Collections{*this, trace_}.sortedWork(list, keyFunction, descends, true))
    return trace_.constant(Py_None);
  if (isLongList(list) || PooledList::is(list)) trace_.fail(BreakReason::kUnsupportedCall, "list.sort of a long list");
  const bool reverse = trace_.truth(descends);
  if (!args.positional.empty()) raises("TypeError: sort() takes no positional arguments");
  const std::vector<Value*> before = list->items;
  std::vector<Value*> items = before;
  std::exception_ptr failure;
  {
    CatchScope scope(catchers_);
    failure = sortItems(items, keyFunction, reverse);
  }
  if (list->items != before) trace_.fail(BreakReason::kUnsupportedCall, "a list that changes while it is sorted");
  spliceList(list, 0, list->items.size(), std::move(items));
  if (failure) std::rethrow_exception(failure);
  return trace_.constant(Py_None);
}

}  // namespace fw::capture
