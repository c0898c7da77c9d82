// Which operation of the user's program a pass, the planner or a backend has no way to compute: travels with the
// absl::Status to whoever can leave that operation to Python.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace fw::graph {

struct Refused {
  Op op;
  DType operand;  ///< of the first operand, or of the value itself if there is none
  uint32_t line = 0;

  static Refused of(const Graph& graph, ValueId id);
  /// `status` with this operation attached and named, if it is kUnimplemented and names none yet.
  absl::Status in(absl::Status status) const;
  static std::optional<Refused> from(const absl::Status& status);

  friend bool operator==(const Refused&, const Refused&) = default;
};

}  // namespace fw::graph
