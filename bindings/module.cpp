// The extension module fusewire._fusewire: thin C entry points; everything a user sees is in the Python package.
#include <Python.h>

#include "bindings/cuda_device.h"
#include "bindings/boundary.h"
#include "bindings/compiled_function.h"
#include "bindings/control_module.h"
#include "bindings/error_state.h"
#include "bindings/internal_failures.h"
#include "bindings/nested_frames.h"
#include "bindings/region.h"
#include "bindings/settings.h"
#include "cpython/numpy_api.h"
#include "cpython/version.h"
#include "frame_eval/break_reason.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/policy.h"
#include "graph/op.h"
#include "graph/passes/pass_manager.h"
#include "graph/support/config.h"
#include "graph/support/event.h"
#include "guards/array_library.h"
#include "guards/array_layout.h"
#include "jit/compile.h"
#include "jit/profilers.h"
#include "runtime/background.h"
#include "runtime/peak.h"

namespace fw::bindings {
namespace {

using cpython::checked;
using cpython::Ref;

Ref text(std::string_view s) {
  return checked(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

/// What comes from the environment may be of any encoding.
Ref variableText(std::string_view s) {
  return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

/// compile_function(callable, {setting: text}) -> CompiledFunction
PyObject* compileFunction(PyObject*, PyObject* args) {
  PyObject *callable, *overrides;
  if (!PyArg_ParseTuple(args, "OO!", &callable, &PyDict_Type, &overrides)) return nullptr;
  FunctionSettings settings;
  if (!settings.read(overrides)) return nullptr;
  return newCompiledFunction(callable, std::move(settings));
}

template <class F>
PyObject* onCompiledFunction(PyObject* object, F&& f) {
  if (!isCompiledFunction(object))
    return PyErr_Format(PyExc_TypeError, "expected a function decorated with fusewire.compile, got %s",
                        Py_TYPE(object)->tp_name);
  return f(object);
}

/// options_of(compiled) -> {setting: text} that compile() was given
PyObject* optionsOf(PyObject*, PyObject* f) {
  return onCompiledFunction(f, [](PyObject* function) -> PyObject* {
    PyObject* result = nullptr;
    guarded([&] {
      Ref dict = checked(PyDict_New());
      for (const auto& [setting, value] : settingsOf(function).overrides())
        checked(
            PyDict_SetItem(dict.get(), text(settings()[static_cast<size_t>(setting)].name).get(), text(value).get()));
      result = dict.release();
    });
    return result;
  });
}
PyObject* describe(PyObject*, PyObject* f) { return onCompiledFunction(f, describeCompiledFunction); }
PyObject* watchCall(PyObject*, PyObject* f) { return onCompiledFunction(f, watchCallOf); }
PyObject* watchedCall(PyObject*, PyObject* f) { return onCompiledFunction(f, watchedCallOf); }
PyObject* reset(PyObject*, PyObject* f) {
  return onCompiledFunction(f, [](PyObject* o) {
    resetCompiledFunction(o);
    return Py_NewRef(Py_None);
  });
}

/// time_guards(compiled, arguments: tuple, repeats: int) -> ns
PyObject* timeGuards(PyObject*, PyObject* args) {
  PyObject *function, *arguments;
  long long repeats;
  if (!PyArg_ParseTuple(args, "OO!L", &function, &PyTuple_Type, &arguments, &repeats)) return nullptr;
  return onCompiledFunction(function, [&](PyObject* f) { return timeGuardsOf(f, arguments, repeats); });
}

PyObject* pyInternalFailures(PyObject*, PyObject*) { return internalFailures(); }
PyObject* pyForgetFailures(PyObject*, PyObject*) {
  forgetInternalFailures();
  Py_RETURN_NONE;
}
PyObject* pyPlantFailure(PyObject*, PyObject* place) {
  const char* s = PyUnicode_AsUTF8(place);
  if (!s) return nullptr;
  if (!plantFailure(s)) return PyErr_Format(PyExc_ValueError, "no failure can be planted at '%s'", s);
  Py_RETURN_NONE;
}

PyObject* errorOrNone(const std::string& error) {
  if (!error.empty()) return PyErr_Format(PyExc_ValueError, "fusewire: %s", error.c_str());
  Py_RETURN_NONE;
}
PyObject* pyConfigureLogs(PyObject*, PyObject* spec) {
  const char* s = PyUnicode_AsUTF8(spec);
  return s ? errorOrNone(configureLogs(s)) : nullptr;
}
PyObject* pyOpenTrace(PyObject*, PyObject* directory) {
  const char* s = PyUnicode_AsUTF8(directory);
  return s ? errorOrNone(openTrace(s)) : nullptr;
}

PyObject* pyOpenProfilers(PyObject*, PyObject*) { return errorOrNone(jit::openProfilers()); }

PyObject* pyPeakOperations(PyObject*, PyObject*) { return PyFloat_FromDouble(runtime::peakOperations()); }

/// Reads FUSEWIRE_ variables; answers (name, why) of those that changed nothing, why being "" for unknown names.
PyObject* readEnvironment(PyObject*, PyObject*) {
  PyObject* result = nullptr;
  guarded([&] {
    auto config = std::make_shared<Config>();
    const std::vector<IgnoredVariable> ignored = configFromEnvironment(*config);
    setProcessSettings(config);
    if (!initializeNestedFrames(config->flag(Setting::kCompileAll))) throw cpython::PythonError();
    Ref list = checked(PyList_New(0));
    for (const auto& [name, why] : ignored) {
      Ref pair = checked(PyTuple_Pack(2, variableText(name).get(), variableText(why).get()));
      checked(PyList_Append(list.get(), pair.get()));
    }
    result = list.release();
  });
  return result;
}

/// setting_problem(name, text) -> what is wrong with this value of a setting, "" if nothing
PyObject* settingProblem(PyObject*, PyObject* args) {
  const char* name;
  const char* value;
  if (!PyArg_ParseTuple(args, "ss", &name, &value)) return nullptr;
  const SettingInfo* found = findSetting(name);
  if (!found) return PyErr_Format(PyExc_AttributeError, "fusewire has no setting '%s'", name);
  PyObject* result = nullptr;
  guarded([&] { result = text(Config().set(found->setting, value)).release(); });
  return result;
}

/// Run by the interpreter it is False: capture evaluates the call to True without coming here.
PyObject* isCompiling(PyObject*, PyObject*) { Py_RETURN_FALSE; }

PyObject* unwrap(PyObject* object) {
  if (!isCompiledFunction(object)) return nullptr;
  PyObject* inner = wrappedCallable(object);
  return PyFunction_Check(inner) ? inner : nullptr;
}

/// The tables behind the docs: a list of dicts of str per call of `row`.
class TableWriter {
 public:
  TableWriter() : rows_(checked(PyList_New(0))) {}
  void row(std::initializer_list<std::pair<const char*, std::string_view>> cells) {
    Ref dict = checked(PyDict_New());
    for (const auto& [name, value] : cells) checked(PyDict_SetItemString(dict.get(), name, text(value).get()));
    checked(PyList_Append(rows_.get(), dict.get()));
  }
  PyObject* take() { return rows_.release(); }

 private:
  Ref rows_;
};

template <class F>
PyObject* table(F&& fill) {
  PyObject* result = nullptr;
  guarded([&] {
    TableWriter writer;
    fill(writer);
    result = writer.take();
  });
  return result;
}

PyObject* ops(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
    for (const graph::OpInfo& op : graph::opTable())
      w.row({{"name", op.text},
             {"numpy", op.numpy},
             {"cpu", op.cpu},
             {"contract", op.contract == graph::Contract::kExact ? "exact" : "ulp"},
             {"class", graph::name(op.cls)},
             {"raises", graph::name(op.raises)}});
  });
}
PyObject* numpyNames(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
    for (const capture::numpy::KnownName& known : capture::numpy::knownNames())
      w.row({{"name", known.name}, {"arguments", known.arguments}, {"kind", known.kind}});
  });
}
PyObject* settingTable(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
    static constexpr std::string_view kTypes[] = {"bool", "int", "text", "text"};
    for (const SettingInfo& s : settings()) {
      const bool isInt = s.kind.type == SettingType::kInt, isBool = s.kind.type == SettingType::kBool;
      const std::string range = std::to_string(s.kind.lowest) + " to " + std::to_string(s.kind.highest);
      w.row({{"name", s.name},
             {"type", kTypes[static_cast<int>(s.kind.type)]},
             {"values", isInt    ? range
                        : isBool ? "0 or 1"
                                 : ""},
             {"fallback", s.fallback},
             {"help", s.help}});
    }
  });
}
PyObject* breakReasons(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
#define FW_BREAK(Id, text, cls, message, advice, hint) \
  w.row({{"id", text}, {"class", #cls}, {"message", message}, {"advice", #advice}, {"hint", hint}});
#include "frame_eval/break_reasons.def"
  });
}
PyObject* logChannels(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
#define FW_CHANNEL(Id, text, help) w.row({{"name", text}, {"help", help}});
#include "graph/support/channels.def"
  });
}
PyObject* passes(PyObject*, PyObject*) {
  return table([](TableWriter& w) {
    for (std::string_view name : switchablePasses()) w.row({{"name", name}});
  });
}
PyObject* target(PyObject*, PyObject*) {
  PyObject* result = nullptr;
  guarded([&] { result = text(jit::hostTargetDescription()).release(); });
  return result;
}

PyMethodDef functions[] = {
    {"compile_function", compileFunction, METH_VARARGS, "compile_function(callable, options) -> CompiledFunction"},
    {"options_of", optionsOf, METH_O, "options_of(compiled) -> {setting: text} that compile() was given"},
    {"describe", describe, METH_O, "describe(compiled) -> dict of variants, breaks and counters"},
    {"watch_call", watchCall, METH_O, "watch_call(compiled): the next call of it is timed, by its lines"},
    {"watched_call", watchedCall, METH_O,
     "watched_call(compiled) -> dict of where the time went since watch_call(), None if it was not watched"},
    {"time_guards", timeGuards, METH_VARARGS,
     "time_guards(compiled, arguments, repeats) -> ns per check, negative if none fits"},
    {"reset", reset, METH_O, "reset(compiled): forget variants and breaks"},
    {"is_compiling", isCompiling, METH_NOARGS, "is_compiling() -> True while a call is captured, else False"},
    {"configure_logs", pyConfigureLogs, METH_O, "configure_logs(spec): as FUSEWIRE_LOGS"},
    {"open_trace", pyOpenTrace, METH_O, "open_trace(directory): as FUSEWIRE_TRACE"},
    {"open_profilers", pyOpenProfilers, METH_NOARGS, "open_profilers(): as FUSEWIRE_PERF=1"},
    {"peak_operations", pyPeakOperations, METH_NOARGS,
     "peak_operations() -> floating-point operations per second of this machine's thread, measured"},
    {"read_environment", readEnvironment, METH_NOARGS,
     "read_environment() -> (name, why) of FUSEWIRE_ variables that mean nothing"},
    {"setting_problem", settingProblem, METH_VARARGS, "setting_problem(name, text) -> what is wrong with it, or ''"},
    {"internal_failures", pyInternalFailures, METH_NOARGS,
     "internal_failures() -> reports of what has failed inside Fusewire, each a dict"},
    {"forget_failures", pyForgetFailures, METH_NOARGS,
     "forget_failures(): those that come up again are reported again"},
    {"plant_failure", pyPlantFailure, METH_O, "plant_failure(place): for tests; '' takes it out again"},
    {"ops", ops, METH_NOARGS, "ops() -> rows of the op table"},
    {"numpy_names", numpyNames, METH_NOARGS, "numpy_names() -> functions, methods and attributes that capture knows"},
    {"settings", settingTable, METH_NOARGS, "settings() -> rows of the settings table"},
    {"break_reasons", breakReasons, METH_NOARGS, "break_reasons() -> rows of the table of break reasons"},
    {"passes", passes, METH_NOARGS, "passes() -> rows of the table of graph passes"},
    {"log_channels", logChannels, METH_NOARGS, "log_channels() -> rows of the table of channels"},
    {"target", target, METH_NOARGS, "target() -> description of the machine that code is generated for"},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  bool ok = false;
  const bool ran = guarded([&] {
    if (std::string error = cpython::checkRuntimeVersion(); !error.empty()) {
      PyErr_SetString(PyExc_ImportError, error.c_str());
      throw cpython::PythonError();
    }
    restrictSetting(Setting::kIsa, [](std::string_view name) -> std::string {
      const std::string sets = "host|" + jit::setsOfThisMachine();
      const bool has = ("|" + sets + "|").find("|" + std::string(name) + "|") != std::string::npos;
      return has ? "" : "an instruction set of this machine: " + sets;
    });
    ok = cpython::importNumpy() && initializeErrorState() && capture::numpy::initialize() &&
         addCompiledFunctionType(module) && addRegionEntryType(module) && addControlFunctions(module);
    if (!ok) return;
    for (int i = 0; i < graph::kNumDTypes; ++i) guards::builtinDescr(static_cast<graph::DType>(i));  // held from now on
    capture::setIsCompiling(checked(PyObject_GetAttrString(module, "is_compiling")).get());
    capture::setUnwrapHook(unwrap);
    Py_AtExit(runtime::endBackground);
    guards::setDeviceRefusal(cudaRefusal);
    capture::declareCallable(checked(PyObject_GetAttrString(module, "graph_break")).get(),
                             capture::Declaration::kGraphBreak);
  });
  return ran && ok ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_fusewire", "Compiler core of fusewire.", 0, functions, slots, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace fw::bindings

PyMODINIT_FUNC PyInit__fusewire() { return PyModuleDef_Init(&fw::bindings::definition); }
