// What a call does after its native function: builds the Python result.
#pragma once

#include <string>
#include <vector>

#include "cpython/ref.h"
#include "graph/symint.h"

namespace fw::capture {

/// The returned object as a tree. Index 0 of ExitPlan::nodes is the result; children precede nothing in particular.
struct ExitNode {
  enum class Kind : uint8_t {
    kConstant,       ///< object
    kObject,         ///< CallFrame::objects[index]: an argument returned as it is
    kArray,          ///< graph output `index` as a fresh array, or as a view where the plan says so
    kArrayScalar,    ///< graph output `index` (rank 0) as NumPy scalar
    kPyFloat, kPyBool, kPyComplex,   ///< graph output `index` as a Python number
    kPyInt,          ///< value of `sym`
    kTuple, kList,   ///< children
    kDict,           ///< children = key, value, key, value ...
    kSlice,          ///< children = start, stop, step
    kShared,         ///< the same object as node `index` (a list returned twice)
  };
  Kind kind;
  int index = 0;
  int baseObject = -1;               ///< kArray that views an argument: index into CallFrame::objects of the base
  int baseNode = -1;                 ///< kArray that views another result: index of its graph output
  bool writeable = true;             ///< kArray views
  graph::SymId sym;
  cpython::Ref object;
  std::vector<int> children;
};

struct ExitPlan {
  std::vector<ExitNode> nodes;
};

/// "tuple(array #0 writeable, view #1 of object 0, x: object 1)": what the call answers.
std::string print(const ExitPlan& plan, const graph::SymContext& syms);

}  // namespace fw::capture
