// A call of a library function that stands in compiled code: what the function gets, told by the operands of its node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cpython/ref.h"
#include "guards/source.h"

namespace fw::capture {

struct LibraryArgument {
  enum class Kind : uint8_t {
    kConstant,  ///< object
    kObject,    ///< what `source` is in this call; GuardSet::objects[index] of the variant
    kArray,     ///< operand `index`
    kScalar,    ///< operand `index`, of rank 0, as a NumPy scalar ...
    kFloat,
    kInt,
    kBool,
    kComplex,  ///< ... or a Python number
    kTuple,
    kList,  ///< items
  };
  Kind kind;
  int index = -1;
  cpython::Ref object;
  std::vector<LibraryArgument> items;
  guards::SourceId source = {};
};

/// The function only reads its arguments, but for a generator, keeps none of them, and answers new arrays. What its
/// node's type says of the results is checked when it has returned.
struct LibraryCall {
  cpython::Ref function;
  std::vector<LibraryArgument> positional;
  std::vector<std::pair<cpython::Ref, LibraryArgument>> keywords;  ///< names are interned strings
  bool tuple = false;    ///< it answers a tuple (or list) of its results; else there is one
  bool quiet = false;    ///< it reports nothing of floating-point numbers
  bool decides = false;  ///< its data decides sizes of its results
  bool draws = false;    ///< from the random generator that is its first argument
  bool python = false;   ///< its answer, if of rank 0, is a number of Python's
  bool uniform = false;  ///< it draws one float from [0, 1)
};

}  // namespace fw::capture
