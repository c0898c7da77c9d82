// Operations that the compiler turned out to have no code for - in passes, planning, lowering, code generation, when
// the trace they came from is gone. The call is captured once more while one of them is refused: that capture has the
// operation computed by NumPy, or breaks at the very instruction that asks for it, like for anything else that is not
// supported.
#pragma once

#include <string>

#include "graph/graph.h"
#include "graph/refused.h"

namespace fw::capture {

/// While it lives, captures of this thread do without the operation, in addition to those of scopes around.
class RefusalScope {
 public:
  RefusalScope(const graph::Refused& refused, std::string why);
  ~RefusalScope();
  RefusalScope(const RefusalScope&) = delete;

 private:
  friend void checkRefusals(const graph::Graph& graph, size_t from);
  const graph::Refused refused_;
  const std::string why_;
  const RefusalScope* const outer_;
};

/// Breaks if a node of `graph` from number `from` on is refused.
void checkRefusals(const graph::Graph& graph, size_t from);

}  // namespace fw::capture
