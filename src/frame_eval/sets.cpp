// Sets. A set of the trace is a real set of plain constants beside the Values of its elements: what it answers, and
// the order in which it is walked, are CPython's own, because the same operations are applied to it in the same
// order. Frozensets are constants.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/keys.h"
#include "frame_eval/loops.h"
#include "frame_eval/sets.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"
#include "guards/builders.h"

namespace fw::capture {

using cpython::checked;

namespace {

bool isSet(const Value* v) { return v->kind == ValueKind::kSet || isConstantOf(v, &PyFrozenSet_Type); }

/// Equal only to itself, and ordered in sets by its address, which another call does not have.
bool isAddressed(Trace& trace, const Value* v) {
  bool object = v->kind == ValueKind::kInstance || (v->kind == ValueKind::kObject && !isEnumMember(v->object.get()));
  return object && isIdentityType(trace.typeOf(const_cast<Value*>(v)));
}

/// What is put into the real set. For an object that does not exist yet something else stands in.
PyObject* memberObject(Value* known) {
  if (known->kind != ValueKind::kInstance) return known->object.get();
  if (!known->code) known->code = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
  return known->code.get();
}

bool isKeysOrItems(const Value* v) {
  return v->kind == ValueKind::kIterator && (v->name == "keys" || v->name == "items");
}

}  // namespace

/// Elements are real objects, so that sets of the trace have the order that CPython gives them.
Value* Sets::memberKey(Value* item) {
  Value* known = in.key(item);
  bool real = known->isConstant() || (known->kind == ValueKind::kObject && isEnumMember(known->object.get())) ||
              isAddressed(trace, known);
  // Which member of an enum it is decides, as the value of a constant does.
  bool member = real && known->kind == ValueKind::kObject && isEnumMember(known->object.get());
  if (member && in.guardedFunctions_.insert(known->source).second) {
    trace.guard(guards::identityGuard(known->source, known->object.get()));
  }
  if (!real)
    trace.fail(BreakReason::kUnsupportedObject, std::string("a set of ") + trace.typeOf(known)->tp_name + " objects");
  return known;
}

// ---- from outside -------------------------------------------------------------------------------------------------

bool Sets::foreignContains(Value* set, Value* item) {
  (void)trace.typeOf(set);
  Value* known = memberKey(item);
  if (int at = in.findKey(set, known); at >= 0) return set->items[static_cast<size_t>(at)]->object.get() == Py_True;
  if (known->kind == ValueKind::kInstance) return false;
  if (isAddressed(trace, known)) trace.fail(BreakReason::kUnsupportedObject, "a member that guards cannot compare");
  auto guard = guards::membershipGuard(set->source, set->object.get(), known->object.get());
  if (!guard) trace.fail(BreakReason::kUnsupportedObject, "a member that guards cannot compare");
  bool isMember = guard->kind == guards::GuardKind::kSetContains;
  trace.guard(std::move(*guard));
  noteMember(set, known, isMember);
  return isMember;
}

void Sets::noteMember(Value* set, Value* known, bool isMember) {
  Value* truth = trace.constant(isMember ? Py_True : Py_False);
  if (int at = in.findKey(set, known); at >= 0) {
    set->items[static_cast<size_t>(at)] = truth;
    return;
  }
  set->keys.push_back(known);
  set->items.push_back(truth);
}

Value* Sets::foreignMethod(Value* self, const std::string& name, const CallArgs& args) {
  bool changes = name == "add" || name == "discard" || name == "remove";
  bool frozen = PyFrozenSet_CheckExact(self->object.get());
  if (args.positional.size() != 1 || !args.keywords.empty() || (changes ? frozen : name != "__contains__")) {
    trace.fail(BreakReason::kUnsupportedCall, "set." + name + " of a set made outside of the compiled code");
  }
  Value* item = args.positional[0];
  if (!changes) return trace.constant(foreignContains(self, item) ? Py_True : Py_False);
  if (name == "remove" && !foreignContains(self, item)) in.raiseError(PyExc_KeyError, {item});
  (void)trace.typeOf(self);
  Value* known = memberKey(item);
  if (!isHashedNatively(trace, known)) trace.fail(BreakReason::kUnsupportedWrite, "set." + name);
  trace.effectSet(self, known, name == "add");
  noteMember(self, known, name == "add");
  return trace.constant(Py_None);
}

// ---- made here ----------------------------------------------------------------------------------------------------

std::vector<Value*> Sets::elements(Value* set) {
  needOrder(set);
  absl::flat_hash_map<PyObject*, Value*> known;
  for (Value* v : set->items) known.try_emplace(v->object.get(), v);
  std::vector<Value*> items;
  Ref list = checked(PySequence_List(set->object.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* element = PyList_GET_ITEM(list.get(), i);
    auto it = known.find(element);
    items.push_back(it == known.end() ? trace.constant(element) : it->second);
  }
  return items;
}

/// A Value of a set that was just made; elements that `from` knows keep their Values.
Value* Sets::of(Ref real, const std::vector<Value*>& from) {
  Value* set = trace.make(ValueKind::kSet);
  set->cls = Ref::create(reinterpret_cast<PyObject*>(&PySet_Type));
  set->object = std::move(real);
  set->items = from;
  refresh(set);
  return set;
}

/// Makes `items` those of the real set, in the order in which they were first seen.
void Sets::refresh(Value* set) {
  std::vector<Value*> known = std::move(set->items);
  set->items.clear();
  Ref list = checked(PySequence_List(set->object.get()));
  absl::flat_hash_set<PyObject*> rest;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) rest.insert(PyList_GET_ITEM(list.get(), i));
  for (Value* v : known) {
    if (rest.erase(v->object.get())) set->items.push_back(v);
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
    PyObject* element = PyList_GET_ITEM(list.get(), i);
    if (rest.contains(element)) set->items.push_back(trace.constant(element));
  }
}

/// What update() and the like see of an iterable: the same type where CPython treats types differently.
Ref Sets::realIterable(Value* iterable, std::vector<Value*>& items) {
  trace.open(iterable);
  if (isSet(iterable)) {
    for (Value* item : elements(iterable)) items.push_back(item);
    return iterable->object;
  }
  bool dict = iterable->kind == ValueKind::kDict && !iterable->cls;
  Ref real = checked(dict ? PyDict_New() : PyList_New(0));
  for (Value* item : in.iterate(iterable)) {
    Value* known = memberKey(item);
    if (isAddressed(trace, known)) trace.fail(BreakReason::kUnsupportedObject, "the order of a set of objects");
    if (PyObject_Hash(known->object.get()) == -1) in.raisesPending();
    items.push_back(known);
    checked(dict ? PyDict_SetItem(real.get(), known->object.get(), Py_None)
                 : PyList_Append(real.get(), known->object.get()));
  }
  return real;
}

/// Objects are in the order of their addresses: what depends on that is left to Python.
void Sets::needOrder(Value* set) {
  if (set->kind == ValueKind::kSet && set->opened)
    trace.fail(BreakReason::kUnsupportedObject, "the order of a set of objects");
}

Value* Sets::make(PyTypeObject* cls, Value* iterable) {
  std::vector<Value*> items;
  if (iterable && cls == &PySet_Type && !isSet(iterable) &&
      trace.open(iterable)->kind != ValueKind::kDict) {  // one by one, as CPython
    Value* set = of(checked(PySet_New(nullptr)), {});
    for (Value* item : in.iterate(iterable)) add(set, item);
    return set;
  }
  Ref real = iterable ? realIterable(iterable, items) : Ref();
  if (cls == &PyFrozenSet_Type) return in.fold(PyFrozenSet_New(real.get()));
  Ref set = Ref::steal(PySet_New(real.get()));
  if (!set) in.raisesPending();
  return of(std::move(set), items);
}

void Sets::add(Value* set, Value* item) {
  Value* known = memberKey(item);
  if (isAddressed(trace, known)) {
    for (Value* other : set->items) {
      if (other != known && isAddressed(trace, other)) (void)in.is(other, known);  // guards that they differ
    }
    set->opened = true;
  }
  int had = PySet_Contains(set->object.get(), memberObject(known));
  if (had < 0) in.raisesPending();
  if (had) return;
  checked(PySet_Add(set->object.get(), memberObject(known)));
  set->items.push_back(known);
  trace.effectSet(set, known, true);
}

bool Sets::remove(Value* set, Value* item) {
  needOrder(set);
  Value* known = memberKey(item);
  if (isAddressed(trace, known)) return false;
  int had = PySet_Discard(set->object.get(), known->object.get());
  if (had < 0) in.raisesPending();
  if (!had) return false;
  refresh(set);
  trace.effectSet(set, known, false);
  return true;
}

bool Sets::contains(Value* set, Value* item) {
  Value* known = memberKey(item);
  for (Value* other : set->items) {
    if (other != known && isAddressed(trace, known) && isAddressed(trace, other) && in.is(other, known)) return true;
  }
  int found = PySet_Contains(set->object.get(), memberObject(known));
  if (found < 0) in.raisesPending();
  return found != 0;
}

// ---- instructions -------------------------------------------------------------------------------------------------

void Interpreter::onBuildSet(const Instr& instr) {
  Sets sets{*this, trace_};
  Value* set = sets.make(&PySet_Type, nullptr);
  Collections{*this, trace_}.workTable(set);
  for (Value* item : popMany(static_cast<size_t>(instr.arg)))
    (void)callMethod(set, "add", {.positional = {trace_.open(item)}, .keywords = {}});
  push(set);
}

void Interpreter::onSetAdd(const Instr& instr) {
  Sets sets{*this, trace_};
  Value* item = pop();
  Value* set = trace_.open(top(instr.arg));
  if (WorkTable::is(set)) Rolling::require(*this, *frame_);
  (void)callMethod(set, "add", {.positional = {item}, .keywords = {}});
}

void Interpreter::onSetUpdate(const Instr& instr) {
  Value* from = pop();
  (void)callMethod(trace_.open(top(instr.arg)), "update", {.positional = {from}, .keywords = {}});
}

// ---- those with keys that array data decides ------------------------------------------------------------------------

Value* WorkTable::unordered(Interpreter& in, Trace& trace, Value* container) {
  return is(container) && isSet(container) ? WorkTable{in, trace, container}.list(kKeys, false) : container;
}

bool WorkTable::holdsInts(const Value* container) {
  return is(container) && isSet(container) && container->items[kKeys]->base->kind == ValueKind::kDataInt;
}

// ---- operators ----------------------------------------------------------------------------------------------------

/// Null if the operands are not sets.
Value* Sets::binary(int op, bool inplace, Value* left, Value* right) {
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
  if (views) {                                  // set(left), then the method, as dictviews do it
    if (op == cpython::kNbAnd) return nullptr;  // walks the shorter operand: another order
    Value* set = make(&PySet_Type, left);
    (void)method(set, name, {.positional = {right}, .keywords = {}});
    return set;
  }
  if (!isSet(left) || !isSet(right)) return nullptr;
  needOrder(left);
  needOrder(right);
  if (inplace && left->kind == ValueKind::kSet) {
    (void)method(left, name, {.positional = {right}, .keywords = {}});
    return left;
  }
  static constexpr PyObject* (*kFunctions[])(PyObject*, PyObject*) = {PyNumber_Or, PyNumber_And, PyNumber_Subtract,
                                                                      PyNumber_Xor};
  size_t which = op == cpython::kNbOr ? 0 : op == cpython::kNbAnd ? 1 : op == cpython::kNbSubtract ? 2 : 3;
  Ref real = checked(kFunctions[which](left->object.get(), right->object.get()));
  if (left->isConstant()) return trace.constant(std::move(real));
  std::vector<Value*> items = elements(left), more = elements(right);
  items.insert(items.end(), more.begin(), more.end());
  return of(std::move(real), items);
}

/// Null if the operands are not sets.
Value* Sets::compare(int op, Value* left, Value* right) {
  auto operand = [&](Value* v) -> Ref {
    if (isSet(v)) return needOrder(v), v->object;
    if (!isKeysOrItems(v)) return {};
    std::vector<Value*> items;
    Ref list = realIterable(v, items);
    return checked(PySet_New(list.get()));
  };
  if (!isSet(left) && !isKeysOrItems(left)) return nullptr;
  Ref a = operand(left), b = operand(right);
  if (!b) return nullptr;
  return in.fold(PyObject_RichCompare(a.get(), b.get(), op));
}

// ---- methods ------------------------------------------------------------------------------------------------------

Value* Sets::method(Value* self, const std::string& name, const CallArgs& args) {
  size_t count = args.positional.size();
  if (!args.keywords.empty()) trace.fail(BreakReason::kUnsupportedCall, "set." + name);
  if (count == 1 && (name == "add" || name == "discard" || name == "remove" || name == "__contains__")) {
    Value* item = args.positional[0];
    if (name == "__contains__") return trace.constant(contains(self, item) ? Py_True : Py_False);
    if (name == "add" && self->kind == ValueKind::kSet && WorkTable::isLate(trace, item))
      WorkTable::require(trace, self, item);
    if (name == "add") {
      add(self, item);
    } else if (!remove(self, item) && name == "remove") {
      in.raiseError(PyExc_KeyError, {item});
    }
    return trace.constant(Py_None);
  }
  needOrder(self);
  if (name == "pop" && count == 0) {
    if (self->source.valid()) trace.fail(BreakReason::kUnsupportedWrite, "set.pop");
    Ref popped = Ref::steal(PySet_Pop(self->object.get()));
    if (!popped) in.raisesPending();
    auto it = std::find_if(self->items.begin(), self->items.end(), [&](Value* v) { return v->object == popped; });
    Value* item = it == self->items.end() ? trace.constant(popped) : *it;
    refresh(self);
    return item;
  }
  static constexpr std::string_view kMethods[] = {
      "update",    "intersection_update", "difference_update", "symmetric_difference_update", "clear",    "copy",
      "union",     "intersection",        "difference",        "symmetric_difference",        "issubset", "issuperset",
      "isdisjoint"};
  if (std::find(std::begin(kMethods), std::end(kMethods), name) == std::end(kMethods)) {
    trace.fail(BreakReason::kUnsupportedCall, "set." + name);
  }
  bool writes = name == "clear" || name == "update" || name.find("_update") != std::string::npos;
  if (writes && self->source.valid()) trace.fail(BreakReason::kUnsupportedWrite, "set." + name);
  std::vector<Value*> items = self->kind == ValueKind::kSet ? self->items : std::vector<Value*>();
  Ref arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(arguments.get(), i, realIterable(args.positional[i], items).release());
  }
  Ref method = checked(PyObject_GetAttrString(self->object.get(), name.c_str()));
  Ref result = Ref::steal(PyObject_CallObject(method.get(), arguments.get()));
  if (!result) in.raisesPending();
  if (writes) {
    self->items = items;
    refresh(self);
  }
  return PySet_CheckExact(result.get()) ? of(std::move(result), items) : trace.constant(std::move(result));
}

bool isInOrderOfAdding(const Value* set) {
  const Ref rebuilt = checked(PySet_New(nullptr));
  for (const Value* item : set->items) checked(PySet_Add(rebuilt.get(), item->object.get()));
  const Ref was = checked(PySequence_List(set->object.get())), is = checked(PySequence_List(rebuilt.get()));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(was.get()); ++i)
    if (PyList_GET_ITEM(was.get(), i) != PyList_GET_ITEM(is.get(), i)) return false;
  return true;
}

}  // namespace fw::capture
