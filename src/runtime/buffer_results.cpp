#include "runtime/buffer_results.h"

#include <algorithm>
#include <map>

namespace fw::runtime {

std::vector<BufferResult> bufferResults(const graph::Plan& plan) {
  std::map<uint32_t, graph::ValueId> last;  // a buffer that is updated in place holds several values in turn
  for (const auto& [place, buffer] : plan.memory) {
    if (place.region != 0 || plan.buffers[buffer.index].kind != graph::BufferKind::kOutput) continue;
    auto [it, added] = last.try_emplace(buffer.index, place.value);
    if (!added) it->second = std::max(it->second, place.value);
  }
  std::vector<BufferResult> results;
  for (const auto& [buffer, value] : last) results.push_back({graph::BufferId(buffer), value});
  return results;
}

}  // namespace fw::runtime
