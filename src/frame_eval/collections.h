// Containers of C beyond tuple, list, dict and set: deques, and instances of classes derived from tuple and dict
// (namedtuples, Counter, defaultdict, OrderedDict, the user's own). Such an instance is a kTuple or kDict with a `cls`:
// what its builtin base does with the items is known here, what its class adds in Python is looked up along the MRO and
// inlined, as for any object.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// The builtin whose code holds the items of instances of `type`: PyTuple_Type, PyDict_Type, PyODict_Type or
/// defaultdict; null if `type` is none of their subclasses, or replaces slots in a way that is not followed. Exact
/// tuple and dict are no subclasses.
PyTypeObject* containerBase(PyTypeObject* type);
bool isDefaultdict(PyTypeObject* type);
/// It is, and has that method of its own.
bool isOwnOfCounter(const PyTypeObject* type, const char* name);
bool isCounter(const PyTypeObject* type);  ///< collections.Counter, but for what is derived from it
inline bool isOrdered(const Value* dict) {
  return dict->cls && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(dict->cls.get()), &PyODict_Type);
}

/// Opens a container or iterator that exists outside the trace: guards its shape and answers its Value; null if it is
/// none of these kinds, or, with `refusal` set, if it is not followed.
Value* openCollection(Trace& trace, SourceId source, PyObject* object, const char** refusal);

/// The same of an iterator; null if it is of another kind or exhausted. adoptIterator() tells it the Value that it
/// becomes.
Value* openIterator(Trace& trace, SourceId source, PyObject* object);
void adoptIterator(Value* iterator);

struct Collections {
  Interpreter& in;
  Trace& trace;

  /// cls(...); null if the class is not understood.
  Value* construct(Value* cls, CallArgs args);
  /// base.__new__(cls, ...).
  Value* create(PyTypeObject* cls, const CallArgs& args);
  /// What a descriptor written in C means for an instance; null if it is not one of the base's.
  Value* bind(Value* self, PyObject* found);
  /// A slot of the builtin base called as a function (dict.__setitem__, super().__init__ ...); null if it is none.
  Value* callSlot(PyObject* wrapper, CallArgs args);
  /// A special method that the metaclass of a class has in Python (as that of enums has): called; null if there is
  /// none.
  Value* metaSpecial(Value* cls, const char* name, CallArgs args);
  /// <, <=, > and >= of two tuples, lists or deques; null if they are not.
  Value* orderSequences(int op, Value* left, Value* right);
  /// == and != of plain tuples of numbers, of which array data decides some; null for others.
  Value* equalTuples(int op, Value* left, Value* right);
  /// == of dicts of any class, by their items.
  bool equalDicts(Value* left, Value* right);
  void fill(Value* dict, CallArgs args);
  /// Methods that OrderedDict has of its own; null for others.
  Value* orderedMethod(Value* self, const std::string& name, const CallArgs& args);

  Value* makeDeque(CallArgs args);
  /// A list of the items, or a deque by its class, if what is made at the site has been found to be worked off
  /// (work_list.h); null for others. `most`: of items, where a deque has been told.
  Value* workedOff(const std::vector<Value*>& items, LoopDecisions::Key site, PyTypeObject* cls = nullptr,
                   std::optional<int64_t> most = {});
  /// The same of a list that has been made already; others as they are.
  Value* workedIfFound(Value* list);
  /// A list of the numbers of a queue, whose first item stands at the beginning of its arrays; others as they are.
  Value* fromQueue(Value* list);
  /// The same of a list that becomes an item of a list (pooled_list.h).
  Value* inPool(const std::vector<Value*>& items, LoopDecisions::Key site);
  Value* emptyList();
  /// What sum(), min() and max() may take as a generator: one of such a list's items; others as they are.
  Value* asGenerator(Value* iterable);
  /// The pools of those, in front of everything else.
  void makePools();
  /// What has just been made, a dict or set, becomes one with keys that array data decides if that has been found to be
  /// of use (work_table.h).
  void workTable(Value* container);
  /// Whether what dict() or set() is made of is too long to be looked at item by item, so that a loop does it.
  bool isLong(Value* iterable);
  /// dict[key] = item.
  void storeKey(Value* dict, Value* key, Value* item);
  /// What stands for a key that is not there: 0 of a Counter, and what int or float makes for a defaultdict; null of
  /// others.
  Value* missingItem(Value* dict);
  /// WorkTable::require() for a dict that is asked for the key.
  void requireTable(Value* dict, Value* key);
  /// The same for a choice between names, some of which are no keys of it.
  void requireNames(Value* dict, Value* key);
  /// Whether a dict or set holds a key of which array data decides; null for others.
  Value* holdsLate(Value* container, Value* key);
  /// The same of a few things that are known (membership.cpp).
  Value* holdsAmongKnown(Value* container, Value* item);
  /// dict[key] of such a key in a dict with a few keys that are known, or what is `otherwise`; null for others.
  Value* entryAmongKnown(Value* dict, Value* key, Value* otherwise = nullptr);
  /// By a function of _substitutes.py that takes the same steps in Python, but for what it raises.
  Value* bySteps(const std::string& function, std::vector<Value*> args);
  /// A method of a list that is worked off, or that can be; null for others.
  Value* workMethod(Value* list, const std::string& name, const CallArgs& args);
  /// sorted(list), or list.sort(), of such a list, by a key if there is one; null for others.
  Value* sortedWork(Value* list, Value* key, Value* reverse, bool inPlace);
  Value* dequeMethod(Value* self, const std::string& name, const CallArgs& args);
  Value* dequeItem(Value* self, Value* index);
  Value* dequeIterator(Value* self, bool reversed);
  void storeDequeItem(Value* self, Value* index, Value* value);
  /// deque.append of a deque that nobody has looked into; null if this is something else.
  Value* blindMethod(Value* self, const std::string& name, const CallArgs& args);

 private:
  friend struct WorkTable;
  bool isHeld(const Value* value) const { return in.isHeld(value); }
  void push(Value* deque, Value* item, bool left);
  Value* pull(Value* deque, bool left);
  Value* rotate(Value* deque, int64_t by);
  size_t position(Value* deque, Value* index);
  graph::SymId roomOfWork();
  /// A list that is worked off, for items like those of another.
  Value* emptyLike(const Value* list);
  graph::ValueId truthNode(Value* value);
  void replace(Value* deque, std::vector<Value*> items);
};

}  // namespace fw::capture
