// Which Values hold others.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "frame_eval/trace.h"

namespace fw::capture {

/// Whether `to` can be reached from what the trace has made. `seen`: what has been looked into, or will not be.
bool refersTo(Trace& trace, Value* from, Value* to, absl::flat_hash_set<Value*>& seen);

}  // namespace fw::capture
