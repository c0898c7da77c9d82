#include "graph/plan.h"

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

void findCalls(const Steps& steps, std::vector<const CallStep*>& calls) {
  for (const Step& step : steps) {
    if (const auto* call = std::get_if<CallStep>(&step.what)) calls[static_cast<size_t>(call->number)] = call;
    if (const ControlStep* control = controlOf(step))
      for (const ControlStep::Body& body : control->bodies) findCalls(body.steps, calls);
  }
}

}  // namespace

std::vector<const CallStep*> callsOf(const Plan& plan) {
  std::vector<const CallStep*> calls(static_cast<size_t>(plan.calls), nullptr);
  findCalls(plan.steps, calls);
  return calls;
}

ControlStep* controlOf(Step& step) { return const_cast<ControlStep*>(controlOf(std::as_const(step))); }

}  // namespace fw::graph
