// Sets and frozensets: operators, methods, and what is asked of sets that exist outside the trace.
#pragma once

#include "frame_eval/interpreter.h"

namespace fw::capture {

/// A set that exists outside the trace is never walked, since guards say nothing of its order: what was asked or said
/// of a member stands in `keys` and `items` (True or False).
inline bool isForeignSet(const Value* v) {
  return v->kind == ValueKind::kObject && PyAnySet_CheckExact(v->object.get());
}

/// Whether a set that gets the elements in the order in which they have come has them in the order that this one has.
bool isInOrderOfAdding(const Value* set);

struct Sets {
  Interpreter& in;
  Trace& trace;

  /// set(iterable), frozenset(iterable); null for no iterable.
  Value* make(PyTypeObject* cls, Value* iterable);
  /// A Value of a set that was just made; elements that `from` knows keep their Values.
  Value* of(Ref real, const std::vector<Value*>& from);
  std::vector<Value*> elements(Value* set);  ///< in CPython's order
  void add(Value* set, Value* item);
  bool remove(Value* set, Value* item);
  bool contains(Value* set, Value* item);
  /// Null if the operands are not sets.
  Value* binary(int op, bool inplace, Value* left, Value* right);
  Value* compare(int op, Value* left, Value* right);
  Value* method(Value* self, const std::string& name, const CallArgs& args);

  bool foreignContains(Value* set, Value* item);
  Value* foreignMethod(Value* self, const std::string& name, const CallArgs& args);

 private:
  Value* memberKey(Value* item);
  void noteMember(Value* set, Value* known, bool isMember);
  void needOrder(Value* set);
  void refresh(Value* set);
  Ref realIterable(Value* iterable, std::vector<Value*>& items);
};

}  // namespace fw::capture
