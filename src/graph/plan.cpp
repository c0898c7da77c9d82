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

ControlStep* controlOf(Step& step) { return const_cast<ControlStep*>(controlOf(std::as_const(step))); }

}  // namespace fw::graph
