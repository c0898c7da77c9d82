// The reproducer is written by _failures.py, which runs no code of the user. Reports are few: what they name is kept
// for the life of the process.
#include "bindings/internal_failures.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "bindings/describe.h"
#include "bindings/to_python.h"
#include "cpython/code_facts.h"
#include "cpython/ref.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using capture::BreakReason;
using cpython::checked;
using cpython::PythonError;
using cpython::Ref;
using nlohmann::json;

namespace {

/// Reports of one process; texts that are never the same must not fill its memory.
constexpr size_t kMostReports = 256;

// Guarded by the GIL.
struct Reported {
  absl::flat_hash_set<std::string> places;
  json reports = json::array();
};
Reported& reported() {
  static auto* all = new Reported;
  return *all;
}

thread_local bool reporting = false;

class Reporting {
 public:
  Reporting() { reporting = true; }
  ~Reporting() { reporting = false; }
  Reporting(const Reporting&) = delete;
};

/// Of the names that a function uses: exec() may make any number of functions of the same name and file, while the code
/// of one function has another copy each time that regions are spliced in.
Py_hash_t contentHash(PyCodeObject* code) {
  const Ref variables = checked(PyCode_GetVarnames(code));
  const Ref names = checked(PyTuple_Pack(2, code->co_names, variables.get()));
  const Py_hash_t hash = PyObject_Hash(names.get());
  if (hash == -1) PyErr_Clear();
  return hash;
}

/// {name: value} of the parameters that have a value; those that nested functions share lie in cells.
Ref valuesOf(PyCodeObject* code, PyObject* const* slots) {
  Ref values = checked(PyDict_New());
  Ref names = checked(PyCode_GetVarnames(code));
  for (int i = 0; i < cpython::boundArguments(code); ++i) {
    PyObject* value = slots[i];
    if (value && PyCell_Check(value)) value = PyCell_GET(value);
    if (value) checked(PyDict_SetItem(values.get(), PyTuple_GET_ITEM(names.get(), i), value));
  }
  return values;
}

/// Path of the file, "" if it could not be written.
std::string writeReproducer(PyFunctionObject* function, PyObject* const* slots, const std::string& message) {
  const Reporting scope;
  try {
    const Ref values = valuesOf(reinterpret_cast<PyCodeObject*>(function->func_code), slots);
    const Ref module = checked(PyImport_ImportModule("fusewire._failures"));
    const Ref path = checked(PyObject_CallMethod(module.get(), "reproducer", "OOs",
                                                 reinterpret_cast<PyObject*>(function), values.get(), message.c_str()));
    return cpython::utf8Or(path.get(), "");
  } catch (const PythonError&) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw;
    PyErr_Clear();
    return "";
  }
}

/// Of a check its place in our source, without values that differ from call to call.
std::string placeOf(const Break& what) {
  const std::string line = what.detail.substr(0, what.detail.find('\n'));
  return line.substr(0, line.find(": check failed"));
}

}  // namespace

bool isInternalFailure(BreakReason reason) {
  return reason == BreakReason::kInternalError || reason == BreakReason::kCompileFailed;
}

bool isReportingFailure() { return reporting; }

void reportInternalFailure(const Break& what, PyFunctionObject* function, PyObject* const* slots) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const std::string name = cpython::qualifiedName(code), file = cpython::fileName(code);
  const std::string key = file + ":" + name + ":" + std::to_string(contentHash(code)) + ":" + placeOf(what);
  if (reporting || reported().places.size() >= kMostReports || !reported().places.insert(key).second) return;
  json data = describeBreak(what);
  data["function"] = name;
  if (what.file.empty()) {
    data["file"] = file;
    data["line"] = code->co_firstlineno;
  }
  const std::string where = data["file"].get<std::string>() + ":" + std::to_string(data["line"].get<int>());
  const std::string message =
      name + " (" + where + "): " + std::string(capture::info(what.reason).message) + ": " + what.detail;
  const std::string path = writeReproducer(function, slots, message);
  data["reproducer"] = path;
  reported().reports.push_back(data);
  report(Channel::kGraphBreaks, "internal_failure",
         message + "\nPython runs calls like this one instead. Please report it" +
             (path.empty() ? "; no reproducer could be written" : " with the reproducer " + path),
         data);
}

bool plantFailure(std::string_view place) {
  constexpr std::string_view kPlaces[] = {"", "build", "run", "look-up", "region", "access"};
  const auto at = std::find(std::begin(kPlaces), std::end(kPlaces), place);
  if (at == std::end(kPlaces)) return false;
  planted = static_cast<Planted>(at - std::begin(kPlaces));
  return true;
}

PyObject* internalFailures() { return toPython(reported().reports); }
void forgetInternalFailures() { reported() = Reported(); }

}  // namespace fw::bindings
