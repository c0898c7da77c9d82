// The table of NumPy functions and methods, and binding of call arguments to declared signatures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

/// Arguments of one call, by parameter name.
class Bound {
 public:
  Bound(Trace& trace, std::string_view function) : trace(trace), function(function) {}

  /// Value of a parameter, null if it was not given.
  Value* operator[](std::string_view name) const;
  /// Node of a required array argument.
  ValueId array(std::string_view name) const { return asArray(trace, (*this)[name]); }
  [[noreturn]] void refuse(std::string_view argument) const;

  Trace& trace;
  std::string_view function;     ///< "np.sum"
  std::vector<Value*> rest;      ///< of a *parameter
  size_t positional = 0;         ///< how many of `values` were given by position
  PyObject* callable = nullptr;  ///< the function that is called (borrowed); null for methods
  std::vector<std::pair<std::string_view, Value*>> values;
};

using Handler = Value* (*)(Bound&);

/// One row of numpy_functions.def.
struct FunctionInfo {
  std::string_view name;       ///< one of the row's names: "np.sum", "ndarray.sum"
  std::string_view signature;  ///< see numpy_functions.def
  Handler handler;
};

/// Attributes of arrays that are no methods.
std::vector<std::string_view> attributeNames();

/// A ufunc of the op table, or another: then by its own name, without an op.
struct UfuncOf {
  std::string name;  ///< "np.add"
  Op op;
};
/// A method of a ufunc, such as add.reduce, and a call of it. Breaks for what is computed by NumPy alone.
bool isMethodOfUfunc(PyObject* callable);
Value* callUfuncMethod(Trace& trace, PyObject* callable, const UfuncOf& ufunc, const CallArgs& args);

/// Rows by name, one entry per name.
const std::vector<FunctionInfo>& functionTable();
const FunctionInfo* findFunction(std::string_view name);
/// The same of CuPy (cupy_functions.def), and of the library of the trace.
const std::vector<FunctionInfo>& deviceFunctionTable();
const FunctionInfo* findFunction(const Trace& trace, std::string_view name);

/// Binds and runs. `callable` is the function itself, null for methods.
Value* invoke(Trace& trace, const FunctionInfo& function, const CallArgs& args, PyObject* callable = nullptr);
/// A call of NumPy's function of that name: the object that it was when NumPy was first looked at.
Value* callNamed(Trace& trace, std::string_view name, const CallArgs& args);

#define FW_NUMPY(names, signature, handler) Value* handler(Bound&);
namespace handlers {
#include "frame_eval/numpy/numpy_functions.def"
Value* arrayModule(Bound&);  // CuPy's alone
}  // namespace handlers

}  // namespace fw::capture::numpy
