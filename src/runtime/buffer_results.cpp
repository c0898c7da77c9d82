#include "runtime/buffer_results.h"

#include <algorithm>
#include <map>

namespace fw::runtime {

std::vector<BufferResult> bufferResults(const graph::Plan& plan) {
  std::map<uint32_t, graph::ValueId> last;  // a buffer that is updated in place holds several values in turn
  for (const auto& [value, buffer] : plan.bufferOf) {
    if (plan.buffers[buffer.index].kind != graph::BufferKind::kOutput) continue;
    auto [it, added] = last.try_emplace(buffer.index, value);
    if (!added) it->second = std::max(it->second, value);
  }
  std::vector<BufferResult> results;
  for (const auto& [buffer, value] : last) results.push_back({graph::BufferId(buffer), value});
  return results;
}

}  // namespace fw::runtime
