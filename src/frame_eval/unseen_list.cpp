#include "frame_eval/unseen_list.h"

#include "frame_eval/interpret_common.h"
#include "frame_eval/logs.h"
#include "frame_eval/long_list.h"

namespace fw::capture {

using guards::Relation;
using guards::SourceKind;

bool isUnseenList(const Value* value) {
  return value->kind == ValueKind::kObject && !value->opened && value->source.valid() &&
         PyList_CheckExact(value->object.get());
}

/// The item that stands `back` >= 1 places before the end of what was there before the trace; null if the seen list has
/// none.
Value* UnseenList::fromEnd(int64_t back) const {
  PyObject* object = list->object.get();
  int64_t size = PyList_GET_SIZE(object);
  if (back > size) return nullptr;
  (void)trace.typeOf(list);
  return trace.fromSource(trace.sources().intern(SourceKind::kItem, list->source, -back),
                          PyList_GET_ITEM(object, size - back));
}

Value* UnseenList::item(Value* index) const {
  Logs{trace}.settle(list);
  bool known = index->isConstant() && PyLong_CheckExact(index->object.get());
  if (!known) return nullptr;
  int overflow = 0;
  int64_t i = PyLong_AsLongLongAndOverflow(index->object.get(), &overflow);
  auto appended = static_cast<int64_t>(list->items.size()), popped = static_cast<int64_t>(list->position);
  if (overflow || i < INT32_MIN || i > INT32_MAX) return nullptr;
  if (i < 0) return -i <= appended ? list->items[static_cast<size_t>(appended + i)] : fromEnd(-i - appended + popped);
  PyObject* object = list->object.get();
  if (popped || i >= PyList_GET_SIZE(object)) return nullptr;
  (void)trace.typeOf(list);
  return trace.fromSource(trace.sources().intern(SourceKind::kItem, list->source, i), PyList_GET_ITEM(object, i));
}

Value* UnseenList::pop() const {
  Logs{trace}.settle(list);
  Value* last = nullptr;
  if (!list->items.empty()) {
    last = list->items.back();
    list->items.pop_back();
  } else {
    last = fromEnd(static_cast<int64_t>(list->position) + 1);
    if (!last) return nullptr;
    ++list->position;
  }
  trace.effectCall(list, "pop", {});
  return last;
}

graph::SymId UnseenList::symbol() const {
  if (!list->sym.valid()) {
    (void)trace.typeOf(list);
    list->sym = trace.lengthOf(list->source, PyList_GET_SIZE(list->object.get()));
  }
  return list->sym;
}

Value* UnseenList::length() const {
  Value* log = Logs{trace}.filled(list);
  const bool isLong = log && isLongList(log);
  if (!isLong) Logs{trace}.settle(list);
  const auto change = static_cast<int64_t>(list->items.size()) - static_cast<int64_t>(list->position);
  Value* known = trace.pyInt(trace.syms().add(symbol(), trace.syms().constant(change)));
  return isLong ? LongList{trace, log}.lengthBehind(known) : known;
}

bool UnseenList::truth() const {
  Logs{trace}.settle(list);
  if (!list->items.empty()) return true;
  return trace.decide(trace.syms().constant(static_cast<int64_t>(list->position)), Relation::kLt, symbol());
}

}  // namespace fw::capture
