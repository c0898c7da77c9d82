#include "frame_eval/work_list.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/consumed_generators.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/unwind.h"

namespace fw::capture {

using cpython::checked;
using cpython::Ref;
using graph::SymId;
using guards::Relation;

namespace {

/// Items for which there is room: some for each element of the arrays that the function knows, as each may be found by
/// way of its neighbours, and a few. Up to a bound, beyond which it is as large.
constexpr int64_t kRoomOfElement = 8, kLeastRoom = 1 << 16, kMostRoom = int64_t{1} << 22;
constexpr const char *kHead = "head", *kMost = "most";

Value* zero(Trace& trace) { return trace.pyInt(trace.syms().constant(0)); }

}  // namespace

SymId Collections::roomOfWork() {
  graph::SymContext& syms = trace.syms();
  absl::flat_hash_set<const Value*> seen;
  SymId elements = syms.constant(0);
  for (const std::unique_ptr<Frame>& frame : in.frames_)
    for (Value*& slot : frame->slots) {
      if (slot && slot->kind == ValueKind::kUnread) in.look(slot);
      if (slot && slot->kind == ValueKind::kObject && PyArray_Check(slot->object.get())) trace.open(slot);
      if (!slot || slot->kind != ValueKind::kArray || !seen.insert(slot).second) continue;
      const SymId count = numpy::elementCount(trace, numpy::shapeOf(trace, slot->node));
      if (!trace.turns.contains(count) && !trace.decided.contains(count)) elements = syms.add(elements, count);
    }
  elements = syms.canonical(elements);
  // A number, as bounds of numbers are soon proved: what is not used of it costs nothing.
  int64_t room = kLeastRoom;
  const auto isSmall = [&] { return room < kMostRoom && trace.hint(elements) > room / kRoomOfElement; };
  while (isSmall()) room *= 2;
  const SymId most = syms.constant(room / kRoomOfElement);
  if (room < kMostRoom) (void)trace.decide(elements, Relation::kLe, most);
  return syms.constant(room);
}

// ---- found out ----------------------------------------------------------------------------------------------------

LoopDecisions::WorkedList WorkList::describe(Trace& trace, const Value* form) {
  LoopDecisions::WorkedList known;
  const auto add = [&](const auto& self, const Value* item) -> void {
    if (item->kind == ValueKind::kTuple) {
      known.shape.push_back(static_cast<int>(item->items.size()));
      for (const Value* part : item->items) self(self, part);
      return;
    }
    known.shape.push_back(-1);
    if (PooledList::is(item)) {
      known.numbers.push_back({.kind = item->kind, .dtype = graph::DType::kI64, .least = {}, .pool = item->site});
      return;
    }
    const bool mixes = MixedNumbers::is(item);
    known.numbers.push_back({item->kind, trace.graph().type(item->node).dtype,
                             mixes ? std::optional<int64_t>(MixedNumbers{trace}.leastClass(item)) : std::nullopt});
    if (Choices::is(item))
      for (const Value* thing : item->items) known.numbers.back().things.push_back(Ref::create(thing->object.get()));
  };
  add(add, form);
  return known;
}

Value* WorkList::formOf(Trace& trace, const LoopDecisions::WorkedList& known) {
  size_t at = 0, number = 0;
  const auto make = [&](const auto& self) -> Value* {
    const int size = known.shape[at++];
    if (size >= 0) {
      std::vector<Value*> items;
      for (int i = 0; i < size; ++i) items.push_back(self(self));
      return trace.tuple(std::move(items));
    }
    const LoopDecisions::WorkedList::Number& as = known.numbers[number++];
    if (as.kind == ValueKind::kPooledList)  // which may have become one with others
      return PooledList::formOf(trace, PooledList::poolOf(trace, as.pool).value_or(as.pool));
    if (as.kind == ValueKind::kChosen) {
      std::vector<Value*> things;
      for (const Ref& thing : as.things) things.push_back(trace.constant(thing));
      return Choices{trace}.form(std::move(things));
    }
    if (as.least) return LongList::mixedForm(trace, as.dtype, static_cast<MixedNumbers::Class>(*as.least));
    return trace.number(as.kind, trace.graph().constant(graph::Scalar::zero(as.dtype)));
  };
  return make(make);
}

bool WorkList::mayHold(const Value* form) {
  if (form->kind == ValueKind::kTuple)
    return !form->items.empty() && std::all_of(form->items.begin(), form->items.end(), mayHold);
  return LongList::isNumber(form) || Choices::areConstants(form) || PooledList::is(form);
}

void WorkList::notePop(Trace& trace, const Value* list) {
  if (list->site.first && trace.loops) trace.loops->popped.insert(list->site);
}

void WorkList::requireIfPopped(Trace& trace, const Value* list) {
  const bool popped = list->site.first && trace.loops && trace.loops->popped.contains(list->site);
  if (popped) require(trace, list);
}

void WorkList::require(Trace& trace, const Value* list, bool first) {
  if (!list->site.first || !trace.loops) return;
  if (!isLongList(list) && list->items.size() > WorkList::kMostBegun) return LongList::standInArrays(trace, list);
  auto known = trace.loops->works.find(list->site);
  if (known != trace.loops->works.end()) {
    if (!first || known->second.hasHead || known->second.refused) return;
    known->second.hasHead = true;
    throw LoopsDecided{};
  }
  if (isLongList(list))
    PooledList::require(trace, list->base);
  else
    PooledList::requireIn(trace, list->items);
  Value* form = isLongList(list) ? list->base : list->items.empty() ? nullptr : LongList::formOf(trace, list->items);
  if (!form && !list->items.empty()) return;
  if (form && !mayHold(form)) return;
  LoopDecisions::WorkedList made;
  if (form) made = describe(trace, form);
  made.hasHead = first || list->kind == ValueKind::kDeque;
  trace.loops->works.emplace(list->site, std::move(made));
  throw LoopsDecided{};
}

void WorkList::noteItem(Trace& trace, const Value* list, Value* item) {
  if (!list->site.first || !trace.loops) return;
  const auto known = trace.loops->works.find(list->site);
  if (known == trace.loops->works.end() || known->second.refused || !known->second.shape.empty()) return;
  PooledList::requireIn(trace, {item});
  Value* form = LongList::formOf(trace, item);
  if (!form || !mayHold(form)) {
    known->second.refused = true;
    return;
  }
  const bool hasHead = known->second.hasHead;
  known->second = describe(trace, form);
  known->second.hasHead = hasHead;
  throw LoopsDecided{};
}

/// What both are like, where that is of another kind than the form; null if nothing is.
Value* WorkList::wider(Trace& trace, Value* form, Value* item) {
  const auto parts = form->kind == ValueKind::kTuple ? tupleItems(trace, item) : std::nullopt;
  if (form->kind == ValueKind::kTuple) {
    if (!parts || parts->size() != form->items.size()) return nullptr;
    std::vector<Value*> forms;
    for (size_t i = 0; i < parts->size(); ++i) {
      forms.push_back(wider(trace, form->items[i], (*parts)[i]));
      if (!forms.back()) return nullptr;
    }
    return trace.tuple(std::move(forms));
  }
  if (LongList{trace, nullptr}.fits(form, item)) return form;
  if (Choices::is(form)) {
    Choices choices{trace};
    Value* wide = choices.mayBe(item) ? choices.form(choices.joined(form->items, item)) : nullptr;
    return wide && Choices::areConstants(wide) ? wide : nullptr;
  }
  const auto mixes = LongList::widened(trace, form, item);
  if (!mixes || !mixes->mixes) return nullptr;
  return LongList::mixedForm(trace, *mixes->mixes, static_cast<MixedNumbers::Class>(mixes->least));
}

void WorkList::widen(Value* item) const {
  const auto at = trace.loops->works.find(list->site);
  if (at == trace.loops->works.end())  // a list that sorted() has made
    trace.fail(BreakReason::kUnsupportedObject, "a list gets an item of another kind");
  LoopDecisions::WorkedList& known = at->second;
  Value* form = wider(trace, list->base, item);
  LoopDecisions::WorkedList now = form ? describe(trace, form) : LoopDecisions::WorkedList();
  now.hasHead = known.hasHead;
  now.record = known.record;
  now.refused = !form || now.numbers == known.numbers;
  known = std::move(now);
  throw LoopsDecided{};
}

// ---- items --------------------------------------------------------------------------------------------------------

Value* Collections::workedOff(const std::vector<Value*>& items, LoopDecisions::Key site, PyTypeObject* cls,
                              std::optional<int64_t> most) {
  if (!site.first || !trace.loops || items.size() > WorkList::kMostBegun) return nullptr;
  const auto known = trace.loops->works.find(site);
  if (known == trace.loops->works.end() || known->second.refused || known->second.shape.empty()) return nullptr;
  if (PooledList::isRefused(trace, known->second)) return nullptr;
  Value* list = trace.list(items);
  list->site = site;
  if (cls) list->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  WorkList{trace, list}.make(known->second, roomOfWork(), most);
  return list;
}

Value* Collections::workedIfFound(Value* list) {
  if (WorkList::is(list) || !list->site.first) return list;
  if (list->kind == ValueKind::kList) {
    Value* worked = workedOff(list->items, list->site);
    return worked ? worked : list;
  }
  if (!isLongList(list) || !WorkList::mayHold(list->base)) return list;
  Value* worked = workedOff({}, list->site);
  if (worked) (void)bySteps("_list_extend", {worked, list});
  return worked ? worked : list;
}

Value* Collections::emptyLike(const Value* list) {
  Value* made = trace.list({});
  WorkList{trace, made}.make(WorkList::describe(trace, list->base), roomOfWork(), {});
  return made;
}

Value* Collections::fromQueue(Value* list) {
  if (list->kind == ValueKind::kDeque && !list->source.valid()) return trace.list(list->items);
  if (!WorkList::is(list) || (list->overlay.empty() && !list->cls) || !LongList::isNumber(list->base)) return list;
  Value* made = emptyLike(list);
  (void)bySteps("_list_extend", {made, list});
  return made;
}

Value* Collections::inPool(const std::vector<Value*>& items, LoopDecisions::Key site) {
  const auto pool = PooledList::poolOf(trace, site);
  if (!pool) return nullptr;
  Value* list = PooledList::make(trace, *pool);
  if (PooledList{trace, list}.isRecord()) {
    PooledList{trace, list}.fill(items);
    return list;
  }
  for (Value* item : items) PooledList{trace, list}.append(in, item);
  return list;
}

Value* Collections::emptyList() {
  if (Value* list = inPool({}, in.site())) return list;
  Value* list = trace.list({});
  list->site = in.site();
  return list;
}

Value* Collections::asGenerator(Value* iterable) {
  return PooledList::is(iterable) && iterable->base ? ConsumedGenerators{in, trace}.byUs("_each", {iterable})
                                                    : iterable;
}

void Collections::makePools() {
  if (!trace.loops || trace.loops->pooled.empty()) return;
  constexpr int64_t kLeast = 1 << 20;  // what is not used of it costs nothing
  const int64_t known = *trace.syms().asConst(roomOfWork());
  PooledList::makePools(trace, trace.syms().constant(std::max(known, kLeast)));
}

void WorkList::make(const LoopDecisions::WorkedList& as, SymId room, std::optional<int64_t> most) const {
  const LongList all{trace, list};
  const std::vector<Value*> items = std::exchange(list->items, {});
  Value* form = formOf(trace, as);
  all.count(form);
  all.makeRoom(room);
  list->position = LongList::kWorked;
  list->items[0] = DataInts{trace}.of(zero(trace));
  const auto note = [&](const char* name, SymId number) {
    list->overlay.emplace_back(checked(PyUnicode_InternFromString(name)), DataInts{trace}.of(trace.pyInt(number)));
  };
  graph::SymContext& syms = trace.syms();
  if (as.hasHead || most) note(kHead, syms.constant(0));
  for (Value* item : items) all.append(item);
  if (most) note(kMost, syms.constant(*most));
  if (most && static_cast<size_t>(*most) < items.size()) all.refuse("a deque that is shorter than what it begins with");
}

Value* WorkList::head() const {
  if (list->overlay.empty()) return nullptr;
  Value* head = list->overlay[0].second;
  if (head->kind == ValueKind::kUnjoined) trace.branches.refuse(head);
  head = DataInts{trace}.of(head);
  return DataInts{trace}.make(head->node, {0, std::max<int64_t>(0, head->range.hi)});
}

/// How many there are; one more fits, or the call is Python's.
Value* WorkList::lengthBelowRoom() const {
  const int64_t room = *trace.syms().asConst(LongList{trace, list}.room());
  return DataInts{trace}.within(DataInts{trace}.of(LongList{trace, list}.length()), {0, room - 1});
}

/// Where the item stands that is so many behind the first one. The places of a queue are a ring.
Value* WorkList::placeOf(Value* number) const {
  Value* head = this->head();
  return head ? inRing(added(trace, head, number)) : number;
}

Value* WorkList::inRing(Value* place) const {
  const int64_t room = *trace.syms().asConst(LongList{trace, list}.room());  // a power of 2
  return DataInts{trace}.binary(cpython::kNbAnd, place, trace.constant(checked(PyLong_FromLongLong(room - 1))));
}

Value* WorkList::end() const { return placeOf(lengthBelowRoom()); }

void WorkList::limit(bool last) const {
  if (list->overlay.size() < 2) return;
  DataInts ints{trace};
  Value* length = ints.of(LongList{trace, list}.length());
  Value* most = list->overlay[1].second;
  const graph::ValueId over =
      trace.graph().cast(trace.graph().binary(graph::Op::kGreater, length->node, most->node), graph::DType::kI64);
  Value* gone = ints.make(over, {0, 1});
  Value* rest = added(trace, length, gone, cpython::kNbSubtract);
  list->items[0] = ints.make(rest->node, {0, most->range.hi});
  LongList{trace, list}.noteReplaced();
  if (last) list->overlay[0].second = inRing(added(trace, head(), gone));
}

void WorkList::pushLeft(Value* item) const {
  const LongList all{trace, list};
  LoopDecisions::WorkedList& known = trace.loops->works.at(list->site);
  if (!known.hasHead) {
    known.hasHead = true;
    throw LoopsDecided{};
  }
  if (!all.fits(list->base, item)) widen(item);
  Value* one = trace.pyInt(trace.syms().constant(1));
  Value* length = lengthBelowRoom();
  Value* place = inRing(added(trace, head(), one, cpython::kNbSubtract));
  size_t part = 0;
  all.store(list->base, item, place, part);
  list->items[0] = added(trace, length, one);
  list->overlay[0].second = place;
  limit(false);
  ++list->changes;
}

Value* WorkList::loadAt(Value* place) const {
  const LongList all{trace, list};
  size_t part = 0;
  return all.load(list->base, place, all.room(), part);
}

Value* WorkList::pop(bool first) const {
  if (first && list->overlay.empty()) require(trace, list, true);
  DataInts ints{trace};
  Value* one = trace.pyInt(trace.syms().constant(1));
  Value* length = LongList{trace, list}.length();
  Value* last = added(trace, length, one, cpython::kNbSubtract);
  ints.requireWithin(last, trace.syms().constant(0), trace.syms().constant(kMostDataInt));
  Value* rest = ints.within(last, {0, kMostDataInt});  // or it raises
  Value* item = loadAt(first ? head() : placeOf(rest));
  list->items[0] = rest;
  if (first) list->overlay[0].second = inRing(added(trace, head(), one));
  PooledList::takeOut(trace, item);
  ++list->changes;
  return item;
}

void WorkList::clear() const {
  LongList{trace, list}.noteReplaced();
  list->items[0] = DataInts{trace}.of(zero(trace));
  ++list->changes;
}

/// Where the item stands that an index names, which is one of them or fails the call.
Value* WorkList::placeAt(Value* index) const {
  const LongList all{trace, list};
  return placeOf(DataInts{trace}.of(all.placeWithin(index, DataInts{trace}.of(all.length()))));
}

Value* WorkList::item(Value* index) const {
  Value* item = loadAt(placeAt(index));
  LongList{trace, list}.holdTuples(item);
  return item;
}

void WorkList::setItem(Value* index, Value* item) const {
  const LongList all{trace, list};
  if (!LongList::isPlace(trace, index)) all.refuse("an item of a list is set by this index");
  if (!all.fits(list->base, item)) widen(item);
  size_t part = 0;
  all.noteReplaced();
  all.store(list->base, item, placeAt(index), part);
}

std::vector<Value*> WorkList::held(const Contents* then) const {
  DataInts ints{trace};
  std::vector<Value*> held{ints.of(then ? then->items[0] : LongList{trace, list}.length())};
  if (then && !then->overlay.empty())
    held.push_back(ints.of(then->overlay[0].second));
  else if (Value* first = head())
    held.push_back(first);
  const absl::Span<Value* const> arrays = LongList{trace, list}.arrays();
  held.insert(held.end(), arrays.begin(), arrays.end());
  return held;
}

Value* WorkList::with(const std::vector<Value*>& held) const {
  const bool hasHead = !list->overlay.empty();
  Value* other = LongList::full(trace, list->base, held[0], {held.begin() + (hasHead ? 2 : 1), held.end()}, list->site);
  other->items[1] = list->items[1];
  other->position = LongList::kWorked;
  other->cls = list->cls;
  for (const auto& [name, value] : list->overlay) other->overlay.emplace_back(Ref::create(name.get()), value);
  if (hasHead) other->overlay[0].second = held[1];
  return other;
}

bool WorkList::isLike(Value* other) const {
  const LongList own{trace, list}, its{trace, other};
  const bool alike = is(other) && list->cls == other->cls && list->overlay.size() == other->overlay.size() &&
                     list->overlay.size() < 2 && own.room() == its.room();
  if (!alike) return false;
  if (!own.fits(list->base, other->base)) widen(other->base);
  if (!own.fits(other->base, list->base)) WorkList{trace, other}.widen(list->base);
  return true;
}

bool WorkList::isIndex(const CallArgs& args, int64_t place) {
  const Value* index = args.positional.size() == 1 ? args.positional[0] : nullptr;
  return index && index->isConstant() && PyLong_CheckExact(index->object.get()) &&
         PyLong_AsLongLong(index->object.get()) == place;
}

Value* WorkList::method(Trace& trace, Value* list, const std::string& name, const CallArgs& args) {
  const size_t count = args.positional.size();
  if (!args.keywords.empty()) return nullptr;
  const bool first =
      (name == "popleft" && count == 0 && list->cls) || (name == "pop" && isIndex(args, 0) && !list->cls);
  const bool last = name == "pop" && (count == 0 || (isIndex(args, -1) && !list->cls));
  if (first || last) {
    if (!is(list)) require(trace, list, first);
    return is(list) ? WorkList{trace, list}.pop(first) : nullptr;
  }
  if (name == "appendleft" && count == 1 && list->cls && is(list)) {
    WorkList{trace, list}.pushLeft(args.positional[0]);
    return trace.constant(Py_None);
  }
  if (name == "clear" && count == 0 && is(list)) {
    WorkList{trace, list}.clear();
    return trace.constant(Py_None);
  }
  return nullptr;
}

// ---- what Python does step by step ----------------------------------------------------------------------------------

namespace {

/// What it is compared with is not known beforehand.
bool holdsData(Trace& trace, const std::vector<Value*>& items) {
  return std::any_of(items.begin(), items.end(), [&](Value* item) {
    const bool number = item->kind == ValueKind::kPyFloat || item->kind == ValueKind::kArrayScalar;
    return item->kind == ValueKind::kDataInt || (number && !trace.numbers().of(item));
  });
}

}  // namespace

Value* Collections::workMethod(Value* list, const std::string& name, const CallArgs& args) {
  if (list->kind == ValueKind::kList) {
    const bool searches = (name == "remove" || name == "index" || name == "count") && args.positional.size() == 1;
    if (searches && (holdsData(trace, list->items) || holdsData(trace, args.positional))) {
      WorkList::require(trace, list);
      LongList::standInArrays(trace, list);  // [0] * n
    }
    const bool places =
        (name == "insert" && args.positional.size() == 2) || (name == "pop" && args.positional.size() == 1);
    if (places && holdsData(trace, {args.positional[0]})) WorkList::require(trace, list);
    return nullptr;
  }
  const bool isPooled = PooledList::is(list);
  if (Value* result =
          isPooled ? PooledList::method(in, trace, list, name, args) : WorkList::method(trace, list, name, args))
    return result;
  static const absl::flat_hash_map<std::string_view, size_t> known = {
      {"insert", 2}, {"pop", 1}, {"remove", 1}, {"index", 1}, {"reverse", 0}, {"count", 1}, {"extend", 1}};
  const auto at = known.find(name);
  if (at == known.end() || args.positional.size() != at->second || !args.keywords.empty() || list->cls) return nullptr;
  const bool stays = isPooled || name == "index" || name == "count" || name == "reverse";
  if (!stays) WorkList::require(trace, list);
  if (!stays && !WorkList::is(list)) return nullptr;
  std::vector<Value*> given{list};
  given.insert(given.end(), args.positional.begin(), args.positional.end());
  Value* result = bySteps("_list_" + name, std::move(given));
  if (name == "pop" && result->kind == ValueKind::kTuple) trace.branches.release(result);
  return result;
}

Value* Collections::bySteps(const std::string& function, std::vector<Value*> args) {
  try {
    return ConsumedGenerators{in, trace}.byUs(function.c_str(), std::move(args));
  } catch (const VirtualRaise&) {
    trace.fail(BreakReason::kUnsupportedCall, function.substr(1) + " that raises");
  }
}

Value* Collections::sortedWork(Value* list, Value* key, Value* reverse, bool inPlace) {
  if (key && (key->kind == ValueKind::kOpaque || list->kind == ValueKind::kList)) return nullptr;
  if (list->kind == ValueKind::kList && holdsData(trace, list->items)) WorkList::require(trace, list);
  const bool isLong = isLongList(list) || (PooledList::is(list) && list->base);
  if (!isLong || list->cls) return nullptr;
  // Python sorts what it has as fast as that can be read.
  if (isLongList(list) && trace.turns.bodies == 0 && LongList{trace, list}.isOutside()) return nullptr;
  if (inPlace && isLongList(list) && !WorkList::is(list)) WorkList::require(trace, list);
  if (!WorkList::mayHold(list->base) || PooledList::isIn(list->base)) return nullptr;
  const bool doubled = trace.branches.isDoubled(list);
  // Each of its items has been moved to one place.
  const auto ordered = [&](Value* result) {
    if (!doubled) trace.branches.forgetDoubled(inPlace ? list : result);
    return result;
  };
  if (key) return ordered(bySteps(inPlace ? "_list_sort_by" : "_sorted_by", {list, key, reverse}));
  return ordered(bySteps(inPlace ? "_list_sort" : "_sorted", {list, emptyLike(list), emptyLike(list), reverse}));
}

}  // namespace fw::capture
