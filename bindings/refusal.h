// Where a user wants breaks to be errors: the setting fullgraph of a function, and error_on_graph_break of a thread.
#pragma once

#include <string>
#include <vector>

#include "frame_eval/capture.h"
#include "graph/support/config.h"

namespace fw::bindings {

/// Whether it is a place that cannot be compiled, rather than the end of what there is to compile.
bool isGraphBreak(const capture::Break& what);

/// Whether any break would be an error now for a function with these settings.
bool refusesBreaks(const Config& config);
/// Whether `what`, met now by a function with these settings, is an error.
bool isRefused(const capture::Break& what, const Config& config);

/// The breaks of a call whose capture has ended in `first`, a refused one: those that are errors.
std::vector<capture::Break> refusedBreaks(const capture::Break& first, const capture::CallView& call,
                                          const Config& config);

/// Throws PythonError with fusewire.GraphBreakError set.
[[noreturn]] void refuse(const std::string& function, const std::vector<capture::Break>& breaks);

}  // namespace fw::bindings
