// collections.deque: a list of Values with a largest length. What happens to a deque that exists outside the trace is
// replayed by calls of the same methods.
#include <algorithm>

#include "cpython/elements.h"
#include "frame_eval/collections.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/watched_items.h"
#include "frame_eval/work_list.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;

namespace {

bool isFull(const Value* deque) { return deque->items.size() >= deque->position; }

}  // namespace

Value* Collections::makeDeque(CallArgs args) {
  if (!cpython::dequeType()) trace.fail(BreakReason::kUnsupportedCall, "collections.deque() of this Python");
  for (auto& [name, value] : args.keywords) {
    size_t at = name == "iterable" ? 0 : 1;
    if (name != "iterable" && name != "maxlen")
      trace.fail(BreakReason::kUnsupportedCall, "collections.deque() with these arguments");
    if (args.positional.size() <= at) args.positional.resize(at + 1, nullptr);
    args.positional[at] = value;
  }
  if (args.positional.size() > 2) trace.fail(BreakReason::kUnsupportedCall, "collections.deque() with these arguments");
  Value* limit = args.positional.size() == 2 ? args.positional[1] : nullptr;
  Value* deque = trace.make(ValueKind::kDeque);
  deque->position = SIZE_MAX;
  if (limit && !in.isNone(limit)) {
    int64_t most = trace.specialize(trace.asSym(limit));
    if (most < 0) in.raiseError(PyExc_ValueError, "maxlen must be non-negative");
    deque->position = static_cast<size_t>(most);
  }
  std::vector<Value*> items;
  if (!args.positional.empty() && args.positional[0]) items = in.iterate(args.positional[0]);
  const bool limited = deque->position != SIZE_MAX;
  if (deque->position > 0 && (!limited || items.size() <= deque->position)) {
    deque->site = in.site();
    const auto most = limited ? std::optional(static_cast<int64_t>(deque->position)) : std::nullopt;
    if (Value* worked = workedOff(items, deque->site, cpython::dequeType(), most)) return worked;
  }
  for (Value* item : items) push(deque, item, false);
  return deque;
}

/// Without the effect.
void Collections::push(Value* deque, Value* item, bool left) {
  ++deque->changes;
  if (deque->position == 0) return;
  if (left) {
    if (isFull(deque)) deque->items.pop_back();
    deque->items.insert(deque->items.begin(), item);
    return;
  }
  if (isFull(deque)) deque->items.erase(deque->items.begin());
  deque->items.push_back(item);
}

Value* Collections::pull(Value* deque, bool left) {
  if (deque->items.empty()) in.raiseError(PyExc_IndexError, "pop from an empty deque");
  WorkList::notePop(trace, deque);
  trace.effectCall(deque, left ? "popleft" : "pop", {});
  ++deque->changes;
  Value* item = left ? deque->items.front() : deque->items.back();
  deque->items.erase(left ? deque->items.begin() : deque->items.end() - 1);
  return item;
}

Value* Collections::rotate(Value* deque, int64_t by) {
  trace.effectCall(deque, "rotate", {trace.constant(checked(PyLong_FromLongLong(by)))});
  auto size = static_cast<int64_t>(deque->items.size());
  if (size > 1) {
    ++deque->changes;
    int64_t shift = ((by % size) + size) % size;
    std::rotate(deque->items.begin(), deque->items.end() - shift, deque->items.end());
  }
  return trace.constant(Py_None);
}

size_t Collections::position(Value* deque, Value* index) {
  int64_t i = trace.specialize(trace.asSym(index));
  auto size = static_cast<int64_t>(deque->items.size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) in.raiseError(PyExc_IndexError, "deque index out of range");
  return static_cast<size_t>(i);
}

Value* Collections::dequeItem(Value* self, Value* index) { return self->items[position(self, index)]; }

/// self[index] = value; null deletes.
void Collections::storeDequeItem(Value* self, Value* index, Value* value) {
  size_t at = position(self, index);
  Value* where = trace.constant(checked(PyLong_FromSize_t(at)));
  if (value) {
    trace.effectCall(self, "__setitem__", {where, value});
    self->items[at] = value;
    return;
  }
  trace.effectCall(self, "__delitem__", {where});
  ++self->changes;
  self->items.erase(self->items.begin() + static_cast<ptrdiff_t>(at));
}

Value* Collections::dequeIterator(Value* self, bool reversed) {
  struct Step {
    Value* deque;
    unsigned changes;
    bool reversed;
    size_t at = 0;
    Value* operator()(Interpreter& in) {
      if (deque->changes != changes) {
        at = deque->items.size();
        in.raiseError(PyExc_RuntimeError, "deque mutated during iteration");
      }
      if (at == deque->items.size()) return nullptr;
      size_t index = reversed ? deque->items.size() - 1 - at : at;
      ++at;
      return deque->items[index];
    }
    std::optional<VirtualIterator::Recipe> recipe(Trace& t) {
      if (deque->changes != changes || deque->written || reversed) return std::nullopt;
      return VirtualIterator::Recipe{iterFunction(t), {deque}, at};
    }
  };
  return makeIterator(trace, nullptr, Step{self, self->changes, reversed});
}

Value* Collections::dequeMethod(Value* self, const std::string& name, const CallArgs& args) {
  size_t count = args.positional.size();
  auto refuse = [&] { trace.fail(BreakReason::kUnsupportedCall, "deque." + name); };
  auto none = [&] { return trace.constant(Py_None); };
  auto& items = self->items;
  if (!args.keywords.empty()) refuse();
  Value* first = count > 0 ? args.positional[0] : nullptr;
  if ((name == "append" || name == "appendleft") && count == 1) {
    if (name == "append") WorkList::noteItem(trace, self, first);
    trace.effectCall(self, name.c_str(), {first});
    push(self, first, name == "appendleft");
    return none();
  }
  if ((name == "extend" || name == "extendleft") && count == 1) {
    std::vector<Value*> more = in.iterate(first);
    trace.effectCall(self, name.c_str(), {trace.list(more)});
    for (Value* item : more) push(self, item, name == "extendleft");
    return none();
  }
  if ((name == "pop" || name == "popleft") && count == 0) return pull(self, name == "popleft");
  if (name == "rotate" && count <= 1) return rotate(self, count ? trace.specialize(trace.asSym(first)) : 1);
  if (name == "clear" && count == 0) {
    trace.effectCall(self, "clear", {});
    ++self->changes;
    items.clear();
    return none();
  }
  if (name == "reverse" && count == 0) {
    trace.effectCall(self, "reverse", {});
    std::reverse(items.begin(), items.end());
    return none();
  }
  if ((name == "copy" || name == "__copy__") && count == 0) {
    Value* copy = trace.make(ValueKind::kDeque);
    copy->position = self->position;
    copy->items = items;
    return copy;
  }
  if (name == "insert" && count == 2) {
    int64_t at = trace.specialize(trace.asSym(first));
    if (isFull(self)) in.raiseError(PyExc_IndexError, "deque already at its maximum size");
    trace.effectCall(self, "insert", {trace.constant(checked(PyLong_FromLongLong(at))), args.positional[1]});
    auto size = static_cast<int64_t>(items.size());
    at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    ++self->changes;
    items.insert(items.begin() + at, args.positional[1]);
    return none();
  }
  if ((name == "index" || name == "count" || name == "remove") && count == 1) {
    int64_t found = 0;
    const WatchedItems watched(trace, self);
    for (size_t i = 0; i < items.size(); ++i) {
      const bool equal = isSameObject(items[i], first) || trace.truth(in.compare(Py_EQ, items[i], first));
      watched.check();
      if (!equal) continue;
      if (name == "index") return trace.constant(checked(PyLong_FromSize_t(i)));
      ++found;
      if (name == "count") continue;
      storeDequeItem(self, trace.constant(checked(PyLong_FromSize_t(i))), nullptr);
      return none();
    }
    if (name == "count") return trace.constant(checked(PyLong_FromLongLong(found)));
    in.raiseAbout(PyExc_ValueError, "not in deque");
  }
  refuse();
  return nullptr;
}

Value* Collections::blindMethod(Value* self, const std::string& name, const CallArgs& args) {
  bool unseen = self->kind == ValueKind::kObject && !self->opened && cpython::isDeque(self->object.get());
  if (!unseen || name != "append" || args.positional.size() != 1 || !args.keywords.empty()) return nullptr;
  (void)trace.typeOf(self);
  trace.effectCall(self, "append", args.positional);
  self->items.push_back(args.positional[0]);
  return trace.constant(Py_None);
}

}  // namespace fw::capture
