// Facts about functions and arrays that users declare, and Fusewire's own functions that capture knows. Declarations
// are made by the Python package, read by capture; the GIL guards them. They steer captures that follow, not variants
// that exist.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fw::capture {

/// fusewire.disable: functions of this code object are neither compiled nor inlined. Held for the life of the process.
void disableCode(PyObject* code, std::string_view reason = {});
bool isDisabled(PyObject* code);
/// "f" or "f (reason)": the detail of a kDisabled break.
std::string disabledDetail(PyObject* code);

/// fusewire.is_compiling, which capture evaluates to True. Set once at import.
void setIsCompiling(PyObject* function);
bool isIsCompiling(PyObject* object);

/// The function behind a decorated one (borrowed), or nullptr: a compiled function called inside another is inlined
/// like the function that was decorated. The hook is set once at import by the room that owns the type.
using UnwrapHook = PyObject* (*)(PyObject* object);
void setUnwrapHook(UnwrapHook hook);
PyObject* unwrapCompiled(PyObject* object);

// ---- what a call of a callable means to capture -------------------------------------------------------------------

enum class Declaration : uint8_t {
  kNone,
  kGraphBreak,    ///< fusewire.graph_break: a planned break
  kControl,       ///< another function that steers Fusewire (set_stance ...): Python runs it
  kAllowInGraph,  ///< inlined even where library code is skipped; `replacement` is the Python function behind it, if it
                  ///< is none
  kSubstitute,    ///< `replacement` is inlined in its place
  kStandsForNumpy,  ///< the same by code of ours: where it breaks, the call that it stands for does
  kLeftToNumpy,     ///< in a substitute: NumPy computes the call that it stands for, which the argument describes
  kSmallCall,       ///< as kStandsForNumpy, but where it breaks, the call is taken as if nothing stood for it
  kAsWithout,       ///< in a substitute: the function that is its first argument is called as if none stood for it
  kAssumeConstant,  ///< called once during capture, the result is a constant
};
struct Declared {
  Declaration kind = Declaration::kNone;
  PyObject* replacement = nullptr;  ///< kSubstitute, kAllowInGraph; borrowed
};
/// A later declaration replaces an earlier one; callables are told apart by identity and held for the life of the
/// process.
void declareCallable(PyObject* callable, Declaration kind, PyObject* replacement = nullptr);
Declared declarationOf(PyObject* callable);
/// Library code that allow_in_graph has named: exempt from rules that skip files or modules.
bool isAllowedInGraph(PyObject* function);

// ---- sizes --------------------------------------------------------------------------------------------------------

enum class SizePolicy : uint8_t {
  kAuto,     ///< symbolic, specialised where it pays
  kDynamic,  ///< symbolic; never specialised for profit
  kStatic,   ///< a constant of the graph, guarded
};
/// fusewire.mark_dynamic and mark_static. The array is remembered weakly by identity: views and copies of it are not
/// marked. Throws PythonError.
void markSize(PyObject* array, int axis, SizePolicy policy);
/// Whether there are arrays with a size that is marked static; a quick test that may say yes for a while after the last
/// has died.
bool hasStaticMarks();
bool isMarkedStatic(PyObject* array, int axis);
/// From a loaded profile: sizes of the argument named `argument` of functions of this code object.
struct ProfiledSize {
  std::string argument;
  int axis;
  SizePolicy policy;
};
void setProfile(PyObject* code, std::vector<ProfiledSize> sizes, std::vector<int> stops);
void clearProfile(PyObject* code);
/// Neutral instructions of this code object that a loaded profile knows to need Python. Empty if none.
const std::vector<int>& profiledStops(PyObject* code);

/// Decision for one axis of an array that capture reads: the array's own mark, else the profile of (code, argument),
/// else `fallback` (setting `dynamic` of the function). `argument` is empty if the array is not an argument by itself.
SizePolicy sizePolicy(PyObject* array, int axis, PyObject* code, std::string_view argument, SizePolicy fallback);

}  // namespace fw::capture
