// NumPy's floating-point error state, consulted only when a native call has raised a flag.
#pragma once

#include <cstdint>

namespace fw::bindings {

/// Looks up numpy.geterr once. False with a Python exception set.
bool initializeErrorState();

/// True if Python must run the call again, because NumPy would warn, raise or call back for one of the jit::Status bits
/// under the error state in force, or because a kernel declined. Needs the GIL; leaves no exception behind.
bool mustReport(int32_t status);

}  // namespace fw::bindings
