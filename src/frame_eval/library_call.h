// A call of a library function that stands in compiled code: what the function gets, told by the operands of its node.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "cpython/ref.h"
#include "graph/dtype.h"
#include "graph/error_rules.h"
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
    kList,
    kSlice,  ///< items
  };
  Kind kind;
  int index = -1;
  cpython::Ref object;
  std::vector<LibraryArgument> items;
  guards::SourceId source = {};
};

/// What stands somewhere in the tuple that a function answers.
struct LibraryItem {
  enum class Kind : uint8_t {
    kValue,  ///< the next result of the node: an array, or a NumPy scalar
    kFloat,
    kInt,    ///< the next result, as a number of Python's
    kFixed,  ///< an object equal to this one
  };
  Kind kind = Kind::kValue;
  cpython::Ref object = {};
};

/// The function only reads its arguments, but for a generator, keeps none of them, and answers new arrays. What its
/// node's type says of the results is checked when it has returned.
struct LibraryCall {
  /// What needs no call of Python's.
  enum class Direct : uint8_t {
    kNo,
    kDraw,      ///< one number drawn from a generator, by `method`: "Generator.normal"
    kLoop,      ///< a generalised ufunc of NumPy's, named `method`, of operands and results of one type: "matmul"
    kDot,       ///< np.dot of two vectors of one inexact type
    kMedian,    ///< np.median of all numbers of an array
    kQuantile,  ///< np.quantile of all numbers of an array of float64, at `place`
    kSort,      ///< np.sort of a vector
    kArgsort,   ///< np.argsort of a vector
  };
  cpython::Ref function;
  std::vector<LibraryArgument> positional;
  std::vector<std::pair<cpython::Ref, LibraryArgument>> keywords;  ///< names are interned strings
  bool tuple = false;              ///< it answers a tuple (or list) of its results; else there is one
  std::vector<LibraryItem> items;  ///< of that tuple; empty: the results
  bool quiet = false;              ///< it reports nothing of floating-point numbers
  bool decides = false;            ///< its data decides sizes of its results
  bool draws = false;              ///< from the random generator that is its first argument
  bool python = false;             ///< its answer, if of rank 0, is a number of Python's
  graph::ErrorRules errors;        ///< what becomes of conditions that it raises
  bool watched = false;            ///< it may give warnings, other than of floating-point conditions
  bool guessed = false;            ///< what it answers has been told from examples: something else is nobody's mistake
  Direct direct = Direct::kNo;
  std::string_view method;  ///< of `direct`
  graph::DType type = {};   ///< of the operands, but for kDraw
  double place = 0;         ///< of kQuantile, in [0, 1]
};

}  // namespace fw::capture
