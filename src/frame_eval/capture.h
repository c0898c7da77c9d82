// Capture of one call: bytecode in, graph + guards + exit plan out.
#pragma once

#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "frame_eval/break_reason.h"
#include "frame_eval/exit_plan.h"
#include "frame_eval/library_call.h"
#include "frame_eval/program_write.h"
#include "frame_eval/policy.h"
#include "graph/graph.h"
#include "graph/support/deadline.h"
#include "guards/guard_set.h"

namespace fw::capture {

class CodeMap;
struct LoopDecisions;

/// A call with its arguments bound: args[i] is argument slot i (order of co_varnames: positional, keyword-only, *args
/// tuple, **kwargs dict).
struct CallView {
  PyFunctionObject* function;
  PyObject* const* args;
};

inline constexpr int kSharedPlaces = -1;
inline constexpr int kProductSizes = -2;
inline constexpr int kHandledRaises = -3;

struct CaptureOptions {
  int maxInlineDepth = 32;
  int maxUnroll = 64;                    ///< iterations of one loop
  int maxUnrolledOps = 256;              ///< nodes of the graph that all of them together add
  int maxInstructions = 20000;           ///< executed symbolically in one capture
  SizePolicy sizes = SizePolicy::kAuto;  ///< of arrays that nothing more special is known of
  /// Instructions of the outermost frame whose settings (numbers among globals, class attributes, defaults) have been
  /// seen to change: every call reads them. kSharedPlaces: where arrays lie in memory that they share has been seen to
  /// change, so that Python writes into those. kProductSizes: products of small matrices have been seen with many
  /// sizes, so that those stay symbols. kHandledRaises: calls raise what the function handles, as a rule, so that it is
  /// not for each of them to be Python's. Null: there are none.
  const absl::flat_hash_set<int>* changing = nullptr;
  bool evenWithoutArrays = false;  ///< do not break with kNothingToCompile (tests of capture on all of Python)
  Deadline deadline;               ///< a capture that takes longer is given up
  Deadline deadlineOfLoops;        ///< the same of one that has made a loop of the graph: a turn is worth more work
  bool keepWrites = false;         ///< fill Captured::writes

  /// Whether a capture that has found out `loops` (null: it rolls none) has taken longer than it may.
  bool isLate(const LoopDecisions* loops) const;
};

/// A frame of the user's own code that stands before an instruction.
struct RegionView {
  PyFunctionObject* function;
  const CodeMap* map;  ///< of the user's code object
  PyObject* const*
      slots;  ///< localsplus (cells where the prologue has made them), then the value stack; null where unbound
  int start;  ///< neutral instruction
  const std::vector<bool>* stops;  ///< per neutral instruction: hand over to Python before it (not at `start` on entry)
};

struct Captured {
  graph::Graph graph;
  guards::GuardSet guards;
  ExitPlan exit;
  std::vector<LibraryCall> libraryCalls;  ///< by the sites of the graph's calls
  /// If they were asked for, the writes of the program, in its order: for backends that do what the program does rather
  /// than what the graph says.
  std::vector<ProgramWrite> writes;
  /// Every sum, difference, product and quotient of float arrays in the graph is one call of that ufunc, made by the
  /// outermost frame at the node's line.
  bool ufuncsAreOwn = false;
  /// Calls that raise what the function handles itself are Python's.
  bool leavesRaises = false;
};

struct Break {
  BreakReason reason;
  std::string detail;
  std::string file;
  int line = 0;
  int at = -1;           ///< neutral instruction of the outermost frame that Python must run itself
  bool mayGrow = false;  ///< kNothingToCompile: there is a loop, and other arguments may give it more turns
};

/// Runs no user code and changes nothing outside. Throws PythonError only if CPython itself fails (memory, interrupt).
std::variant<Captured, Break> capture(const CallView& call, const CaptureOptions& options);

/// After capture() has ended in `first`: that one and the other breaks of the call, on both sides of branches that
/// cannot be decided before the first has been executed; in the order of the instructions. Of a call that is inlined
/// only the first break is told, and what depends on the result of a break is not looked into: it need not be all.
std::vector<Break> survey(const CallView& call, const CaptureOptions& options, const Break& first);

/// The same from an instruction in the middle of a frame to the first stop on the path, or to the return. Sources kArg
/// number the frame's slots; slots that the path does not read are not guarded. Values that cannot leave the trace make
/// a Break at the instruction where they came into being. A region of no instructions is a Break at `start`.
std::variant<Captured, Break> captureRegion(const RegionView& region, const CaptureOptions& options);

}  // namespace fw::capture
