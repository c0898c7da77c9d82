// Calls of NumPy's own functions in the graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frame_eval/library_call.h"
#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {

/// Adds a call of the function that was called, with the arguments it was given. Answers a node for each result.
/// Breaks where an argument is neither data of the graph nor a constant.
std::vector<ValueId> libraryCall(Bound& a, std::vector<ValueType> results, bool tuple = false);
/// Adds a call of `function` with these arguments, named so in messages. `makeResults` is asked for the types of the
/// results with the node that the call will be: sizes that it decides (Trace::decidedSize) mean something from there
/// on.
struct LibraryNode {
  std::string_view name;
  cpython::Ref function;
  std::vector<Value*> positional;
  std::vector<std::pair<std::string_view, Value*>> keywords = {};
  bool tuple = false;
  bool quiet = false;
  bool draws = false;
  bool python = false;
  bool guessed = false;
  bool watched = false;
  std::vector<LibraryItem> items = {};
};
using MakeResults = std::function<std::vector<ValueType>(ValueId call)>;
std::vector<ValueId> libraryNode(Trace& trace, LibraryNode what, const MakeResults& makeResults);
/// The same of the function that was called, for functions that move, compare or count.
std::vector<ValueId> decidingCall(Bound& a, bool tuple, const MakeResults& makeResults);

/// The same for one result, an array or, if its rank is 0, a NumPy scalar.
Value* libraryValue(Bound& a, ValueType result);
/// The same of a function that moves, compares or counts, so that it has nothing to report of floating-point numbers.
Value* quietValue(Bound& a, ValueType result);
/// The call that was added last needs none of Python's (LibraryCall::Direct), if its arguments are `count` arrays.
void directly(Bound& a, LibraryCall::Direct how, std::string_view method, DType type, size_t count);
/// The same for a quantile, the second argument, of which `whole` is all.
void quantileDirectly(Bound& a, double whole);
/// The same of a solver of matrices, which computes in double precision.
void solvedDirectly(Bound& a, std::string_view method, std::initializer_list<ValueId> nodes);
/// The result of such a solver.
Value* solverValue(Bound& a, ValueType result, std::string_view method, std::initializer_list<ValueId> nodes);
/// The function that is called, or the method as a function.
cpython::Ref functionOf(const Bound& a);
/// A packed array in C order.
ValueType freshType(DType dtype, SymShape shape);

}  // namespace fw::capture::numpy
