// Compiled regions inside a function's own bytecode. Before the first instruction of each region stands a stub:
//
//     push a None for each entry that the stack may grow by          (the region writes the entries in place)
//     call the region's callable without arguments                   (it reads and writes the slots of the calling
//     frame) None: drop what was pushed, go on with the original instructions number i: drop what end i does not need,
//     jump to end i or return the top of the stack
//
// A callable with one end answers anything but None for it; with several, the small ints 0, 1, ... The stub leaves no
// trace: same names, positions, exception ranges, arguments and variables.
#pragma once

#include <Python.h>

#include <vector>

#include "cpython/ref.h"
#include "frame_eval/splice/code_map.h"

namespace fw::capture {

struct StubEnd {
  int target;  ///< neutral instruction, or ExitPlan::kReturn
  int depth;   ///< height of the stack there; 1 for a return
};

struct Stub {
  int start;  ///< neutral instruction, one that CodeMap allows
  cpython::Ref callable;
  std::vector<StubEnd> ends;  ///< may be empty: a probe, which always falls through to the original instructions
};

/// Entries that the stub has pushed when it calls: the region finds the frame's stack at slotCount() + depth(start) +
/// this.
int stubHeadroom(const CodeMap& map, const Stub& stub);

/// A copy of the code with the stubs. Throws PythonError.
cpython::Ref splice(const CodeMap& map, const std::vector<Stub>& stubs);

}  // namespace fw::capture
