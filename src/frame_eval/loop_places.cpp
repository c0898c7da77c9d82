// What turns of a loop hand on, by where it is: in variables of the frame, and in what the trace has made - items of
// lists and dicts, cells, attributes of instances. A tuple is handed on item by item, tuples in it as well.
#include <algorithm>
#include <optional>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/chosen_item.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/work_list.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::ValueId;

namespace {

/// In CarriedParts::shape.
constexpr int kLeaf = -1, kArrays = -2, kWorked = -3, kTable = -4, kPayload = -5, kPooled = -6;
constexpr int64_t kGuessedTurns = 4096;

/// What is handed on of a list or table, by its shape: numbers and arrays. Of how it was `then`.
std::vector<Value*> heldBy(Trace& trace, int shape, Value* value, const Contents* then = nullptr) {
  if (shape == kTable) return WorkTableForm{trace, value}.held(then);
  if (shape == kWorked) return WorkList{trace, value}.held(then);
  if (shape == kPooled) return PooledList{trace, value}.held(then);
  const absl::Span<Value* const> arrays = LongList{trace, value}.arrays();
  return {arrays.begin(), arrays.end()};
}

Value* withHeld(Trace& trace, int shape, Value* form, const std::vector<Value*>& held) {
  if (shape == kTable) return WorkTableForm{trace, form}.with(held);
  if (shape == kPooled) return PooledList{trace, form}.with(held);
  return shape == kWorked ? WorkList{trace, form}.with(held) : LongList{trace, form}.with(held);
}

bool isOfForm(Trace& trace, int shape, Value* form, Value* value) {
  if (shape == kTable) return WorkTableForm{trace, form}.isLike(value);
  if (shape == kPooled)
    return PooledList::is(value) && value->site == form->site && PooledList::areAlike(form->items, value->items) &&
           PooledList{trace, value}.isCurrent();
  if (!isLongList(value)) return false;
  return shape == kWorked ? WorkList{trace, form}.isLike(value) : LongList{trace, form}.isLike(value);
}

/// Of a tuple that the trace knows: one of another object may be looked at by others.
std::optional<std::vector<Value*>> itemsOf(Trace& trace, Value* tuple) {
  return tuple && !tuple->source.valid() ? tupleItems(trace, tuple) : std::nullopt;
}

/// The same but for what it holds at places that both have.
bool isOfOneForm(const Contents& was, const Contents& now) {
  const bool holds = now.kind == ValueKind::kList || now.kind == ValueKind::kDict || now.kind == ValueKind::kDeque ||
                     now.kind == ValueKind::kCell || now.kind == ValueKind::kInstance ||
                     now.kind == ValueKind::kObject || now.kind == ValueKind::kLongList ||
                     now.kind == ValueKind::kWorkTable || now.kind == ValueKind::kPooledList;
  const auto isAttribute = [](const auto& a, const auto& b) {
    return a.first == b.first && (a.second == b.second || (a.second && b.second));
  };
  const bool isLong = now.kind == ValueKind::kLongList && now.kind == was.kind;
  if (isLong && now.position == was.position && now.position < LongList::kCounted && !LongList::shareParts(was, now))
    return false;
  return holds && now.kind == was.kind && now.items.size() == was.items.size() && now.keys == was.keys &&
         now.base == was.base && now.position == was.position &&
         std::equal(now.overlay.begin(), now.overlay.end(), was.overlay.begin(), was.overlay.end(), isAttribute);
}

}  // namespace

bool isSymbolicInt(const Value* v) {
  if (v->kind == ValueKind::kPyInt) return true;
  if (!v->isConstant() || !PyLong_CheckExact(v->object.get())) return false;
  int overflow = 0;
  (void)PyLong_AsLongLongAndOverflow(v->object.get(), &overflow);
  return overflow == 0;
}

Value* assemble(Trace& trace, const CarriedParts& parts, absl::FunctionRef<Value*(size_t variable)> value) {
  size_t at = 0, variable = parts.first, list = 0;
  const auto make = [&](const auto& self) -> Value* {
    const int size = parts.shape[at++];
    if (size == kLeaf) return value(variable++);
    if (size == kPayload) {
      Value* choice = self(self);
      return Choices{trace}.withPayload(choice, self(self));
    }
    if (size < kLeaf) {
      Value* form = parts.lists[list++];
      std::vector<Value*> held;
      for (size_t i = 0, count = heldBy(trace, size, form).size(); i < count; ++i) held.push_back(self(self));
      return withHeld(trace, size, form, held);
    }
    std::vector<Value*> items;
    for (int i = 0; i < size; ++i) items.push_back(self(self));
    return trace.tuple(std::move(items));
  };
  return make(make);
}

Value*& valueAt(Frame& frame, const CarriedPlace& place) {
  if (!place.owner) return frame.slots[place.at];
  return place.attribute ? place.owner->overlay[place.at].second : place.owner->items[place.at];
}

std::string Rolling::nameOf(const CarriedVariable& variable) const {
  const CarriedPlace& place = parts_[variable.part].place;
  if (place.owner) return place.attribute ? "an attribute" : "what a container holds";
  return text(frame_.code->variableAt(static_cast<int>(place.at)));
}

/// Adds what the place holds before and after a turn. False if it is of other kinds then.
bool Rolling::addParts(const CarriedPlace& place, Value* begin, Value* end, const BranchState& before) {
  parts_.push_back({place, variables_.size(), {}});
  return split(parts_.back(), begin, end, before);
}

bool Rolling::split(CarriedParts& parts, Value* begin, Value* end, const BranchState& before) {
  const auto first = begin == end ? std::nullopt : itemsOf(trace_, begin),
             last = first ? itemsOf(trace_, end) : std::nullopt;
  if (last && !first->empty() && first->size() == last->size()) {
    parts.shape.push_back(static_cast<int>(first->size()));
    bool known = true;
    for (size_t i = 0; i < first->size(); ++i) known = split(parts, (*first)[i], (*last)[i], before) && known;
    return known;
  }
  const auto addHeld = [&](int shape) {
    parts.shape.push_back(shape);
    parts.lists.push_back(begin);
    // The turn may have changed it, before it has put another one in its place.
    const Contents* then = before.knows(begin) ? &before.of(begin) : nullptr;
    const std::vector<Value*> from = heldBy(trace_, shape, begin, then), to = heldBy(trace_, shape, end);
    bool known = true;
    for (size_t i = 0; i < from.size(); ++i) known = addVariable(parts, from[i], to[i], before) && known;
    return known;
  };
  if (mayHavePayload(begin, end, before)) return addPayload(parts, begin, end, before);
  if (begin && end && begin != end && WorkTableForm::mayBecome(trace_, begin, end) &&
      (!before.knows(end) || handsListsOn_) && WorkTableForm{trace_, begin}.isLike(end))
    return addHeld(kTable);
  const Contents* was = begin && end && PooledList::is(end) ? before.find(begin) : nullptr;
  if (PooledList::mayBecome(trace_, begin, end, was) && (!before.knows(end) || handsListsOn_)) return addHeld(kPooled);
  if (isAnother(begin, end, before)) return addHeld(WorkList::is(begin) ? kWorked : kArrays);
  return addVariable(parts, begin, end, before);
}

/// Whether it is one thing or another, of which one is a tuple or a number that differs (choices.h).
bool Rolling::mayHavePayload(Value* begin, Value* end, const BranchState& before) const {
  if (!begin || !end || begin == end) return false;
  Choices choices{trace_};
  if (!choices.mayBeOpen(begin) || !choices.mayBeOpen(end)) return false;
  Value *was = Choices::payloadOf(begin), *now = Choices::payloadOf(end);
  if ((!was && !now) || (was == begin && now == end)) return false;
  if (!was && now == end && before.knows(now)) return false;  // an object that others know
  // Numbers, and None among them, are handed on as such.
  const auto isNumber = [&](const Value* v) {
    return v->isNone() || v->isNumeric() || numberKind(v) != ValueKind::kNull || isConstantOf(v, &PyLong_Type);
  };
  return !isNumber(begin) || !isNumber(end);
}

/// Which one it is, and the payload. False if that cannot be handed on.
bool Rolling::addPayload(CarriedParts& parts, Value* begin, Value* end, const BranchState& before) {
  Choices choices{trace_};
  Value *was = Choices::payloadOf(begin), *now = Choices::payloadOf(end);
  const bool isAbsent = !was;
  if (isAbsent) was = choices.anyLike(now);
  if (!was) return false;
  parts.shape.push_back(kPayload);
  (void)addVariable(parts, begin, end, before);
  CarriedVariable& which = variables_.back();
  which.kind = Kind::kChosen;
  which.things = choices.joined(Choices::thingsOf(begin), end);
  const size_t first = variables_.size();
  const bool isKnown = which.things.size() <= Choices::kMostThings && split(parts, was, now ? now : was, before);
  for (size_t i = first; isAbsent && i < variables_.size(); ++i)
    if (const Value* zero = variables_[i].begin; zero->isNumeric())
      variables_[i].zero = {zero->kind, trace_.graph().type(zero->node).dtype};
  return isKnown;
}

/// The same of a variable that has been one thing in the turns so far.
bool Rolling::addPayload(const CarriedVariable& v, const BranchState& before) {
  const size_t part = v.part, variable = static_cast<size_t>(&v - variables_.data());
  if (parts_[part].place.owner || parts_[part].shape.size() > 1 || !mayHavePayload(v.begin, v.end, before))
    return false;
  const CarriedPlace place = parts_[part].place;
  Value *begin = v.begin, *end = v.end;
  parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(part));
  variables_.erase(variables_.begin() + static_cast<ptrdiff_t>(variable));
  for (CarriedParts& parts : parts_) parts.first -= parts.first > variable;
  for (CarriedVariable& other : variables_) other.part -= other.part > part;
  if (!addParts(place, begin, end, before)) refuse("its variables are of other kinds in each turn");
  return true;
}

/// Whether a turn leaves a list of its own making where it has found one of the same kind and length: they are what
/// stands in their arrays, then.
bool Rolling::isAnother(Value* begin, Value* end, const BranchState& before) const {
  const auto isList = [](const Value* v) { return v && (v->kind == ValueKind::kList || isLongList(v)); };
  if (begin && end && WorkList::is(end) && begin->kind == ValueKind::kList) WorkList::require(trace_, begin);
  if (begin != end && isList(begin) && isList(end))
    for (const Value* list : {begin, end}) LongList::standInArrays(trace_, list);
  if (!begin || !end || begin == end || !isLongList(begin) || !isLongList(end)) return false;
  for (Value* list : {begin, end})  // it stays the object that it is
    if (list->source.valid()) return false;
  if (before.knows(end) && !handsListsOn_) return false;
  if (WorkList::is(begin) || WorkList::is(end)) return WorkList::is(begin) && WorkList{trace_, begin}.isLike(end);
  return LongList{trace_, begin}.isLike(end);
}

size_t Rolling::idOf(const CarriedPlace& place, size_t part) {
  return place.owner ? (size_t{1} << 24) + part : place.at;
}

bool Rolling::addVariable(CarriedParts& parts, Value* begin, Value* end, const BranchState& before) {
  // Ids are the same in every trace of the loop.
  const size_t part = parts_.size() - 1, leaf = variables_.size() - parts.first;
  CarriedVariable variable{.kind = Kind::kSame, .part = part, .begin = begin};
  variable.id = idOf(parts.place, part) | (parts.shape.empty() ? 0 : leaf + 1) << 32;
  variable.end = end;
  parts.shape.push_back(kLeaf);
  const bool known = classify(variable, before);
  variables_.push_back(variable);
  return known;
}

/// Makes it one of the things that it is before and behind a turn. False if that cannot be.
bool Rolling::addThings(CarriedVariable& v) const {
  Choices choices{trace_};
  if (!choices.mayBe(v.begin) || !choices.mayBe(v.end)) return false;
  v.things = choices.joined(Choices::thingsOf(v.begin), v.end);
  if (v.things.size() > Choices::kMostThings) return false;
  v.kind = Kind::kChosen;
  return true;
}

/// What kind of variable it is, which is `begin` before and `end` after a turn. False if it is none.
bool Rolling::classify(CarriedVariable& v, const BranchState& before) const {
  Value *begin = v.begin, *end = v.end;
  if (begin == end) return true;
  if (!begin || !end || end->kind == ValueKind::kUnjoined) return false;
  if (areEqualConstants(begin, end)) return true;
  const bool tables = WorkTable::is(begin) && WorkTable::is(end);
  const bool lists = isLongList(begin) && isLongList(end);
  if ((tables || lists) && (before.knows(end) || (lists && end->source.valid()))) {  // may change places
    v.kind = Kind::kArray;
    return true;
  }
  if (DataInts::isWhole(begin) && DataInts::isWhole(end) && (data_.contains(v.id) || DataInts::any(begin, end))) {
    v.kind = Kind::kDataInt;
    return true;
  }
  if (isSymbolicInt(begin) && isSymbolicInt(end)) {
    v.kind = Kind::kInt;
    v.step = trace_.syms().canonical(trace_.syms().sub(trace_.asSym(end), trace_.asSym(begin)));
    if (!symbol_ || !graph::mentions(trace_.syms(), v.step, *symbol_)) return true;
    v.kind = Kind::kDataInt;  // no step counts it
    return true;
  }
  const bool none = begin->isNone() != end->isNone();
  const bool mixes = none || mixed_.contains(v.id) || MixedNumbers::is(begin) || MixedNumbers::is(end) ||
                     mayHaveNoTurn_ || trace_.loops->wholes.contains(key());
  if (const auto dtype = mixes ? MixedNumbers{trace_}.common(begin, end) : std::nullopt) {
    v.kind = Kind::kNumber;
    v.mixes = dtype;
    v.classes = hull(MixedNumbers{trace_}.classes(begin), MixedNumbers{trace_}.classes(end));
    return true;
  }
  if (const ValueKind kind = numberKind(begin); kind != ValueKind::kNull) {
    v.kind = Kind::kNumber;
    if (kind != numberKind(end)) return false;
    v.from = trace_.operand(begin).value;
    return areAlike(trace_, v.from, trace_.operand(end).value);
  }
  if (addThings(v)) return true;
  v.kind = Kind::kArray;
  if (begin->kind != ValueKind::kArray || end->kind != ValueKind::kArray || begin->base || end->base) return false;
  const ValueId was = before.knows(begin) ? before.of(begin).node : begin->node;
  return begin->frozen == end->frozen && areAlike(trace_, was, end->node);
}

/// Adds what the container holds that is another thing now.
Rolling::Found Rolling::addHeld(Value* container, const Contents& now, const BranchState& before) {
  const Contents& was = before.of(container);
  if (!container->source.valid() && !trace_.onDevice())
    if (Value* form = LongList::grownBy(trace_, was, now)) {
      const auto isIt = [&](const Grown& grown) { return grown.list == container; };
      if (std::any_of(grown_.begin(), grown_.end(), isIt)) return Found::kOthers;
      grown_.push_back({container, LongList::formFor(trace_, container, form), LongList::lengthIn(trace_, now)});
      return Found::kMore;
    }
  if (isLongList(container) && was.position == LongList::kCounted && now.base != was.base) {
    const auto own = std::find_if(grown_.begin(), grown_.end(), [&](const Grown& g) { return g.list == container; });
    if (own == grown_.end()) return Found::kOthers;
    own->form = now.base;
    return Found::kMore;
  }
  if (was.items.size() != now.items.size()) WorkList::requireIfPopped(trace_, container);
  WorkTable::requireIfResized(trace_, container, was, now);
  if (container->kind == ValueKind::kDeque && was.items != now.items) WorkList::require(trace_, container);
  if (!isOfOneForm(was, now)) return Found::kOthers;
  Found found = Found::kNothing;
  const auto add = [&](const CarriedPlace& place, Value* begin, Value* end) {
    const auto isIt = [&](const CarriedParts& parts) { return parts.place == place; };
    if (begin == end || std::any_of(parts_.begin(), parts_.end(), isIt)) return;
    if (!begin || !end) {  // a cell that was empty, or is
      found = Found::kOthers;
      return;
    }
    for (Value* value : {begin, end}) openKnown(trace_, value);
    found = std::max(found, addParts(place, begin, end, before) ? Found::kMore : Found::kOthers);
  };
  const size_t items = now.kind == ValueKind::kLongList ? 1 : now.items.size();  // its length
  for (size_t i = 0; i < items; ++i) add({container, i}, was.items[i], now.items[i]);
  for (size_t i = 0; i < now.overlay.size(); ++i)
    add({container, i, true}, was.overlay[i].second, now.overlay[i].second);
  if (found == Found::kOthers)
    LongList::standInArrays(trace_, container, false);  // few items are better handed on alone
  return found;
}

// ---- lists that grow ----------------------------------------------------------------------------------------------

/// By how much a turn lets a list grow, over all turns. None: that cannot be told.
std::optional<graph::SymId> Rolling::mostInTurn(graph::SymId growth) const {
  if (trace_.decided.contains(growth)) return std::nullopt;
  graph::SymContext& syms = trace_.syms();
  if (!symbol_ || !graph::mentions(syms, growth, *symbol_)) return growth;
  for (const std::optional<graph::SymId> end :
       {trace_.turns.inLastTurn(growth), graph::withValue(syms, growth, *symbol_, syms.constant(0))})
    if (end && trace_.turns.decide(growth, guards::Relation::kLe, *end) == true) return syms.canonical(*end);
  return std::nullopt;
}

/// Behind a turn that is closed: how much room the lists need that it counts. False if it is to be traced again, with
/// that room.
bool Rolling::findRooms(const BranchState& before) {
  graph::SymContext& syms = trace_.syms();
  bool again = false;
  rooms_.clear();
  for (const CarriedParts& parts : parts_) {
    Value* list = parts.place.owner;
    if (!list || list->kind != ValueKind::kLongList || !LongList{trace_, list}.isCounted()) continue;
    const graph::SymId was = LongList::roomIn(trace_, before.of(list)), now = LongList::roomIn(trace_, Contents(*list));
    const auto most = mostInTurn(syms.canonical(syms.sub(now, was)));
    const auto own = std::find_if(grown_.begin(), grown_.end(), [&](const Grown& grown) { return grown.list == list; });
    // Where nobody counts what it gets, it has room from the beginning, or, without a site, for so many turns: more
    // of them decline the call.
    if (!most || !rounds_) WorkList::require(trace_, list);
    const bool guesses = !rounds_ && own != grown_.end() && !LongList{trace_, list}.holdsArrays();
    if (!most || (!rounds_ && !guesses)) refuse("it is not known how long a list may become");
    const graph::SymId turns = rounds_ ? *rounds_ : syms.constant(kGuessedTurns);
    const graph::SymId room = syms.canonical(syms.add(was, syms.mul(*most, turns)));
    if (own == grown_.end()) {
      rooms_.emplace_back(list, room);
    } else {
      own->room = room;
      again = true;
    }
  }
  return !again;
}

/// In front of the loop: what has been found out about lists that grow.
void Rolling::growLists(const BranchState& before) {
  for (Grown& grown : grown_) {
    if (grown.counts && LongList{trace_, grown.list}.isCounted()) grown.list->base = grown.form;
    if (!grown.counts) {
      LongList{trace_, grown.list}.count(grown.form);
      grown.counts = true;
      const CarriedPlace place{grown.list, 0};
      const auto isIt = [&](const CarriedParts& parts) { return parts.place == place; };
      Value* begin = grown.list->items[0];
      if (std::none_of(parts_.begin(), parts_.end(), isIt) && !addParts(place, begin, grown.end, before))
        refuse("a turn changes what a container or an object holds");
    } else if (grown.room) {
      LongList{trace_, grown.list}.makeRoom(*grown.room);
      grown.room.reset();
      for (size_t i = 2; i < grown.list->items.size(); ++i) contents_.push_back({grown.list->items[i]});
    }
  }
}

/// Behind the loop, lists have no room left that somebody knows of.
void Rolling::closeLists() {
  for (const Grown& grown : grown_) {
    if (grown.list->kind != ValueKind::kLongList) continue;
    grown.list->position = LongList::kClosed;
    if (LongList{trace_, grown.list}.holdsArrays()) trace_.loops->unknownBehind[grown.list] = key();
  }
}

/// What a turn has left of the variables; null where a place holds no such tuple or list.
void Rolling::findEnds() {
  for (CarriedParts& parts : parts_) {
    size_t at = 0, variable = parts.first, list = 0;
    // Nothing, for what stays as it is.
    const auto walk = [&](const auto& self, std::optional<Value*> left) -> void {
      const int size = parts.shape[at++];
      if (size == kLeaf) {
        CarriedVariable& v = variables_[variable++];
        v.end = left ? *left : v.kind == Kind::kSame ? v.begin : v.given;
        return;
      }
      Value* value = left.value_or(nullptr);
      if (size == kPayload) {
        Value* payload = value ? Choices::payloadOf(value) : nullptr;
        self(self, left);
        self(self, payload ? std::optional(payload) : std::nullopt);
        return;
      }
      if (size < kLeaf) {
        Value* form = parts.lists[list++];
        const bool fits = value && isOfForm(trace_, size, form, value);
        const std::vector<Value*> held = fits ? heldBy(trace_, size, value) : std::vector<Value*>();
        for (size_t i = 0, count = heldBy(trace_, size, form).size(); i < count; ++i)
          self(self, !left ? left : fits ? held[i] : nullptr);
        return;
      }
      const auto items = itemsOf(trace_, value);
      const bool fits = items && items->size() == static_cast<size_t>(size);
      for (int i = 0; i < size; ++i) self(self, !left ? left : fits ? (*items)[static_cast<size_t>(i)] : nullptr);
    };
    parts.end = valueAt(frame_, parts.place);
    walk(walk, parts.end);
  }
}

}  // namespace fw::capture
