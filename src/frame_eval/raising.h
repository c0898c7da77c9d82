// Exceptions of which array data decides whether an instruction raises them: a quotient by zero, a key that is not
// there. Compiled code leaves such a call to Python, which raises - unless the code handles it itself, and calls raise
// it as a rule (kHandledRaises): then the instruction becomes a branch, with the handler as one arm.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpython/bytecode.h"
#include "frame_eval/splice/control_flow.h"
#include "frame_eval/value.h"

namespace fw::capture {

class Trace;
class BranchState;
struct Frame;

/// Whether the code goes on: a bool of the graph, and what is raised where it is false.
struct RaisingCheck {
  PyObject* type;  ///< borrowed
  graph::Op op;    ///< of the bool
  friend bool operator==(const RaisingCheck&, const RaisingCheck&) = default;
};

/// Of an instruction in a `try` that is being traced, and of all that it calls.
struct Raising {
  Frame* owner;
  Frame* const* now;                ///< the frame that is being executed
  bool caught;                      ///< by an `except`
  bool forks;                       ///< ... and it becomes branches
  std::vector<RaisingCheck> known;  ///< the first checks, which are known to hold
  unsigned arms;                    ///< around it: of branches
  int turns;                        ///< ... and of loops
  Raising* outer;
  size_t asked = 0;  ///< so many checks have been made
  /// In front of it; null: it does not fork. What it has changed when it raises, an arm that raises has not.
  std::shared_ptr<BranchState> before{};
  size_t calls = 0;  ///< of libraries, in front of it: draws of random numbers
};

/// Thrown where it is to become a branch: with its operands back on the stack it is traced again, where the check
/// holds.
struct DataRaise : std::exception {
  DataRaise(graph::ValueId holds, std::vector<RaisingCheck> checks) : holds(holds), checks(std::move(checks)) {}
  graph::ValueId holds;
  std::vector<RaisingCheck> checks;  ///< those that the instruction has made, this one last
};

/// Where an exception of the instruction goes; null: out of the code.
const cpython::Handler* handlerOf(const cpython::Bytecode& code, int at);
/// Whether an `except` begins there, rather than a `with`, a `finally` or what cleans up behind a handler.
bool isExcept(const cpython::Bytecode& code, int handler);
/// The ways of the code, and those to an `except`.
ControlFlow withExcepts(const cpython::Bytecode& code, ControlFlow flow);
/// What code that stands for others raises where Python has to make the call (_substitutes.py): nobody handles it.
bool isLeftToPython(PyTypeObject* type);
/// What Python raises for certain, on a guarded path: unwinds to the handler of the code, or ends the trace.
[[noreturn]] void raiseCertain(Trace& trace, PyObject* type, const std::string& what);
/// True if making an instance stores the arguments and does nothing else that could be seen.
bool storesArguments(PyTypeObject* type);

}  // namespace fw::capture
