// Interval arithmetic on SymRange. INT64_MIN as lower and INT64_MAX as upper bound mean "unbounded"; every result is
// sound for integers of any size.
#pragma once

#include "graph/symint.h"

namespace fw::graph {

SymRange addRanges(SymRange a, SymRange b);
SymRange mulRanges(SymRange a, SymRange b);
SymRange powRange(SymRange a, int exponent);      ///< exponent >= 1
SymRange floorDivRanges(SymRange a, SymRange b);  ///< b does not contain 0
SymRange modRanges(SymRange a, SymRange b);       ///< b does not contain 0
SymRange minRanges(SymRange a, SymRange b);
SymRange maxRanges(SymRange a, SymRange b);
inline bool contains(SymRange r, int64_t v) { return r.lo <= v && v <= r.hi; }
/// Exactly one value.
inline bool isPoint(SymRange r) { return r.lo == r.hi && r.lo != INT64_MIN && r.hi != INT64_MAX; }
inline bool bounded(SymRange r) { return r.lo != INT64_MIN && r.hi != INT64_MAX; }

}  // namespace fw::graph
