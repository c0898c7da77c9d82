// Checks of what a call would access, before it accesses anything.
#pragma once

#include "absl/types/span.h"
#include "jit/emit_function.h"
#include "kernels/reach.h"

namespace fw::jit {

/// Ends the function with kStatusOutside where a byte within one of `reaches` is not its buffer's.
void emitReachChecks(FunctionState& fn, absl::Span<const kernels::Reach> reaches);

}  // namespace fw::jit
