// One call of a function on arguments that were made for it, and what it answers.
#pragma once

#include <Python.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "cpython/ref.h"
#include "frame_eval/library_call.h"
#include "graph/graph.h"

namespace fw::capture::numpy {

/// What an example has answered.
struct Answer {
  using Kind = LibraryItem::Kind;
  struct Result {
    graph::DType dtype;
    Kind kind = Kind::kValue;  ///< of rank 0: a NumPy scalar
    bool fortran = false;      ///< in F order, not in C order
    std::vector<int64_t> shape = {};
    cpython::Ref fixed = {};  ///< kFixed: None, a bool or a string, the same in every answer
    bool isLike(const Result& other) const;
  };
  cpython::Ref cls;  ///< of a tuple or list; null: one result
  std::vector<Result> results;

  /// But for the sizes.
  bool isLike(const Answer& other) const {
    return cls.get() == other.cls.get() && results.size() == other.results.size() &&
           std::equal(results.begin(), results.end(), other.results.begin(),
                      [](const Result& a, const Result& b) { return a.isLike(b); });
  }
};

/// An array of the type, in this order of memory, with one of two sets of numbers: benign ones, rising along vectors in
/// the first, diagonally dominant in matrices.
cpython::Ref exampleArray(const graph::ValueType& type, absl::Span<const int64_t> shape, bool second);

/// Calls the function on arguments that hold `arrays`. Nothing where it raises, warns, changes one of them, or answers
/// what the graph has no form for. Exceptions that ask to leave pass as PythonError.
std::optional<Answer> callForExample(PyObject* callable, PyObject* positional, PyObject* keywords,
                                     absl::Span<const cpython::Ref> arrays);

}  // namespace fw::capture::numpy
