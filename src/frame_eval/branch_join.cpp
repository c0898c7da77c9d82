// The same Value on both sides stays what it is. Numbers of one type and arrays of one type and layout become results
// of the cond. An object that each arm has made for itself becomes one object, if wherever one arm has the one the
// other has the other.
//
// An array that the one arm has made while the other goes on with one that exists elsewhere may afterwards be read: it
// is a `joined` array, of which is not known whose memory it is. It ceases to be known when one of the arrays that it
// may be is written; nothing can be written through it; and it does not leave the trace.
#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/nesting.h"
#include "frame_eval/numpy/support.h"
#include "graph/bound_sizes.h"
#include "frame_eval/work_list.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::Attrs;
using graph::ValueId;

ValueKind numberKind(const Value* v) {
  switch (v->kind) {
    case ValueKind::kArrayScalar:
    case ValueKind::kPyFloat:
    case ValueKind::kDataInt:
    case ValueKind::kPyBool:
    case ValueKind::kPyComplex: return v->kind;
    case ValueKind::kConstant: {
      PyObject* o = v->object.get();
      if (PyBool_Check(o)) return ValueKind::kPyBool;
      if (PyFloat_CheckExact(o)) return ValueKind::kPyFloat;
      if (PyComplex_CheckExact(o)) return ValueKind::kPyComplex;
      if (PyArray_IsScalar(o, Generic)) return ValueKind::kArrayScalar;
      return ValueKind::kNull;
    }
    default: return ValueKind::kNull;
  }
}

bool isFloat64(Trace& trace, const Value* v) {
  const ValueKind kind = numberKind(v);
  if (kind == ValueKind::kPyFloat) return true;
  if (kind != ValueKind::kArrayScalar) return false;
  if (v->isConstant()) return PyArray_IsScalar(v->object.get(), Double);
  return trace.graph().type(v->node).dtype == graph::DType::kF64;
}

bool areAlike(Trace& trace, ValueId first, ValueId second) {
  const graph::ValueType &a = trace.graph().type(first), &b = trace.graph().type(second);
  if (a.dtype != b.dtype || a.rank() != b.rank() || !(a.layout == b.layout)) return false;
  graph::SymContext& syms = trace.syms();
  for (int axis = 0; axis < a.rank(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    if (syms.canonical(a.shape[at]) != syms.canonical(b.shape[at]) &&
        syms.provablyEqual(a.shape[at], b.shape[at]) != true)
      return false;
  }
  return true;
}

bool areEqualConstants(const Value* first, const Value* second) {
  if (!first->isConstant() || !second->isConstant()) return false;
  PyObject *a = first->object.get(), *b = second->object.get();
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return memcmp(&x, &y, sizeof x) == 0;
  }
  const bool outside = first->source.valid() || second->source.valid();
  if (!PyLong_CheckExact(a) && (outside || !PyUnicode_CheckExact(a))) return false;
  return cpython::checked(PyObject_RichCompareBool(a, b, Py_EQ));
}

namespace {

bool sameKeys(const std::vector<Value*>& first, const std::vector<Value*>& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(), isSameObject);
}

std::string kindText(const Value* v) {
  if (v->isNone()) return "None";
  if (v->kind == ValueKind::kPyInt || isConstantOf(v, &PyLong_Type)) return "an int";
  if (v->kind == ValueKind::kArray) return "an array";
  if (v->kind == ValueKind::kTuple || isConstantOf(v, &PyTuple_Type)) return "a tuple";
  if (v->kind == ValueKind::kList) return "a list";
  if (isConstantOf(v, &PyUnicode_Type)) return "a string";
  if (Choices::is(v)) return kindText(v->items[0]);
  return "an object";
}

/// What is one or the other.
std::string eitherText(const Value* first, const Value* second) {
  const std::string one = kindText(first), other = kindText(second);
  return one == other ? one + " or another" : one + " or " + other;
}

}  // namespace

Join::Join(Trace& trace, const BranchState& before, const ArmEnd& first, const ArmEnd& second)
    : trace_(trace),
      before_(before),
      ends_{&first, &second} {
  for (int arm : {0, 1})
    for (const auto& [value, contents] : ends_[arm]->changed) changed_[arm].emplace(value, &contents);
}

const Contents& Join::contentsOf(const Value* value, int arm) const {
  auto it = changed_[arm].find(value);
  return it == changed_[arm].end() ? before_.of(value) : *it->second;
}

ValueId Join::nodeOf(Value* value, int arm) const {
  if (value->kind == ValueKind::kArray && before_.knows(value)) return contentsOf(value, arm).node;
  return trace_.operand(value).value;
}

/// Made in an arm, with memory of its own that nobody else owns.
bool Join::isFresh(const Value* array) const {
  return !array->source.valid() && !array->base && !array->joined && !before_.knows(array);
}

/// The objects are one from now on; false if one of them is something else already.
bool Join::pair(Value* first, Value* second) {
  return partners_[0].try_emplace(first, second).second && partners_[1].try_emplace(second, first).second;
}

void Join::addResult(Value* holder, const Pair& pair, bool rewritten) {
  results_.push_back(pair);
  holders_.push_back(holder);
  rewritten_.push_back(rewritten);
}

Value* Join::unjoined(const Value* first, const Value* second, const std::string& why) {
  Value* v = trace_.make(ValueKind::kUnjoined);
  trace_.branches.forget(v, why);
  v->opened = (first && first->source.valid()) || (second && second->source.valid());
  return v;
}

Value* Join::merge(Value* first, Value* second, const std::string& what) {
  auto unbound = [](const Value* v) { return !v || v->kind == ValueKind::kNull; };
  if (first == second || (unbound(first) && unbound(second))) return first;
  if (unbound(first) || unbound(second)) return unjoined(first, second, what + " exists on one side only");
  for (const int arm : {0, 1}) {
    const Value* v = arm == 0 ? first : second;
    if (v->kind == ValueKind::kUnjoined) return unjoined(first, second, v->name);
    // It was known in front of the branch, and is so again while the arms are joined.
    const auto ceased = changed_[arm].find(v);
    if (ceased != changed_[arm].end() && ceased->second->kind == ValueKind::kUnjoined)
      return unjoined(first, second, "an array is written that another may be");
  }
  if (auto known = known_.find({first, second}); known != known_.end()) return known->second;
  Nesting nesting(trace_);
  Value* merged = mergeNew(first, second, what);
  known_[{first, second}] = merged;
  return merged;
}

Value* Join::mergeNew(Value* first, Value* second, const std::string& what) {
  openKnown(trace_, first);
  openKnown(trace_, second);
  if (areEqualConstants(first, second)) return first;
  if (Value* number = numbers(first, second, what)) return number;
  if (first->kind == ValueKind::kArray && second->kind == ValueKind::kArray) return arrays(first, second, what);
  if (Value* list = pooledLists(first, second, what)) return list;
  if (Value* container = containers(first, second, what)) return container;
  if (Value* chosen = things(first, second, what)) return chosen;
  return unjoined(first, second, what + " is " + eitherText(first, second) + " then");
}

Value* Join::numbers(Value* first, Value* second, const std::string& what) {
  if (DataInts::isWhole(first) && DataInts::isWhole(second)) {
    Value* v = DataInts{trace_}.join(first, second);
    if (!v) return nullptr;
    trace_.branches.noteNumber(v, what + " is an int or another then");
    addResult(v, {trace_.operand(first).value, trace_.operand(second).value}, false);
    return v;
  }
  MixedNumbers numbers{trace_};
  if (const auto dtype = numbers.common(first, second)) {
    Value *a = numbers.classOf(first), *b = numbers.classOf(second);
    Value* which = a;
    if (a->node != b->node) {
      which = DataInts{trace_}.join(a, b);
      addResult(which, {a->node, b->node}, false);
    }
    Value* v = trace_.make(ValueKind::kArrayScalar);
    numbers.note(v, which, hull(numbers.intRange(first, *dtype), numbers.intRange(second, *dtype)),
                 what + " is a number of one class or another then");
    addResult(v, {numbers.node(first, *dtype), numbers.node(second, *dtype)}, false);
    return v;
  }
  const ValueKind kind = numberKind(first);
  if (kind == ValueKind::kNull || kind != numberKind(second)) return nullptr;
  if (first->kind == ValueKind::kPyBool && (first->joined || second->joined)) return nullptr;
  const Pair pair = {nodeOf(first, 0), nodeOf(second, 1)};
  if (!areAlike(trace_, pair[0], pair[1])) return nullptr;
  Value* v = trace_.make(kind);
  addResult(v, pair, false);
  return v;
}

Value* Join::things(Value* first, Value* second, const std::string& what) {
  Choices choices{trace_};
  if (!choices.mayBeOpen(first) || !choices.mayBeOpen(second)) return nullptr;
  std::vector<Value*> all = choices.joined(Choices::thingsOf(first), second);
  Value *one = Choices::payloadOf(first), *other = Choices::payloadOf(second);
  if (one == first && other == second) return nullptr;  // of two kinds
  if (one || other) {
    Value* const only = one ? one : other;
    const bool isBefore = (!one || !other) && before_.knows(only);  // it stays the object that it is
    if (!one) one = isBefore ? only : choices.anyLike(only);
    if (!other) other = isBefore ? only : choices.anyLike(only);
    Value* payload = one && other ? merge(one, other, what) : nullptr;
    if (!payload || !Choices::isPayload(payload)) return nullptr;
    std::replace_if(all.begin(), all.end(), Choices::isPayload, payload);
  }
  Value* which = trace_.make(ValueKind::kDataInt);
  which->range = choices.rangeOf(all);
  Value* chosen = choices.make(std::move(all), which, what + " is " + eitherText(first, second) + " then");
  if (chosen) addResult(which, {choices.node(first), choices.node(second)}, false);
  return chosen;
}

Value* Join::arrays(Value* first, Value* second, const std::string& what) {
  const Pair nodes = {nodeOf(first, 0), nodeOf(second, 1)};
  if (!areAlike(trace_, nodes[0], nodes[1]))
    return unjoined(first, second, what + " has another shape, dtype or layout on each side");
  const bool fresh = isFresh(first) && isFresh(second) && first->frozen == second->frozen;
  bool single = true;
  if (fresh) {
    single = pair(first, second);
  } else {  // what is one of several arrays then is none by itself
    for (Value* array : {first, second}) {
      auto& partners = partners_[array == first ? 0 : 1];
      if (isFresh(array)) single &= !partners.try_emplace(array, nullptr).first->second;
    }
  }
  if (!single) return unjoined(first, second, what + " is one array on one side and two on the other");
  Value* v = trace_.array(ValueId());
  v->frozen = fresh && first->frozen;
  if (!fresh) trace_.branches.noteJoined(v, first, second);
  if (fresh)
    for (const Value* array : {first, second}) trace_.branches.noteSuccessor(v, array);
  addResult(v, nodes, false);
  return v;
}

namespace {

/// A tuple of numbers, constants, and tuples of those, which is as good as another one that is equal.
bool isNumbers(const Value* v) {
  const auto isNumber = [](const Value* item) {
    if (numberKind(item) != ValueKind::kNull || DataInts::isWhole(item)) return true;
    return Choices::isName(item) || Choices::areNames(item) || isNumbers(item);
  };
  return v->kind == ValueKind::kTuple && !v->cls && v->overlay.empty() &&
         (!v->source.valid() || (v->object && PyTuple_CheckExact(v->object.get()))) &&
         std::all_of(v->items.begin(), v->items.end(), isNumber);
}

}  // namespace

/// Of the same size, made in the arms. Null for what is no such pair.
Value* Join::containers(Value* first, Value* second, const std::string& what) {
  const auto isKnown = [](const Value* v) { return isConstantOf(v, &PyTuple_Type) && !v->source.valid(); };
  for (Value** side : {&first, &second}) {
    if (!isKnown(*side)) continue;  // that has been folded
    std::vector<Value*> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE((*side)->object.get()); ++i)
      items.push_back(trace_.constant(PyTuple_GET_ITEM((*side)->object.get(), i)));
    *side = trace_.tuple(std::move(items));
  }
  const bool made = !first->source.valid() && !second->source.valid() && !before_.knows(first) &&
                    !before_.knows(second) && !first->cls && !second->cls && first->kind == second->kind &&
                    first->overlay.empty() && second->overlay.empty();
  const bool known =
      first->kind == ValueKind::kTuple || first->kind == ValueKind::kList || first->kind == ValueKind::kDict;
  const bool alike = made || (isNumbers(first) && isNumbers(second));
  if (!alike || !known || first->items.size() != second->items.size()) return nullptr;
  if (!sameKeys(first->keys, second->keys)) return nullptr;
  if (first->kind != ValueKind::kTuple && !pair(first, second)) return nullptr;
  std::vector<Value*> items;
  for (size_t i = 0; i < first->items.size(); ++i) items.push_back(merge(first->items[i], second->items[i], what));
  Value* v = trace_.make(first->kind);
  v->items = std::move(items);
  v->keys = first->keys;
  return v;
}

/// One of two lists of a pool: where the one stands of a list of lists, or the numbers of what is no item. Null for
/// others.
Value* Join::pooledLists(Value* first, Value* second, const std::string& what) {
  PooledList::makeAlike(trace_, first, second);
  if (!PooledList::is(first) || !PooledList::is(second) || first->site != second->site) return nullptr;
  std::array<std::vector<Value*>, 2> items;
  for (int arm : {0, 1}) {
    Value* list = arm == 0 ? first : second;
    items[arm] = before_.knows(list) ? contentsOf(list, arm).items : list->items;
  }
  if (!PooledList::areAlike(items[0], items[1])) return nullptr;
  Value* merged = PooledList::make(trace_, first->site);
  if (items[0][PooledList::kLength]->kind == ValueKind::kArray) {
    if (!PooledList{trace_, first}.isItem() || !PooledList{trace_, second}.isItem()) return nullptr;
    merged->items = items[0];
    merged->items[PooledList::kPlace] = merge(items[0][PooledList::kPlace], items[1][PooledList::kPlace], what);
    merged->changes = first->changes;
    return merged;
  }
  if (!pair(first, second)) return nullptr;
  for (size_t part = PooledList::kLength; part < PooledList::kParts; ++part)
    merged->items[part] = merge(items[0][part], items[1][part], what);
  for (Value* list : {first, second})
    if (before_.knows(list)) retired_.push_back(list);
  return merged;
}

/// A list that a loop of one arm or of both has filled, with the same room in both.
bool Join::mergeFilled(Value* list, const Contents& first, const Contents& second) {
  const Contents& filled = first.kind == ValueKind::kLongList ? first : second;
  const graph::SymId room = LongList::roomIn(trace_, filled);
  std::array<std::vector<ValueId>, 2> arrays;
  for (int arm : {0, 1}) {
    const Contents& own = arm == 0 ? first : second;
    if (own.kind == ValueKind::kList) {
      const std::vector<Branches::HeldTuple> held = trace_.branches.tuples();
      trace_.branches.releaseAllOf(list);  // what is made now is the list
      Value* made = LongList::make(trace_, filled.base, room, own.items);
      trace_.branches.setTuples(held);
      if (!made) return false;
      for (size_t i = 2; i < made->items.size(); ++i) arrays[arm].push_back(made->items[i]->node);
    } else {
      const bool alike = LongList::areAlike(trace_, own.base, filled.base) && own.position == LongList::kClosed &&
                         LongList::roomIn(trace_, own) == room && own.items.size() == filled.items.size();
      if (!alike) return false;
      for (size_t i = 2; i < own.items.size(); ++i) arrays[arm].push_back(nodeOf(own.items[i], arm));
    }
  }
  std::vector<Value*> items{merge(LongList::lengthIn(trace_, first), LongList::lengthIn(trace_, second), "a length"),
                            filled.items[1]};
  for (size_t i = 0; i < arrays[0].size(); ++i) {
    if (!areAlike(trace_, arrays[0][i], arrays[1][i])) return false;
    items.push_back(trace_.array(ValueId()));
    addResult(items.back(), {arrays[0][i], arrays[1][i]}, false);
  }
  list->kind = ValueKind::kLongList;
  list->base = filled.base;
  list->position = LongList::kClosed;
  list->items = std::move(items);
  list->keys.clear();
  list->changes = std::max(first.changes, second.changes) + 1;
  return true;
}

bool Join::mergeContainer(Value* value, const Contents& first, const Contents& second) {
  const bool resizes = first.kind != second.kind || first.items.size() != second.items.size();
  if (resizes) WorkList::requireIfPopped(trace_, value);
  const Contents& was = before_.of(value);
  if (trace_.turns.bodies > 0 && !value->source.valid() && LongList::mayJoin(was, first, second)) {
    Value* length =
        merge(LongList::lengthIn(trace_, first), LongList::lengthIn(trace_, second), "the length of a list");
    return LongList{trace_, value}.join(was, first, second, length);
  }
  const bool filled = first.kind == ValueKind::kLongList || second.kind == ValueKind::kLongList;
  if (filled && was.kind == ValueKind::kList && !value->source.valid() && LongList::mayJoin(was, first, second))
    return mergeFilled(value, first, second);
  const bool same = first.kind == value->kind && second.kind == value->kind &&
                    first.items.size() == second.items.size() && sameKeys(first.keys, second.keys) &&
                    first.overlay.size() == second.overlay.size() && first.base == second.base &&
                    first.position == second.position && first.frozen == second.frozen;
  const bool isList = value->kind == ValueKind::kList || value->kind == ValueKind::kDeque;
  if (resizes && isList && first.kind == second.kind) WorkList::require(trace_, value);
  if (resizes)
    for (const Contents* arm : {&first, &second}) WorkTable::requireIfResized(trace_, value, was, *arm);
  if (!same || (isLongList(value) && !LongList::shareParts(first, second))) return false;
  for (size_t i = 0; i < first.overlay.size(); ++i)
    if (first.overlay[i].first != second.overlay[i].first) return false;
  const std::string what = "what an object holds";
  std::vector<Value*> items;
  for (size_t i = 0; i < first.items.size(); ++i) items.push_back(merge(first.items[i], second.items[i], what));
  std::vector<std::pair<Ref, Value*>> overlay;
  for (size_t i = 0; i < first.overlay.size(); ++i)
    overlay.emplace_back(Ref::create(first.overlay[i].first),
                         merge(first.overlay[i].second, second.overlay[i].second, what));
  // A list that an arm has changed before it looked into it is not known as it was then, but as it is again.
  const Contents before = value->source.valid() ? Contents(*value) : before_.of(value);
  trace_.noteChange(value);
  value->keys = first.keys;
  const bool outside = value->source.valid(), resized = before.items.size() != items.size();
  if (outside && resized && value->kind == ValueKind::kList)
    trace_.effectSlice(value, 0, static_cast<int64_t>(before.items.size()), items);
  else
    for (size_t i = 0; i < items.size() && outside; ++i)
      if (resized || items[i] != before.items[i]) trace_.effectHeld(value, i, false, items[i]);
  value->items = std::move(items);
  value->overlay = std::move(overlay);
  for (size_t i = 0; i < value->overlay.size() && value->source.valid(); ++i)
    if (before.overlay.size() <= i || value->overlay[i].second != before.overlay[i].second)
      trace_.effectHeld(value, i, true, value->overlay[i].second);
  value->changes = std::max(first.changes, second.changes);
  return true;
}

namespace {

/// Writes that have made a content of another one, oldest first; none if it has come about otherwise.
std::optional<std::vector<ValueId>> updatesSince(const graph::Graph& g, ValueId content, ValueId before) {
  constexpr size_t kMost = 4;
  std::vector<ValueId> updates;
  for (ValueId at = content; at != before; at = g.node(at).operands[0]) {
    if (g.node(at).op != graph::Op::kUpdate || updates.size() == kMost) return std::nullopt;
    updates.push_back(at);
  }
  std::reverse(updates.begin(), updates.end());
  return updates;
}

}  // namespace

/// Where the arms have written parts of an array, these parts are the results rather than the whole. A part that only
/// the one arm has written is what it was on the other side.
bool Join::mergeParts(Value* owner, ValueId first, ValueId second) {
  graph::Graph& g = trace_.graph();
  const ValueId before = before_.of(owner).node;
  const auto writes = updatesSince(g, first, before), others = updatesSince(g, second, before);
  if (!writes || !others) return false;
  // A place or a size that the arm itself has found out means nothing outside of it.
  absl::flat_hash_set<graph::SymId> own;
  for (size_t i = before.index; i < g.size(); ++i) graph::collectBound(g.node(ValueId(i)), own);
  const auto isOwn = [&](ValueId update) {
    const graph::Node& node = g.node(update);
    const auto mentionsOwn = [&](graph::SymId id) { return graph::mentions(trace_.syms(), id, own); };
    const graph::SymList& starts = node.attrs.syms(graph::AttrKey::kStarts);
    const graph::SymShape& sizes = g.type(node.operands[1]).shape;
    return std::any_of(starts.begin(), starts.end(), mentionsOwn) ||
           std::any_of(sizes.begin(), sizes.end(), mentionsOwn);
  };
  if (!own.empty() &&
      (std::any_of(writes->begin(), writes->end(), isOwn) || std::any_of(others->begin(), others->end(), isOwn)))
    return false;
  auto partOf = [&](ValueId content, ValueId update) {
    const graph::Node& node = g.node(update);
    const graph::ValueType& value = g.type(node.operands[1]);
    const graph::Attrs attrs = node.attrs;
    const ValueId part = g.slice(content, attrs.syms(graph::AttrKey::kStarts), attrs.syms(graph::AttrKey::kSteps),
                                 graph::SymShape(value.shape));
    return g.type(part).layout == value.layout ? part : numpy::copyAs(trace_, part, value.layout);
  };
  const auto place = [&](ValueId update) {
    const Attrs& attrs = g.node(update).attrs;
    return std::pair(attrs.syms(graph::AttrKey::kStarts), attrs.syms(graph::AttrKey::kSteps));
  };
  if (writes->size() == 1 && others->size() == 1 && place((*writes)[0]) == place((*others)[0])) {
    const ValueId one = g.node((*writes)[0]).operands[1], other = g.node((*others)[0]).operands[1];
    if (areAlike(trace_, one, other)) {
      addPart(owner, (*writes)[0], {one, other});
      return true;
    }
  }
  for (ValueId update : *writes) addPart(owner, update, {g.node(update).operands[1], partOf(before, update)});
  for (ValueId update : *others) addPart(owner, update, {partOf(first, update), g.node(update).operands[1]});
  return true;
}

void Join::addPart(Value* owner, ValueId update, Pair pair) {
  parts_.push_back({owner, update, results_.size()});
  results_.push_back(pair);
  holders_.push_back(nullptr);
  rewritten_.push_back(false);
}

bool Join::mergeContents() {
  std::vector<Value*> values;
  for (const auto& [value, contents] : ends_[0]->changed) values.push_back(value);
  for (const auto& [value, contents] : ends_[1]->changed)
    if (!changed_[0].contains(value)) values.push_back(value);
  for (Value* value : values) {
    const Contents &first = contentsOf(value, 0), &second = contentsOf(value, 1);
    if (value->kind == ValueKind::kArray) {
      if (value->base) continue;  // follows its owner
      const bool known = first.kind == ValueKind::kArray && second.kind == ValueKind::kArray &&
                         first.frozen == second.frozen && areAlike(trace_, first.node, second.node) &&
                         areAlike(trace_, first.node, before_.of(value).node);
      if (known && mergeParts(value, first.node, second.node)) continue;
      if (known) {
        addResult(value, {first.node, second.node}, true);
        continue;
      }
    } else if (value->kind != ValueKind::kIterator && mergeContainer(value, first, second)) {
      continue;
    }
    if (value->source.valid() && value->kind != ValueKind::kArray) return false;
    trace_.branches.forget(value, "an object is left in another state on each side");
  }
  return true;
}

void Join::finish(ValueId predicate, ArmNodes arms) {
  const std::vector<ValueId> nodes = trace_.branches.graph.add(predicate, arms, results_);
  graph::Graph& g = trace_.graph();
  absl::flat_hash_map<Value*, ValueId> contents;
  for (const Part& part : parts_) {
    const ValueId content = contents.try_emplace(part.owner, part.owner->node).first->second;
    const graph::Attrs attrs = g.node(part.update).attrs;
    contents[part.owner] =
        g.update(content, nodes[part.result], attrs.syms(graph::AttrKey::kStarts), attrs.syms(graph::AttrKey::kSteps));
  }
  for (const Part& part : parts_)
    if (auto last = contents.find(part.owner); last != contents.end()) {
      numpy::replaceContent(trace_, part.owner, last->second);
      contents.erase(last);
    }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!holders_[i]) continue;
    if (rewritten_[i])
      numpy::replaceContent(trace_, holders_[i], nodes[i]);
    else
      holders_[i]->node = nodes[i];
  }
  for (Value* list : retired_) trace_.branches.forget(list, "a list may be another one then");
  ++trace_.branches.ended;
}

}  // namespace fw::capture
