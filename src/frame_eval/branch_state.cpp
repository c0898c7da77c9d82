// Values that have a source are not saved, but arrays: what they hold is found out as the trace goes, and is changed by
// side effects only, in front of which the trace notes what the object holds (Trace::noteChange). What an array holds
// is a node of the graph, whether it exists outside or not.
#include "frame_eval/branch_state.h"

#include <algorithm>

#include "frame_eval/generator.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/work_table.h"
#include "graph/support/check.h"

namespace fw::capture {

namespace {

bool mayChange(const Trace& trace, const Value& v) {
  switch (v.kind) {
    case ValueKind::kTuple: return v.cls || !v.overlay.empty();
    case ValueKind::kArray:
    case ValueKind::kList:
    case ValueKind::kLongList:
    case ValueKind::kPooledList:
    case ValueKind::kWorkTable:
    case ValueKind::kDict:
    case ValueKind::kDeque:
    case ValueKind::kSet:
    case ValueKind::kIterator:
    case ValueKind::kFunction:
    case ValueKind::kCell:
    case ValueKind::kInstance:
    case ValueKind::kException:
    case ValueKind::kOpaque: return true;
    case ValueKind::kConstant: return trace.standIns.contains(v.object.get());  // classes made in the trace
    case ValueKind::kNull:
    case ValueKind::kArrayScalar:
    case ValueKind::kPyFloat:
    case ValueKind::kPyInt:
    case ValueKind::kDataInt:
    case ValueKind::kPyBool:
    case ValueKind::kPyComplex:
    case ValueKind::kSlice:
    case ValueKind::kRange:
    case ValueKind::kMethod:
    case ValueKind::kObject:
    case ValueKind::kSuper:
    case ValueKind::kUnread:
    case ValueKind::kChosen:
    case ValueKind::kUnjoined: return false;
  }
  FW_UNREACHABLE();
}

}  // namespace

Contents::Contents(const Value& value)
    : kind(value.kind),
      node(value.node),
      keys(value.keys),
      base(value.base),
      position(value.position),
      changes(value.changes),
      frozen(value.frozen) {
  if (kind != ValueKind::kArray) items = value.items;
  for (const auto& [name, item] : value.overlay) overlay.emplace_back(name.get(), item);
  if (const auto* made = dynamic_cast<const GeneratorIterator*>(value.lazy.get())) {
    generator = made->frame.get();
    pc = made->frame ? made->frame->pc : 0;
  }
}

BranchState::BranchState(InterpreterState& state, Frame& frame)
    : state_(state),
      frame_(frame),
      slots_(frame.slots),
      stack_(frame.stack),
      goesOn_(frame.goesOn),
      way_(frame.way),
      made_(state.trace_.values().size()),
      effects_(state.trace_.effects().size()),
      undone_(state.trace_.changes.size()),
      writes_(state.trace_.arrayWrites.size()),
      locks_(state.trace_.locks.size()),
      handled_(state.handled_),
      inFlight_(state.inFlight_),
      errors_(state.trace_.graph().errors()),
      advanced_(effects_ ? state.trace_.effects().back().lo : 0) {
  ++state.trace_.watchers;
  state.trace_.openSharedArrays();
  for (Value* value : state.trace_.notNumbers()) {
    Value& v = *value;
    if ((v.source.valid() && v.kind != ValueKind::kArray) || !mayChange(state.trace_, v)) continue;
    const bool moves = v.lazy && !v.lazy->isAsked;
    saved_.push_back({&v, moves ? v.lazy->copy() : nullptr, v.items.size(), v.overlay, v.name, v.madeAt});
    before_.try_emplace(&v, v);
  }
}

BranchState::~BranchState() { --state_.trace_.watchers; }

namespace {

/// It changes what an object holds that the trace has looked into, and a Value shows.
bool isReversible(const SideEffect& effect) {
  const Value& target = *effect.target;
  switch (effect.kind) {
    case Effect::Kind::kSetAttr: return effect.value && isUserObject(&target);
    case Effect::Kind::kSetItem: return effect.value && target.kind == ValueKind::kDict;
    case Effect::Kind::kSetCell: return effect.value != nullptr;
    case Effect::Kind::kListSlice: return target.kind == ValueKind::kList;
    case Effect::Kind::kListNumbers:
    case Effect::Kind::kSetAdd:
    case Effect::Kind::kSetDiscard:
    case Effect::Kind::kCall:
    case Effect::Kind::kAdvance:
    case Effect::Kind::kRelease: return false;
  }
  FW_UNREACHABLE();
}

}  // namespace

std::optional<std::string> BranchState::irreversible() const {
  const Trace& trace = state_.trace_;
  if (frame_.yielded) return "yields";
  const std::vector<SideEffect>& effects = trace.effects();
  const bool affected = !std::all_of(effects.begin() + static_cast<ptrdiff_t>(effects_), effects.end(), isReversible) ||
                        (effects_ && effects[effects_ - 1].lo != advanced_);
  if (affected) return "changes an object that outlives the call";
  if (trace.locks.size() != locks_) return "takes a lock";
  if (state_.handled_.size() > handled_.size()) return "ends in a handler";
  if (state_.trace_.graph().errors() != errors_) return "changes np.errstate";
  for (const Saved& saved : saved_) {
    const Value& v = *saved.value;
    const bool fixed = v.kind == ValueKind::kSet || (v.lazy && !saved.lazy);
    const bool changed = fixed && Contents(v) != before_.at(&v);
    if (changed) WorkTable::requireIfResized(state_.trace_, &v, before_.at(&v), Contents(v));
    if (changed) return v.kind == ValueKind::kSet ? "changes a set" : "takes items of an iterator";
  }
  return std::nullopt;
}

bool BranchState::writesNewArrays() const {
  const auto& arrays = state_.trace_.writtenArrays;
  const auto isNew = [&](const auto& array) { return !knows(array.first) && array.first->node != array.second; };
  return std::any_of(arrays.begin(), arrays.end(), isNew);
}

std::vector<std::pair<Value*, Contents>> BranchState::changed() {
  std::vector<std::pair<Value*, Contents>> result;
  const auto& changes = state_.trace_.changes;
  absl::flat_hash_set<Value*> seen;
  for (size_t i = undone_; i < changes.size(); ++i) {
    Value* value = changes[i].first;
    if (!seen.insert(value).second) continue;
    outside_.try_emplace(value, changes[i].second);
    Contents now(*value);
    if (now != changes[i].second) result.emplace_back(value, std::move(now));
  }
  for (const Saved& saved : saved_) {
    Contents now(*saved.value);
    if (now != before_.at(saved.value)) result.emplace_back(saved.value, std::move(now));
  }
  return result;
}

void BranchState::dropWrites() { state_.trace_.arrayWrites.resize(writes_); }

void BranchState::restore() {
  dropWrites();
  state_.trace_.graph().setErrors(errors_);
  state_.trace_.undo(effects_, undone_);
  for (auto& [owner, input] : state_.trace_.writtenArrays) {
    if (knows(owner)) continue;
    owner->items.clear();
    owner->node = input;
  }
  // A view of a content that is gone: looked at anew when it is needed.
  for (Value* value : state_.trace_.notNumbers()) {
    Value& v = *value;
    if (v.kind != ValueKind::kArray || !v.source.valid() || !v.base || knows(&v)) continue;
    v.kind = ValueKind::kObject;
    v.opened = false;
    v.base = nullptr;
    v.items.clear();
  }
  frame_.slots = slots_;
  frame_.stack = stack_;
  frame_.goesOn = goesOn_;
  frame_.way = way_;
  frame_.result = nullptr;
  state_.handled_ = handled_;
  state_.inFlight_ = inFlight_;
  for (Saved& saved : saved_) {
    Value& v = *saved.value;
    const Contents& was = before_.at(&v);
    if (was.kind == ValueKind::kArray)                        // which an arm inside may have made unjoined
      v.items.resize(std::min(v.items.size(), saved.views));  // those made since are views of another content
    if (saved.lazy) v.lazy = saved.lazy->copy();              // loops take items that nothing else tells of
    if (Contents(v) == was) continue;
    v.kind = was.kind;
    v.name = saved.name;
    v.madeAt = saved.madeAt;
    v.node = was.node;
    v.keys = was.keys;
    v.overlay = saved.overlay;
    v.base = was.base;
    v.position = was.position;
    v.changes = was.changes;
    v.frozen = was.frozen;
    if (v.kind != ValueKind::kArray) v.items = was.items;
  }
}

}  // namespace fw::capture
