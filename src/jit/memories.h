// Which buffers of a plan may be one memory.
#pragma once

#include <vector>

#include "graph/plan.h"

namespace fw::jit {

/// By buffer, a number of the memory that it may be in. Those of the caller, and of libraries, are one: they are not
/// stored into before the call is accepted. But for inputs that loops rewrite: those share memory with no other.
class Memories {
 public:
  explicit Memories(const graph::Plan& plan);
  int of(graph::BufferId id) const;

 private:
  void join(graph::BufferId a, graph::BufferId b) { root_[static_cast<size_t>(of(a))] = of(b); }
  void loops(const graph::Plan& plan, const graph::Steps& steps);

  std::vector<int> root_;
};

}  // namespace fw::jit
