#include "frame_eval/pooled_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frame_eval/collections.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/long_list.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/work_list.h"

namespace fw::capture {

using graph::DType;
using graph::SymId;
using graph::ValueId;

namespace {

Value* intOf(Trace& trace, int64_t number) { return DataInts{trace}.of(trace.pyInt(trace.syms().constant(number))); }

}  // namespace

// ---- found out ----------------------------------------------------------------------------------------------------

std::optional<PooledList::Site> PooledList::poolOf(const Trace& trace, Site site) {
  if (!trace.loops || !site.first) return std::nullopt;
  for (const auto& [own, pool] : trace.loops->pooled)
    if (own == site && !trace.loops->works.at(pool).refused) return pool;
  return std::nullopt;
}

/// Not lists: whose places would change where a list moves.
bool PooledList::mayStandIn(const Value* form) { return WorkList::mayHold(form) && !isIn(form); }

bool PooledList::mayBeRecord(Trace& trace, const Value* list) {
  return list->kind == ValueKind::kList && list->opened && recordOf(trace, list->items);
}

/// What the items are like where they are of different kinds; null for others, and where all are floats, of which one
/// may make an array.
Value* PooledList::recordOf(Trace& trace, const std::vector<Value*>& items) {
  constexpr size_t kMost = 16;
  if (items.size() < 2 || items.size() > kMost) return nullptr;
  std::vector<Value*> columns;
  for (Value* item : items) {
    columns.push_back(LongList::formOf(trace, item));
    if (!columns.back() || !mayStandIn(columns.back())) return nullptr;
  }
  const auto isAlike = [&](Value* column) { return LongList::areAlike(trace, columns[0], column); };
  const auto isFloat = [&](Value* column) {
    const bool scalar = column->kind == ValueKind::kArrayScalar && LongList::typeOf(trace, column) == DType::kF64;
    return scalar || column->kind == ValueKind::kPyFloat;
  };
  const bool alike =
      std::all_of(columns.begin(), columns.end(), isAlike) || std::all_of(columns.begin(), columns.end(), isFloat);
  return alike ? nullptr : trace.tuple(std::move(columns));
}

bool PooledList::isRecord() const {
  const auto known = trace.pools.bySite.find(list->site);
  return known != trace.pools.bySite.end() && known->second.record;
}

/// It is a list as others from here on: its items come and go, or are asked for by places that data decides.
void PooledList::requireList() const {
  if (!isRecord()) return;
  LoopDecisions::WorkedList& known = trace.loops->works.at(list->site);
  known = homogeneous(trace, known);
  throw LoopsDecided{};
}

void PooledList::require(Trace& trace, const Value* list) {
  const bool known = list->kind == ValueKind::kList || isLongList(list);
  if (!known || !trace.loops || list->source.valid() || !list->site.first || list->cls || trace.onDevice()) return;
  std::vector<std::pair<Site, Site>>& pooled = trace.loops->pooled;
  const auto isIt = [&](const auto& entry) { return entry.first == list->site; };
  if (std::any_of(pooled.begin(), pooled.end(), isIt)) return;
  if (list->kind == ValueKind::kList && list->items.size() > WorkList::kMostBegun) return;
  Value* form = isLongList(list) ? list->base : list->items.empty() ? nullptr : LongList::formOf(trace, list->items);
  const bool isRecord = mayBeRecord(trace, list);
  if (!form && !list->items.empty() && !isRecord) return;
  if (form && !mayStandIn(form)) return;
  LoopDecisions::WorkedList made;
  if (form) made = WorkList::describe(trace, form);
  if (isRecord) made = WorkList::describe(trace, recordOf(trace, list->items));
  made.record = isRecord;
  const auto [at, isNew] = trace.loops->works.try_emplace(list->site, std::move(made));
  const auto isPooled = [](const LoopDecisions::WorkedList::Number& n) { return n.kind == ValueKind::kPooledList; };
  if (!isNew && (at->second.refused || std::any_of(at->second.numbers.begin(), at->second.numbers.end(), isPooled)))
    return;
  pooled.emplace_back(list->site, list->site);
  throw LoopsDecided{};
}

void PooledList::requireIn(Trace& trace, const std::vector<Value*>& items) {
  for (const Value* item : items) {
    if (item->kind == ValueKind::kTuple) requireIn(trace, item->items);
    require(trace, item);
  }
}

/// The same of a list whose items are of one form.
LoopDecisions::WorkedList PooledList::homogeneous(Trace& trace, const LoopDecisions::WorkedList& record) {
  Value* form = LongList::formOf(trace, WorkList::formOf(trace, record)->items);
  LoopDecisions::WorkedList known;
  known.refused = !form || !mayStandIn(form);
  return known.refused ? known : WorkList::describe(trace, form);
}

void PooledList::makeAlike(Trace& trace, const Value* first, const Value* second) {
  if (!first || !second || first == second || (!is(first) && !is(second))) return;
  for (const Value* list : {first, second})
    if (!is(list)) require(trace, list);
  const auto a = poolOf(trace, first->site), b = poolOf(trace, second->site);
  if (!a || !b || *a == *b) return;
  LoopDecisions::WorkedList &own = trace.loops->works.at(*a), &other = trace.loops->works.at(*b);
  if (own.shape.empty()) own = other;
  const bool alike = own.record == other.record && own.shape == other.shape;
  if (!alike)  // lists as others
    for (LoopDecisions::WorkedList* list : {&own, &other})
      if (std::exchange(list->record, false)) *list = homogeneous(trace, *list);
  for (auto& [site, pool] : trace.loops->pooled)
    if (pool == *b) pool = *a;
  throw LoopsDecided{};
}

void PooledList::refuse() const {
  if (isOutside()) trace.fail(BreakReason::kUnsupportedObject, "this of a list in a list of the caller's");
  bool& refused = trace.loops->works.at(list->site).refused;
  if (std::exchange(refused, true)) trace.fail(BreakReason::kUnsupportedObject, "this of a list in a list");
  throw LoopsDecided{};
}

// ---- made ---------------------------------------------------------------------------------------------------------

void PooledList::makePools(Trace& trace, SymId room) {
  for (const auto& [site, pool] : trace.loops->pooled) {
    const LoopDecisions::WorkedList& known = trace.loops->works.at(pool);
    if (site != pool || known.refused || known.shape.empty()) continue;
    Value* all = trace.list({});
    all->site = pool;
    LoopDecisions::WorkedList as = known;
    as.hasHead = false;
    WorkList{trace, all}.make(as, room, {});
    graph::Graph& g = trace.graph();
    const ValueId zero = g.constant(graph::Scalar::zero(DType::kI64));
    trace.pools.bySite.insert_or_assign(
        pool, ListPool{all, trace.array(g.full(zero, {trace.syms().constant(1)})), false, known.record});
  }
}

const ListPool& PooledList::pool() const {
  const auto known = trace.pools.bySite.find(list->site);
  if (known == trace.pools.bySite.end()) refuse();  // nobody knows what they hold
  return known->second;
}

bool PooledList::isOutside() const {
  const auto known = trace.pools.bySite.find(list->site);
  return known != trace.pools.bySite.end() && known->second.outside;
}

int64_t PooledList::poolRoom() const { return *trace.syms().asConst(LongList{trace, pool().items}.room()); }

Value* PooledList::formOf(Trace& trace, Site pool) {
  Value* form = make(trace, pool);
  const ValueId zero = trace.graph().constant(graph::Scalar::zero(DType::kI64));
  for (size_t part = kLength; part < kParts; ++part) form->items[part] = trace.number(ValueKind::kDataInt, zero);
  return form;
}

Value* PooledList::make(Trace& trace, Site pool) {
  Value* list = trace.make(ValueKind::kPooledList);
  list->site = pool;
  const auto known = trace.pools.bySite.find(pool);
  if (known != trace.pools.bySite.end()) list->base = known->second.items->base;
  list->items = {trace.constant(Py_None), intOf(trace, 0), intOf(trace, 0), intOf(trace, 0)};
  return list;
}

std::vector<Value*> PooledList::leavesOf(const Value* form) {
  return {form->items.begin() + kLength, form->items.end()};
}

bool PooledList::isRefused(const Trace& trace, const LoopDecisions::WorkedList& known) {
  const auto isIt = [&](const LoopDecisions::WorkedList::Number& number) {
    if (number.kind != ValueKind::kPooledList) return false;
    const auto pool = trace.loops->works.find(number.pool);
    return pool == trace.loops->works.end() || pool->second.refused;  // a list of the caller's; one that is refused
  };
  return std::any_of(known.numbers.begin(), known.numbers.end(), isIt);
}

bool PooledList::isIn(const Value* form) {
  return is(form) || (form->kind == ValueKind::kTuple && std::any_of(form->items.begin(), form->items.end(), isIn));
}

// ---- as an item of another list -----------------------------------------------------------------------------------

Value* PooledList::itemAt(Trace& trace, const Value* form, Value* place, const std::vector<Value*>& arrays) {
  Value* item = make(trace, form->site);
  item->items = {place};
  item->items.insert(item->items.end(), arrays.begin(), arrays.end());
  item->changes = replacedIn(trace, arrays[0]);
  return item;
}

unsigned PooledList::replacedIn(const Trace& trace, const Value* array) {
  const auto known = trace.pools.replaced.find(array);
  return known == trace.pools.replaced.end() ? 0 : known->second;
}

bool PooledList::isItem() const {
  for (Value* item : list->items)
    if (item->kind == ValueKind::kUnjoined) trace.branches.refuse(item);
  if (isFree(list)) return false;
  if (!isCurrent())
    trace.fail(BreakReason::kUnsupportedObject, "another list may stand in its place in a list of lists");
  return true;
}

bool PooledList::isCurrent() const { return isFree(list) || list->changes == replacedIn(trace, list->items[kLength]); }

bool PooledList::standsAt(const Value* place, const Value* lengths) const {
  if (!isItem() || list->items[kLength] != lengths) return false;
  const Value* own = list->items[kPlace];
  const bool symbolic = own->kind == ValueKind::kPyInt && place->kind == ValueKind::kPyInt;
  const bool data = own->kind == ValueKind::kDataInt && place->kind == ValueKind::kDataInt;
  return own == place || (symbolic && own->sym == place->sym) || (data && own->node == place->node);
}

void PooledList::standAt(Value* place, const std::vector<Value*>& arrays) const {
  if (isItem()) trace.fail(BreakReason::kUnsupportedObject, "a list gets a list that is in one already");
  std::array<Value*, kParts> numbers{};
  for (size_t part = kLength; part < kParts; ++part) {
    numbers[part] = number(static_cast<Part>(part));
    numpy::setItem(trace, arrays[part - kLength], place, numbers[part]);
  }
  trace.noteChange(list);
  list->items = {place};
  list->items.insert(list->items.end(), arrays.begin(), arrays.end());
  list->changes = replacedIn(trace, arrays[0]);
}

void PooledList::takeOut(Trace& trace, Value* item) {
  if (item->kind == ValueKind::kTuple)
    for (Value* part : item->items) takeOut(trace, part);
  if (!is(item)) return;
  const PooledList list{trace, item};
  if (!list.isItem()) return;
  const Value* array = item->items[kLength];
  std::vector<Value*> own{trace.constant(Py_None)};
  for (size_t part = kLength; part < kParts; ++part) own.push_back(list.number(static_cast<Part>(part)));
  trace.noteChange(item);
  item->items = std::move(own);
  ++trace.pools.replaced[array];
}

// ---- as a list ----------------------------------------------------------------------------------------------------

Value* PooledList::number(Part part) const {
  DataInts ints{trace};
  const graph::SymRange most{0, list->base ? poolRoom() : 0};
  Value* own = list->items[part];
  // That a new one is empty is not told: in the next turn it may be another one.
  return ints.make(isItem() ? numpy::getItem(trace, own, list->items[kPlace])->node : ints.of(own)->node, most);
}

void PooledList::setNumber(Part part, Value* number) const {
  if (isOutside()) refuse();
  if (isItem()) return numpy::setItem(trace, list->items[part], list->items[kPlace], number);
  trace.noteChange(list);
  list->items[part] = number;
}

Value* PooledList::length() const {
  if (!isRecord()) return number(kLength);
  (void)isItem();
  return trace.pyInt(trace.syms().constant(static_cast<int64_t>(list->base->items.size())));
}

std::optional<bool> PooledList::knownEmpty() const {
  if (isRecord()) return false;
  const Value* size = length();
  if (size->range.lo > 0) return false;
  return size->range.hi <= 0 ? std::optional(true) : std::nullopt;
}

bool PooledList::truth() const {
  const auto empty = knownEmpty();
  if (!empty) trace.fail(BreakReason::kDataDependentBranch, "array data decides whether a list is empty");
  return !*empty;
}

/// Where the item stands in the pool.
Value* PooledList::placeOf(Value* number) const {
  return DataInts{trace}.within(added(trace, this->number(kStart), number), {0, poolRoom() - 1});
}

Value* PooledList::load(Value* place) const {
  const LongList all{trace, pool().items};
  size_t part = 0;
  return all.load(all.list->base, place, all.room(), part);
}

void PooledList::store(Value* item, Value* place) const {
  if (isOutside()) refuse();
  const LongList all{trace, pool().items};
  size_t part = 0;
  all.store(all.list->base, item, place, part);
}

void PooledList::fill(const std::vector<Value*>& items) const {
  const LongList all{trace, pool().items};
  if (items.size() != all.list->base->items.size()) requireList();
  const std::vector<Value*>& columns = all.list->base->items;
  for (size_t i = 0; i < items.size(); ++i)
    if (!all.fits(columns[i], items[i])) WorkList{trace, all.list}.widen(trace.tuple(items));
  DataInts ints{trace};
  Value* first = trace.pyInt(trace.syms().constant(0));
  Value* end = ints.make(numpy::getItem(trace, pool().end, first)->node, kTurnInts);
  Value* place = ints.within(end, {0, poolRoom() - 1});
  numpy::setItem(trace, pool().end, first, added(trace, place, intOf(trace, 1)));
  for (size_t i = 0, part = 0; i < items.size(); ++i) all.store(columns[i], items[i], place, part);
  setNumber(kStart, place);
}

/// Of a record: the array parts that stand in front of a column.
size_t PooledList::partOf(size_t column) const {
  size_t part = 0;
  for (size_t i = 0; i < column; ++i) part += LongList::leavesOf(list->base->items[i]).size();
  return part;
}

/// The column that an index names, which has to be known.
size_t PooledList::columnOf(Value* index) const {
  const auto size = static_cast<int64_t>(list->base->items.size());
  const bool known = index->isConstant() && PyLong_CheckExact(index->object.get());
  const int64_t at = known ? PyLong_AsLongLong(index->object.get()) : size;
  if (at < -size || at >= size) requireList();
  return static_cast<size_t>(at < 0 ? at + size : at);
}

void PooledList::append(Interpreter& interpreter, Value* item) const {
  requireList();
  if (!list->base) {  // it is the first item that any of them gets
    LoopDecisions::WorkedList& known = trace.loops->works.at(list->site);
    Value* form = LongList::formOf(trace, item);
    if (!form || !mayStandIn(form)) refuse();
    known = WorkList::describe(trace, form);
    throw LoopsDecided{};
  }
  const LongList all{trace, pool().items};
  if (isOutside()) refuse();
  if (!all.fits(list->base, item)) WorkList{trace, all.list}.widen(item);
  Value* length = number(kLength);
  std::vector<Value*> arrays(all.arrays().begin(), all.arrays().end());
  Value* block = Collections{interpreter, trace}.bySteps(
      "_block_for_one_more", {length, number(kStart), number(kRoom), pool().end, trace.tuple(std::move(arrays))});
  DataInts ints{trace};
  setNumber(kStart, ints.of(block->items[0]));
  setNumber(kRoom, ints.of(block->items[1]));
  store(item, ints.within(added(trace, number(kStart), length), {0, poolRoom() - 1}));
  setNumber(kLength, added(trace, length, intOf(trace, 1)));
}

/// Where the item stands in the pool that an index names, which is one of them or fails the call.
Value* PooledList::placeAt(Value* index) const {
  if (!LongList::isPlace(trace, index)) refuse();
  return placeOf(LongList{trace, pool().items}.placeWithin(index, length()));
}

Value* PooledList::item(Value* index) const {
  if (isRecord()) return unpackedAt(columnOf(index));
  if (index->kind == ValueKind::kSlice) return list->base ? LongList{trace, copy()}.item(index) : copy();
  Value* item = load(placeAt(index));
  LongList{trace, pool().items}.holdTuples(item);
  return item;
}

Value* PooledList::unpackedAt(size_t column) const {
  const LongList all{trace, pool().items};
  size_t part = partOf(column);
  Value* item = all.load(list->base->items[column], placeOf(intOf(trace, 0)), all.room(), part);
  all.holdTuples(item);
  return item;
}

void PooledList::setItem(Value* index, Value* item) const {
  const LongList all{trace, pool().items};
  if (isOutside()) refuse();
  if (isRecord()) {
    const size_t column = columnOf(index);
    Value* form = list->base->items[column];
    std::vector<Value*> columns = list->base->items;
    columns[column] = item;
    if (!all.fits(form, item)) WorkList{trace, all.list}.widen(trace.tuple(std::move(columns)));
    size_t part = partOf(column);
    return all.store(form, item, placeOf(intOf(trace, 0)), part);
  }
  if (!all.fits(list->base, item)) WorkList{trace, all.list}.widen(item);
  store(item, placeAt(index));
}

Value* PooledList::pop(bool first) const {
  requireList();
  DataInts ints{trace};
  Value* one = intOf(trace, 1);
  Value* last = added(trace, length(), one, cpython::kNbSubtract);
  ints.requireWithin(last, trace.syms().constant(0), trace.syms().constant(kMostDataInt));
  Value* rest = ints.within(last, {0, kMostDataInt});  // or it raises
  rest = ints.make(rest->node, {0, poolRoom()});
  Value* item = load(placeOf(first ? intOf(trace, 0) : rest));
  if (first) {
    setNumber(kStart, added(trace, number(kStart), one));
    setNumber(kRoom, added(trace, number(kRoom), one, cpython::kNbSubtract));
  }
  setNumber(kLength, rest);
  return item;
}

void PooledList::clear() const {
  requireList();
  setNumber(kLength, intOf(trace, 0));
}

/// The items of one list. Each is asked for only as long as there are as many as there were: one that grows or shrinks
/// while it is walked is Python's.
struct PooledItem {
  PooledList list;
  SymId size;
  ValueId counted;
  bool reversed;

  void check(int64_t) const {}
  Value* operator()(SymId number) const {
    Trace& trace = list.trace;
    const ValueId now = list.length()->node;
    if (now != counted) DataInts{trace}.require(trace.graph().binary(graph::Op::kEqual, now, trace.graph().sym(size)));
    if (reversed) number = trace.syms().sub(trace.syms().sub(size, trace.syms().constant(1)), number);
    Value* item = list.load(list.placeOf(trace.pyInt(trace.syms().canonical(number))));
    LongList{trace, list.pool().items}.holdTuples(item);
    return item;
  }
};

Value* PooledList::iterator(bool reversed) const {
  requireList();
  if (!list->base) refuse();
  PyTypeObject* type = reversed ? &PyListRevIter_Type : &PyListIter_Type;
  Value* length = this->length();
  graph::SymContext& syms = trace.syms();
  const SymId size = DataInts{trace}.symbol(length, syms.constant(0), syms.constant(poolRoom()));
  return makeIterator(trace, type, NumberedStep<PooledItem>{trace, size, {*this, size, length->node, reversed}});
}

std::vector<Value*> PooledList::unpacked(size_t count) const {
  std::vector<Value*> items;
  if (isRecord()) {
    if (count != list->base->items.size()) requireList();
    for (size_t i = 0; i < count; ++i) items.push_back(unpackedAt(i));
    return items;
  }
  Value* wanted = intOf(trace, static_cast<int64_t>(count));
  DataInts{trace}.require(trace.graph().binary(graph::Op::kEqual, length()->node, wanted->node));
  for (size_t i = 0; i < count; ++i) {
    items.push_back(load(placeOf(intOf(trace, static_cast<int64_t>(i)))));
    LongList{trace, pool().items}.holdTuples(items.back());
  }
  return items;
}

Value* PooledList::copy() const {
  if (!list->base) return trace.list({});
  if (isRecord()) return trace.list(unpacked(list->base->items.size()));
  DataInts ints{trace};
  graph::SymContext& syms = trace.syms();
  const SymId zero = syms.constant(0), most = syms.constant(poolRoom());
  const SymId size = ints.symbol(length(), zero, most);
  const SymId start = ints.symbol(number(kStart), zero, syms.canonical(syms.sub(most, size)));
  std::vector<Value*> arrays;
  for (const Value* array : LongList{trace, pool().items}.arrays()) {
    const ValueId part = trace.graph().slice(array->node, {start}, {syms.constant(1)}, {size});
    arrays.push_back(trace.array(numpy::copyAs(trace, part, graph::Layout::c(1))));
  }
  return LongList::full(trace, list->base, trace.pyInt(size), arrays, {});
}

std::vector<Value*> PooledList::entries(Trace& trace, const ListPool& pool) {
  Value* used = numpy::getItem(trace, pool.end, trace.pyInt(trace.syms().constant(0)));
  return LongList{trace, pool.items}.entries(DataInts{trace}.make(used->node, kTurnInts));
}

Value* PooledList::method(Interpreter& interpreter, Trace& trace, Value* list, const std::string& name,
                          const CallArgs& args) {
  const PooledList own{trace, list};
  const size_t count = args.positional.size();
  if (!args.keywords.empty()) return nullptr;
  own.requireList();
  Value* none = own.trace.constant(Py_None);
  if (name == "append" && count == 1) return own.append(interpreter, args.positional[0]), none;
  if (name == "clear" && count == 0) return own.clear(), none;
  if (name == "copy" && count == 0) return own.copy();
  const bool first = WorkList::isIndex(args, 0);
  const bool pops = name == "pop" && (count == 0 || WorkList::isIndex(args, -1) || first);
  if (pops && !list->base) interpreter.raiseAbout(PyExc_IndexError, "pop from empty list");
  if (pops) return own.pop(first);
  return nullptr;
}

// ---- what turns hand on -------------------------------------------------------------------------------------------

std::vector<Value*> PooledList::held(const Contents* then) const {
  const std::vector<Value*>& items = then ? then->items : list->items;
  DataInts ints{trace};
  if (items[kLength]->kind == ValueKind::kArray) return {ints.of(items[kPlace])};
  std::vector<Value*> held;
  for (size_t part = kLength; part < kParts; ++part) held.push_back(ints.of(items[part]));
  return held;
}

Value* PooledList::with(const std::vector<Value*>& held) const {
  if (held.size() == 1) return itemAt(trace, list, held[0], {list->items.begin() + kLength, list->items.end()});
  Value* other = make(trace, list->site);
  std::copy(held.begin(), held.end(), other->items.begin() + kLength);
  return other;
}

bool PooledList::areAlike(const std::vector<Value*>& items, const std::vector<Value*>& other) {
  const bool isItem = items[kLength]->kind == ValueKind::kArray;
  if (isItem != (other[kLength]->kind == ValueKind::kArray)) return false;
  return !isItem || std::equal(items.begin() + kLength, items.end(), other.begin() + kLength);
}

bool PooledList::mayBecome(Trace& trace, const Value* begin, Value* end, const Contents* then) {
  if (!begin || !end || begin == end) return false;
  if (!then || then->kind == begin->kind) makeAlike(trace, begin, end);
  const bool wasOne = then ? then->kind == ValueKind::kPooledList : is(begin);
  return wasOne && is(end) && begin->site == end->site && areAlike(then ? then->items : begin->items, end->items) &&
         PooledList{trace, end}.isCurrent();
}

}  // namespace fw::capture
