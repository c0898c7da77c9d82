#include "frame_eval/work_list.h"

#include <algorithm>

#include "frame_eval/branch_join.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/collections.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using cpython::checked;
using graph::SymId;
using guards::Relation;

namespace {

/// Items for which there is room: some for each element of the arrays that the function knows, as each may be found by
/// way of its neighbours, and a few. Up to a bound, beyond which it is as large.
constexpr int64_t kRoomOfElement = 8, kLeastRoom = 1 << 16, kMostRoom = int64_t{1} << 22;
/// Items that it may begin with: each is stored by itself.
constexpr size_t kMostBegun = 64;
constexpr const char* kHead = "head";

Value* zero(Trace& trace) { return trace.pyInt(trace.syms().constant(0)); }

/// a + b, or a - b: ints that lists have room for.
Value* sum(Trace& trace, Value* a, Value* b, int op = cpython::kNbAdd) {
  DataInts ints{trace};
  return ints.binary(op, ints.of(a), ints.of(b));
}

}  // namespace

SymId Collections::roomOfWork() {
  graph::SymContext& syms = trace.syms();
  absl::flat_hash_set<const Value*> seen;
  SymId elements = syms.constant(0);
  for (const std::unique_ptr<Frame>& frame : in.frames_)
    for (Value*& slot : frame->slots) {
      if (slot && slot->kind == ValueKind::kUnread) in.look(slot);
      if (!slot || slot->kind == ValueKind::kUnjoined) continue;
      trace.open(slot);
      if (slot->kind != ValueKind::kArray || !seen.insert(slot).second) continue;
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
    const bool mixes = MixedNumbers::is(item);
    known.numbers.push_back({item->kind, trace.graph().type(item->node).dtype,
                             mixes ? std::optional<int64_t>(MixedNumbers{trace}.leastClass(item)) : std::nullopt});
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
    if (as.least) return LongList::mixedForm(trace, as.dtype, static_cast<MixedNumbers::Class>(*as.least));
    return trace.number(as.kind, trace.graph().constant(graph::Scalar::zero(as.dtype)));
  };
  return make(make);
}

/// Numbers, and tuples of those: of other items nobody knows whether others have them as well.
static bool mayBeWorkedOff(const Value* form) {
  if (form->kind == ValueKind::kTuple)
    return !form->items.empty() && std::all_of(form->items.begin(), form->items.end(), mayBeWorkedOff);
  return LongList::isNumber(form);
}

void WorkList::notePop(Trace& trace, const Value* list) {
  if (list->site.first && trace.loops) trace.loops->popped.insert(list->site);
}

void WorkList::requireIfPopped(Trace& trace, const Value* list) {
  const bool popped = list->site.first && trace.loops && trace.loops->popped.contains(list->site);
  if (popped) require(trace, list);
}

void WorkList::require(Trace& trace, const Value* list, bool first) {
  if (!list->site.first || !trace.loops || (!isLongList(list) && list->items.size() > kMostBegun)) return;
  auto known = trace.loops->works.find(list->site);
  if (known != trace.loops->works.end()) {
    if (!first || known->second.hasHead || known->second.refused) return;
    known->second.hasHead = true;
    throw LoopsDecided{};
  }
  Value* form = isLongList(list) ? list->base : list->items.empty() ? nullptr : LongList::formOf(trace, list->items);
  if (!form && !list->items.empty()) return;
  if (form && !mayBeWorkedOff(form)) return;
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
  Value* form = LongList::formOf(trace, item);
  if (!form || !mayBeWorkedOff(form)) {
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
  const auto mixes = LongList::widened(trace, form, item);
  if (!mixes || !mixes->mixes) return nullptr;
  return LongList::mixedForm(trace, *mixes->mixes, static_cast<MixedNumbers::Class>(mixes->least));
}

void WorkList::widen(Value* item) const {
  LoopDecisions::WorkedList& known = trace.loops->works.at(list->site);
  Value* form = wider(trace, list->base, item);
  LoopDecisions::WorkedList now = form ? describe(trace, form) : LoopDecisions::WorkedList();
  now.hasHead = known.hasHead;
  now.refused = !form || now.numbers == known.numbers;
  known = std::move(now);
  throw LoopsDecided{};
}

// ---- items --------------------------------------------------------------------------------------------------------

Value* Collections::workedOff(const std::vector<Value*>& items, LoopDecisions::Key site, PyTypeObject* cls) {
  if (!site.first || !trace.loops || items.size() > kMostBegun) return nullptr;
  const auto known = trace.loops->works.find(site);
  if (known == trace.loops->works.end() || known->second.refused || known->second.shape.empty()) return nullptr;
  Value* list = trace.list(items);
  list->site = site;
  const bool hasHead = known->second.hasHead;
  WorkList{trace, list}.make(WorkList::formOf(trace, known->second), roomOfWork());
  if (cls) list->cls = Ref::create(reinterpret_cast<PyObject*>(cls));
  if (hasHead) list->overlay.emplace_back(checked(PyUnicode_InternFromString(kHead)), DataInts{trace}.of(zero(trace)));
  return list;
}

void WorkList::make(Value* form, SymId room) const {
  const LongList all{trace, list};
  list->base = form;
  for (Value* item : list->items)
    if (!all.fits(form, item)) widen(item);
  Value* count = trace.constant(checked(PyLong_FromSize_t(list->items.size())));
  all.count(form);
  all.makeRoom(room);
  list->position = LongList::kWorked;
  list->items[0] = DataInts{trace}.of(count);
}

Value* WorkList::head() const {
  if (list->overlay.empty()) return nullptr;
  Value* head = list->overlay[0].second;
  if (head->kind == ValueKind::kUnjoined) trace.branches.refuse(head);
  head = DataInts{trace}.of(head);
  return DataInts{trace}.make(head->node, {0, std::max<int64_t>(0, head->range.hi)});
}

Value* WorkList::pop(bool first) const {
  if (first && list->overlay.empty()) require(trace, list, true);
  const LongList all{trace, list};
  DataInts ints{trace};
  Value* one = trace.pyInt(trace.syms().constant(1));
  Value* rest = ints.within(sum(trace, all.length(), one, cpython::kNbSubtract), {0, kMostDataInt});  // or it raises
  Value* from = head();
  Value* place = first ? from : from ? sum(trace, from, rest) : rest;
  size_t part = 0;
  Value* item = all.load(list->base, place, {{}, all.room()}, part);
  list->items[0] = rest;
  if (first) list->overlay[0].second = sum(trace, from, one);
  ++list->changes;
  return item;
}

void WorkList::clear() const {
  list->items[0] = DataInts{trace}.of(zero(trace));
  ++list->changes;
}

/// A view of what there are of its items is written.
void WorkList::setItem(Value* index, Value* item) const {
  const LongList all{trace, list};
  if (!LongList::isPlace(trace, index)) all.refuse("an item of a list is set by this index");
  if (!all.fits(list->base, item)) widen(item);
  const LongList::Extent extent = all.extent();
  std::vector<Value*> shown;
  for (Value* array : all.arrays()) shown.push_back(numpy::makeView(trace, array, all.itemsOf(array->node, extent)));
  Value* view = LongList::full(trace, list->base, trace.pyInt(extent.size), shown, {});
  view->position = LongList::kWorked;
  size_t part = 0;
  LongList{trace, view}.store(list->base, item, all.place(index), part);
  all.holdTuples(item);
}

Value* WorkList::method(Trace& trace, Value* list, const std::string& name, const CallArgs& args) {
  const size_t count = args.positional.size();
  if (!args.keywords.empty()) return nullptr;
  const auto isAt = [&](int64_t place) {
    const Value* index = count == 1 ? args.positional[0] : nullptr;
    return index && index->isConstant() && PyLong_CheckExact(index->object.get()) &&
           PyLong_AsLongLong(index->object.get()) == place;
  };
  const bool first = (name == "popleft" && count == 0 && list->cls) || (name == "pop" && isAt(0) && !list->cls);
  const bool last = name == "pop" && (count == 0 || (isAt(-1) && !list->cls));
  if (first || last) {
    if (!is(list)) require(trace, list, first);
    return is(list) ? WorkList{trace, list}.pop(first) : nullptr;
  }
  if (name == "clear" && count == 0 && is(list)) {
    WorkList{trace, list}.clear();
    return trace.constant(Py_None);
  }
  return nullptr;
}

}  // namespace fw::capture
