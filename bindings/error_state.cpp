// np.geterr() costs about a microsecond; the error state lives in a context variable whose value is a new object after
// every change, so the last answer holds for as long as that object is there.
//
// A warning is plain if nothing can come of it but the warning: no filter makes it an error, and warnings are shown by
// the functions of the warnings module, or collected in a list (catch_warnings(record=True)).
#include "bindings/error_state.h"

#include <algorithm>
#include <string>

#include "cpython/ref.h"
#include "runtime/context.h"

namespace fw::bindings {
namespace {

using cpython::Ref;

// Owned for the life of the process; guarded by the GIL.
PyObject* geterr = nullptr;         // numpy.geterr
PyObject* stateVariable = nullptr;  // the context variable, or null
PyObject* warnings = nullptr;       // the module
struct {                            // names in it
  PyObject *filters, *defaultaction, *showwarning, *showMessage, *showMessageImpl;
} names;

/// What the filters were when they were last looked at. They are tuples, so the answer holds for as long as the list
/// has the same ones.
struct {
  PyObject* filters = nullptr;    // owned copy of the list
  PyObject* otherwise = nullptr;  // owned
  bool raise = true;
} seenFilters;

/// What the state held when it was last asked for.
struct Seen {
  PyObject* state = nullptr;      // owned, so that it cannot be another one by now
  int32_t warned = 0, other = 0;  // Status bits by what NumPy does about them
} seen;

constexpr struct {
  int32_t bit;
  const char* name;
  const char* message;
} kFlags[] = {{runtime::kStatusDivide, "divide", "divide by zero encountered in "},  // in the order of NumPy's reports
              {runtime::kStatusOverflow, "over", "overflow encountered in "},
              {runtime::kStatusUnderflow, "under", "underflow encountered in "},
              {runtime::kStatusInvalid, "invalid", "invalid value encountered in "}};
constexpr int32_t kAllFlags =
    runtime::kStatusInvalid | runtime::kStatusDivide | runtime::kStatusOverflow | runtime::kStatusUnderflow;

/// Status bits that are warned about, and those that NumPy reports in other ways.
Seen askState() {
  Ref state;
  if (stateVariable) {
    PyObject* value = nullptr;
    if (PyContextVar_Get(stateVariable, nullptr, &value) < 0) PyErr_Clear();
    state = Ref::steal(value);
  }
  if (state && state.get() == seen.state) return seen;
  Seen now;
  Ref modes = Ref::steal(PyObject_CallNoArgs(geterr));
  for (const auto& flag : kFlags) {
    PyObject* mode = modes ? PyDict_GetItemString(modes.get(), flag.name) : nullptr;
    if (mode && PyUnicode_CompareWithASCIIString(mode, "ignore") == 0) continue;
    (mode && PyUnicode_CompareWithASCIIString(mode, "warn") == 0 ? now.warned : now.other) |= flag.bit;
  }
  PyErr_Clear();
  if (state && modes) {
    Py_XSETREF(seen.state, Py_NewRef(state.get()));
    seen.warned = now.warned;
    seen.other = now.other;
  }
  return now;
}

/// Some filter turns warnings into errors, or may.
bool anyRaises(PyObject* filters, PyObject* otherwise) {
  auto isHarmless = [](PyObject* action) {
    return action && PyUnicode_CheckExact(action) && PyUnicode_CompareWithASCIIString(action, "error") != 0;
  };
  if (!isHarmless(otherwise)) return true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters, i);  // action, message, category, module, line
    if (!PyTuple_CheckExact(filter) || PyTuple_GET_SIZE(filter) != 5) return true;
    PyObject* category = PyTuple_GET_ITEM(filter, 2);
    auto* ours = reinterpret_cast<PyTypeObject*>(PyExc_RuntimeWarning);
    const bool other =
        Py_IS_TYPE(category, &PyType_Type) && !PyType_IsSubtype(ours, reinterpret_cast<PyTypeObject*>(category));
    if (!other && !isHarmless(PyTuple_GET_ITEM(filter, 0))) return true;
  }
  return false;
}

PyObject* inModule(PyObject* module, PyObject* name) {
  PyObject* found = PyDict_GetItemWithError(module, name);
  if (!found) PyErr_Clear();
  return found;
}

bool filtersRaise(PyObject* module) {
  PyObject *filters = inModule(module, names.filters), *otherwise = inModule(module, names.defaultaction);
  if (!filters || !PyList_CheckExact(filters)) return true;
  auto isSeen = [&] {
    if (!seenFilters.filters || otherwise != seenFilters.otherwise) return false;
    const Py_ssize_t count = PyList_GET_SIZE(filters);
    return count == PyList_GET_SIZE(seenFilters.filters) &&
           std::equal(PySequence_Fast_ITEMS(filters), PySequence_Fast_ITEMS(filters) + count,
                      PySequence_Fast_ITEMS(seenFilters.filters));
  };
  if (isSeen()) return seenFilters.raise;
  const bool raise = seenFilters.raise = anyRaises(filters, otherwise);
  Py_XSETREF(seenFilters.filters, PyList_GetSlice(filters, 0, PyList_GET_SIZE(filters)));
  Py_XSETREF(seenFilters.otherwise, Py_XNewRef(otherwise));
  PyErr_Clear();
  return raise;
}

/// Whether warnings are shown by the module's own functions, or by a function of C.
bool showsPlainly(PyObject* module) {
  auto isOwn = [&](PyObject* name, bool orC) {
    PyObject* f = inModule(module, name);
    if (f && orC && PyCFunction_Check(f)) return true;
    return f && PyFunction_Check(f) && PyFunction_GET_GLOBALS(f) == module;
  };
  return isOwn(names.showwarning, false) && isOwn(names.showMessage, false) && isOwn(names.showMessageImpl, true);
}

}  // namespace

bool initializeErrorState() {
  Ref numpy = Ref::steal(PyImport_ImportModule("numpy"));
  if (!numpy) return false;
  geterr = PyObject_GetAttrString(numpy.get(), "geterr");
  warnings = PyImport_ImportModule("warnings");
  if (Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"))) {
    stateVariable = PyObject_GetAttrString(umath.get(), "_extobj_contextvar");
    if (stateVariable && !PyContextVar_CheckExact(stateVariable)) Py_CLEAR(stateVariable);
  }
  names = {PyUnicode_InternFromString("filters"), PyUnicode_InternFromString("defaultaction"),
           PyUnicode_InternFromString("showwarning"), PyUnicode_InternFromString("_showwarnmsg"),
           PyUnicode_InternFromString("_showwarnmsg_impl")};
  const bool named =
      names.filters && names.defaultaction && names.showwarning && names.showMessage && names.showMessageImpl;
  if (geterr && warnings && named) PyErr_Clear();
  return geterr && warnings && named;
}

namespace {

/// A state that raises for these Status bits and ignores the others, kept for ever: there are few.
PyObject* raisingState(int32_t bits) {
  static PyObject* states[kAllFlags + 1] = {};
  PyObject*& state = states[bits & kAllFlags];
  if (state) return state;
  Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
  Ref make = Ref::steal(umath ? PyObject_GetAttrString(umath.get(), "_make_extobj") : nullptr);
  Ref modes = Ref::steal(make ? PyDict_New() : nullptr);
  Ref none = Ref::steal(modes ? PyTuple_New(0) : nullptr);
  if (!none) return nullptr;
  for (const auto& flag : kFlags) {
    Ref mode = Ref::steal(PyUnicode_FromString(bits & flag.bit ? "raise" : "ignore"));
    if (!mode || PyDict_SetItemString(modes.get(), flag.name, mode.get()) < 0) return nullptr;
  }
  return state = PyObject_Call(make.get(), none.get(), modes.get());
}

}  // namespace

RaisingState::RaisingState(graph::ErrorRules rules) {
  const Seen now = askState();
  if (!stateVariable) {
    PyErr_SetString(PyExc_RuntimeError, "this NumPy keeps its error state in an unknown way");
    return;
  }
  PyObject* state = raisingState(((now.warned | now.other) & ~rules.ignored) | rules.reported);
  if (state) token_ = PyContextVar_Set(stateVariable, state);
}

RaisingState::~RaisingState() {
  if (!token_) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (PyContextVar_Reset(stateVariable, token_) < 0) PyErr_WriteUnraisable(token_);
  Py_DECREF(token_);
  PyErr_Restore(type, value, trace);
}

bool mustReport(int32_t status) {
  if (status & runtime::kStatusDecline) return true;
  const Seen state = askState();
  return (status & (state.warned | state.other)) != 0;
}

std::optional<int32_t> plainWarnings() {
  const Seen state = askState();
  if (state.other & kAllFlags) return std::nullopt;
  if (state.warned == 0) return 0;
  PyObject* module = PyModule_GetDict(warnings);
  if (filtersRaise(module) || !showsPlainly(module)) return std::nullopt;
  return state.warned;
}

bool warn(std::vector<runtime::RaisedFlags> raised, int32_t reported, PyObject* function) {
  std::sort(raised.begin(), raised.end(),
            [](const runtime::RaisedFlags& a, const runtime::RaisedFlags& b) { return a.order < b.order; });
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  Ref module = Ref::create(PyDict_GetItemString(globals, "__name__"));
  if (!module || !PyUnicode_Check(module.get())) module = Ref::steal(PyUnicode_FromString("<string>"));
  Ref registry = Ref::create(PyDict_GetItemString(globals, "__warningregistry__"));
  if (!registry) {
    registry = Ref::steal(PyDict_New());
    if (!registry || PyDict_SetItemString(globals, "__warningregistry__", registry.get()) < 0) return false;
  }
  for (const runtime::RaisedFlags& call : raised) {
    for (const auto& flag : kFlags) {
      if (!(call.status & reported & flag.bit)) continue;
      Ref text = Ref::steal(PyUnicode_FromString((flag.message + std::string(call.ufunc)).c_str()));
      if (!text || !module) return false;
      const int line = static_cast<int>(call.line);
      const int answer = PyErr_WarnExplicitObject(PyExc_RuntimeWarning, text.get(), code->co_filename, line,
                                                  module.get(), registry.get());
      if (answer < 0) return false;
    }
  }
  return true;
}

}  // namespace fw::bindings
