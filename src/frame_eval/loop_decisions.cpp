// What traces find out about a loop and leave to those that are made again: that it is one of the graph, that it cannot
// be, and why; what it hands from turn to turn, for loops in loops, which are met in each trace of those around them.
#include <algorithm>

#include "frame_eval/branch_join.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/long_list.h"
#include "frame_eval/loops.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/work_list.h"

namespace fw::capture {

namespace {

/// The array whose memory it is; null for what is none.
template <typename V>
V* ownerOf(V* value) {
  if (!value || value->kind != ValueKind::kArray) return nullptr;
  while (value->base) value = value->base;
  return value;
}

}  // namespace

void Rolling::refuse(const std::string& why) {
  if (recalled_) {
    trace_.loops->shapes.erase(key());
    trace_.loops->shapeless.insert(key());
    throw LoopsDecided{};
  }
  if (trace_.leavesRaises && !std::exchange(trace_.loops->handlesRaises, true)) throw LoopsDecided{};
  doubtCounters(false);
  trace_.loops->refused[key()] = why;
  throw LoopsDecided{};
}

/// What looks like a counter from turn to turn may be none: i //= 2; or, from a number that is known, s = s * 5 % 8.
void Rolling::doubtCounters(bool alsoKnown) {
  bool another = false;
  for (const CarriedVariable& v : variables_) {
    if (v.kind != Kind::kInt || (!alsoKnown && trace_.syms().asConst(v.step))) continue;
    another |= trace_.loops->computed[key()].insert(v.id).second;
  }
  if (another) throw LoopsDecided{};
}

void Rolling::tooLong(const std::string& why) {
  if (const std::string known = whyNot(); !known.empty()) trace_.fail(BreakReason::kLoopRefused, known);
  if (mayRoll() && trace_.loops->tooLong.insert(key()).second) throw LoopsDecided{};
  trace_.fail(BreakReason::kLoopLimit, why);
}

bool Rolling::isWanted() {
  if (!mayRoll()) return false;
  if (trace_.loops->tooLong.insert(key()).second) throw LoopsDecided{};
  return true;
}

void Rolling::require(Interpreter& interpreter, Frame& frame) {
  for (const Loop& loop : interpreter.flowIn(*frame.code).loops)
    if (loop.contains[frame.pc - 1]) {  // smaller ones first
      (void)Rolling(interpreter, frame, static_cast<size_t>(loop.header)).isWanted();
      return;
    }
}

void Rolling::requireAll(Interpreter& interpreter) {
  if (!interpreter.mayRoll() || interpreter.resumeAt() >= 0) return;
  LoopDecisions& loops = *interpreter.trace_.loops;
  bool another = false;
  for (const LoopDecisions::Key& key : interpreter.unrolled_)
    if (!loops.refused.contains(key)) another |= loops.tooLong.insert(key).second;
  if (another) throw LoopsDecided{};
}

void Rolling::reconsiderFirstTurns(Interpreter& interpreter, int at) {
  if (!interpreter.mayRoll() || interpreter.options_.isLate(interpreter.trace_.loops)) return;
  LoopDecisions& loops = *interpreter.trace_.loops;
  if (loops.keepsFirstTurns) return;
  if (!loops.wholes.empty()) {
    loops.keepsFirstTurns = true;
    if (at > loops.endedAt) return;
    for (const LoopDecisions::Key& key : loops.wholes) {
      loops.refused.erase(key);
      loops.shapes.erase(key);
    }
    loops.wholes.clear();
    throw LoopsDecided{};
  }
  if (interpreter.begun_.empty()) return;
  loops.wholes = interpreter.begun_;
  loops.endedAt = at;
  throw LoopsDecided{};
}

std::string Rolling::whyNot() const {
  if (!trace_.loops) return "";
  auto known = trace_.loops->refused.find(key());
  return known == trace_.loops->refused.end() ? "" : known->second;
}

// ---- what a loop hands on -----------------------------------------------------------------------------------------

/// Begins with what another trace of the loop has found out. False if there is none, or things are of other kinds now.
bool Rolling::recall() {
  const auto known = trace_.loops->shapes.find(key());
  if (known == trace_.loops->shapes.end()) return false;
  const LoopShape& shape = known->second;
  const auto isOfFrame = [](const LoopShape::Variable& v) { return !v.place; };
  if (std::count_if(shape.variables.begin(), shape.variables.end(), isOfFrame) != std::ssize(live_)) return false;
  variables_.clear();
  parts_.clear();
  contents_.clear();
  grown_.clear();
  for (size_t i = 0; i < shape.variables.size(); ++i) {
    const LoopShape::Variable& as = shape.variables[i];
    CarriedPlace place{nullptr, as.place ? as.place->at : live_[i]};
    if (as.place) {
      place.owner = frame_.slots[as.place->slot];
      place.attribute = as.place->attribute;
      if (!place.owner || !WorkList::is(place.owner) || (place.attribute && place.owner->overlay.empty())) return false;
    }
    Value* begin = valueAt(frame_, place);
    CarriedVariable variable{.kind = as.kind, .part = i, .begin = begin, .id = idOf(place, i)};
    parts_.push_back({place, i, {-1}});
    bool alike = as.kind == Kind::kSame || begin;
    switch (as.kind) {
      case Kind::kSame: break;
      case Kind::kInt:
        alike = alike && isSymbolicInt(begin);
        variable.step = trace_.syms().constant(as.step);
        break;
      case Kind::kDataInt:
        alike = alike && DataInts::isInt(begin);
        if (alike && DataInts{trace_}.isWithin(begin, as.range)) variable.range = as.range;
        break;
      case Kind::kChosen: return false;  // none is remembered
      case Kind::kNumber:
        alike = alike && (as.mixes ? MixedNumbers{trace_}.canBe(begin, *as.mixes) &&
                                         contains(as.classes, MixedNumbers{trace_}.classes(begin))
                                   : numberKind(begin) == as.number && !MixedNumbers::is(begin));
        variable.mixes = as.mixes;
        variable.classes = as.classes;
        break;
      case Kind::kArray: alike = alike && begin->kind == ValueKind::kArray && !begin->base; break;
    }
    if (!alike) return false;
    variables_.push_back(variable);
  }
  for (size_t slot : shape.owners) {
    Value* owner = ownerOf(frame_.slots[slot] ? in_.look(frame_.slots[slot]) : nullptr);
    if (!owner) continue;
    // What an array of the caller's was when the call began is noted with the first statement that writes it.
    const auto isNoted = [&](const auto& written) { return written.first == owner; };
    if (owner->source.valid() && std::none_of(trace_.writtenArrays.begin(), trace_.writtenArrays.end(), isNoted))
      continue;
    const auto isIt = [&](const CarriedContent& c) { return c.owner == owner; };
    if (std::none_of(contents_.begin(), contents_.end(), isIt)) contents_.push_back({owner});
  }
  for (size_t slot : shape.lists) {
    Value* list = frame_.slots[slot];
    if (!list || !WorkList::is(list)) return false;
    for (Value* array : LongList{trace_, list}.arrays()) contents_.push_back({array});
  }
  data_ = shape.decidedByData;
  mixed_ = shape.mayBeBoth;
  period_ = 1;
  recalled_ = true;
  return true;
}

/// For the next trace of the loop that has been traced. The frame is as it was in front of it.
void Rolling::remember() {
  const auto slotOf = [&](const Value* list) {
    return static_cast<size_t>(std::find(frame_.slots.begin(), frame_.slots.end(), list) - frame_.slots.begin());
  };
  const auto isVariable = [&](const CarriedParts& p) {
    const Value* owner = p.place.owner;
    return p.shape.size() == 1 && (!owner || (WorkList::is(owner) && slotOf(owner) < frame_.slots.size()));
  };
  if (period_ > 1 || trace_.loops->shapeless.contains(key()) || !std::all_of(parts_.begin(), parts_.end(), isVariable))
    return;
  LoopShape shape{.decidedByData = data_, .mayBeBoth = mixed_};
  for (const CarriedVariable& v : variables_) {
    const graph::SymRange step = v.kind == Kind::kInt ? trace_.syms().range(v.step) : graph::SymRange{0, 0};
    if (step.lo != step.hi || v.kind == Kind::kChosen) return;
    shape.variables.push_back(
        {v.kind, v.begin ? numberKind(v.begin) : ValueKind::kNull, step.lo, v.mixes, v.classes, v.range});
    const CarriedPlace& place = parts_[v.part].place;
    if (place.owner) shape.variables.back().place = {slotOf(place.owner), place.at, place.attribute};
  }
  for (size_t slot = 0; slot < frame_.slots.size(); ++slot) {
    const Value* owner = ownerOf(frame_.slots[slot]);
    const auto isIt = [&](const CarriedContent& c) { return c.owner == owner; };
    if (owner && std::any_of(contents_.begin(), contents_.end(), isIt)) shape.owners.push_back(slot);
    const Value* list = frame_.slots[slot];
    if (!list || !WorkList::is(list) || slotOf(list) != slot) continue;
    owner = LongList{trace_, frame_.slots[slot]}.arrays()[0];
    if (std::any_of(contents_.begin(), contents_.end(), isIt)) shape.lists.push_back(slot);
  }
  trace_.loops->shapes.insert_or_assign(key(), std::move(shape));
}

}  // namespace fw::capture
