// The NumPy side of capture: what np.* functions, ufuncs, ndarray methods, attributes, operators and indexing mean in
// the graph. Everything here answers a Value or breaks with kUnsupportedNumpy naming the function and the argument; it
// never guesses. When NumPy itself would raise (shapes that do not broadcast, a wrong axis), it breaks with
// kPythonException.
#pragma once

#include <optional>

#include "absl/functional/function_ref.h"
#include "frame_eval/trace.h"

namespace fw::capture::numpy {

struct CallArgs {
  std::vector<Value*> positional;
  std::vector<std::pair<std::string, Value*>> keywords;
};

/// Loads NumPy's objects once per interpreter; answers false with a Python exception set.
bool initialize();
/// Looks whether CuPy has been imported since, and loads its objects.
void findLibraries();

/// `node` in the memory order that fresh results have on a device.
graph::ValueId freshOnDevice(Trace& trace, graph::ValueId node);

/// True if calls of this constant object are handled by call().
bool isKnown(PyObject* callable);

/// A name that means something to capture, for docs and tests: "np.sum". Ufuncs and operators stand in the op table.
struct KnownName {
  std::string name;
  std::string_view arguments;  ///< as in numpy_functions.def
  std::string_view kind;       ///< "function" (or method), "attribute", "constant": a function of constants only
};
std::vector<KnownName> knownNames();

Value* call(Trace& trace, PyObject* callable, const CallArgs& args);

/// Method `name` of an array or NumPy scalar. nullopt if there is none such that we know.
std::optional<Value*> callMethod(Trace& trace, Value* self, const std::string& name, const CallArgs& args);
/// Attribute of an array or NumPy scalar (shape, ndim, size, T, dtype, real, imag, itemsize, nbytes ...; a method gives
/// a kMethod value).
std::optional<Value*> attribute(Trace& trace, Value* self, const std::string& name);

/// Binary operator with at least one array or NumPy scalar operand. `op` is CPython's NB_* number without the in-place
/// bit.
Value* binaryOp(Trace& trace, int op, bool inplace, Value* left, Value* right);
/// `result` of an operator that is not in-place, with the layout that it gets where NumPy computes it in the place of
/// an operand that nobody holds (elision.cpp).
Value* inPlaceOfTemporary(Trace& trace, int op, Value* left, Value* right, Value* result,
                          absl::FunctionRef<bool(const Value*)> isHeld);
/// Rich comparison, Py_LT .. Py_GE.
Value* compare(Trace& trace, int op, Value* left, Value* right);
enum class Unary : uint8_t { kNegative, kPositive, kInvert };
Value* unaryOp(Trace& trace, Unary op, Value* operand);

/// array[index] and array[index] = value.
Value* getItem(Trace& trace, Value* array, Value* index);
void setItem(Trace& trace, Value* array, Value* index, Value* value);
/// Whether `index` is one array of ints for each axis of `array`, or such an array and an int.
bool arePlaces(Trace& trace, Value* array, Value* index);
/// Whether two arrays, if both are arrays, may have elements in common.
bool mayShareMemory(Trace& trace, Value* first, Value* second);
/// array[mask], as long as it is not looked at as an array (masks.cpp).
bool isSelection(const Value* value);
/// A selection becomes the array that it stands for, in place; other values stay what they are.
Value* settled(Trace& trace, Value* value);
/// Sums, differences, products and quotients of float arrays.
bool countsAsArithmetic(const graph::Node& node);
/// len(array).
Value* length(Trace& trace, Value* array);

/// Once, after the last instruction and before the exit is built: writes into arrays that exist outside become commits
/// of the graph, and the Values of these arrays and of their views what the objects are: views of the inputs, whatever
/// they hold by then. Guards that no two arrays of which one is written overlap.
void finishWrites(Trace& trace);

}  // namespace fw::capture::numpy
