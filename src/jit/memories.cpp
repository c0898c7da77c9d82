#include "jit/memories.h"

#include "absl/container/flat_hash_map.h"
#include "graph/rewriting.h"

namespace fw::jit {

using graph::BufferId;
using graph::BufferKind;

Memories::Memories(const graph::Plan& plan) : root_(plan.buffers.size()) {
  for (size_t i = 0; i < root_.size(); ++i) root_[i] = static_cast<int>(i);
  const std::vector<BufferId> rewritten = graph::rewrittenInputs(plan);
  int caller = -1;
  for (size_t i = 0; i < root_.size(); ++i) {
    const BufferKind kind = plan.buffers[i].kind;
    if ((kind != BufferKind::kInput && kind != BufferKind::kGiven) || graph::contains(rewritten, BufferId(i))) continue;
    if (caller < 0) caller = static_cast<int>(i);
    root_[i] = caller;
  }
  absl::flat_hash_map<graph::SymId, BufferId> slots;  // temporaries use memory again
  for (size_t i = 0; i < root_.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::kTemp)
      join(BufferId(i), slots.try_emplace(plan.buffers[i].offset, BufferId(i)).first->second);
  loops(plan, plan.steps);
}

int Memories::of(BufferId id) const {
  int i = static_cast<int>(id.index);
  while (root_[static_cast<size_t>(i)] != i) i = root_[static_cast<size_t>(i)];
  return i;
}

void Memories::loops(const graph::Plan& plan, const graph::Steps& steps) {
  for (const graph::Step& step : steps) {
    if (const auto* loop = std::get_if<graph::LoopStep>(&step.what)) {
      for (BufferId handle : loop->handles) join(handle, plan.buffers[handle.index].home);
      for (const auto& [to, from] : loop->moves) join(to, from);
    }
    if (const graph::ControlStep* control = graph::controlOf(step))
      for (const auto& body : control->bodies) loops(plan, body.steps);
  }
}

}  // namespace fw::jit
