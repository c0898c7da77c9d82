#include "frame_eval/work_table.h"

#include <algorithm>
#include <bit>

#include "cpython/numpy_api.h"
#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/consumed_generators.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/iteration.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/raising.h"
#include "frame_eval/unwind.h"
#include "frame_eval/work_list.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;
using graph::SymId;
using graph::ValueId;

namespace {

/// Places of the index for each entry that there is room for.
constexpr int64_t kPlacesOfEntry = 2;
/// Odd, 2^64 divided by the golden ratio: neighbours are spread (Knuth, The Art of Computer Programming 3, 6.4).
constexpr int64_t kSpread = -7046029254386353131;

Value* nothing(Trace& trace) { return DataInts{trace}.of(trace.pyInt(trace.syms().constant(0))); }

ValueId number(graph::Graph& g, int64_t value) { return g.constant(graph::Scalar::ofInt(DType::kI64, value)); }

/// Ints, names, and tuples of those: equal ones are the same key whatever their classes are.
bool isKeyForm(Trace& trace, const Value* form) {
  if (form->kind == ValueKind::kTuple)
    return !form->items.empty() &&
           std::all_of(form->items.begin(), form->items.end(), [&](Value* item) { return isKeyForm(trace, item); });
  if (Choices::is(form)) return Choices::areNames(form);
  if (form->kind != ValueKind::kDataInt && form->kind != ValueKind::kArrayScalar) return false;
  const bool mayBeNone = form->which && form->which->range.lo == MixedNumbers::kNone;
  return trace.graph().type(form->node).dtype == DType::kI64 && !mayBeNone;
}

/// The ints that a key consists of, as numbers of the graph; of a name its number (choices.h).
void addLeaves(Trace& trace, Value* key, std::vector<Value*>& leaves) {
  if (const auto items = tupleItems(trace, key)) {
    for (Value* item : *items) addLeaves(trace, item, leaves);
    return;
  }
  if (Choices::is(key) || Choices::isName(key)) {
    if (!Choices{trace}.areTold(key)) trace.fail(BreakReason::kUnsupportedObject, "a key of equal strings");
    leaves.push_back(Choices{trace}.number(key));
    return;
  }
  DataInts ints{trace};
  key = MixedNumbers{trace}.present(key);  // None is no such key
  Value* whole = key->which ? ints.make(key->node, {-kMostDataInt, kMostDataInt}) : ints.ofScalar(key);
  Value* leaf = whole ? ints.of(whole) : nullptr;
  if (!leaf) trace.fail(BreakReason::kUnsupportedObject, "a key of this size");
  leaves.push_back(leaf);
}

/// Whether a key may be equal to one of the form.
bool isAlike(Trace& trace, const Value* form, Value* key) {
  if (Choices::is(form)) return Choices::is(key) ? Choices::areNames(key) : Choices::isName(trace.open(key));
  if (Choices::is(key)) return false;
  const auto items = tupleItems(trace, key);
  if (form->kind != ValueKind::kTuple || !items) {
    const bool isNumber = key->kind == ValueKind::kArrayScalar && trace.graph().type(key->node).dtype == DType::kI64;
    return form->kind != ValueKind::kTuple && !items && (DataInts::isWhole(trace.open(key)) || isNumber);
  }
  if (form->items.size() != items->size()) return false;
  for (size_t i = 0; i < items->size(); ++i)
    if (!isAlike(trace, form->items[i], (*items)[i])) return false;
  return true;
}

/// Something like the form, of the leaves.
Value* shaped(Trace& trace, const Value* form, const std::vector<Value*>& leaves, size_t& at) {
  if (form->kind != ValueKind::kTuple) return leaves[at++];
  std::vector<Value*> items;
  for (const Value* item : form->items) items.push_back(shaped(trace, item, leaves, at));
  return trace.tuple(std::move(items));
}

}  // namespace

bool WorkTable::isSet(const Value* table) { return table->cls.get() == reinterpret_cast<PyObject*>(&PySet_Type); }

void WorkTable::refuse(const std::string& what) const {
  trace.fail(BreakReason::kUnsupportedObject,
             what + " of a " + trace.typeOf(table)->tp_name + " with keys that array data decides");
}

// ---- found out ----------------------------------------------------------------------------------------------------

bool WorkTable::isLate(Trace& trace, Value* key) {
  if (Choices::is(key)) return Choices::areNames(key);
  trace.open(key);
  if (key->kind == ValueKind::kTuple && !key->cls)
    return std::any_of(key->items.begin(), key->items.end(), [&](Value* item) { return isLate(trace, item); });
  const bool mixed = key->kind == ValueKind::kArrayScalar && key->which;
  return isLateIndex(trace, key) && (!mixed || trace.graph().type(key->node).dtype == DType::kI64);
}

void WorkTable::require(Trace& trace, const Value* container, Value* key, Value* item) {
  const bool isSet = container->kind == ValueKind::kSet;
  std::vector<Value*> keys = isSet ? container->items : container->keys, items;
  if (!isSet) items = container->items;
  if (keys.empty() && !item && !isSet) return;
  if (key) keys.push_back(key);
  if (item && !isSet) items.push_back(item);
  require(trace, container, keys, std::move(items));
}

void WorkTable::requireIfResized(Trace& trace, const Value* container, const Contents& was, const Contents& now) {
  const bool isDict = was.kind == ValueKind::kDict && now.kind == was.kind, isSet = container->kind == ValueKind::kSet;
  if ((isDict || isSet) && was.items.size() != now.items.size())
    require(trace, container, isDict ? now.keys : now.items, isDict ? now.items : std::vector<Value*>());
}

void WorkTable::require(Trace& trace, const Value* container, const std::vector<Value*>& keys,
                        std::vector<Value*> items) {
  const bool isKnown = container->kind == ValueKind::kDict || container->kind == ValueKind::kSet;
  if (!isKnown || !container->site.first || !trace.loops || container->source.valid()) return;
  if (keys.empty() || keys.size() > WorkList::kMostBegun || trace.loops->tables.contains(container->site)) return;
  // None does not say what others are like.
  std::stable_sort(items.begin(), items.end(),
                   [](const Value* a, const Value* b) { return !a->isNone() && b->isNone(); });
  PooledList::requireIn(trace, items);
  Value *form = LongList::formOf(trace, keys), *itemForm = items.empty() ? nullptr : LongList::formOf(trace, items);
  const bool hasItems = container->kind == ValueKind::kDict;
  if (!form || !isKeyForm(trace, form) || (hasItems && (!itemForm || !WorkList::mayHold(itemForm)))) return;
  LoopDecisions::WorkedTable known{.keys = WorkList::describe(trace, form), .items = {}};
  if (hasItems) known.items = WorkList::describe(trace, itemForm);
  trace.loops->tables.emplace(container->site, std::move(known));
  throw LoopsDecided{};
}

void WorkTable::requireLike(Trace& trace, const Value* container, const Value* table) {
  if (!container->site.first || !trace.loops || container->source.valid()) return;
  LoopDecisions::WorkedTable known{.keys = WorkList::describe(trace, table->items[kKeys]->base), .items = {}};
  if (!isSet(table)) known.items = WorkList::describe(trace, table->items[kItems]->base);
  if (trace.loops->tables.emplace(container->site, std::move(known)).second) throw LoopsDecided{};
}

void WorkTable::widen(Trace& trace, const Value* table, size_t part, Value* item) {
  const auto at = trace.loops->tables.find(table->site);
  LoopDecisions::WorkedTable& known = at->second;
  LoopDecisions::WorkedList& as = part == kKeys ? known.keys : known.items;
  Value* form = WorkList::wider(trace, table->items[part]->base, item);
  if (form && part == kKeys && !isKeyForm(trace, form)) form = nullptr;
  LoopDecisions::WorkedList now = form ? WorkList::describe(trace, form) : LoopDecisions::WorkedList();
  known.refused = !form || now.numbers == as.numbers;
  as = std::move(now);
  throw LoopsDecided{};
}

// ---- handed on ----------------------------------------------------------------------------------------------------

bool WorkTableForm::mayBecome(Trace& trace, const Value* begin, const Value* end) {
  const bool first = WorkTable::is(begin), last = WorkTable::is(end);
  if (first == last) return first;
  const Value *known = first ? begin : end, *other = first ? end : begin;
  const bool isOne = other->kind == ValueKind::kDict || other->kind == ValueKind::kSet;
  if (isOne && WorkTable::isSet(known) == (other->kind == ValueKind::kSet)) WorkTable::requireLike(trace, other, known);
  return false;
}

std::vector<Value*> WorkTableForm::held(const Contents* then) const {
  std::vector<Value*> held{DataInts{trace}.of(then ? then->items[0] : table->items[0])};
  for (size_t part = WorkTable::kKeys; part < table->items.size(); ++part)
    held.insert(held.end(), table->items[part]->items.begin() + LongList::kFirstPart, table->items[part]->items.end());
  return held;
}

Value* WorkTableForm::with(const std::vector<Value*>& held) const {
  Value* other = trace.make(ValueKind::kWorkTable);
  other->cls = table->cls;
  other->base = table->base;
  other->site = table->site;
  other->opened = table->opened;
  other->items.push_back(held[0]);
  auto at = held.begin() + 1;
  for (size_t part = WorkTable::kKeys; part < table->items.size(); ++part) {
    Value* list = trace.make(ValueKind::kLongList);
    const Value* own = table->items[part];
    list->base = own->base;
    list->position = own->position;
    list->items = {own->items[0], own->items[1]};
    const auto count = static_cast<ptrdiff_t>(own->items.size() - LongList::kFirstPart);
    list->items.insert(list->items.end(), at, at + count);
    at += count;
    other->items.push_back(list);
  }
  return other;
}

bool WorkTableForm::isLike(Value* other) const {
  if (!WorkTable::is(other) || table->cls != other->cls || table->base != other->base ||
      table->items.size() != other->items.size() || table->opened != other->opened)
    return false;
  for (size_t part = WorkTable::kKeys; part < table->items.size(); ++part) {
    Value *form = table->items[part]->base, *its = other->items[part]->base;
    const LongList any{trace, nullptr};
    if (LongList{trace, table->items[part]}.room() != LongList{trace, other->items[part]}.room()) return false;
    if (!any.fits(form, its)) WorkTable::widen(trace, table, part, its);
    if (!any.fits(its, form)) WorkTable::widen(trace, other, part, form);
  }
  return true;
}

Value* WorkTable::full(const LoopDecisions::WorkedList& as, SymId room) const {
  Value* list = trace.list({});
  WorkList{trace, list}.make(as, room, {});
  list->items[0] = DataInts{trace}.of(trace.pyInt(room));
  return list;
}

void Collections::workTable(Value* container) {
  container->site = in.site();
  if (!container->site.first || !trace.loops || container->items.size() > WorkList::kMostBegun) return;
  const auto found = trace.loops->tables.find(container->site);
  if (found == trace.loops->tables.end() || found->second.refused) return;
  if (PooledList::isRefused(trace, found->second.items)) return;
  const LoopDecisions::WorkedTable known = found->second;
  const bool isSet = container->kind == ValueKind::kSet;
  const std::vector<Value*> items = std::exchange(container->items, {});
  const std::vector<Value*> keys = isSet ? items : std::exchange(container->keys, {});
  container->object = Ref();
  container->kind = ValueKind::kWorkTable;
  if (!container->cls) container->cls = Ref::create(reinterpret_cast<PyObject*>(&PyDict_Type));
  const WorkTable table{in, trace, container};
  const LoopDecisions::WorkedList ints{.shape = {-1}, .numbers = {{ValueKind::kDataInt, DType::kI64, {}}}};
  const SymId room = roomOfWork(), places = trace.syms().mul(room, trace.syms().constant(kPlacesOfEntry));
  container->items = {nothing(trace), table.full(known.keys, room), table.full(ints, room), table.full(ints, places)};
  if (!isSet) container->items.push_back(table.full(known.items, room));
  for (size_t i = 0; i < keys.size(); ++i) table.setItem(keys[i], isSet ? nullptr : items[i]);
}

bool Collections::isLong(Value* iterable) {
  if (!in.mayRoll() || trace.onDevice()) return false;
  trace.open(iterable);
  if (isLongList(iterable)) return true;
  const auto isMany = [&](SymId count) {
    return trace.turns.contains(count) || trace.decided.contains(count) || trace.hint(count) > in.options_.maxUnroll;
  };
  if (iterable->kind == ValueKind::kArray) {
    const graph::SymShape shape = numpy::shapeOf(trace, iterable->node);
    return shape.size() == 1 && isMany(shape[0]);
  }
  const bool isPairs = iterable->kind == ValueKind::kIterator && iterable->lazy && iterable->name.empty() &&
                       (trace.typeOf(iterable) == &PyZip_Type || trace.typeOf(iterable) == &PyEnum_Type ||
                        trace.typeOf(iterable) == &PyMap_Type);
  if (!isPairs || iterable->position > 0) return false;
  const auto items = iterable->lazy->items(in);
  return items && isMany(items->count);
}

void Collections::storeKey(Value* dict, Value* key, Value* item) {
  if (WorkTable::is(dict)) return WorkTable{in, trace, dict}.setItem(key, item);
  if (WorkTable::isLate(trace, key)) WorkTable::require(trace, dict, key, item);
  in.setKey(dict, in.key(key), item);
}

void Collections::requireTable(Value* dict, Value* key) {
  Value* missing = missingItem(dict);
  const bool isEmpty = dict->items.empty() && !dict->base && !missing && !dict->source.valid();
  if (isEmpty && trace.branches.raising) raiseCertain(trace, PyExc_KeyError, "of a dict without keys");
  const bool isMade = !missing && dict->base && dict->site.first && !trace.loops->tables.contains(dict->site);
  if (isMade) missing = in.call(dict->base, {});
  WorkTable::require(trace, dict, key, missing);
  if (isMade) trace.fail(BreakReason::kUnsupportedObject, "a dict whose factory makes such things");  // has made one
}

void Collections::requireNames(Value* dict, Value* key) {
  if (!in.mayRoll() || dict->source.valid() || !Choices::areNames(key) || (dict->base && !missingItem(dict))) return;
  const auto isKey = [&](Value* name) { return in.findKey(dict, in.key(name)) >= 0; };
  if (!std::all_of(key->items.begin(), key->items.end(), isKey)) requireTable(dict, key);
}

Value* Collections::holdsLate(Value* container, Value* key) {
  if (WorkTable::is(container)) return WorkTable{in, trace, container}.contains(key);
  if (PooledList::is(container))
    return container->base ? bySteps("_list_holds", {container, key}) : trace.constant(Py_False);
  if (isLongList(container) && in.mayRoll()) return bySteps("_list_holds", {container, key});
  const bool isKnown = container->kind == ValueKind::kDict || container->kind == ValueKind::kSet;
  if (isKnown && !container->source.valid() && WorkTable::isLate(trace, key)) {
    WorkTable::require(trace, container, key);
    if (container->items.empty() && !container->cls) return trace.constant(Py_False);
  }
  return holdsAmongKnown(container, key);
}

// ---- entries ------------------------------------------------------------------------------------------------------

int64_t WorkTable::room() const { return *trace.syms().asConst(trace.asSym(table->items[kKeys]->items[1])); }

Value* WorkTable::length() const {
  Value* length = table->items[0];
  if (length->kind == ValueKind::kUnjoined) trace.branches.refuse(length);
  length = DataInts{trace}.of(length);
  return DataInts{trace}.make(length->node, {0, std::clamp<int64_t>(length->range.hi, 0, room())});
}

Value* WorkTable::copy(PyTypeObject* cls) const {
  if (holdsLists()) refuse("a copy");
  const WorkTableForm form{trace, table};
  std::vector<Value*> held = form.held();
  for (auto array = held.begin() + 1; array != held.end(); ++array) *array = trace.array((*array)->node);
  Value* copy = form.with(held);
  copy->opened |= isSet();
  if (!cls) return copy;
  copy->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  copy->base = nullptr;
  return copy;
}

WorkTable::Found WorkTable::find(Value* key) const {
  graph::Graph& g = trace.graph();
  DataInts ints{trace};
  const Value* form = table->items[kKeys]->base;
  std::vector<Value*> leaves;
  if (!isAlike(trace, form, key)) refuse("an item by this key");
  addLeaves(trace, key, leaves);
  ValueId hash = leaves[0]->node;
  for (size_t i = 1; i < leaves.size(); ++i)
    hash = g.binary(Op::kAdd, g.binary(Op::kMultiply, hash, number(g, kSpread)), leaves[i]->node);
  Value* length = this->length();
  Found found{.index = table->items[kIndex]->items[LongList::kFirstPart]->node, .length = length->node};
  for (const Value* leaf : leaves) found.leaves.push_back(leaf->node);
  if (const auto known = knownFrom(found)) return *known;
  const int64_t places = kPlacesOfEntry * room();
  const auto asPlace = [&](ValueId node) {
    return ints.make(g.binary(Op::kBitwiseAnd, node, number(g, places - 1)), {0, places - 1});
  };
  Value* first = asPlace(hash);
  if (length->range.hi == 0) {
    found.entry = nothing(trace);
    found.place = first;
    found.isThere = g.constant(graph::Scalar::ofBool(false));
    found.isEmpty = true;
    return found;
  }
  // Of the bits on which all of the key's have had an effect. Odd, so that every place has its turn.
  const int64_t shift = 64 - std::bit_width(static_cast<uint64_t>(places - 1));
  const ValueId spread = g.binary(Op::kRightShift, g.binary(Op::kMultiply, hash, number(g, kSpread)), number(g, shift));
  Value* step = asPlace(g.binary(Op::kBitwiseOr, spread, number(g, 1)));
  size_t at = 0;
  Value* wanted = shaped(trace, form, leaves, at);
  Value* last = trace.constant(checked(PyLong_FromLongLong(room() - 1)));
  Value* answer = ConsumedGenerators{in, trace}.byUs(
      "_find_entry", {table->items[kIndex], table->items[kPlaces], asInts(), length, wanted, first, step, last});
  const std::vector<Value*> parts = in.iterate(answer);
  found.entry = parts[0];
  found.place = parts[1];
  found.isThere = trace.operand(parts[2]).value;
  trace.branches.foundKeys.push_back(found);
  return found;
}

/// The same key has been looked for, and nothing has come since then.
std::optional<WorkTable::Found> WorkTable::knownFrom(const Found& wanted) const {
  const std::vector<Found>& all = trace.branches.foundKeys;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const bool isSame = it->index == wanted.index && it->length == wanted.length && it->leaves == wanted.leaves;
    const RegionGraph& graph = trace.branches.graph;
    if (isSame && graph.isVisible(it->isThere) && graph.isVisible(it->entry->node) && graph.isVisible(it->place->node))
      return *it;
  }
  return std::nullopt;
}

Value* WorkTable::asInts() const {
  const Value* keys = table->items[kKeys];
  std::vector<Value*> arrays, forms;
  size_t at = LongList::kFirstPart, form = 0;
  const auto add = [&](const auto& self, const Value* part) -> void {
    if (part->kind == ValueKind::kTuple) {
      for (const Value* item : part->items) self(self, item);
      return;
    }
    arrays.push_back(keys->items[at]);
    at += part->which ? 2 : 1;
    forms.push_back(trace.make(ValueKind::kDataInt));
    forms.back()->node = number(trace.graph(), 0);
  };
  add(add, keys->base);
  Value* list = LongList::full(trace, shaped(trace, keys->base, forms, form), keys->items[0], arrays, {});
  list->items[1] = keys->items[1];
  list->position = LongList::kWorked;
  return list;
}

void WorkTable::store(size_t part, Value* item, Value* at) const {
  const LongList list{trace, table->items[part]};
  size_t array = 0;
  const auto each = [&](const auto& self, Value* form, Value* value) -> void {
    if (form->kind != ValueKind::kTuple) return list.store(form, value, at, array);
    const auto items = tupleItems(trace, value);
    for (size_t i = 0; i < items->size(); ++i) self(self, form->items[i], (*items)[i]);
  };
  each(each, table->items[part]->base, item);
}

Value* WorkTable::load(size_t part, Value* at) const { return WorkList{trace, table->items[part]}.loadAt(at); }

bool WorkTable::isWalked() const {
  return std::any_of(trace.tableWalks.begin(), trace.tableWalks.end(), [&](const auto& walk) {
    return walk.first == table && Collections{in, trace}.isHeld(walk.second);
  });
}

void WorkTable::put(const Found& found, Value* key, Value* item) const {
  graph::Graph& g = trace.graph();
  DataInts ints{trace};
  if (!LongList{trace, nullptr}.fits(table->items[kKeys]->base, key)) widen(trace, table, kKeys, key);
  if (item) PooledList::makeAlike(trace, table->items[kItems]->base, item);
  if (item && !LongList{trace, nullptr}.fits(table->items[kItems]->base, item)) widen(trace, table, kItems, item);
  if (isWalked()) {  // Python raises where one becomes longer then
    if (found.isEmpty) refuse("a walk");
    ints.require(found.isThere);
    if (item) store(kItems, item, found.entry);
    return;
  }
  Value* end = ints.within(length(), {0, room() - 1});
  Value* entry = end;
  if (!found.isEmpty)
    entry = ints.make(numpy::ufuncNode(trace, Op::kWhere, {found.isThere, found.entry->node, end->node}), end->range);
  // What stands behind the last entry is none: nothing depends on it where the key is there.
  store(kKeys, key, end);
  store(kPlaces, found.place, end);
  store(kIndex, entry, found.place);
  if (item) store(kItems, item, entry);
  const ValueId more = g.cast(g.unary(Op::kLogicalNot, found.isThere), DType::kI64);
  table->items[0] = ints.binary(cpython::kNbAdd, end, ints.make(more, {0, 1}));
  ++table->changes;
  Found now = found;
  now.index = table->items[kIndex]->items[LongList::kFirstPart]->node;
  now.length = length()->node;
  now.entry = entry;
  now.isThere = g.constant(graph::Scalar::ofBool(true));
  now.isEmpty = false;
  trace.branches.foundKeys.push_back(std::move(now));
}

Value* WorkTable::valueOr(const Found& found, Value* otherwise) const {
  if (found.isEmpty) return otherwise;
  Value* form = table->items[kItems]->base;
  const bool isWider = !in.isNone(otherwise) && !LongList{trace, nullptr}.fits(form, otherwise);
  if (isWider && WorkList::wider(trace, form, otherwise)) widen(trace, table, kItems, otherwise);
  Value* isThere = trace.number(ValueKind::kPyBool, found.isThere);
  return ConsumedGenerators{in, trace}.byUs("_either", {isThere, load(kItems, found.entry), otherwise});
}

Value* WorkTable::valueOrMade(const Found& found) const {
  if (found.isEmpty) return in.call(table->base, {});
  Value* isThere = trace.number(ValueKind::kPyBool, found.isThere);
  return Collections{in, trace}.bySteps("_or_made", {isThere, load(kItems, found.entry), table->base});
}

// ---- what Python does with them -----------------------------------------------------------------------------------

Value* WorkTable::contains(Value* key) const {
  const Found found = find(key);
  return found.isEmpty ? trace.constant(Py_False) : trace.number(ValueKind::kPyBool, found.isThere);
}

Value* WorkTable::item(Value* key) const {
  if (isSet()) refuse("an item");
  const Found found = find(key);
  if (Value* list = madeList(found, key)) return list;
  Value* missing = Collections{in, trace}.missingItem(table);
  if (missing || table->base) {
    Value* value = missing ? valueOr(found, missing) : valueOrMade(found);
    if (table->base) put(found, key, value);
    return value;
  }
  if (found.isEmpty && trace.branches.raising) raiseCertain(trace, PyExc_KeyError, "of a dict without keys");
  if (found.isEmpty) refuse("an item that is not there");
  DataInts{trace}.require(found.isThere, PyExc_KeyError);
  return load(kItems, found.entry);
}

void WorkTable::setItem(Value* key, Value* item) const {
  if (isSet() == (item != nullptr)) refuse("an item that is set");
  const Found found = find(key);
  if (item && isOf(found, item)) return;  // d[k] += [x]
  if (item) LongList{trace, table->items[kItems]}.noteReplaced();
  put(found, key, item);
}

Value* WorkTable::list(size_t part, bool live) const {
  const Value* all = table->items[part];
  std::vector<Value*> arrays(all->items.begin() + LongList::kFirstPart, all->items.end());
  if (!live && holdsLists()) refuse("a list of the lists");
  if (!live)
    for (Value*& array : arrays) array = trace.array(array->node);
  Value* list = LongList::full(trace, all->base, length(), arrays, {});
  list->items[1] = all->items[1];
  return list;
}

Value* WorkTable::listOf(const std::string& view) const {
  if (isSet()) refuse("the order");
  if (view != "items") return list(view == "keys" ? kKeys : kItems, false);
  const Value *keys = list(kKeys, false), *items = list(kItems, false);
  std::vector<Value*> arrays(keys->items.begin() + LongList::kFirstPart, keys->items.end());
  arrays.insert(arrays.end(), items->items.begin() + LongList::kFirstPart, items->items.end());
  Value* pairs = LongList::full(trace, trace.tuple({keys->base, items->base}), keys->items[0], arrays, {});
  pairs->items[1] = keys->items[1];
  return pairs;
}

namespace {

/// Of a view: what an entry is when its turn comes. The values may be set meanwhile.
struct TableItem {
  Trace& trace;
  Value *table, *keyList, *itemList;  ///< null for what the view does not show
  unsigned changes;

  void check(int64_t) const {
    if (table->changes != changes)
      trace.fail(BreakReason::kUnsupportedObject, "a dict that becomes longer while it is walked");
  }
  Value* operator()(SymId number) const {
    check(0);
    Value* place = trace.pyInt(trace.syms().canonical(number));
    Value* key = keyList ? LongList{trace, keyList}.item(place) : nullptr;
    Value* value = itemList ? LongList{trace, itemList}.item(place) : nullptr;
    return key && value ? trace.tuple({key, value}) : key ? key : value;
  }
};

}  // namespace

Value* WorkTable::iterator(const std::string& view) const {
  if (isSet()) refuse("the order");
  Value *keys = view == "values" ? nullptr : list(kKeys, true), *items = view == "keys" ? nullptr : list(kItems, true);
  const SymId size = LongList{trace, keys ? keys : items}.size();
  Value* iterator =
      makeIterator(trace, nullptr, NumberedStep<TableItem>{trace, size, {trace, table, keys, items, table->changes}});
  trace.tableWalks.emplace_back(table, iterator);
  return iterator;
}

Value* WorkTable::update(Value* with) const {
  if (Collections{in, trace}.isLong(with))
    return Collections{in, trace}.bySteps(isSet() ? "_fill_set" : "_fill_dict", {table, with});
  trace.open(with);
  const bool isPlain = with->kind == ValueKind::kList || with->kind == ValueKind::kTuple;
  const bool isKnown = with->kind == ValueKind::kSet || isConstantOf(with, &PyFrozenSet_Type);
  if (!isSet() || (!isPlain && !isKnown)) refuse("update()");
  for (Value* item : in.iterate(with)) setItem(item, nullptr);
  table->opened |= isKnown;
  return trace.constant(Py_None);
}

Value* WorkTable::method(const std::string& name, const CallArgs& args) const {
  const size_t count = args.positional.size();
  if (!args.keywords.empty()) refuse(name);
  if (count == 1 && name == "__contains__") return contains(args.positional[0]);
  if (count == 1 && name == "add" && isSet()) {
    setItem(args.positional[0], nullptr);
    return trace.constant(Py_None);
  }
  if (count == 0 && name == "clear" && !isWalked()) {
    table->items[0] = nothing(trace);
    ++table->changes;
    if (!isSet()) LongList{trace, table->items[kItems]}.noteReplaced();
    return trace.constant(Py_None);
  }
  if (name == "copy" && count == 0) return copy();
  if (name == "most_common" && count <= 1)
    return Collections{in, trace}.bySteps("_most_common",
                                          {table, count ? args.positional[0] : trace.constant(Py_None)});
  if (name == "update" && count == 1) return update(args.positional[0]);
  const bool sets = name == "setdefault";
  if (isSet() || (name != "get" && !sets) || count < 1 || count > 2) refuse(name);
  const Found found = find(args.positional[0]);
  if (sets && count == 2)
    if (Value* list = listOrDefault(found, args.positional[0], args.positional[1])) return list;
  Value* value = valueOr(found, count == 2 ? args.positional[1] : trace.constant(Py_None));
  if (sets) put(found, args.positional[0], value);
  return value;
}

}  // namespace fw::capture
