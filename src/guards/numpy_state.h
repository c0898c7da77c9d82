// State of NumPy and of the warnings module that results depend on, read without running Python code.
#pragma once

#include <cstdint>
#include <optional>

#include "guards/guard_set.h"

namespace fw::guards {

/// Token of np.errstate's modes and of the buffer size in the current context; -1 if it cannot be read. May run Python
/// code at its first call (an import), which validate() makes for sets that need it.
int64_t numpyErrorToken();

/// Guard that errstate and buffer size are as now; none if this NumPy keeps them in an unknown way.
std::optional<Guard> numpyErrorsGuard();

/// Guard that the filters of the warnings module are the same objects in the same order as now; none if the module has
/// been replaced by something else.
std::optional<Guard> warningFiltersGuard(SourceTable& sources);

}  // namespace fw::guards
