#include "frame_eval/logs.h"

#include <algorithm>

#include "frame_eval/turns.h"

namespace fw::capture {

void Logs::begin() {
  if (!trace.loops) return;
  for (const void* object : trace.loops->logs) trace.logs.push_back({object, nullptr, trace.list({})});
}

Value* Logs::of(Value* list) const {
  for (Trace::Log& log : trace.logs) {
    if (log.object != list->object.get()) continue;
    log.list = list;
    trace.noteChange(list);
    list->written = true;
    return log.items;
  }
  const bool asks = trace.turns.bodies > 0 && trace.loops && !trace.keepsWrites && !trace.onDevice();
  if (!asks || !list->items.empty() || list->position > 0) return nullptr;
  std::vector<const void*>& known = trace.loops->logs;
  if (std::find(known.begin(), known.end(), list->object.get()) != known.end()) return nullptr;
  known.push_back(list->object.get());
  throw LoopsDecided{};
}

Value* Logs::filled(const Value* list) const {
  for (const Trace::Log& log : trace.logs)
    if (log.list == list && (log.items->kind != ValueKind::kList || !log.items->items.empty())) return log.items;
  return nullptr;
}

void Logs::settle(Value* list) {
  Value* log = filled(list);
  if (!log) return;
  if (log->kind != ValueKind::kList)
    trace.fail(BreakReason::kUnsupportedObject, "a list is read that a loop has appended to");
  std::vector<Value*> items = std::exchange(log->items, {});
  trace.effectSlice(list, INT64_MAX, INT64_MAX, items);
  list->items.insert(list->items.end(), items.begin(), items.end());
}

void Logs::finish() {
  for (const Trace::Log& log : trace.logs)
    if (log.list)
      if (Value* items = filled(log.list)) trace.effectItems(log.list, items);
}

}  // namespace fw::capture
