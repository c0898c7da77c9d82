// A turn of a loop, traced for all of its turns: what it finds stands for what any turn finds, and what it leaves has
// to be of the same kinds.
#include <algorithm>

#include "frame_eval/branch_join.h"
#include "frame_eval/choices.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/support.h"
#include "frame_eval/pooled_list.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::SymId;
using graph::ValueId;
using guards::Relation;

namespace {

/// Whether nodes from `begin` on check ints.
bool hasChecks(const graph::Graph& graph, size_t begin) {
  for (size_t i = begin; i < graph.size(); ++i) {
    const graph::Node& node = graph.node(ValueId(i));
    const auto inside = [](const std::unique_ptr<graph::Graph>& region) { return hasChecks(*region, 0); };
    if (node.op == graph::Op::kDefine || std::any_of(node.regions.begin(), node.regions.end(), inside)) return true;
  }
  return false;
}

}  // namespace

void Rolling::giveValues(SymId symbol) {
  std::vector<graph::ValueType> types;
  for (CarriedVariable& v : variables_) {
    if (v.kind != Kind::kSame && v.kind != Kind::kInt) types.push_back(trace_.graph().type(v.from));
    if (v.mixes) types.push_back(trace_.graph().type(v.fromClass));
  }
  for (CarriedContent& c : contents_) types.push_back(trace_.graph().type(c.from));
  const std::vector<ValueId> nodes = types.empty() ? std::vector<ValueId>() : trace_.branches.graph.given(types);
  size_t next = 0;
  graph::SymContext& syms = trace_.syms();
  for (CarriedVariable& v : variables_) {
    if (v.kind == Kind::kSame) continue;
    if (v.kind == Kind::kInt) {
      v.given = trace_.pyInt(syms.canonical(syms.add(trace_.asSym(v.begin), syms.mul(v.step, symbol))));
    } else if (v.kind == Kind::kDataInt) {
      v.placeholder = nodes[next++];
      v.given = DataInts{trace_}.given(v.placeholder, v.range);
    } else if (v.kind == Kind::kChosen) {
      v.placeholder = nodes[next++];
      v.given = Choices{trace_}.make(v.things, v.placeholder, nameOf(v) + " is one thing or another in a turn");
    } else if (v.kind == Kind::kNumber) {
      v.placeholder = nodes[next++];
      if (v.mixes) v.classPlaceholder = nodes[next++];
      v.given = v.mixes ? MixedNumbers{trace_}.given(v.placeholder, v.classPlaceholder, v.classes)
                        : trace_.number(numberKind(v.begin), v.placeholder);
    } else {
      v.placeholder = nodes[next++];
      v.given = trace_.array(v.placeholder);
      v.given->frozen = v.begin->frozen;
      trace_.branches.noteJoined(v.given, v.begin, v.begin);
    }
  }
  for (const CarriedParts& parts : parts_) {
    const CarriedVariable& first = variables_[parts.first];
    if (parts.shape.size() == 1 && first.kind == Kind::kSame) continue;
    if (parts.place.owner) trace_.noteChange(parts.place.owner);
    valueAt(frame_, parts.place) = assemble(trace_, parts, [&](size_t i) {
      return variables_[i].kind == Kind::kSame ? variables_[i].begin : variables_[i].given;
    });
  }
  // What turns find is the list that was there before or another one.
  for (const CarriedParts& parts : parts_)
    for (Value* list : parts.lists)
      if (PooledList::isFree(list)) trace_.branches.forget(list, "a list may be another one in each turn");
  for (CarriedContent& c : contents_) {
    c.given = nodes[next++];
    numpy::setContent(trace_, c.owner, c.given);
  }
}

/// Traces a turn, or a few, for all. False if it is to be traced again, because more has been found out.
bool Rolling::attempt(const VirtualIterator::Items* items, std::optional<SymId> count) {
  graph::SymContext& syms = trace_.syms();
  const SymId period = syms.constant(period_), zero = syms.constant(0);
  std::optional<SymId> rounds, last;
  if (count) {
    rounds = period_ == 1 ? *count : syms.canonical(syms.floorDiv(*count, period));
    last = syms.canonical(syms.sub(*rounds, syms.constant(1)));
  }
  // While it is entered, it has a turn in every turn of those around it.
  const bool certain = !rounds || (!isLate(*rounds) ? trace_.decide(zero, Relation::kLt, *rounds)
                                                    : !trace_.decided.contains(*rounds) &&
                                                          trace_.turns.decide(zero, Relation::kLt, *rounds) == true);
  const auto isAnother = [](const CarriedParts& parts) {
    return std::any_of(parts.lists.begin(), parts.lists.end(), [](const Value* v) { return !PooledList::is(v); });
  };
  if (!certain && std::any_of(parts_.begin(), parts_.end(), isAnother))
    refuse("a list is another one if there is a turn");
  for (CarriedVariable& v : variables_) {
    if (v.zero) v.begin = trace_.number(v.zero->first, trace_.graph().constant(graph::Scalar::zero(v.zero->second)));
    if (v.mixes) {
      v.from = MixedNumbers{trace_}.handOn(v.begin, *v.mixes);
      v.fromClass = MixedNumbers{trace_}.classOf(v.begin)->node;
    } else if (v.kind == Kind::kNumber) {
      v.from = trace_.operand(v.begin).value;
    }
    if (v.kind == Kind::kDataInt) v.from = DataInts{trace_}.begin(v.begin);
    if (v.kind == Kind::kChosen) v.from = Choices{trace_}.node(v.begin);
    if (v.kind == Kind::kArray) v.from = v.begin->node;
  }
  for (CarriedContent& c : contents_) c.from = c.owner->node;
  BranchState before(in_, frame_);
  const std::vector<Value*> slots = frame_.slots;
  const size_t begin = trace_.graph().size();
  const unsigned branches = trace_.branches.begun;
  const size_t replaced = trace_.pools.replaced.size();
  const SymId symbol = trace_.turns.enter(last);
  symbol_ = symbol;
  rounds_ = rounds;
  held_ = trace_.branches.held().size();
  giveValues(symbol);
  for (Value* value : unknown_) trace_.branches.forget(value, "a turn leaves it in a state that is not known");
  frame_.goesOn = trace_.constant(Py_True);
  frame_.way = trace_.pyInt(syms.constant(0));
  const auto itemOf = [&](int turn) -> Value* {
    return items ? items->item(syms.canonical(syms.add(syms.mul(period, symbol), syms.constant(turn)))) : nullptr;
  };
  for (int turn = 0; turn < period_; ++turn) {
    Value* item = itemOf(turn);
    runBody(item);
    if (leaves_) refuse("it is left from inside");
    const auto grows = [](const CarriedParts& parts) {
      const Value* owner = parts.place.owner;
      return owner && (isLongList(owner) || WorkTable::is(owner));
    };
    // Breaks if it walks that.
    if (item && (!trace_.pools.bySite.empty() || std::any_of(parts_.begin(), parts_.end(), grows))) (void)itemOf(turn);
  }
  // What no instruction of the loop writes: a way out of it has done more than to leave.
  const auto isWritten = [&](size_t slot) {
    return std::find(live_.begin(), live_.end(), slot) != live_.end() ||
           std::find(temporaries_.begin(), temporaries_.end(), slot) != temporaries_.end();
  };
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    Value* was = slots[slot];
    if (frame_.slots[slot] == was || isWritten(slot)) continue;
    if (!was || was->kind == ValueKind::kUnjoined || frame_.slots[slot] != in_.look(was))
      refuse("a variable is written on a way out of it");
  }
  const bool endless = endless_ = frame_.goesOn->isConstant();
  if (endless && (!items || frame_.goesOn->object.get() != Py_True)) refuse("it is left in every turn, or in none");
  if (!endless && period_ > 1) refuse("it is left while arrays change places");
  TracedLoop loop{begin, 0, symbol, rounds};
  loop.certain = certain;
  loop.counted = endless && rounds && (certain || graph::refinedRange(syms, *rounds).lo >= 0);
  if (!endless) loop.again = trace_.operand(frame_.goesOn).value;
  // In front of a place where one stands in a list of lists, the turn before has come by it.
  const bool replaces = trace_.pools.replaced.size() > replaced;
  const bool closed = isClosed(before, loop.forgotten) && !replaces && !isNarrowed(begin);
  if (closed) {
    DataInts ints{trace_};
    // Where nobody counts the turns, ints of the turn are data.
    auto counted = [&](Value* v) { return v && v->kind == ValueKind::kPyInt && trace_.turns.contains(v->sym); };
    if (!edges_.empty()) loop.way = ints.of(frame_.way)->node;
    for (CarriedVariable& v : variables_) {
      if (v.kind != Kind::kInt || loop.counted) continue;
      Value *from = ints.of(v.begin), *to = ints.of(v.end);
      if (!from || !to) continue;
      v.from = from->node;
      v.answer = to->node;
    }
    loop.parts = parts_;
    loop.variables = variables_;
    for (size_t slot : temporaries_) {
      Value* end = frame_.slots[slot];
      Value* data = !endless && counted(end) ? ints.of(end) : nullptr;
      loop.temporaries.emplace_back(slot, data ? data : end);
    }
    for (CarriedContent& c : contents_) c.end = c.owner->node;
    loop.contents = contents_;
    loop.rooms = rooms_;
    loop.end = trace_.graph().size();
  }
  before.restore();
  if (closed) {
    remember();
    trace_.line = line_;
    trace_.graph().setLine(static_cast<uint32_t>(line_));
    left_ = endLoop(trace_, frame_, before, loop, key());
    closeLists();
    trace_.decided.forget(begin);
  } else {
    trace_.branches.drop(begin, branches);
  }
  trace_.turns.leave();
  if (!closed) growLists(before);
  symbol_.reset();
  return closed;
}

/// What the turn, which has been traced for any ints, tells about those that it leaves. True if it is worth to trace it
/// once more for these alone: if something is checked in it.
bool Rolling::isNarrowed(size_t begin) {
  bool narrowed = false;
  for (CarriedVariable& v : variables_) {
    if (v.kind != Kind::kDataInt || v.settled) continue;
    const graph::SymRange range = DataInts{trace_}.inAllTurns(v.begin, v.given, v.end);
    narrowed |= range != v.given->range;
    v.range = range;
  }
  return narrowed && hasChecks(trace_.graph(), begin);
}

/// Whether a joined array may be one of those that turns write into.
bool Rolling::mayBeWritten(Value* joined) const {
  const std::vector<Value*> owners = trace_.branches.owners(joined);
  return std::any_of(contents_.begin(), contents_.end(), [&](const CarriedContent& c) {
    return std::find(owners.begin(), owners.end(), c.owner) != owners.end();
  });
}

/// Whether lists get arrays that the next turn finds. What a list gets has to be another array each time, which the
/// turn has made, or the one before.
bool Rolling::holdsHandedOn(const BranchState& before) {
  const auto& held = trace_.branches.held();
  const auto isHeld = [&](const Value* array) {
    return std::any_of(held.begin() + static_cast<ptrdiff_t>(held_), held.end(),
                       [&](const auto& h) { return h.second == array && h.first->kind != ValueKind::kArray; });
  };
  std::vector<Value*> earlier;  // what such an array may be
  bool handsOn = false;
  for (const CarriedVariable& v : variables_) {
    handsOn |= v.end && isHeld(v.end);
    if (v.kind != Kind::kArray || !v.given || !isHeld(v.given)) continue;
    handsOn = true;
    if (v.end->joined || isHeld(v.end)) refuse("a list may get an array twice");
    earlier.push_back(v.given);
    for (Value* owner : trace_.branches.owners(v.given)) earlier.push_back(owner);
  }
  for (size_t i = held_; i < held.size(); ++i) {
    const auto& [list, array] = held[i];
    if (list->kind == ValueKind::kArray || std::find(earlier.begin(), earlier.end(), array) != earlier.end()) continue;
    if (array->joined || before.knows(array)) refuse("a list gets an array that was there before");
  }
  return handsOn;
}

/// Whether the turn leaves, of everything that it changes, what a turn finds.
bool Rolling::isClosed(BranchState& before, std::vector<Value*>& forgotten) {
  if (auto why = before.irreversible()) refuse("a turn " + *why);
  const Found found = addContents(before, &forgotten);
  if (found == Found::kOthers) refuse("a turn changes what a container or an object holds");
  if (found == Found::kMore) return false;
  findEnds();
  bool handsOn = false, writes = false;  // an array of the turn before; into one
  MixedNumbers numbers{trace_};
  for (CarriedVariable& v : variables_) {
    bool alike = v.end && v.end->kind != ValueKind::kUnjoined;
    if (alike) openKnown(trace_, v.end);
    const bool whole = alike && v.begin && DataInts::isWhole(v.begin) && DataInts::isWhole(v.end);
    const bool mixes = alike && !v.mixes && v.begin && MixedNumbers::is(v.end);
    if (const auto dtype = mixes ? numbers.common(v.begin, v.end) : std::nullopt; dtype && mixed_.insert(v.id).second) {
      v.kind = Kind::kNumber;
      v.mixes = dtype;
      v.classes = hull(numbers.classes(v.begin), numbers.classes(v.end));
      return false;
    }
    switch (v.kind) {
      case Kind::kSame: alike = v.end == v.begin || (alike && v.begin && areEqualConstants(v.begin, v.end)); break;
      case Kind::kDataInt:
        alike = whole;
        if (!alike) break;
        if (v.given->range != kTurnInts && !contains(v.given->range, DataInts{trace_}.of(v.end)->range)) {
          v.range = kTurnInts;
          v.settled = true;
          return false;
        }
        v.answer = DataInts{trace_}.handOn(v.given, v.end);
        break;
      case Kind::kInt: {
        graph::SymContext& syms = trace_.syms();
        alike = whole && v.end->kind != ValueKind::kDataInt &&
                syms.canonical(syms.sub(trace_.asSym(v.end), trace_.asSym(v.given))) == syms.canonical(v.step);
        break;
      }
      case Kind::kChosen: {
        Choices choices{trace_};
        alike = alike && (Choices::hasPayload(v.things) ? choices.mayBeOpen(v.end) : choices.mayBe(v.end));
        if (!alike) break;
        std::vector<Value*> things = choices.joined(v.things, v.end);
        if (things.size() > Choices::kMostThings) refuse(nameOf(v) + " is one of too many things");
        if (things.size() > v.things.size()) {
          v.things = std::move(things);
          return false;
        }
        v.answer = choices.node(v.end);
        break;
      }
      case Kind::kNumber:
        if (v.mixes) {
          alike = alike && numbers.canBe(v.end, *v.mixes);
          if (alike && !contains(v.classes, numbers.classes(v.end))) {
            v.classes = hull(v.classes, numbers.classes(v.end));
            return false;
          }
          if (alike) v.answer = numbers.handOn(v.end, *v.mixes);
          break;
        }
        alike =
            alike && numberKind(v.end) == numberKind(v.begin) && areAlike(trace_, v.from, trace_.operand(v.end).value);
        break;
      case Kind::kArray: {
        alike = alike && v.end->kind == ValueKind::kArray && !v.end->base && v.end->frozen == v.begin->frozen &&
                areAlike(trace_, v.from, v.end->node);
        const bool fresh = alike && !v.end->source.valid() && !v.end->joined && !before.knows(v.end);
        alike = alike && (fresh || v.end->joined);
        handsOn |= !fresh;
        if (alike && !fresh && mayBeWritten(v.end)) refuse(nameOf(v) + " may be an array that is written");
        writes |= v.given->node != v.placeholder;
        for (const CarriedVariable& o : variables_)
          if (fresh && &o != &v && o.kind == Kind::kArray && o.end == v.end) alike = false;
        break;
      }
    }
    if (!alike && whole && (v.kind == Kind::kInt || v.kind == Kind::kSame) && data_.insert(v.id).second) {
      v.kind = Kind::kDataInt;
      return false;
    }
    // The first turn of the loop has left it as it was, because a loop inside had no turn there.
    if (!alike && v.kind == Kind::kSame && v.begin && v.end && !v.end->isUnsure()) {
      const bool arrays = v.begin->kind == ValueKind::kArray && v.end->kind == ValueKind::kArray;
      const bool numbers = numberKind(v.begin) != ValueKind::kNull && numberKind(v.begin) == numberKind(v.end);
      if (arrays || numbers) {
        v.kind = arrays ? Kind::kArray : Kind::kNumber;
        return false;
      }
    }
    if (!alike && v.kind == Kind::kSame && v.begin && v.end && addThings(v)) return false;
    if (!alike && addPayload(v, before)) return false;
    if (!alike) refuse(nameOf(v) + " is not of one kind in all turns");
  }
  handsOn |= holdsHandedOn(before);
  if (handsOn && writes) refuse("it is not known which array is written");
  for (const CarriedContent& c : contents_)
    if (!areAlike(trace_, c.from, c.owner->node)) refuse("an array has another layout behind a turn");
  if (!findRooms(before)) return false;
  // No turn may look into what the one before may have changed in ways that cannot be handed on.
  const size_t known = unknown_.size();
  for (Value* value : forgotten) {
    const bool isKnown = std::find(unknown_.begin(), unknown_.end(), value) != unknown_.end();
    if (!isKnown && before.of(value).kind != ValueKind::kArray) unknown_.push_back(value);
  }
  return unknown_.size() == known;
}

}  // namespace fw::capture
