// Turns the end of a trace into the exit plan and the outputs of the graph.
#pragma once

#include "frame_eval/capture.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/trace.h"

namespace fw::capture {

/// Adds outputs to the trace's graph and objects to its guard set. Breaks for values that cannot leave.
ExitPlan buildExit(Trace& trace, const FrameEnd& end);

/// Classes, functions, code and modules of the user that the plan names are left to the guard set, which can refer to
/// them weakly.
void holdWeakly(ExitPlan& plan, guards::GuardSet& guards);

}  // namespace fw::capture
