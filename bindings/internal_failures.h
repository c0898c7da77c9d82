// Failures of Fusewire itself: a check that does not hold, a graph that cannot be translated. Whoever meets one leaves
// the call to Python, reports it here, and remembers it, so that the same call does not fail again.
#pragma once

#include <Python.h>

#include <atomic>
#include <string>
#include <string_view>

#include "frame_eval/capture.h"
#include "graph/support/check.h"

namespace fw::bindings {

/// Whether a break is a failure of ours, rather than of a registered backend or of the user.
bool isInternalFailure(capture::BreakReason reason);

/// Reports a failure once per code object, reason and place: on stderr, to the event stream, in summary(), with a file
/// that shows it, if one can be written. `slots` are the local variables of a call of `function` in which it came up,
/// those that have a value. Throws PythonError only for what a user sends (KeyboardInterrupt).
void reportInternalFailure(const capture::Break& what, PyFunctionObject* function, PyObject* const* slots);

/// Whether this thread is writing a reproducer: nothing is compiled meanwhile.
bool isReportingFailure();

/// For tests: something fails at one of these places until told otherwise.
enum class Planted : uint8_t { kNone, kBuild, kRun, kLookUp, kRegion, kAccess };
inline std::atomic<Planted> planted{Planted::kNone};
inline void failIfPlanted(Planted here) { FW_CHECK_MSG(planted.load(std::memory_order_relaxed) != here, "planted"); }
/// By its name: "", "build", "run", "look-up", "region", or "access": an access of what is compiled is wrong.
/// False if there is none.
bool plantFailure(std::string_view place);

/// New list of {function, reason, message, detail, file, line, reproducer}, one for each report; nullptr with an
/// exception set.
PyObject* internalFailures();
/// What was reported is new again: for fuzzers, which run a program more than once.
void forgetInternalFailures();

}  // namespace fw::bindings
