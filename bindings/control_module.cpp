// Thin: arguments are checked by the Python package, which alone calls these; here they become calls of stance.h,
// settings.h, policy.h and event.h.
#include "bindings/control_module.h"

#include "bindings/boundary.h"
#include "bindings/overhead.h"
#include "bindings/python_backend.h"
#include "bindings/settings.h"
#include "bindings/stance.h"
#include "bindings/to_python.h"
#include "bindings/variant.h"
#include "frame_eval/policy.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"
#include "runtime/memory.h"

namespace fw::bindings {
namespace {

using capture::Declaration;
using capture::SizePolicy;
using cpython::PythonError;

template <class F>
PyObject* none(F&& body) {
  return guarded(std::forward<F>(body)) ? Py_NewRef(Py_None) : nullptr;
}

// ---- stance -------------------------------------------------------------------------------------------------------

/// set_stance(name, skip_guards) -> (name, skip_guards) that were in force
PyObject* pySetStance(PyObject*, PyObject* args) {
  const char* name;
  int skip;
  if (!PyArg_ParseTuple(args, "sp", &name, &skip)) return nullptr;
  auto wanted = stanceFromName(name);
  if (!wanted) return PyErr_Format(PyExc_ValueError, "unknown stance '%s'", name);
  const uint32_t before = setStance(*wanted, skip != 0);
  return Py_BuildValue("sO", std::string(stanceName(static_cast<Stance>(before & 0xff))).c_str(),
                       before & detail::kSkipGuardsBit ? Py_True : Py_False);
}
PyObject* pyGetStance(PyObject*, PyObject*) {
  return Py_BuildValue("sO", std::string(stanceName(stance())).c_str(), skipGuards() ? Py_True : Py_False);
}
PyObject* stanceTable(PyObject*, PyObject*) {
  nlohmann::json rows = nlohmann::json::array();
#define FW_STANCE(Id, text, help) rows.push_back({{"name", text}, {"help", help}});
#include "bindings/stances.def"
  return toPython(rows);
}
PyObject* pySetErrorOnGraphBreak(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  return truth < 0 ? nullptr : PyBool_FromLong(setErrorOnGraphBreak(truth != 0));
}
PyObject* graphBreak(PyObject*, PyObject*) { Py_RETURN_NONE; }

// ---- settings -----------------------------------------------------------------------------------------------------

PyObject* processValues(PyObject*, PyObject*) {
  nlohmann::json values = nlohmann::json::object();
  for (const SettingInfo& info : settings()) values[std::string(info.name)] = processSettings()->text(info.setting);
  return toPython(values);
}
/// change_settings({name: text}): all or none
PyObject* changeSettings(PyObject*, PyObject* changes) {
  return none([&] {
    auto config = std::make_shared<Config>(*processSettings());
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(changes, &at, &key, &value);) {
      const char* name = PyUnicode_AsUTF8(key);
      const char* wanted = name ? PyUnicode_AsUTF8(value) : nullptr;
      if (!wanted) throw PythonError();
      const SettingInfo* found = findSetting(name);
      if (!found) raise(PyExc_AttributeError, std::string("fusewire.config has no setting '") + name + "'");
      if (std::string error = config->set(found->setting, wanted); !error.empty())
        raise(PyExc_ValueError, "fusewire.config: " + error);
    }
    setProcessSettings(std::move(config));
  });
}

// ---- declarations -------------------------------------------------------------------------------------------------

/// disable_code(code, reason)
PyObject* pyDisableCode(PyObject*, PyObject* args) {
  PyObject* code;
  const char* reason = "";
  if (!PyArg_ParseTuple(args, "O!|s", &PyCode_Type, &code, &reason)) return nullptr;
  return none([&] { capture::disableCode(code, reason); });
}
PyObject* disabledDetail(PyObject*, PyObject* code) {
  PyObject* result = nullptr;
  guarded([&] {
    if (!PyCode_Check(code) || !capture::isDisabled(code)) {
      result = Py_NewRef(Py_None);
    } else {
      result = toPython(capture::disabledDetail(code));
    }
  });
  return result;
}
/// declare(callable, kind, replacement or None)
PyObject* declare(PyObject*, PyObject* args) {
  PyObject *callable, *replacement;
  const char* kind;
  if (!PyArg_ParseTuple(args, "OsO", &callable, &kind, &replacement)) return nullptr;
  static constexpr std::pair<std::string_view, Declaration> kKinds[] = {
      {"none", Declaration::kNone},
      {"graph_break", Declaration::kGraphBreak},
      {"control", Declaration::kControl},
      {"allow_in_graph", Declaration::kAllowInGraph},
      {"substitute", Declaration::kSubstitute},
      {"stands_for_numpy", Declaration::kStandsForNumpy},
      {"left_to_numpy", Declaration::kLeftToNumpy},
      {"small_call", Declaration::kSmallCall},
      {"as_without", Declaration::kAsWithout},
      {"assume_constant", Declaration::kAssumeConstant}};
  return none([&] {
    for (const auto& [name, declaration] : kKinds)
      if (name == kind)
        return capture::declareCallable(callable, declaration, replacement == Py_None ? nullptr : replacement);
    raise(PyExc_ValueError, std::string("unknown declaration '") + kind + "'");
  });
}

SizePolicy policyFromName(std::string_view name) {
  if (name == "auto") return SizePolicy::kAuto;
  if (name == "dynamic") return SizePolicy::kDynamic;
  if (name == "static") return SizePolicy::kStatic;
  raise(PyExc_ValueError, "unknown size policy '" + std::string(name) + "'");
}
/// mark_size(array, axis, policy)
PyObject* pyMarkSize(PyObject*, PyObject* args) {
  PyObject* array;
  int axis;
  const char* policy;
  if (!PyArg_ParseTuple(args, "Ois", &array, &axis, &policy)) return nullptr;
  return none([&] { capture::markSize(array, axis, policyFromName(policy)); });
}
/// set_profile(code, [(argument, axis, policy)], [stop])
PyObject* pySetProfile(PyObject*, PyObject* args) {
  PyObject *code, *sizes, *stops;
  if (!PyArg_ParseTuple(args, "O!O!O!", &PyCode_Type, &code, &PyList_Type, &sizes, &PyList_Type, &stops))
    return nullptr;
  return none([&] {
    std::vector<capture::ProfiledSize> profiled;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sizes); ++i) {
      const char *argument, *policy;
      int axis;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(sizes, i), "sis", &argument, &axis, &policy)) throw PythonError();
      profiled.push_back({argument, axis, policyFromName(policy)});
    }
    std::vector<int> numbers;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(stops); ++i) {
      numbers.push_back(static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(stops, i))));
      if (PyErr_Occurred()) throw PythonError();
    }
    capture::setProfile(code, std::move(profiled), std::move(numbers));
  });
}

// ---- backends and events ------------------------------------------------------------------------------------------

/// register_backend(name, callable)
PyObject* pyRegisterBackend(PyObject*, PyObject* args) {
  const char* name;
  PyObject* callable;
  if (!PyArg_ParseTuple(args, "sO", &name, &callable)) return nullptr;
  return none([&] { registerBackend(name, callable); });
}

nlohmann::json parsedJson(const char* text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) raise(PyExc_ValueError, "not JSON");
  return value;
}
/// emit_event(channel, kind, text, JSON text, loud)
PyObject* emitEvent(PyObject*, PyObject* args) {
  const char *channel, *kind, *text, *data;
  int loud;
  if (!PyArg_ParseTuple(args, "ssssp", &channel, &kind, &text, &data, &loud)) return nullptr;
  static constexpr std::pair<std::string_view, Channel> kChannels[] = {
#define FW_CHANNEL(Id, text, help) {text, Channel::k##Id},
#include "graph/support/channels.def"
  };
  return none([&] {
    for (const auto& [name, value] : kChannels)
      if (name == channel)
        return loud ? report(value, kind, text, parsedJson(data)) : emit(value, kind, text, parsedJson(data));
    raise(PyExc_ValueError, std::string("unknown channel '") + channel + "'");
  });
}
/// record_event(kind, JSON text)
PyObject* pyRecordEvent(PyObject*, PyObject* args) {
  const char *kind, *data;
  if (!PyArg_ParseTuple(args, "ss", &kind, &data)) return nullptr;
  return none([&] { recordEvent(kind, parsedJson(data)); });
}
PyObject* pyTracePath(PyObject*, PyObject*) { return PyUnicode_DecodeFSDefault(tracePath().c_str()); }
PyObject* pySetTraceVersions(PyObject*, PyObject* text) {
  const char* data = PyUnicode_AsUTF8(text);
  return data ? none([&] { setTraceVersions(parsedJson(data)); }) : nullptr;
}

PyObject* pyOverhead(PyObject*, PyObject*) {
  return toPython({{"ms", overheadNs() / 1e6}, {"left_to_python", leftToPython()}});
}

/// plant_delay(ns)
PyObject* pyPlantDelay(PyObject*, PyObject* ns) {
  const long long value = PyLong_AsLongLong(ns);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  plantDelay(std::chrono::nanoseconds(value));
  Py_RETURN_NONE;
}

/// plant_allocation_failure(number)
PyObject* pyPlantAllocationFailure(PyObject*, PyObject* number) {
  const long long value = PyLong_AsLongLong(number);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(runtime::plantAllocationFailure(value));
}

PyMethodDef functions[] = {
    {"overhead", pyOverhead, METH_NOARGS,
     "overhead() -> {ms, left_to_python}: what Fusewire has taken for itself in this process, and the functions that "
     "Python runs on that account"},
    {"set_stance", pySetStance, METH_VARARGS, "set_stance(name, skip_guards) -> what was in force"},
    {"get_stance", pyGetStance, METH_NOARGS, "get_stance() -> (name, skip_guards)"},
    {"stances", stanceTable, METH_NOARGS, "stances() -> rows of the table of stances"},
    {"set_error_on_graph_break", pySetErrorOnGraphBreak, METH_O,
     "set_error_on_graph_break(on) -> what was in force in this thread"},
    {"graph_break", reinterpret_cast<PyCFunction>(graphBreak), METH_VARARGS,
     "graph_break(reason='', /)\n--\n\nNothing at run time; while a call is captured, a planned graph break."},
    {"process_settings", processValues, METH_NOARGS, "process_settings() -> {name: text}"},
    {"change_settings", changeSettings, METH_O, "change_settings({name: text})"},
    {"disable_code", pyDisableCode, METH_VARARGS,
     "disable_code(code, reason=''): never compile or inline functions of this code object"},
    {"disabled_detail", disabledDetail, METH_O, "disabled_detail(code) -> name and reason, or None"},
    {"declare", declare, METH_VARARGS, "declare(callable, kind, replacement)"},
    {"mark_size", pyMarkSize, METH_VARARGS, "mark_size(array, axis, policy)"},
    {"set_profile", pySetProfile, METH_VARARGS, "set_profile(code, sizes, stops)"},
    {"register_backend", pyRegisterBackend, METH_VARARGS, "register_backend(name, callable)"},
    {"parse_graph", parseGraph, METH_O, "parse_graph(text) -> dict"},
    {"evaluate_graph", evaluateGraph, METH_VARARGS,
     "evaluate_graph(text, arrays, symbols) -> arrays, by the reference evaluator"},
    {"emit_event", emitEvent, METH_VARARGS, "emit_event(channel, kind, text, json, loud)"},
    {"plant_delay", pyPlantDelay, METH_O, "plant_delay(ns): every run of compiled code waits first (tests of trials)"},
    {"plant_allocation_failure", pyPlantAllocationFailure, METH_O,
     "plant_allocation_failure(number) -> how many were missing to the last: that allocation of compiled code finds no "
     "memory; 0: all do (tests)"},
    {"record_event", pyRecordEvent, METH_VARARGS, "record_event(kind, json): into the trace, if one is written"},
    {"trace_path", pyTracePath, METH_NOARGS, "trace_path() -> the file of the trace that is written, '' if none is"},
    {"set_trace_versions", pySetTraceVersions, METH_O, "set_trace_versions(json)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool addControlFunctions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace fw::bindings
