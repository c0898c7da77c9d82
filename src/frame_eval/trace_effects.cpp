// Side effects: what the traced code changes in objects that exist outside the trace is recorded here in program order,
// and replayed by the exit plan. The Values themselves are changed at once by the families of instructions, so that
// reading sees the writing. That holds only while different Values are different objects: guardAliases() makes sure of
// it.
#include <algorithm>

#include "frame_eval/trace.h"
#include "graph/support/check.h"

namespace fw::capture {

using guards::GuardKind;
using guards::SourceKind;

void Trace::record(SideEffect effect) {
  if (!effect.target->source.valid()) return;
  noteChange(effect.target);
  effect.target->written = true;
  effect.at = at;
  effects_.push_back(std::move(effect));
}

void Trace::noteChange(Value* object) {
  if (watchers > 0 && object->source.valid()) changes.emplace_back(object, Contents(*object));
}

void Trace::undo(size_t effects, size_t from) {
  effects_.resize(effects);
  while (changes.size() > from) {
    const auto& [object, was] = changes.back();
    if (object->kind != was.kind) object->opened = false;  // a list that nobody had looked into then
    object->kind = was.kind;
    object->items = was.items;
    object->keys = was.keys;
    object->overlay.clear();
    for (const auto& [name, value] : was.overlay) object->overlay.emplace_back(Ref::create(name), value);
    object->base = was.base;
    object->position = was.position;
    object->changes = was.changes;
    changes.pop_back();
  }
}

void Trace::effectHeld(Value* object, size_t at, bool attribute, Value* value) {
  if (!object->source.valid()) return;
  const auto place = static_cast<int64_t>(at);
  if (attribute) return effectAttr(object, constant(object->overlay[at].first.get()), value);
  if (object->kind == ValueKind::kDict) return effectItem(object, object->keys[at], value);
  if (object->kind == ValueKind::kCell) return effectCell(object, value);
  FW_CHECK(object->kind == ValueKind::kList);
  effectSlice(object, place, place + 1, {value});
}

void Trace::effectAttr(Value* target, Value* name, Value* value) {
  record({.kind = Effect::Kind::kSetAttr, .target = target, .key = name, .value = value});
}

void Trace::effectItem(Value* dict, Value* key, Value* value) {
  record({.kind = Effect::Kind::kSetItem, .target = dict, .key = key, .value = value});
}

void Trace::effectSlice(Value* list, int64_t lo, int64_t hi, std::vector<Value*> items) {
  record({.kind = Effect::Kind::kListSlice, .target = list, .items = std::move(items), .lo = lo, .hi = hi});
}

void Trace::effectItems(Value* list, Value* items) {
  record({.kind = Effect::Kind::kListSlice, .target = list, .value = items, .lo = INT64_MAX, .hi = INT64_MAX});
}

void Trace::effectNumbers(Value* list, Value* numbers) {
  record({.kind = Effect::Kind::kListNumbers, .target = list, .value = numbers});
}

void Trace::effectSet(Value* set, Value* item, bool add) {
  record({.kind = add ? Effect::Kind::kSetAdd : Effect::Kind::kSetDiscard, .target = set, .key = item});
}

void Trace::effectCell(Value* cell, Value* content) {
  record({.kind = Effect::Kind::kSetCell, .target = cell, .value = content});
}

void Trace::effectCall(Value* target, const char* method, std::vector<Value*> args) {
  if (!target->source.valid()) return;
  Value* name = constant(cpython::checked(PyUnicode_InternFromString(method)));
  record({.kind = Effect::Kind::kCall, .target = target, .key = name, .items = std::move(args)});
}

void Trace::effectRelease(size_t index) {
  record({.kind = Effect::Kind::kRelease, .target = locks.at(index), .lo = static_cast<int64_t>(index), .calm = true});
}

void Trace::effectAdvance(Value* iterator, int64_t count) {
  if (!effects_.empty() && effects_.back().kind == Effect::Kind::kAdvance && effects_.back().target == iterator) {
    effects_.back().lo += count;
    return;
  }
  record({.kind = Effect::Kind::kAdvance, .target = iterator, .lo = count});
}

void Trace::readNamespace(SourceId source, PyObject* dict) {
  auto it = byObject_.find(dict);
  // A global that the traced code has written by name is known to the interpreter; the dict is not opened then.
  bool asDict = it != byObject_.end() && it->second->kind == ValueKind::kDict && it->second->written;
  if (asDict) fail(BreakReason::kUnsupportedWrite, "a namespace that is written as a dict");
  std::pair<SourceId, PyObject*> entry{source, dict};
  if (std::find(namespaces_.begin(), namespaces_.end(), entry) == namespaces_.end()) namespaces_.push_back(entry);
}

void Trace::guardAliases() {
  if (effects_.empty()) return;
  for (const Value* v : mutables_) {
    if (!v->written || !PyDict_CheckExact(v->object.get())) continue;
    for (auto [source, dict] : namespaces_) {
      if (v->object.get() == dict) continue;  // all was read before the write
      guard({.kind = GuardKind::kNotSameObject, .source = v->source, .other = source});
    }
  }
  auto isConst = [&](const Value* v) {
    const SourceKind kind = sources()[v->source].kind;
    return kind == SourceKind::kConst || kind == SourceKind::kWeak;
  };
  absl::flat_hash_map<PyTypeObject*, std::vector<const Value*>> before, written;  // of the ones in front, by type
  for (const Value* a : mutables_) {
    PyTypeObject* type = Py_TYPE(a->object.get());
    for (const Value* b : a->written ? before[type] : written[type]) {
      if (isConst(a) && isConst(b)) continue;
      guard({.kind = GuardKind::kNotSameObject, .source = a->source, .other = b->source});
    }
    before[type].push_back(a);
    if (a->written) written[type].push_back(a);
  }
}

void Trace::guardPresence() {
  absl::flat_hash_set<SourceId> walked;  // with all that they are reached by
  auto walk = [&](SourceId id) {
    while (id.valid() && walked.insert(id).second) id = sources()[id].base;
  };
  for (const guards::Guard& g : guards_.guards) walk(g.source);
  const absl::flat_hash_set<SourceId> held(guards_.objects.begin(), guards_.objects.end());
  for (auto it = sourced_.rbegin(); it != sourced_.rend(); ++it) {
    if (walked.contains((*it)->source) || held.contains((*it)->source)) continue;
    guards_.objects.push_back((*it)->source);  // a path that cannot be walked fails the variant
    walk((*it)->source);
  }
}

}  // namespace fw::capture
