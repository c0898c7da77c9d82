// Reading a list is reading its arrays, as far as there are items. An array that is appended is copied when it is: it
// has to be one that the turn has made, so that nobody can have known it before, and from there on the list may be
// found changed by who writes it (Branches::hold). An array that is read from the list is one that is known to be read
// only, as a joined array that may be one of others.
#include "frame_eval/long_list.h"

#include <algorithm>
#include <utility>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/work_list.h"
#include "graph/support/check.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;
using graph::ValueId;
using guards::Relation;

namespace {

/// Bytes of the arrays of a list: who appends to a long one only now and then would pay for what is never used.
constexpr int64_t kMostBytes = int64_t{1} << 28;
constexpr graph::SymRange kAnyInt{-kMostDataInt, kMostDataInt};

Value* one(Trace& trace) { return trace.pyInt(trace.syms().constant(1)); }

Value* sum(Trace& trace, Value* a, Value* b) {
  if (DataInts::any(a, b)) {
    DataInts ints{trace};
    return ints.binary(cpython::kNbAdd, a, b);
  }
  return trace.pyInt(trace.syms().canonical(trace.syms().add(trace.asSym(a), trace.asSym(b))));
}

}  // namespace

void LongList::refuse(const std::string& why) const { trace.fail(BreakReason::kUnsupportedObject, why); }

// ---- items --------------------------------------------------------------------------------------------------------

SymId LongList::room() const { return trace.asSym(list->items[1]); }

absl::Span<Value* const> LongList::arrays() const {
  for (size_t i = kFirstPart; i < list->items.size(); ++i)
    if (list->items[i]->kind == ValueKind::kUnjoined) trace.branches.refuse(list->items[i]);
  return absl::MakeConstSpan(list->items).subspan(kFirstPart);
}

bool LongList::isFull() const {
  return list->position == kClosed && length()->kind != ValueKind::kDataInt &&
         numpy::sameSize(trace, trace.asSym(list->items[0]), room());
}

bool LongList::isLike(Value* other) const {
  if (!isFull() || !LongList{trace, other}.isFull()) return false;
  if (!numpy::sameSize(trace, trace.asSym(list->items[0]), trace.asSym(other->items[0]))) return false;
  if (areAlike(trace, list->base, other->base)) return true;
  makeAlike(trace, list, other);
  return false;
}

Value* LongList::with(const std::vector<Value*>& arrays) const {
  return full(trace, list->base, list->items[0], arrays, list->site);
}

void LongList::requireWorth(SymId bytes) const {
  graph::SymContext& syms = trace.syms();
  bytes = syms.canonical(bytes);
  // A few bytes for each element that an array has had.
  const auto isFew = [&](SymId term) {
    constexpr int64_t kMost = 64;
    const graph::SymNode& node = syms.node(term);
    if (node.op == graph::SymOp::kConst || node.op == graph::SymOp::kSymbol) return true;
    const auto factor =
        node.op == graph::SymOp::kMul && node.operands.size() == 2 ? syms.asConst(node.operands[0]) : std::nullopt;
    return factor && *factor <= kMost && syms.node(node.operands[1]).op == graph::SymOp::kSymbol;
  };
  const graph::SymNode& sum = syms.node(bytes);
  const bool few =
      sum.op == graph::SymOp::kAdd ? std::all_of(sum.operands.begin(), sum.operands.end(), isFew) : isFew(bytes);
  if (few && trace.decided.areOfArrays(bytes)) return;
  if (list && trace.decided.contains(bytes)) WorkList::require(trace, list);
  if (!trace.decide(bytes, Relation::kLe, syms.constant(kMostBytes)))
    refuse("a list may become longer than is worth it");
}

Value* LongList::length() const {
  Value* length = list->items[0];
  if (length->kind == ValueKind::kUnjoined) trace.branches.refuse(length);
  if (length->kind != ValueKind::kDataInt) return length;
  return DataInts{trace}.make(length->node,
                              {std::max<int64_t>(0, length->range.lo), std::max<int64_t>(0, length->range.hi)});
}

Value* LongList::lengthBehind(Value* others) const { return sum(trace, others, length()); }

std::optional<bool> LongList::knownEmpty() const {
  Value* size = length();
  if (size->kind != ValueKind::kDataInt)
    return !trace.decide(trace.syms().constant(0), Relation::kLt, trace.asSym(size));
  if (size->range.lo > 0) return false;
  return size->range.hi <= 0 ? std::optional(true) : std::nullopt;
}

bool LongList::truth() const {
  const auto empty = knownEmpty();
  if (!empty) trace.fail(BreakReason::kDataDependentBranch, "array data decides whether a list is empty");
  return !*empty;
}

/// Its length as a symbol, which is within the arrays.
SymId LongList::size() const {
  if (isCounted()) WorkList::require(trace, list);
  if (isCounted()) refuse("an item of a list of which array data decides how long it is");
  Value* own = length();
  if (own->kind != ValueKind::kDataInt) {
    const SymId size = trace.syms().canonical(trace.asSym(own));
    if (trace.tell(size, Relation::kLe, room()) == true) return size;
    own = DataInts{trace}.of(own);
    if (!own) refuse("a list of this length");
  }
  return DataInts{trace}.symbol(own, trace.syms().constant(0), room());
}

void LongList::holdTuples(Value* item) const {
  if (item->kind != ValueKind::kTuple) return;
  trace.branches.holdTuple(list, item);
  for (Value* part : item->items) holdTuples(part);
}

void LongList::store(Value* form, Value* item, Value* place, size_t& part) const {
  if (form->kind == ValueKind::kTuple) {
    const auto items = tupleItems(trace, item);
    // Those of lists that are worked off are moved from list to list, and between places; the caller's is in none.
    if (!item->source.valid() && trace.branches.isHeld(item)) {
      if (list->position != kWorked) WorkList::require(trace, list);
      if (list->position != kWorked) refuse("a list gets a tuple that a list has already");
      trace.branches.noteDoubled(list);
    }
    trace.branches.holdTuple(list, item);
    for (size_t i = 0; i < items->size(); ++i) store(form->items[i], (*items)[i], place, part);
    return;
  }
  if (isLongList(form)) {
    for (Value* own : LongList{trace, item}.arrays()) hold(own, place, part);
    return;
  }
  if (PooledList::is(form)) {
    std::vector<Value*> numbers;
    for (size_t i = PooledList::kLength; i < PooledList::kParts; ++i) numbers.push_back(arrays()[part++]);
    return PooledList{trace, item}.standAt(place, numbers);
  }
  if (form->kind == ValueKind::kArray) return hold(item, place, part);
  Value* array = arrays()[part++];
  if (Choices::is(form)) return numpy::setItem(trace, array, place, Choices{trace}.number(item));
  MixedNumbers numbers{trace};
  if (!form->which) return numpy::setItem(trace, array, place, numbers.present(item));
  if (item->kind == ValueKind::kDataInt && typeOf(trace, form) == DType::kF64) item = numbers.ofInt(item);
  const ValueId node = numbers.handOn(item, typeOf(trace, form));
  numpy::setItem(trace, array, place, trace.number(ValueKind::kArrayScalar, node));
  numpy::setItem(trace, arrays()[part++], place, numbers.classOf(item));
}

/// Stores an array that is an item, or what the numbers of a row stand in.
void LongList::hold(Value* item, Value* place, size_t& part) const {
  if (item->source.valid() || item->base || item->frozen || (item->joined && !Branches::isOwn(item)))
    refuse("a list gets an array or a list that others may write");
  const auto& held = trace.branches.held();
  if (std::find(held.begin(), held.end(), std::pair(list, item)) != held.end())
    refuse("a list gets an array or a list that it may have already");
  if (item->joined)  // that of the turn before, or the one from in front of the loop
    for (Value* owner : trace.branches.owners(item)) trace.branches.hold(list, owner);
  trace.branches.hold(list, item);
  numpy::setItem(trace, arrays()[part++], place, item);
}

/// So many of the array's, along its first axis.
ValueId LongList::firstOf(ValueId array, SymId size) const {
  graph::SymShape shape = numpy::shapeOf(trace, array);
  if (shape[0] == size) return array;
  const graph::SymList starts(shape.size(), trace.syms().constant(0)), steps(shape.size(), trace.syms().constant(1));
  shape[0] = size;
  return trace.graph().slice(array, starts, steps, shape);
}

/// Some value of this type, where nothing is stored.
ValueId LongList::someOf(const Value* leaf) const {
  const graph::ValueType& type = trace.graph().type(leaf->node);
  return trace.branches.graph.given({{type.dtype, type.shape, type.layout, {}}})[0];
}

ValueId LongList::at(const Value* form, Value* index, SymId size, size_t part) const {
  if (list->position == kCounted) return someOf(form);
  Value* all = arrays()[part];
  const bool array = form->kind == ValueKind::kArray;
  const ValueId first = firstOf(all->node, size);
  const ValueId node = numpy::getItem(trace, array || first != all->node ? trace.array(first) : all, index)->node;
  return array ? numpy::copyAs(trace, node, trace.graph().type(form->node).layout) : node;
}

Value* LongList::load(Value* form, Value* index, SymId size, size_t& part) const {
  if (form->kind == ValueKind::kTuple) {
    std::vector<Value*> items;
    for (Value* item : form->items) items.push_back(load(item, index, size, part));
    return trace.tuple(std::move(items));
  }
  if (isLongList(form)) return row(form, index, size, part);
  if (PooledList::is(form)) return pooledRow(form, index, size, part);
  const ValueId node = at(form, index, size, part++);
  if (Choices::is(form)) return Choices{trace}.item(form, node);
  if (form->which) return MixedNumbers{trace}.given(node, at(form->which, index, size, part++), form->which->range);
  if (form->kind == ValueKind::kDataInt) return DataInts{trace}.make(node, kAnyInt);
  if (form->kind != ValueKind::kArray) return trace.number(form->kind, node);
  Value* array = trace.array(node);
  trace.branches.noteItem(array, list);
  return array;
}

/// A list that is an item: its arrays are views of ours, so that it is that very list wherever it is read or written.
Value* LongList::row(Value* form, Value* index, SymId size, size_t& part) const {
  std::vector<Value*> parts;
  for (const Value* leaf : leavesOf(form)) {
    if (list->position == kCounted) {
      parts.push_back(trace.array(someOf(leaf)));
      continue;
    }
    Value* all = arrays()[part++];
    if (const ValueId items = firstOf(all->node, size); items != all->node) all = numpy::makeView(trace, all, items);
    parts.push_back(numpy::getItem(trace, all, index));
  }
  Value* own = full(trace, form->base, form->items[0], parts, form->site);
  own->joined = true;
  own->name = "an item of a list of lists may be any of them";
  return own;
}

/// The same of one with a length of its own.
Value* LongList::pooledRow(Value* form, Value* index, SymId size, size_t& part) const {
  constexpr size_t kNumbers = PooledList::kParts - PooledList::kLength;
  std::vector<Value*> numbers;
  if (list->position == kCounted) {
    for (const Value* leaf : leavesOf(form)) numbers.push_back(DataInts{trace}.make(someOf(leaf), kTurnInts));
    return PooledList{trace, form}.with(numbers);
  }
  for (size_t i = 0; i < kNumbers; ++i) numbers.push_back(arrays()[part++]);
  return PooledList::itemAt(trace, form, placeWithin(index, trace.pyInt(size)), numbers);
}

/// Another list, of the items that a slice takes of this one.
Value* LongList::slice(Value* slice) const {
  graph::Graph& g = trace.graph();
  const std::vector<Value*> leaves = leavesOf(list->base);
  const auto isRow = [](const Value* leaf) { return leaf->kind == ValueKind::kArray; };
  if (isCounted() || PooledList::isIn(list->base) || std::any_of(leaves.begin(), leaves.end(), isRow))
    refuse("a slice of a list like that");
  const ValueId all = part(0), first = numpy::getItem(trace, trace.array(all), slice)->node;
  const bool whole = first == all;
  if (!whole && (g.node(first).op != graph::Op::kSlice || g.node(first).operands[0] != all))
    refuse("a slice of a list by these bounds");
  std::vector<Value*> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    ValueId taken = i == 0 ? first : part(i);
    if (i > 0 && !whole) {
      const graph::Attrs& attrs = g.node(first).attrs;
      const graph::SymList starts = attrs.syms(graph::AttrKey::kStarts), steps = attrs.syms(graph::AttrKey::kSteps);
      taken = g.slice(taken, starts, steps, numpy::shapeOf(trace, first));
    }
    arrays.push_back(trace.array(numpy::copyAs(trace, taken, graph::Layout::c(1))));
  }
  return full(trace, list->base, trace.pyInt(numpy::shapeOf(trace, first)[0]), arrays, {});
}

bool LongList::isOf(size_t count) const {
  Value* size = isFull() ? length() : nullptr;
  if (!size || size->kind == ValueKind::kDataInt || isLate(trace, trace.asSym(size))) return false;
  return trace.decide(trace.asSym(size), Relation::kEq, trace.syms().constant(static_cast<int64_t>(count)));
}

std::vector<Value*> LongList::unpacked(size_t count) const {
  std::vector<Value*> items;
  for (size_t i = 0; i < count; ++i) items.push_back(item(trace.pyInt(trace.syms().constant(static_cast<int64_t>(i)))));
  return items;
}

std::optional<std::vector<Value*>> LongList::few() const {
  constexpr int64_t kMost = 16;
  if (!isFull() || length()->kind == ValueKind::kDataInt || isLate(trace, trace.asSym(length()))) return std::nullopt;
  const int64_t now = trace.hint(trace.asSym(length()));
  return now <= kMost && isOf(static_cast<size_t>(now)) ? std::optional(unpacked(static_cast<size_t>(now)))
                                                        : std::nullopt;
}

Value* LongList::item(Value* index) const {
  if (index->kind == ValueKind::kSlice) return slice(index);
  if (!isPlace(trace, index)) refuse("an item of a long list by this index");
  size_t part = 0;
  if (list->position == kWorked) return WorkList{trace, list}.item(index);
  Value* item = load(list->base, place(index), list->position == kCounted ? trace.syms().constant(0) : size(), part);
  holdTuples(item);
  return item;
}

void LongList::setItem(Value* index, Value* item) const {
  if (list->position == kWorked) return WorkList{trace, list}.setItem(index, item);
  const bool pooled = PooledList::is(list->base);
  if (list->base->kind == ValueKind::kTuple) WorkList::require(trace, list);
  if (isLongList(list->base)) PooledList::require(trace, list->base);
  if ((!isNumber(list->base) && !pooled) || !isPlace(trace, index))
    refuse("an item of a long list is set by this index, or to this");
  Value* size = length();
  if (isCounted() || size->kind == ValueKind::kDataInt || !numpy::sameSize(trace, trace.asSym(size), room())) {
    WorkList::require(trace, list);
    refuse("an item of a list is set that turns append to");
  }
  if (pooled) PooledList::makeAlike(trace, list->base, item);
  if (!fits(list->base, item)) {
    if (pooled) refuse("a list of lists gets something else");
    const auto wider = widened(trace, list->base, item);
    if (!wider || !widen(trace, list, *wider)) refuse("a list gets an item of another kind");
    throw LoopsDecided{};
  }
  size_t part = 0;
  Value* at = pooled ? placeWithin(index, size) : place(index);
  if (pooled && PooledList{trace, item}.standsAt(at, arrays()[0])) return;  // rows[i] += [x]
  noteReplaced();
  store(list->base, item, at, part);
}

void LongList::noteReplaced() const {
  if (!PooledList::isIn(list->base)) return;
  for (const Value* array : arrays()) ++trace.pools.replaced[array];
}

void LongList::append(Value* item) const {
  if (list->joined) PooledList::require(trace, list);
  if (list->joined || isOutside()) refuse("a list of the caller's or in a list of lists becomes longer");
  if (PooledList::is(list->base)) PooledList::makeAlike(trace, list->base, item);
  if (!fits(list->base, item)) {
    if (list->position == kWorked) WorkList{trace, list}.widen(item);
    Value* form = list->position == kCounted ? formOf(trace, {list->base, item}) : nullptr;
    if (!form) refuse("a list gets an item of another kind");
    list->base = form;
  }
  const bool closed = list->position == kClosed && trace.turns.bodies == 0;
  if (closed && length()->kind == ValueKind::kDataInt) WorkList::require(trace, list);
  if (closed)
    makeRoom(trace.syms().canonical(trace.syms().add(size(), trace.syms().constant(1))));
  else if (list->position == kClosed)
    list->position = kJoined;
  Value* length = this->length();
  if (isCounted()) {
    list->items[1] = sum(trace, list->items[1], one(trace));
  } else {
    size_t part = 0;
    store(list->base, item, list->position == kWorked ? WorkList{trace, list}.end() : length, part);
  }
  list->items[0] = sum(trace, length, one(trace));
  if (list->position == kWorked) WorkList{trace, list}.limit(true);
  ++list->changes;
}

namespace {

struct LongListItem {
  Trace& trace;
  Value* list;
  SymId size;
  unsigned changes;
  bool reversed;

  void check(int64_t) const {
    if (list->changes != changes || !isLongList(list))
      trace.fail(BreakReason::kUnsupportedObject, "a long list that grows while it is walked");
  }
  Value* operator()(SymId number) const {
    check(0);
    if (reversed) number = trace.syms().sub(trace.syms().sub(size, trace.syms().constant(1)), number);
    return LongList{trace, list}.item(trace.pyInt(trace.syms().canonical(number)));
  }
};

}  // namespace

Value* LongList::iterator(bool reversed) const {
  PyTypeObject* type = reversed ? &PyListRevIter_Type : &PyListIter_Type;
  const SymId size = this->size();
  return makeIterator(trace, type,
                      NumberedStep<LongListItem>{trace, size, {trace, list, size, list->changes, reversed}});
}

ValueId LongList::part(size_t number) const {
  if (!list->overlay.empty()) refuse("an array of a queue, or a part of one");
  return firstOf(arrays()[number]->node, size());
}

ValueId LongList::array() const {
  graph::Graph& g = trace.graph();
  if (isCounted()) refuse("an array of a list of which array data decides how long it is");
  const bool tuples = list->base->kind == ValueKind::kTuple;
  const std::vector<Value*> columns = tuples ? list->base->items : std::vector<Value*>{list->base};
  for (const Value* column : columns) {
    while (isLongList(column) && !tuples) column = column->base;
    if (column->kind == ValueKind::kTuple || Choices::is(column) || PooledList::is(column) ||
        (tuples && !isNumber(column)))
      refuse("an array of nested tuples");
    const bool ints = MixedNumbers::is(column) && typeOf(trace, column) == DType::kI64;
    if (MixedNumbers::is(column) && column->which->range.lo < (ints ? MixedNumbers::kInt : MixedNumbers::kFloat))
      refuse("an array of a list that may be one of ints, or of more than numbers");
  }
  if (!numpy::isPositive(trace, size()))
    return g.full(g.constant(graph::Scalar::zero(DType::kF64)), {trace.syms().constant(0)});
  std::vector<ValueId> parts;
  size_t number = 0;
  for (const Value* column : columns) {
    parts.push_back(part(number));
    number += column->which ? 2 : 1;
  }
  if (tuples) {
    DType dtype = g.type(parts[0]).dtype;
    for (ValueId node : parts) dtype = graph::promote(dtype, g.type(node).dtype);
    for (ValueId& node : parts) node = g.expand(g.cast(node, dtype), {1});
    graph::Attrs attrs;
    attrs.set(graph::AttrKey::kAxis, int64_t{1});
    parts = {numpy::orBreak(g.add(graph::Op::kConcatenate, parts, attrs))};
  }
  return numpy::copyAs(trace, parts[0], graph::Layout::c(g.type(parts[0]).rank()));
}

// ---- growing ------------------------------------------------------------------------------------------------------

namespace {

bool isKnownList(const Contents& contents) {
  return contents.kind == ValueKind::kList || contents.kind == ValueKind::kLongList;
}

/// It is the list that was, and maybe more.
bool beginsWith(const Contents& now, const Contents& was) {
  return now.items.size() >= was.items.size() && std::equal(was.items.begin(), was.items.end(), now.items.begin());
}

}  // namespace

bool LongList::shareParts(const Contents& first, const Contents& second) {
  return first.items.size() == second.items.size() && first.base == second.base &&
         std::equal(first.items.begin() + 1, first.items.end(), second.items.begin() + 1);
}

Value* LongList::lengthIn(Trace& trace, const Contents& c) {
  if (c.kind == ValueKind::kLongList) return c.items[0];
  return trace.pyInt(trace.syms().constant(static_cast<int64_t>(c.items.size())));
}

SymId LongList::roomIn(Trace& trace, const Contents& c) {
  if (c.kind == ValueKind::kLongList) return trace.syms().canonical(trace.asSym(c.items[1]));
  return trace.syms().constant(static_cast<int64_t>(c.items.size()));
}

Value* LongList::grownBy(Trace& trace, const Contents& was, const Contents& now) {
  if (!isKnownList(was) || !isKnownList(now)) return nullptr;
  if (was.kind == ValueKind::kLongList) {
    const bool stays = now.position < kCounted && shareParts(was, now);
    return was.position == kClosed && !stays && areAlike(trace, was.base, now.base) ? now.base : nullptr;
  }
  if (now.kind == ValueKind::kLongList) return now.base;
  if (!beginsWith(now, was) || now.items.size() == was.items.size()) return nullptr;
  return formOf(trace, now.items);
}

bool LongList::mayJoin(const Contents& was, const Contents& first, const Contents& second) {
  if (!isKnownList(was) || !isKnownList(first) || !isKnownList(second)) return false;
  const bool lists = first.kind == ValueKind::kList && second.kind == ValueKind::kList;
  if (lists && first.items.size() == second.items.size()) return false;
  for (const Contents* arm : {&first, &second}) {
    if (arm->kind == ValueKind::kList && (was.kind != ValueKind::kList || !beginsWith(*arm, was))) return false;
    if (arm->kind == ValueKind::kLongList && (arm->position == kOpen || arm->position == kWorked)) return false;
  }
  return true;
}

bool LongList::join(const Contents& was, const Contents& first, const Contents& second, Value* length) const {
  std::vector<Value*> known;
  for (const Contents* arm : {&first, &second})
    if (arm->kind == ValueKind::kList) known.insert(known.end(), arm->items.begin(), arm->items.end());
  Value* form = first.kind == ValueKind::kLongList    ? first.base
                : second.kind == ValueKind::kLongList ? second.base
                                                      : formOf(trace, known);
  if (form && second.kind == ValueKind::kLongList && !fits(form, second.base))
    form = formOf(trace, {second.base, form});
  if (!form) return false;
  const auto fitsIt = [&](Value* item) { return fits(form, item); };
  if (!std::all_of(known.begin(), known.end(), fitsIt)) return false;
  graph::SymContext& syms = trace.syms();
  const SymId a = roomIn(trace, first), b = roomIn(trace, second);
  const auto difference = syms.asConst(syms.canonical(syms.sub(a, b)));
  const SymId most = !difference ? syms.canonical(syms.max(a, b)) : *difference > 0 ? a : b;
  std::vector<Value*> items{length, trace.pyInt(most)};
  if (was.kind == ValueKind::kLongList) items.insert(items.end(), was.items.begin() + kFirstPart, was.items.end());
  list->keys = was.kind == ValueKind::kList ? was.items : was.keys;
  list->kind = ValueKind::kLongList;
  list->base = form;
  list->items = std::move(items);
  list->position = was.kind == ValueKind::kLongList && was.position == kCounted ? kCounted : kJoined;
  list->changes = std::max(first.changes, second.changes) + 1;
  return true;
}

Value* LongList::make(Trace& trace, Value* form, SymId room, const std::vector<Value*>& items) {
  const LongList made{trace, trace.list(items)};
  if (!std::all_of(items.begin(), items.end(), [&](Value* item) { return made.fits(form, item); })) return nullptr;
  made.count(form);
  made.makeRoom(room);
  return made.list;
}

/// One that is full of the items, if they are of the form.
Value* LongList::closed(Trace& trace, Value* form, const std::vector<Value*>& items) {
  Value* list = make(trace, form, trace.syms().constant(static_cast<int64_t>(items.size())), items);
  if (list) list->position = kClosed;
  return list;
}

void LongList::count(Value* form) const {
  if (list->kind == ValueKind::kList) {
    Value* size = trace.pyInt(trace.syms().constant(static_cast<int64_t>(list->items.size())));
    list->keys = std::exchange(list->items, {size, size});
    list->base = form;
    list->kind = ValueKind::kLongList;
  }
  list->position = kCounted;
}

void LongList::makeRoom(SymId room) const {
  graph::Graph& g = trace.graph();
  graph::SymContext& syms = trace.syms();
  const std::vector<Value*> leaves = leavesOf(list->base);
  std::vector<ValueId> before;
  list->position = kClosed;  // so that it can be read
  const bool stored = list->items.size() > kFirstPart;
  if (stored && arrays().size() != leaves.size()) refuse("a list gets numbers of other classes than it has");
  for (size_t i = 0; stored && i < leaves.size(); ++i) {
    if (g.type(arrays()[i]->node).dtype != typeOf(trace, leaves[i])) refuse("a list gets numbers of another class");
    if (!arrays()[i]->items.empty()) refuse("a list of lists becomes longer of which some are known");
    before.push_back(part(i));
  }
  if (stored) noteReplaced();  // what has been asked for stands in other arrays
  const std::vector<Value*> heads = std::exchange(list->keys, {});
  SymId bytes = syms.constant(0);
  std::vector<Value*> arrays;
  for (size_t i = 0; i < leaves.size(); ++i) {
    graph::SymShape shape;
    if (leaves[i]->kind == ValueKind::kArray) shape = numpy::shapeOf(trace, leaves[i]->node);
    const DType dtype = typeOf(trace, leaves[i]);
    shape.insert(shape.begin(), room);
    bytes = syms.add(bytes, syms.mul(numpy::elementCount(trace, shape), syms.constant(graph::itemSize(dtype))));
    ValueId node = g.empty(dtype, shape);
    if (stored) {
      const graph::SymList starts(shape.size(), syms.constant(0)), steps(shape.size(), syms.constant(1));
      node = g.update(node, before[i], starts, steps);
    }
    arrays.push_back(trace.array(node));
  }
  requireWorth(bytes);
  list->items.resize(kFirstPart);
  list->items[1] = trace.pyInt(room);
  list->items.insert(list->items.end(), arrays.begin(), arrays.end());
  list->position = kOpen;
  if (!heads.empty()) trace.branches.releaseAllOf(list);
  for (size_t i = 0; i < heads.size(); ++i) {
    size_t part = 0;
    store(list->base, heads[i], trace.pyInt(syms.constant(static_cast<int64_t>(i))), part);
  }
}

}  // namespace fw::capture
