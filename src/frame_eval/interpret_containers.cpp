// Tuples, lists, dicts, slices, iteration, formatting. Containers live in the trace as lists of Values. All changes go through
// spliceList(), setKey() and eraseKey(), which record the side effect if the container exists outside the trace.
#include "cpython/numpy_api.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"

namespace fw::capture {

using cpython::checked;
using guards::Relation;

namespace {

bool isNumpy(Value* v) { return isNumpyValue(v); }

}  // namespace

// ---- changing ------------------------------------------------------------------------------------------------------

/// list[lo:hi] = items, for indices within the list.
void Interpreter::spliceList(Value* list, size_t lo, size_t hi, std::vector<Value*> items) {
  FW_CHECK(list->kind == ValueKind::kList && lo <= hi && hi <= list->items.size());
  trace_.effectSlice(list, static_cast<int64_t>(lo), static_cast<int64_t>(hi), items);
  auto begin = list->items.begin();
  list->items.erase(begin + static_cast<ptrdiff_t>(lo), begin + static_cast<ptrdiff_t>(hi));
  list->items.insert(list->items.begin() + static_cast<ptrdiff_t>(lo), items.begin(), items.end());
}

/// Appends without looking at what is there.
void Interpreter::extendList(Value* list, std::vector<Value*> items) {
  if (list->kind == ValueKind::kList) {
    size_t end = list->items.size();
    return spliceList(list, end, end, std::move(items));
  }
  bool unseen = list->kind == ValueKind::kObject && PyList_CheckExact(list->object.get());
  if (!unseen) trace_.fail(BreakReason::kUnsupportedWrite, std::string("append to a ") + trace_.typeOf(list)->tp_name);
  (void)trace_.typeOf(list);
  trace_.effectSlice(list, INT64_MAX, INT64_MAX, items);
  if (!list->opened) list->items.insert(list->items.end(), items.begin(), items.end());
}

void Interpreter::eraseKey(Value* dict, int at) {
  trace_.effectItem(dict, dict->keys[at], nullptr);
  dict->keys.erase(dict->keys.begin() + at);
  dict->items.erase(dict->items.begin() + at);
}

// ---- building ------------------------------------------------------------------------------------------------------

void Interpreter::onBuildTuple(const Instr& instr) { push(trace_.tuple(popMany(static_cast<size_t>(instr.arg)))); }
void Interpreter::onBuildList(const Instr& instr) { push(trace_.list(popMany(static_cast<size_t>(instr.arg)))); }
void Interpreter::onBuildSet(const Instr& instr) { unsupported(instr); }
void Interpreter::onSetAdd(const Instr& instr) { unsupported(instr); }
void Interpreter::onSetUpdate(const Instr& instr) { unsupported(instr); }

void Interpreter::onBuildMap(const Instr& instr) {
  std::vector<Value*> flat = popMany(static_cast<size_t>(instr.arg) * 2);
  Value* dict = trace_.make(ValueKind::kDict);
  for (size_t i = 0; i < flat.size(); i += 2) setKey(dict, key(flat[i]), flat[i + 1]);
  push(dict);
}

void Interpreter::onBuildConstKeyMap(const Instr& instr) {
  std::vector<Value*> keys = iterate(pop());
  std::vector<Value*> items = popMany(static_cast<size_t>(instr.arg));
  Value* dict = trace_.make(ValueKind::kDict);
  for (size_t i = 0; i < items.size(); ++i) setKey(dict, key(keys[i]), items[i]);
  push(dict);
}

void Interpreter::onBuildSlice(const Instr& instr) {
  Value* step = instr.arg == 3 ? pop() : trace_.constant(Py_None);
  Value* stop = pop();
  Value* start = pop();
  push(trace_.slice(start, stop, step));
}

void Interpreter::onListAppend(const Instr& instr) {
  Value* item = pop();
  extendList(top(instr.arg), {item});
}

void Interpreter::onListExtend(const Instr& instr) {
  std::vector<Value*> items = iterate(pop());
  extendList(top(instr.arg), std::move(items));
}

void Interpreter::onListToTuple(const Instr&) { push(trace_.tuple(pop()->items)); }

void Interpreter::onMapAdd(const Instr& instr) {
  Value* item = pop();
  Value* k = pop();
  setKey(trace_.open(top(instr.arg)), key(k), item);
}

void Interpreter::onDictUpdate(const Instr& instr) {
  Value* from = pop();
  if (from->kind != ValueKind::kDict) unsupported(instr);
  Value* dict = trace_.open(top(instr.arg));
  for (size_t i = 0; i < from->keys.size(); ++i) setKey(dict, from->keys[i], from->items[i]);
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

// ---- dicts ---------------------------------------------------------------------------------------------------------

Value* Interpreter::key(Value* value) {
  if (value->kind == ValueKind::kPyInt || value->kind == ValueKind::kPyFloat || value->kind == ValueKind::kPyBool) {
    if (Value* known = trace_.specializeNumber(value)) return known;
  }
  if (value->kind == ValueKind::kTuple) {
    for (Value*& item : value->items) (void)key(item);
    if (Ref object = trace_.asObject(value); object && isPlain(object.get())) return trace_.constant(object);
  }
  if (!value->isConstant() || !isPlain(value->object.get())) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("dict key of type ") + trace_.typeOf(value)->tp_name);
  }
  return value;
}

int Interpreter::findKey(Value* dict, Value* key) {
  Py_hash_t hash = PyObject_Hash(key->object.get());
  if (hash == -1) raisesPending();
  for (size_t i = 0; i < dict->keys.size(); ++i) {
    PyObject* candidate = dict->keys[i]->object.get();
    if (candidate == key->object.get()) return static_cast<int>(i);
    if (PyObject_Hash(candidate) != hash) continue;
    if (checked(PyObject_RichCompareBool(candidate, key->object.get(), Py_EQ))) return static_cast<int>(i);
  }
  return -1;
}

void Interpreter::setKey(Value* dict, Value* key, Value* value) {
  if (dict->kind != ValueKind::kDict) {
    trace_.fail(BreakReason::kUnsupportedWrite, std::string("item of a ") + trace_.typeOf(dict)->tp_name);
  }
  trace_.effectItem(dict, key, value);
  int at = findKey(dict, key);
  if (at >= 0) {
    dict->items[at] = value;
  } else {
    dict->keys.push_back(key);
    dict->items.push_back(value);
  }
}

// ---- subscripts ----------------------------------------------------------------------------------------------------

Value* Interpreter::length(Value* container) {
  if (isNumpy(container)) return numpy::length(trace_, container);
  switch (container->kind) {
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kDict:
      return trace_.constant(checked(PyLong_FromSize_t(container->items.size())));
    case ValueKind::kConstant: {
      PyObject* o = container->object.get();
      if (isPlain(o) || PyRange_Check(o)) {
        Py_ssize_t size = PyObject_Size(o);
        if (size < 0) raisesPending();
        return trace_.constant(checked(PyLong_FromSsize_t(size)));
      }
      break;
    }
    default:
      break;
  }
  trace_.refuseOpaque(container);
  if (Value* size = callSpecial(container, "__len__", {})) return size;
  trace_.fail(BreakReason::kUnsupportedObject, std::string("len of a ") + trace_.typeOf(container)->tp_name);
}

/// Position in a container of known length for a Python index, specialised.
size_t Interpreter::itemIndex(Value* container, Value* index) {
  int64_t i = trace_.specialize(trace_.asSym(index));
  auto size = static_cast<int64_t>(container->items.size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) raises("IndexError: index out of range");
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

Value* Interpreter::sliceItems(Value* container, Value* index) {
  Ref slice = constantSlice(index);
  if (container->isConstant()) return fold(PyObject_GetItem(container->object.get(), slice.get()));
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) raisesPending();
  Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(container->items.size()), &start, &stop, step);
  std::vector<Value*> items;
  for (Py_ssize_t i = 0; i < count; ++i) items.push_back(container->items[start + i * step]);
  if (container->kind == ValueKind::kList) return trace_.list(std::move(items));
  if (items.size() == container->items.size() && step == 1) return container;   // tuple[:] is the tuple
  return trace_.tuple(std::move(items));
}

Value* Interpreter::getItem(Value* container, Value* index) {
  if (isNumpy(container)) return numpy::getItem(trace_, container, index);
  if (container->kind == ValueKind::kTuple || container->kind == ValueKind::kList) {
    bool slice = index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type);
    return slice ? sliceItems(container, index) : container->items[itemIndex(container, index)];
  }
  if (container->kind == ValueKind::kDict) {
    int at = findKey(container, key(index));
    if (at < 0) raises("KeyError");
    return container->items[at];
  }
  if (container->isConstant() && (isPlain(container->object.get()) || PyRange_Check(container->object.get()))) {
    if (index->kind == ValueKind::kSlice) return sliceItems(container, index);
    Value* known = trace_.specializeNumber(index);
    if (known) return fold(PyObject_GetItem(container->object.get(), known->object.get()));
  }
  trace_.refuseOpaque(container);
  if (Value* item = callSpecial(container, "__getitem__", {index})) return item;
  trace_.fail(BreakReason::kUnsupportedObject, std::string("subscript of a ") + trace_.typeOf(container)->tp_name);
}

void Interpreter::onBinarySubscr(const Instr&) {
  Value* index = pop();
  Value* container = pop();
  push(getItem(container, index));
}

void Interpreter::onStoreSubscr(const Instr&) {
  Value* index = pop();
  Value* container = pop();
  Value* value = pop();
  if (container->kind == ValueKind::kArray) return numpy::setItem(trace_, container, index, value);
  if (container->kind == ValueKind::kList) {
    if (index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type)) {
      return storeSlice(container, index, iterate(value), false);
    }
    size_t at = itemIndex(container, index);
    return spliceList(container, at, at + 1, {value});
  }
  if (container->kind == ValueKind::kDict) return setKey(container, key(index), value);
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
  Value* index = pop();
  Value* container = pop();
  if (container->kind == ValueKind::kDict) {
    int found = findKey(container, key(index));
    if (found < 0) raises("KeyError");
    return eraseKey(container, found);
  }
  if (callSpecial(container, "__delitem__", {index})) return;
  if (container->kind != ValueKind::kList) unsupported(instr);
  if (index->kind == ValueKind::kSlice || isConstantOf(index, &PySlice_Type)) return storeSlice(container, index, {}, true);
  size_t at = itemIndex(container, index);
  spliceList(container, at, at + 1, {});
}

/// + and * of tuples and lists; null if the operands do not fit.
Value* Interpreter::sequenceBinary(int op, bool inplace, Value* left, Value* right) {
  auto isList = [](Value* v) { return v->kind == ValueKind::kList; };
  if (op == cpython::kNbAdd && inplace && isList(left) && !isNumpy(right)) {
    extendList(left, iterate(right));
    return left;
  }
  if (op == cpython::kNbAdd && ((isList(left) && isList(right)) || (isTuple(left) && isTuple(right)))) {
    std::vector<Value*> items = iterate(left), more = iterate(right);
    items.insert(items.end(), more.begin(), more.end());
    return isTuple(left) ? trace_.tuple(std::move(items)) : trace_.list(std::move(items));
  }
  if (op != cpython::kNbMultiply) return nullptr;
  Value* sequence = isList(left) || isTuple(left) ? left : right;
  Value* count = sequence == left ? right : left;
  bool number = count->kind == ValueKind::kPyInt || (count->isConstant() && PyLong_Check(count->object.get()));
  if (!number) return nullptr;
  int64_t times = trace_.specialize(trace_.asSym(count));
  std::vector<Value*> items = iterate(sequence), result;
  if (times > 0 && static_cast<int64_t>(items.size()) * std::min<int64_t>(times, 1 << 20) > 4096) {
    trace_.fail(BreakReason::kUnsupportedObject, "a sequence of more than 4096 items");
  }
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  if (isTuple(sequence)) return trace_.tuple(std::move(result));
  if (!inplace || sequence != left) return trace_.list(std::move(result));
  spliceList(left, 0, left->items.size(), std::move(result));
  return left;
}

// ---- iteration -----------------------------------------------------------------------------------------------------

std::vector<Value*> Interpreter::iterate(Value* iterable) {
  switch (iterable->kind) {
    case ValueKind::kTuple:
    case ValueKind::kList:
      return iterable->items;
    case ValueKind::kDict:
      return iterable->keys;
    case ValueKind::kIterator: {
      if (!iterable->name.empty()) return iterable->items;   // a view of a dict
      std::vector<Value*>& all = iterable->base ? iterable->base->items : iterable->items;
      size_t from = std::min(iterable->position, all.size());
      std::vector<Value*> rest(all.begin() + static_cast<ptrdiff_t>(from), all.end());
      iterable->position = all.size();
      return rest;
    }
    case ValueKind::kConstant: {
      PyObject* o = iterable->object.get();
      bool known = PyTuple_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o);
      if (!known) break;
      Py_ssize_t size = PyObject_Size(o);
      if (size < 0) raisesPending();
      if (size > 4096) trace_.fail(BreakReason::kLoopLimit, std::to_string(size) + " items");
      std::vector<Value*> items;
      for (Py_ssize_t i = 0; i < size; ++i) items.push_back(trace_.constant(checked(PySequence_GetItem(o, i))));
      return items;
    }
    case ValueKind::kArray: {
      const graph::SymShape& shape = trace_.graph().type(iterable->node).shape;
      if (shape.empty()) raises("TypeError: iteration over a 0-d array");
      if (trace_.hint(shape[0]) > options_.maxUnroll) {
        trace_.fail(BreakReason::kLoopLimit, "iteration over an array of " + std::to_string(trace_.hint(shape[0])) + " items");
      }
      int64_t size = trace_.specialize(shape[0]);
      std::vector<Value*> items;
      for (int64_t i = 0; i < size; ++i) {
        items.push_back(numpy::getItem(trace_, iterable, trace_.constant(checked(PyLong_FromLongLong(i)))));
      }
      return items;
    }
    default:
      break;
  }
  trace_.fail(BreakReason::kUnsupportedObject, std::string("iteration over a ") + trace_.typeOf(iterable)->tp_name);
}

void Interpreter::onGetIter(const Instr&) {
  Value* iterable = pop();
  if (iterable->kind == ValueKind::kIterator && iterable->name.empty()) return push(iterable);
  Value* iterator = trace_.make(ValueKind::kIterator);
  if (iterable->kind == ValueKind::kList) {
    iterator->base = iterable;
  } else {
    iterator->items = iterate(iterable);
  }
  push(iterator);
}

void Interpreter::onForIter(const Instr& instr) {
  Value* iterator = top();
  FW_CHECK(iterator->kind == ValueKind::kIterator);
  std::vector<Value*>& items = iterator->base ? iterator->base->items : iterator->items;
  size_t rest = items.size() - std::min(iterator->position, items.size());
  if (rest > static_cast<size_t>(options_.maxUnroll) || iterator->position > static_cast<size_t>(options_.maxUnroll)) {
    trace_.fail(BreakReason::kLoopLimit, std::to_string(items.size()) + " iterations");
  }
  if (rest > 0) return push(items[iterator->position++]);
  pop();
  frame_->pc = static_cast<size_t>(instr.target);
}

void Interpreter::onEndFor(const Instr&) { FW_UNREACHABLE(); }

void Interpreter::onUnpackSequence(const Instr& instr) {
  Value* sequence = pop();
  if (sequence->kind == ValueKind::kArray) {
    const graph::SymShape& shape = trace_.graph().type(sequence->node).shape;
    if (!shape.empty() &&
        !trace_.decide(shape[0], Relation::kEq, trace_.syms().constant(instr.arg))) {
      raises("ValueError: wrong number of values to unpack");
    }
  }
  std::vector<Value*> items = iterate(sequence);
  if (items.size() != static_cast<size_t>(instr.arg)) raises("ValueError: wrong number of values to unpack");
  for (auto it = items.rbegin(); it != items.rend(); ++it) push(*it);
}

void Interpreter::onUnpackEx(const Instr& instr) {
  std::vector<Value*> items = iterate(pop());
  size_t before = static_cast<size_t>(instr.arg & 255), after = static_cast<size_t>(instr.arg >> 8);
  if (items.size() < before + after) raises("ValueError: not enough values to unpack");
  size_t end = items.size() - after;
  for (size_t i = items.size(); i > end; --i) push(items[i - 1]);
  push(trace_.list({items.begin() + static_cast<ptrdiff_t>(before), items.begin() + static_cast<ptrdiff_t>(end)}));
  for (size_t i = before; i > 0; --i) push(items[i - 1]);
}

void Interpreter::onGetLen(const Instr&) { push(length(top())); }

// ---- f-strings -----------------------------------------------------------------------------------------------------

Value* Interpreter::formatValue(Value* value, Value* spec) {
  Value* known = trace_.specializeNumber(value);
  if (!known || !isPlain(known->object.get()) || (spec && !spec->isConstant())) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("formatting of a ") + trace_.typeOf(value)->tp_name);
  }
  return fold(PyObject_Format(known->object.get(), spec ? spec->object.get() : nullptr));
}

void Interpreter::onFormatSimple(const Instr&) { push(formatValue(pop(), nullptr)); }

void Interpreter::onFormatWithSpec(const Instr&) {
  Value* spec = pop();
  push(formatValue(pop(), spec));
}

void Interpreter::onConvertValue(const Instr& instr) {
  Value* value = pop();
  Value* known = trace_.specializeNumber(value);
  if (!known || !isPlain(known->object.get())) {
    trace_.fail(BreakReason::kUnsupportedObject, std::string("formatting of a ") + trace_.typeOf(value)->tp_name);
  }
  PyObject* o = known->object.get();
  push(fold(instr.arg == 1 ? PyObject_Str(o) : instr.arg == 2 ? PyObject_Repr(o) : PyObject_ASCII(o)));
}

void Interpreter::onBuildString(const Instr& instr) {
  std::vector<Value*> parts = popMany(static_cast<size_t>(instr.arg));
  Ref list = checked(PyList_New(0));
  for (Value* part : parts) {
    FW_CHECK(isConstantOf(part, &PyUnicode_Type));
    checked(PyList_Append(list.get(), part->object.get()));
  }
  Ref empty = checked(PyUnicode_FromString(""));
  push(fold(PyUnicode_Join(empty.get(), list.get())));
}

}  // namespace fw::capture
