#include "frame_eval/branches.h"

#include <algorithm>

#include "frame_eval/trace.h"

namespace fw::capture {

Branches::Branches(Trace& trace) : graph(trace.graph()), trace_(trace) {}

namespace {

void note(const Trace& trace, Value* value, const std::string& why, unsigned branch) {
  value->name = why;
  value->madeAt = trace.at;
  value->position = static_cast<size_t>(trace.line);
  value->changes = branch;
}

}  // namespace

void Branches::forget(Value* value, const std::string& why) {
  note(trace_, value, why, ended);
  value->kind = ValueKind::kUnjoined;
}

void Branches::noteNumber(Value* value, const std::string& why) { note(trace_, value, why, ended); }

void Branches::drop(size_t begin, unsigned branches) {
  begun = branches;
  graph.drop(begin);
  std::erase_if(tuples_, [&](const HeldTuple& held) { return held.at >= begin; });
  trace_.decided.forget(begin);
}

std::vector<Value*> Branches::owners(Value* array) const {
  auto known = std::find_if(joined_.begin(), joined_.end(), [&](const JoinedArray& j) { return j.value == array; });
  return known == joined_.end() ? std::vector<Value*>{array} : known->owners;
}

void Branches::noteJoined(Value* value, Value* first, Value* second) {
  note(trace_, value, "an array may be the one or the other then", ended);
  value->joined = true;
  JoinedArray joined{value, {}};
  value->opened = true;
  for (Value* array : {first, second}) {
    if (array->base || array->source.valid() || (array->joined && !isOwn(array))) value->opened = false;
    for (Value* owner : owners(array->base ? array->base : array))  // each once: both may be joined of the same
      if (std::find(joined.owners.begin(), joined.owners.end(), owner) == joined.owners.end())
        joined.owners.push_back(owner);
  }
  joined_.push_back(std::move(joined));
}

void Branches::holdTuple(Value* list, Value* tuple) { tuples_.push_back({list, tuple, trace_.graph().size()}); }

void Branches::release(const Value* tuple) {
  std::erase_if(tuples_, [&](const auto& held) { return held.tuple == tuple; });
  for (const Value* item : tuple->items) release(item);
}

void Branches::noteItem(Value* array, const Value* list) {
  noteJoined(array, array, array);
  note(trace_, array, "an array may be the one or the other of a list then", ended);
  array->opened = false;
  for (size_t i = 0, count = held_.size(); i < count; ++i)
    if (held_[i].first == list) held_.emplace_back(array, held_[i].second);
}

void Branches::noteSuccessor(Value* successor, const Value* array) {
  for (size_t i = 0, count = held_.size(); i < count; ++i)
    if (held_[i].second == array) held_.emplace_back(held_[i].first, successor);
  for (JoinedArray& joined : joined_)
    if (std::find(joined.owners.begin(), joined.owners.end(), array) != joined.owners.end())
      joined.owners.push_back(successor);
}

/// The array and its views.
void Branches::forgetAs(const Value* joined, Value* array) {
  const std::vector<Value*> views = array->items;
  auto forget = [&](Value* value) {
    value->name = joined->name;
    value->madeAt = joined->madeAt;
    value->position = joined->position;
    value->changes = joined->changes;
    value->kind = ValueKind::kUnjoined;
  };
  for (Value* view : views) forget(view);
  forget(array);
}

void Branches::forgetHolders(const std::vector<Value*>& written) {
  for (const auto& [holder, array] : held_) {
    const bool known = holder->kind == ValueKind::kLongList || holder->kind == ValueKind::kArray;
    if (!known || std::find(written.begin(), written.end(), array) == written.end()) continue;
    forget(holder, "an array is written that a list holds");
  }
}

void Branches::write(Value* array) {
  if (joined_.empty() && held_.empty()) return;
  const std::vector<Value*> own = owners(array);
  forgetHolders(own);
  if (array->joined) forgetHolders({array});
  if (array->joined) {
    if (!isOwn(array)) refuse(array);
    for (Value* owner : own)
      if (owner->kind == ValueKind::kArray) forgetAs(array, owner);
  }
  for (const JoinedArray& other : joined_) {
    const bool meet =
        std::find_first_of(other.owners.begin(), other.owners.end(), own.begin(), own.end()) != other.owners.end();
    if (meet && other.value != array && other.value->kind == ValueKind::kArray) forgetAs(other.value, other.value);
  }
}

void Branches::refuse(const Value* value) {
  if (value->which) {  // it can leave the region
    CaptureBreak b(BreakReason::kDataDependentBranch, value->name);
    b.splits = value->kind == ValueKind::kChosen;
    throw b;
  }
  if (value->kind == ValueKind::kLongList && value->joined) trace_.fail(BreakReason::kUnsupportedObject, value->name);
  if (LoopDecisions* loops = trace_.loops) {
    if (auto loop = loops->unknownBehind.find(value); loop != loops->unknownBehind.end()) {
      loops->refused[loop->second] = value->name;
      throw LoopsDecided{};
    }
  }
  const bool own = value->joined || value->kind == ValueKind::kUnjoined || value->kind == ValueKind::kDataInt;
  const Value* at = own ? value : value->base;
  trace_.line = static_cast<int>(at->position);
  throw UnjoinedUse("the condition is array data, and " + at->name, at->madeAt, at->changes);
}

}  // namespace fw::capture
