// How much of containers a capture reads. What it reads is guarded item by item, and becomes inputs of the graph one by
// one, which pays for a few items and for no more: larger containers stay closed, and only who uses them is refused.
#pragma once

#include "frame_eval/trace.h"

namespace fw::capture {

/// Items of one container, nested ones counted.
inline constexpr Py_ssize_t kMaxItems = 2048;
/// Values from outside that a whole trace knows.
inline constexpr size_t kMaxSources = 16384;
/// Why a container is not read for which mayRead() is false.
inline constexpr const char* kRefusedSize = "has more items than are read one by one";

/// Whether so many items may be read now.
inline bool mayRead(Trace& trace, Py_ssize_t items) {
  return items <= kMaxItems && trace.sources().size() + static_cast<size_t>(items) <= kMaxSources;
}

}  // namespace fw::capture
