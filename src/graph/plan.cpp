#include "graph/plan.h"

#include <algorithm>
#include <utility>

#include "graph/support/check.h"

namespace fw::graph {

BufferId Plan::bufferOf(ValueId value, int region) const {
  const std::optional<BufferId> buffer = findBuffer(value, region);
  FW_CHECK_MSG(buffer, "%" + std::to_string(value.index) + " of region " + std::to_string(region) + " has no memory");
  return *buffer;
}

std::optional<BufferId> Plan::findBuffer(ValueId value, int region) const {
  const auto at = memory.find(Place{region, value});
  return at == memory.end() ? std::nullopt : std::optional(at->second);
}

const Graph& regionOf(const Plan& plan, const Graph& graph, int region) {
  if (region == 0) return graph;
  const PlanRegion& what = plan.regions.at(region);
  return *regionOf(plan, graph, what.owner.region).node(what.owner.value).regions.at(what.number);
}

const ControlStep* controlOf(const Step& step) {
  return std::visit(
      [](const auto& what) -> const ControlStep* {
        if constexpr (std::is_base_of_v<ControlStep, std::decay_t<decltype(what)>>) return &what;
        return nullptr;
      },
      step.what);
}

namespace {

/// Calls `visit` with every step of that kind, in order.
template <class Kind, class Visit>
void forEach(const Steps& steps, const Visit& visit) {
  for (const Step& step : steps) {
    if (const auto* found = std::get_if<Kind>(&step.what)) visit(*found);
    if (const ControlStep* control = controlOf(step))
      for (const ControlStep::Body& body : control->bodies) forEach<Kind>(body.steps, visit);
  }
}

}  // namespace

std::vector<const CallStep*> callsOf(const Plan& plan) {
  std::vector<const CallStep*> calls(static_cast<size_t>(plan.calls), nullptr);
  forEach<CallStep>(plan.steps, [&](const CallStep& call) { calls[static_cast<size_t>(call.number)] = &call; });
  return calls;
}

std::vector<BufferId> madeArraysOf(const Plan& plan) {
  std::vector<BufferId> made(static_cast<size_t>(plan.madeArrays));
  forEach<AllocStep>(plan.steps, [&](const AllocStep& alloc) {
    if (plan.buffers[alloc.buffer.index].kind == BufferKind::kGiven)
      made[static_cast<size_t>(alloc.number)] = alloc.buffer;
  });
  return made;
}

absl::flat_hash_set<SymId> boundOnTheWay(const Plan& plan) {
  absl::flat_hash_set<SymId> sizes;
  if (plan.bound.empty()) return sizes;
  forEach<CallStep>(plan.steps, [&](const CallStep& call) { sizes.insert(call.sizes.begin(), call.sizes.end()); });
  forEach<DefineStep>(plan.steps, [&](const DefineStep& step) { sizes.insert(step.symbol); });
  return sizes;
}

ControlStep* controlOf(Step& step) { return const_cast<ControlStep*>(controlOf(std::as_const(step))); }

}  // namespace fw::graph
