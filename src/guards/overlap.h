// Whether arrays share memory.
#pragma once

#include "absl/types/span.h"
#include "guards/array_library.h"

namespace fw::guards {

/// False only if no byte belongs to both: by extents, then by strides as np.shares_memory does, with bounded work.
/// Cases too hard for that (long, of several strides that fit into each other badly) count as overlapping.
bool mayOverlap(const ArrayView& a, const ArrayView& b);

inline constexpr size_t kMaxDisjointArrays = 256;

/// True only if none of the first `written` arrays overlaps any other of the list; arrays behind those may overlap each
/// other. O(n log n); a list with too many overlapping extents counts as overlapping. Allocates nothing; the list must
/// not be longer than kMaxDisjointArrays.
bool areDisjoint(absl::Span<PyObject* const> arrays, size_t written);

}  // namespace fw::guards
