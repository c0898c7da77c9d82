// Tuples, lists, dicts, slices. Containers live in the trace as lists of Values. All changes go through
// spliceList(), setKey() and eraseKey(), which record the side effect if the container exists outside the trace.
#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/declared_calls.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/choices.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/logs.h"
#include "frame_eval/long_list.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/unseen_list.h"
#include "frame_eval/work_list.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using guards::Relation;

namespace {

bool isNumpy(Value* v) { return isNumpyValue(v); }

/// An object that a container outside lets go of may die then and there; what its death runs cannot wait for the exit.
void letGo(Trace& trace, const Value* container, const Value* item) {
  if (!container->source.valid() || item->kind != ValueKind::kObject) return;
  PyTypeObject* type = Py_TYPE(item->object.get());
  if (type->tp_finalize || type->tp_del) {
    trace.fail(BreakReason::kUnsupportedWrite, std::string("a ") + type->tp_name + " that runs code when it dies");
  }
}

}  // namespace

// ---- changing -----------------------------------------------------------------------------------------------------

/// list[lo:hi] = items, for indices within the list.
void Interpreter::spliceList(Value* list, size_t lo, size_t hi, std::vector<Value*> items) {
  FW_CHECK(list->kind == ValueKind::kList && lo <= hi && hi <= list->items.size());
  const absl::flat_hash_set<Value*> kept(items.begin(), items.end());
  for (size_t i = lo; i < hi; ++i) {
    if (!kept.contains(list->items[i])) letGo(trace_, list, list->items[i]);
  }
  trace_.effectSlice(list, static_cast<int64_t>(lo), static_cast<int64_t>(hi), items);
  auto begin = list->items.begin();
  list->items.erase(begin + static_cast<ptrdiff_t>(lo), begin + static_cast<ptrdiff_t>(hi));
  list->items.insert(list->items.begin() + static_cast<ptrdiff_t>(lo), items.begin(), items.end());
}

/// Appends without looking at what is there.
void Interpreter::extendList(Value* list, std::vector<Value*> items) {
  if (isLongList(list)) {
    for (Value* item : items) LongList{trace_, list}.append(item);
    return;
  }
  if (PooledList::is(list)) {
    for (Value* item : items) PooledList{trace_, list}.append(*this, item);
    return;
  }
  if (list->kind == ValueKind::kList) {
    if (!items.empty()) WorkList::noteItem(trace_, list, items[0]);
    if (LongList::isIndexed(trace_, list)) Rolling::require(*this, *frame_);
    size_t end = list->items.size();
    return spliceList(list, end, end, std::move(items));
  }
  bool unseen = list->kind == ValueKind::kObject && PyList_CheckExact(list->object.get());
  if (!unseen) trace_.fail(BreakReason::kUnsupportedWrite, std::string("append to a ") + trace_.typeOf(list)->tp_name);
  (void)trace_.typeOf(list);
  if (Value* log = list->opened ? nullptr : Logs{trace_}.of(list)) return extendList(log, std::move(items));
  trace_.effectSlice(list, INT64_MAX, INT64_MAX, items);
  if (!list->opened) list->items.insert(list->items.end(), items.begin(), items.end());
}

void Interpreter::eraseKey(Value* dict, int at) {
  letGo(trace_, dict, dict->items[at]);
  trace_.effectItem(dict, dict->keys[at], nullptr);
  dict->keys.erase(dict->keys.begin() + at);
  dict->items.erase(dict->items.begin() + at);
}

// ---- building -----------------------------------------------------------------------------------------------------

void Interpreter::onBuildTuple(const Instr& instr) { push(trace_.tuple(popMany(static_cast<size_t>(instr.arg)))); }
void Interpreter::onBuildList(const Instr& instr) {
  Value* list = trace_.list(popMany(static_cast<size_t>(instr.arg)));
  list->site = site();
  list->opened = instr.arg > 0;
  if (Value* made = Collections{*this, trace_}.inPool(list->items, list->site)) return push(made);
  if (Value* worked = Collections{*this, trace_}.workedOff(list->items, list->site)) return push(worked);
  Value* inArrays = list->opened ? LongList::ofItems(trace_, list) : nullptr;
  push(inArrays ? inArrays : list);
}

void Interpreter::onBuildMap(const Instr& instr) {
  std::vector<Value*> flat = popMany(static_cast<size_t>(instr.arg) * 2);
  Value* dict = trace_.make(ValueKind::kDict);
  Collections collections{*this, trace_};
  collections.workTable(dict);
  for (size_t i = 0; i < flat.size(); i += 2) collections.storeKey(dict, trace_.open(flat[i]), flat[i + 1]);
  push(dict);
}

void Interpreter::onBuildConstKeyMap(const Instr& instr) {
  std::vector<Value*> keys = iterate(pop());
  std::vector<Value*> items = popMany(static_cast<size_t>(instr.arg));
  Value* dict = trace_.make(ValueKind::kDict);
  Collections collections{*this, trace_};
  collections.workTable(dict);
  for (size_t i = 0; i < items.size(); ++i) collections.storeKey(dict, keys[i], items[i]);
  push(dict);
}

void Interpreter::onBuildSlice(const Instr& instr) {
  Value* step = instr.arg == 3 ? pop() : trace_.constant(Py_None);
  Value* stop = pop();
  Value* start = pop();
  push(trace_.slice(start, stop, step));
}

void Interpreter::onListAppend(const Instr& instr) {
  Value* item = popRaw();
  if (!Choices::is(item)) trace_.open(item);
  extendList(top(instr.arg), {item});
}

void Interpreter::onListExtend(const Instr& instr) {
  std::vector<Value*> items = iterate(pop());
  extendList(top(instr.arg), std::move(items));
}

void Interpreter::onListToTuple(const Instr& instr) {
  Value* list = pop();
  trace_.refuseOpaque(list);
  if (list->kind != ValueKind::kList) unsupported(instr);  // resumed inside of a call: it need not be the trace's own
  push(trace_.tuple(list->items));
}

void Interpreter::onMapAdd(const Instr& instr) {
  Value* item = pop();
  Value* k = pop();
  Value* dict = trace_.open(top(instr.arg));
  if (WorkTable::is(dict)) Rolling::require(*this, *frame_);
  Collections{*this, trace_}.storeKey(dict, k, item);
}

void Interpreter::onDictUpdate(const Instr& instr) {
  Value* from = pop();
  if (from->kind != ValueKind::kDict) unsupported(instr);
  updateDict(trace_.open(top(instr.arg)), {.positional = {from}, .keywords = {}});
}

/// dict.update(), and what dict() does with its arguments.
void Interpreter::updateDict(Value* dict, const CallArgs& args) {
  for (Value* from : args.positional) {
    if (from->kind == ValueKind::kDict) {
      std::vector<Value*> keys = from->keys, items = from->items;
      for (size_t i = 0; i < keys.size(); ++i) setKey(dict, keys[i], items[i]);
      continue;
    }
    bool object = from->kind == ValueKind::kObject || from->kind == ValueKind::kInstance;
    if (object)
      trace_.fail(BreakReason::kUnsupportedCall, std::string("dict.update() of a ") + trace_.typeOf(from)->tp_name);
    for (Value* pair : iterate(from)) {
      std::vector<Value*> two = iterate(pair);
      if (two.size() != 2) raiseAbout(PyExc_ValueError, "dictionary update sequence element");
      setKey(dict, key(two[0]), two[1]);
    }
  }
  for (auto& [name, value] : args.keywords)
    setKey(dict, trace_.constant(checked(PyUnicode_InternFromString(name.c_str()))), value);
}

void Interpreter::onDictMerge(const Instr& instr) {
  Value* from = pop();
  if (from->kind != ValueKind::kDict) unsupported(instr);
  Value* dict = trace_.open(top(instr.arg));
  for (size_t i = 0; i < from->keys.size(); ++i) {
    if (findKey(dict, from->keys[i]) >= 0) raises("TypeError: multiple values for a keyword argument");
    setKey(dict, from->keys[i], from->items[i]);
  }
}

// ---- dicts --------------------------------------------------------------------------------------------------------

void Interpreter::setKey(Value* dict, Value* key, Value* value) {
  if (dict->kind != ValueKind::kDict) {
    trace_.fail(BreakReason::kUnsupportedWrite, std::string("item of a ") + trace_.typeOf(dict)->tp_name);
  }
  int at = findKey(dict, key);
  if (at >= 0) letGo(trace_, dict, dict->items[at]);
  trace_.effectItem(dict, key, value);
  if (at >= 0) {
    dict->items[at] = value;
  } else {
    dict->keys.push_back(key);
    dict->items.push_back(value);
  }
}

// ---- subscripts ---------------------------------------------------------------------------------------------------

Value* Interpreter::length(Value* container) {
  if (isUnseenList(container)) return UnseenList{trace_, container}.length();
  trace_.open(container);
  numpy::settled(trace_, container);
  if (isNumpy(container)) return numpy::length(trace_, container);
  switch (container->kind) {
    case ValueKind::kLongList: return LongList{trace_, container}.length();
    case ValueKind::kPooledList: return PooledList{trace_, container}.length();
    case ValueKind::kWorkTable: return WorkTable{*this, trace_, container}.length();
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kDict:
    case ValueKind::kDeque:
    case ValueKind::kSet: return trace_.constant(checked(PyLong_FromSize_t(container->items.size())));
    case ValueKind::kIterator:
      if (!container->name.empty()) return length(container->base);  // a view of a dict
      break;
    case ValueKind::kConstant: {
      PyObject* o = container->object.get();
      if (isPlain(o) || PyRange_Check(o)) {
        Py_ssize_t size = PyObject_Size(o);
        if (size < 0) raisesPending();
        return trace_.constant(checked(PyLong_FromSsize_t(size)));
      }
      if (Value* size = Collections{*this, trace_}.metaSpecial(container, "__len__", {})) return size;
      break;
    }
    default: break;
  }
  trace_.refuseOpaque(container);
  if (Value* size = callSpecial(container, "__len__", {})) {
    if (trace_.typeOf(size) != &PyLong_Type)
      trace_.fail(BreakReason::kUnsupportedCall, "__len__() that answers no int");
    bool negative = trace_.decide(trace_.asSym(size), Relation::kLt, trace_.syms().constant(0));
    if (negative) raiseError(PyExc_ValueError, "__len__() should return >= 0");
    return size;
  }
  trace_.fail(BreakReason::kUnsupportedObject, std::string("len of a ") + trace_.typeOf(container)->tp_name);
}

/// Position in a container of known length for a Python index, specialised; `outside` is what IndexError says.
size_t Interpreter::itemIndex(Value* container, Value* index, const char* outside) {
  int64_t i = trace_.specialize(trace_.asSym(index));
  auto size = static_cast<int64_t>(container->items.size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) raiseError(PyExc_IndexError, outside);
  return static_cast<size_t>(i);
}

/// A slice whose bounds are specialised.
Ref Interpreter::constantSlice(Value* index) {
  if (index->isConstant()) return index->object;
  std::vector<Value*> bounds;
  for (Value* bound : index->items) bounds.push_back(trace_.specializeNumber(bound));
  for (Value* bound : bounds) {
    if (!bound) trace_.fail(BreakReason::kDataDependentShape, "slice of a sequence by array data");
    if (!isPlain(bound->object.get())) trace_.fail(BreakReason::kUnsupportedObject, "slice bounds");
  }
  return trace_.asObject(trace_.slice(bounds[0], bounds[1], bounds[2]));
}

namespace {

/// [:]
bool isWholeSlice(const Value* index) {
  if (index->kind == ValueKind::kSlice)
    return std::all_of(index->items.begin(), index->items.end(),
                       [](const Value* v) { return isConstantOf(v, Py_TYPE(Py_None)); });
  const auto* slice = reinterpret_cast<const PySliceObject*>(index->object.get());
  return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

}  // namespace

Value* Interpreter::sliceItems(Value* container, Value* index) {
  Ref slice = constantSlice(index);
  if (container->isConstant()) {
    Value* part = fold(PyObject_GetItem(container->object.get(), slice.get()));
    return isSameObject(part, container) ? container : part;
  }
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) raisesPending();
  Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(container->items.size()), &start, &stop, step);
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < count; ++i) items.push_back(container->items[start + i * step]);
  if (container->kind == ValueKind::kList) {
    Value* part = trace_.list(std::move(items));
    part->site = site();
    return part;
  }
  if (items.size() == container->items.size() && step == 1) return container;  // tuple[:] is the tuple
  return trace_.tuple(std::move(items));
}

Value* Interpreter::getItem(Value* container, Value* index) {
  if (isSubclassValue(container)) {
    if (Value* item = callSpecial(container, "__getitem__", {index})) return item;
  }
  return plainItem(container, index);
}

/// By the slots of builtin types.
Value* Interpreter::plainItem(Value* container, Value* index) {
  numpy::settled(trace_, container);
  if (isNumpy(container)) return numpy::getItem(trace_, container, index);
  const bool isSlice = index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type);
  if (isSlice && isWholeSlice(index))
    if (Value* copy = LongList::copied(trace_, container, site()))
      return Collections{*this, trace_}.workedIfFound(copy);
  if (isSlice && !container->cls) container = Collections{*this, trace_}.fromQueue(container);
  if (isLongList(container)) return LongList{trace_, container}.item(index);
  if (PooledList::is(container)) {
    if (!container->base && !isSlice) raiseAbout(PyExc_IndexError, "list index out of range");  // they are all empty
    return PooledList{trace_, container}.item(index);
  }
  if (container->kind == ValueKind::kTuple || container->kind == ValueKind::kList) {
    if (isSlice) return sliceItems(container, index);
    LongList::findIndexed(trace_, container, index);
    if (Value* item = isLateIndex(trace_, index) ? chosenItem(trace_, container->items, index) : nullptr) return item;
    const char* outside = isTuple(container) ? "tuple index out of range" : "list index out of range";
    return container->items[itemIndex(container, index, outside)];
  }
  if (WorkTable::is(container)) return WorkTable{*this, trace_, container}.item(index);
  if (container->kind == ValueKind::kDict) {
    // One with one key or none is most often filled.
    Value* known = container->keys.size() > 1 ? Collections{*this, trace_}.entryAmongKnown(container, index) : nullptr;
    if (known) return known;
    if (WorkTable::isLate(trace_, index)) Collections{*this, trace_}.requireTable(container, index);
    int at = findKey(container, key(index));
    if (at < 0) return missingKey(container, index);
    return container->items[at];
  }
  if (container->isConstant() && (isPlain(container->object.get()) || PyRange_Check(container->object.get()))) {
    if (index->kind == ValueKind::kSlice) return sliceItems(container, index);
    const auto items = isLateIndex(trace_, index) ? tupleItems(trace_, container) : std::nullopt;
    if (Value* item = items ? chosenItem(trace_, *items, index) : nullptr) return item;
    Value* known = trace_.specializeNumber(index);
    if (known) return fold(PyObject_GetItem(container->object.get(), known->object.get()));
  }
  if (container->kind == ValueKind::kDeque) return Collections{*this, trace_}.dequeItem(container, index);
  if (Value* item =
          Collections{*this, trace_}.metaSpecial(container, "__getitem__", {.positional = {index}, .keywords = {}}))
    return item;
  trace_.refuseOpaque(container);
  if (Value* item = callSpecial(container, "__getitem__", {index})) return item;
  trace_.fail(BreakReason::kUnsupportedObject, std::string("subscript of a ") + trace_.typeOf(container)->tp_name);
}

void Interpreter::onBinarySubscr(const Instr&) {
  const bool isTable = WorkTable::is(top(2));
  if (Choices::is(top(1)) && top(2)->kind == ValueKind::kDict) Collections{*this, trace_}.requireNames(top(2), top(1));
  if ((Choices::is(top(1)) && !isTable) || Choices::is(top(2)))
    return Choices{trace_}.answer(*this,
                                  [&](Value* of, Value* at) { return getItem(trace_.open(of), trace_.open(at)); });
  Value* index = isTable ? openKnown(trace_, popRaw()) : pop();
  Value* container = popRaw();
  if (isUnseenList(container) && !LongList::standsOutside(trace_, container)) {
    if (Value* item = UnseenList{trace_, container}.item(index)) return push(item);
    LongList::findOutside(trace_, container, index);
  }
  trace_.open(container);
  push(getItem(container, index));
}

void Interpreter::onStoreSubscr(const Instr&) {
  if (Choices::is(top(1))) return Choices{trace_}.storeItem(*this);
  auto [container, index] = popPair();
  Value* value = pop();
  numpy::settled(trace_, container);
  if (container->kind == ValueKind::kArray) {
    if (DeclaredCalls{*this, trace_}.storeAtPlaces(container, index, value)) return;
    return numpy::setItem(trace_, container, index, value);
  }
  if (isLongList(container)) return LongList{trace_, container}.setItem(index, value);
  if (PooledList::is(container)) {
    if (!container->base) raiseAbout(PyExc_IndexError, "list assignment index out of range");
    return PooledList{trace_, container}.setItem(index, value);
  }
  if (container->kind == ValueKind::kList) {
    if (index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type)) {
      return storeSlice(container, index, iterate(value), false);
    }
    LongList::findIndexed(trace_, container, index);
    size_t at = itemIndex(container, index, "list assignment index out of range");
    return spliceList(container, at, at + 1, {value});
  }
  if (isSubclassValue(container) && callSpecial(container, "__setitem__", {index, value})) return;
  if (container->kind == ValueKind::kDict || WorkTable::is(container))
    return Collections{*this, trace_}.storeKey(container, index, value);
  if (container->kind == ValueKind::kDeque) return Collections{*this, trace_}.storeDequeItem(container, index, value);
  trace_.refuseOpaque(container);
  if (callSpecial(container, "__setitem__", {index, value})) return;
  trace_.fail(BreakReason::kUnsupportedWrite, std::string("item of a ") + trace_.typeOf(container)->tp_name);
}

/// list[slice] = items, or del list[slice].
void Interpreter::storeSlice(Value* list, Value* index, std::vector<Value*> items, bool remove) {
  Ref slice = constantSlice(index);
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) raisesPending();
  Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(list->items.size()), &start, &stop, step);
  if (step == 1) {
    auto lo = static_cast<size_t>(start);
    return spliceList(list, lo, lo + static_cast<size_t>(count), std::move(items));
  }
  std::vector<Value*> result = list->items;
  if (!remove && static_cast<Py_ssize_t>(items.size()) != count) raises("ValueError: extended slice of another size");
  for (Py_ssize_t i = 0; i < count; ++i) result[start + i * step] = remove ? nullptr : items[i];
  result.erase(std::remove(result.begin(), result.end(), nullptr), result.end());
  spliceList(list, 0, list->items.size(), std::move(result));
}

void Interpreter::onDeleteSubscr(const Instr& instr) {
  auto [container, index] = popPair();
  if (isSubclassValue(container) && callSpecial(container, "__delitem__", {index})) return;
  const bool known = isLongList(container) || PooledList::is(container);
  if (known && Collections{*this, trace_}.workMethod(container, "pop", {{index}, {}})) return;
  if (container->kind == ValueKind::kDeque) return Collections{*this, trace_}.storeDequeItem(container, index, nullptr);
  if (container->kind == ValueKind::kDict) {
    int found = findKey(container, key(index));
    if (found < 0) raiseError(PyExc_KeyError, {index});
    return eraseKey(container, found);
  }
  if (callSpecial(container, "__delitem__", {index})) return;
  if (container->kind != ValueKind::kList) unsupported(instr);
  if (index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type))
    return storeSlice(container, index, {}, true);
  size_t at = itemIndex(container, index, "list assignment index out of range");
  spliceList(container, at, at + 1, {});
}

/// dict[key] of an absent key.
Value* Interpreter::missingKey(Value* dict, Value* index) {
  if (isSubclassValue(dict)) {
    if (Value* made = callSpecial(dict, "__missing__", {index})) return made;
  }
  if (!dict->base) raiseError(PyExc_KeyError, {index});
  Value* made = call(dict->base, {});
  setKey(dict, key(index), made);
  return made;
}

/// | of dicts; null if the operands are none.
Value* Interpreter::dictUnion(int op, bool inplace, Value* left, Value* right) {
  bool dicts = left->kind == ValueKind::kDict && right->kind == ValueKind::kDict && !left->cls && !right->cls;
  if (!dicts || op != cpython::kNbOr) return nullptr;
  Value* result = left;
  if (!inplace) {
    result = trace_.make(ValueKind::kDict);
    result->keys = left->keys;
    result->items = left->items;
  }
  for (size_t i = 0; i < right->keys.size(); ++i) setKey(result, right->keys[i], right->items[i]);
  return result;
}

/// + and * of tuples and lists; null if the operands do not fit.
Value* Interpreter::sequenceBinary(int op, bool inplace, Value* left, Value* right) {
  auto isList = [](Value* v) { return v->kind == ValueKind::kList; };
  const LoopDecisions::Key site = this->site();
  const bool lists = (isList(left) || isLongList(left)) && (isList(right) || isLongList(right));
  if (op == cpython::kNbAdd && lists && !inplace && site.first) {
    if (isLongList(left) || isLongList(right) || trace_.loops->lists.contains(site))
      if (Value* list = LongList::joined(trace_, left, right, site)) return list;
  }
  const bool lengthens = isList(right) || isLongList(right) || PooledList::is(right);
  if (op == cpython::kNbAdd && inplace &&
      ((isLongList(left) && isList(right)) || (PooledList::is(left) && lengthens))) {
    (void)callMethod(left, "extend", {.positional = {right}, .keywords = {}});
    return left;
  }
  if (op == cpython::kNbAdd && inplace && isList(left) && !isNumpy(right)) {
    extendList(left, iterate(right));
    return left;
  }
  if (op == cpython::kNbAdd && ((isList(left) && isList(right)) || (isTuple(left) && isTuple(right)))) {
    std::vector<Value*> items = iterate(left), more = iterate(right);
    bool tuples = isTuple(left) && !left->cls && !right->cls;
    if (tuples && (items.empty() || more.empty())) return more.empty() ? left : right;  // t + () is t
    items.insert(items.end(), more.begin(), more.end());
    if (isTuple(left)) return trace_.tuple(std::move(items));
    Value* list = trace_.list(std::move(items));
    list->site = site;
    return list;
  }
  if (op != cpython::kNbMultiply) return nullptr;
  Value* sequence = isList(left) || isTuple(left) ? left : right;
  Value* count = sequence == left ? right : left;
  bool number = count->kind == ValueKind::kPyInt || (count->isConstant() && PyLong_Check(count->object.get()));
  if (!number) return nullptr;
  const bool equal = site.first && isList(sequence) && sequence->items.size() == 1 && !inplace;
  constexpr int64_t kMostItems = 4096;
  if (equal && trace_.hint(trace_.asSym(count)) > kMostItems) trace_.loops->lists.try_emplace(site);
  if (equal && trace_.loops->lists.contains(site)) {
    if (Value* list = LongList::filled(trace_, sequence->items[0], trace_.asSym(count), site))
      return Collections{*this, trace_}.workedIfFound(list);
  }
  int64_t times = trace_.specialize(trace_.asSym(count));
  std::vector<Value*> items = iterate(sequence), result;
  if (times > 0 && static_cast<int64_t>(items.size()) * std::min<int64_t>(times, 1 << 20) > kMostItems)
    trace_.fail(BreakReason::kUnsupportedObject, "a sequence of more than " + std::to_string(kMostItems) + " items");
  if (isTuple(sequence) && !sequence->cls && (times == 1 || items.empty())) return sequence;
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  if (isTuple(sequence)) return trace_.tuple(std::move(result));
  if (!inplace || sequence != left) {
    Value* list = trace_.list(std::move(result));
    if (equal) list->site = site;
    return Collections{*this, trace_}.workedIfFound(list);
  }
  spliceList(left, 0, left->items.size(), std::move(result));
  return left;
}

}  // namespace fw::capture
