// Sets. A set of the trace is a real set of plain constants beside the Values of its elements: what it answers, and
// the order in which it is walked, are CPython's own, because the same operations are applied to it in the same
// order. Frozensets are constants.
#include <algorithm>

#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

bool isSet(const Value* v) { return v->kind == ValueKind::kSet || isConstantOf(v, &PyFrozenSet_Type); }

bool isKeysOrItems(const Value* v) { return v->kind == ValueKind::kIterator && (v->name == "keys" || v->name == "items"); }

}  // namespace

std::vector<Value*> Interpreter::setItems(Value* set) {
  std::vector<Value*> items;
  Ref list = checked(PySequence_List(set->object.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* element = PyList_GET_ITEM(list.get(), i);
    auto it = std::find_if(set->items.begin(), set->items.end(), [&](Value* v) { return v->object.get() == element; });
    items.push_back(it == set->items.end() ? trace_.constant(element) : *it);
  }
  return items;
}

/// A Value of a set that was just made; elements that `from` knows keep their Values.
Value* Interpreter::setOf(Ref real, const std::vector<Value*>& from) {
  Value* set = trace_.make(ValueKind::kSet);
  set->cls = Ref::create(reinterpret_cast<PyObject*>(&PySet_Type));
  set->object = std::move(real);
  set->items = from;
  refreshSet(set);
  return set;
}

/// Makes `items` those of the real set, in the order in which they were first seen.
void Interpreter::refreshSet(Value* set) {
  std::vector<Value*> known = std::move(set->items);
  set->items.clear();
  Ref list = checked(PySequence_List(set->object.get()));
  std::vector<PyObject*> rest;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) rest.push_back(PyList_GET_ITEM(list.get(), i));
  for (Value* v : known) {
    auto it = std::find(rest.begin(), rest.end(), v->object.get());
    if (it == rest.end()) continue;
    set->items.push_back(v);
    rest.erase(it);
  }
  for (PyObject* element : rest) set->items.push_back(trace_.constant(element));
}

/// What update() and the like see of an iterable: the same type where CPython treats types differently.
Ref Interpreter::realIterable(Value* iterable, std::vector<Value*>& items) {
  trace_.open(iterable);
  if (isSet(iterable)) {
    for (Value* item : setItems(iterable)) items.push_back(item);
    return iterable->object;
  }
  bool dict = iterable->kind == ValueKind::kDict && !iterable->cls;
  Ref real = checked(dict ? PyDict_New() : PyList_New(0));
  for (Value* item : iterate(iterable)) {
    Value* known = key(item);
    if (PyObject_Hash(known->object.get()) == -1) raisesPending();
    items.push_back(known);
    checked(dict ? PyDict_SetItem(real.get(), known->object.get(), Py_None) : PyList_Append(real.get(), known->object.get()));
  }
  return real;
}

Value* Interpreter::makeSet(PyTypeObject* cls, Value* iterable) {
  std::vector<Value*> items;
  Ref real = iterable ? realIterable(iterable, items) : Ref();
  if (cls == &PyFrozenSet_Type) return fold(PyFrozenSet_New(real.get()));
  Ref set = Ref::steal(PySet_New(real.get()));
  if (!set) raisesPending();
  return setOf(std::move(set), items);
}

void Interpreter::setAdd(Value* set, Value* item) {
  Value* known = key(item);
  int had = PySet_Contains(set->object.get(), known->object.get());
  if (had < 0) raisesPending();
  if (had) return;
  checked(PySet_Add(set->object.get(), known->object.get()));
  set->items.push_back(known);
  trace_.effectSet(set, known, true);
}

bool Interpreter::setRemove(Value* set, Value* item) {
  Value* known = key(item);
  int had = PySet_Discard(set->object.get(), known->object.get());
  if (had < 0) raisesPending();
  if (!had) return false;
  refreshSet(set);
  trace_.effectSet(set, known, false);
  return true;
}

bool Interpreter::setContains(Value* set, Value* item) {
  int found = PySet_Contains(set->object.get(), key(item)->object.get());
  if (found < 0) raisesPending();
  return found != 0;
}

// ---- instructions --------------------------------------------------------------------------------------------------

void Interpreter::onBuildSet(const Instr& instr) {
  Value* set = makeSet(&PySet_Type, nullptr);
  for (Value* item : popMany(static_cast<size_t>(instr.arg))) setAdd(set, item);
  push(set);
}

void Interpreter::onSetAdd(const Instr& instr) {
  Value* item = pop();
  setAdd(trace_.open(top(instr.arg)), item);
}

void Interpreter::onSetUpdate(const Instr& instr) {
  Value* from = pop();
  (void)setMethod(trace_.open(top(instr.arg)), "update", {.positional = {from}, .keywords = {}});
}

// ---- operators -----------------------------------------------------------------------------------------------------

/// Null if the operands are not sets.
Value* Interpreter::setBinary(int op, bool inplace, Value* left, Value* right) {
  bool views = isKeysOrItems(left) || isKeysOrItems(right);
  if (!isSet(left) && !isSet(right) && !views) return nullptr;
  const char* name = nullptr;
  switch (op) {
    case cpython::kNbOr: name = "update"; break;
    case cpython::kNbAnd: name = "intersection_update"; break;
    case cpython::kNbSubtract: name = "difference_update"; break;
    case cpython::kNbXor: name = "symmetric_difference_update"; break;
    default: return nullptr;
  }
  if (views) {   // set(left), then the method, as dictviews do it
    if (op == cpython::kNbAnd) return nullptr;   // walks the shorter operand: another order
    Value* set = makeSet(&PySet_Type, left);
    (void)setMethod(set, name, {.positional = {right}, .keywords = {}});
    return set;
  }
  if (!isSet(left) || !isSet(right)) return nullptr;
  if (inplace && left->kind == ValueKind::kSet) {
    (void)setMethod(left, name, {.positional = {right}, .keywords = {}});
    return left;
  }
  static constexpr PyObject* (*kFunctions[])(PyObject*, PyObject*) = {PyNumber_Or, PyNumber_And, PyNumber_Subtract, PyNumber_Xor};
  size_t which = op == cpython::kNbOr ? 0 : op == cpython::kNbAnd ? 1 : op == cpython::kNbSubtract ? 2 : 3;
  Ref real = checked(kFunctions[which](left->object.get(), right->object.get()));
  if (left->isConstant()) return trace_.constant(std::move(real));
  std::vector<Value*> items = setItems(left), more = setItems(right);
  items.insert(items.end(), more.begin(), more.end());
  return setOf(std::move(real), items);
}

/// Null if the operands are not sets.
Value* Interpreter::setCompare(int op, Value* left, Value* right) {
  auto operand = [&](Value* v) -> Ref {
    if (isSet(v)) return v->object;
    if (!isKeysOrItems(v)) return {};
    std::vector<Value*> items;
    Ref list = realIterable(v, items);
    return checked(PySet_New(list.get()));
  };
  if (!isSet(left) && !isKeysOrItems(left)) return nullptr;
  Ref a = operand(left), b = operand(right);
  if (!b) return nullptr;
  return fold(PyObject_RichCompare(a.get(), b.get(), op));
}

// ---- methods -------------------------------------------------------------------------------------------------------

Value* Interpreter::setMethod(Value* self, const std::string& name, const CallArgs& args) {
  size_t count = args.positional.size();
  if (!args.keywords.empty()) trace_.fail(BreakReason::kUnsupportedCall, "set." + name);
  if (count == 1 && (name == "add" || name == "discard" || name == "remove" || name == "__contains__")) {
    Value* item = args.positional[0];
    if (name == "__contains__") return trace_.constant(setContains(self, item) ? Py_True : Py_False);
    if (name == "add") {
      setAdd(self, item);
    } else if (!setRemove(self, item) && name == "remove") {
      raiseError(PyExc_KeyError, {item});
    }
    return trace_.constant(Py_None);
  }
  if (name == "pop" && count == 0) {
    if (self->source.valid()) trace_.fail(BreakReason::kUnsupportedWrite, "set.pop");
    Ref popped = Ref::steal(PySet_Pop(self->object.get()));
    if (!popped) raisesPending();
    auto it = std::find_if(self->items.begin(), self->items.end(), [&](Value* v) { return v->object == popped; });
    Value* item = it == self->items.end() ? trace_.constant(popped) : *it;
    refreshSet(self);
    return item;
  }
  static constexpr std::string_view kMethods[] = {
      "update", "intersection_update", "difference_update", "symmetric_difference_update", "clear", "copy", "union",
      "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"};
  if (std::find(std::begin(kMethods), std::end(kMethods), name) == std::end(kMethods)) {
    trace_.fail(BreakReason::kUnsupportedCall, "set." + name);
  }
  bool writes = name == "clear" || name == "update" || name.find("_update") != std::string::npos;
  if (writes && self->source.valid()) trace_.fail(BreakReason::kUnsupportedWrite, "set." + name);
  std::vector<Value*> items = self->kind == ValueKind::kSet ? self->items : std::vector<Value*>();
  Ref arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(arguments.get(), i, realIterable(args.positional[i], items).release());
  }
  Ref method = checked(PyObject_GetAttrString(self->object.get(), name.c_str()));
  Ref result = Ref::steal(PyObject_CallObject(method.get(), arguments.get()));
  if (!result) raisesPending();
  if (writes) {
    self->items = items;
    refreshSet(self);
  }
  return PySet_CheckExact(result.get()) ? setOf(std::move(result), items) : trace_.constant(std::move(result));
}

}  // namespace fw::capture
