// What guards teach about symbolic integers after they were made.
#pragma once

#include "graph/symint.h"

namespace fw::graph {

/// Range of an expression with what has been learnt about its symbols since it was made; the expression keeps it.
SymRange refinedRange(SymContext& context, SymId id);

}  // namespace fw::graph
