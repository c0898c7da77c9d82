// Capture of one call: bytecode in, graph + guards + exit plan out.
#pragma once

#include <variant>

#include "frame_eval/break_reason.h"
#include "frame_eval/exit_plan.h"
#include "graph/graph.h"
#include "guards/guard_set.h"

namespace fw::capture {

/// A call with its arguments bound: args[i] is argument slot i (order of co_varnames: positional, keyword-only, *args
/// tuple, **kwargs dict).
struct CallView {
  PyFunctionObject* function;
  PyObject* const* args;
};

struct CaptureOptions {
  int maxInlineDepth = 32;
  int maxUnroll = 64;            ///< iterations of one loop
  int maxInstructions = 20000;   ///< executed symbolically in one capture
};

struct Captured {
  graph::Graph graph;
  guards::GuardSet guards;
  ExitPlan exit;
};

struct Break {
  BreakReason reason;
  std::string detail;
  std::string file;
  int line = 0;
};

/// Runs no user code and changes nothing outside. Throws PythonError only if CPython itself fails (memory, interrupt).
std::variant<Captured, Break> capture(const CallView& call, const CaptureOptions& options);

}  // namespace fw::capture
