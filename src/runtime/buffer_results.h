// What those compute who work on whole buffers rather than on groups.
#pragma once

#include <vector>

#include "graph/plan.h"

namespace fw::runtime {

/// For an output buffer the value that it holds in the end.
struct BufferResult {
  graph::BufferId buffer;
  graph::ValueId value;
};
std::vector<BufferResult> bufferResults(const graph::Plan& plan);

}  // namespace fw::runtime
