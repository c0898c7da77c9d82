// _fw_capture_test: capture() for tests written in Python. capture(fn, *args) traces one call with bound arguments and
// answers text: "graph", "guards" and "exit" sections, or "break <reason>: <detail> (<file>:<line>)". region(fn, start,
// slots, stops) does the same from an instruction of a frame, given as the list of its slots, where NULL stands for
// unbound ones; a break then ends in "at <instruction>". bytecode(fn) answers the neutral instructions.
#include "absl/status/status.h"
#include "cpython/bytecode.h"
#include "cpython/numpy_api.h"
#include "cpython/version.h"
#include "frame_eval/capture.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/policy.h"
#include "frame_eval/splice/code_map.h"
#include "graph/support/check.h"
#include "graph/verifier.h"

namespace {

using namespace fw;

/// Options by keyword: max_unroll, max_inline_depth, max_instructions.
bool readOptions(PyObject* keywords, capture::CaptureOptions& options) {
  PyObject *key, *value;
  Py_ssize_t pos = 0;
  while (keywords && PyDict_Next(keywords, &pos, &key, &value)) {
    int number = static_cast<int>(PyLong_AsLong(value));
    if (PyUnicode_CompareWithASCIIString(key, "max_unroll") == 0) {
      options.maxUnroll = number;
    } else if (PyUnicode_CompareWithASCIIString(key, "max_inline_depth") == 0) {
      options.maxInlineDepth = number;
    } else if (PyUnicode_CompareWithASCIIString(key, "max_instructions") == 0) {
      options.maxInstructions = number;
    } else {
      PyErr_SetString(PyExc_TypeError, "unknown option");
      return false;
    }
  }
  return true;
}

std::string describe(const std::variant<capture::Captured, capture::Break>& result, PyObject* code) {
  if (auto* b = std::get_if<capture::Break>(&result)) {
    return "break " + std::string(capture::info(b->reason).text) + ": " + b->detail + " (" + b->file + ":" +
           std::to_string(b->line) + ")";
  }
  const auto& captured = std::get<capture::Captured>(result);
  std::string text = "graph\n" + graph::print(captured.graph) + "guards\n" + guards::print(captured.guards, code) +
                     "\nexit\n" + capture::print(captured.exit, captured.graph.syms()) + "\n";
  for (const std::string& violation : graph::verify(captured.graph)) text += "violation " + violation + "\n";
  return text;
}

PyObject* captureCall(PyObject*, PyObject* args, PyObject* keywords) {
  if (PyTuple_GET_SIZE(args) < 1 || !PyFunction_Check(PyTuple_GET_ITEM(args, 0))) {
    PyErr_SetString(PyExc_TypeError, "capture(function, *bound_arguments)");
    return nullptr;
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(PyTuple_GET_ITEM(args, 0));
  capture::CaptureOptions options;
  if (!readOptions(keywords, options)) return nullptr;
  try {
    auto result = capture::capture({function, &PyTuple_GET_ITEM(args, 0) + 1}, options);
    return PyUnicode_FromString(describe(result, function->func_code).c_str());
  } catch (const cpython::PythonError&) {
    return nullptr;
  } catch (const InternalError& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    return nullptr;
  }
}

PyObject* unboundSlot = nullptr;  // owned by the module

PyObject* captureRegion(PyObject*, PyObject* args, PyObject* keywords) {
  PyObject *function, *slots, *stops;
  int start;
  if (!PyArg_ParseTuple(args, "O!iO!O!", &PyFunction_Type, &function, &start, &PyList_Type, &slots, &PyList_Type,
                        &stops)) {
    return nullptr;
  }
  capture::CaptureOptions options;
  options.evenWithoutArrays = true;
  if (!readOptions(keywords, options)) return nullptr;
  try {
    auto* f = reinterpret_cast<PyFunctionObject*>(function);
    capture::CodeMap map(reinterpret_cast<PyCodeObject*>(f->func_code));
    std::vector<PyObject*> values;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(slots); ++i) {
      PyObject* value = PyList_GET_ITEM(slots, i);
      values.push_back(value == unboundSlot ? nullptr : value);
    }
    auto expected = static_cast<size_t>(map.slotCount() + map.depth(start));
    if (values.size() != expected) {
      return PyErr_Format(PyExc_ValueError, "the frame has %zu slots and stack entries here", expected);
    }
    std::vector<bool> stop(map.code().instructions.size());
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(stops); ++i) stop.at(PyLong_AsSize_t(PyList_GET_ITEM(stops, i))) = true;
    auto result = capture::captureRegion({f, &map, values.data(), start, &stop}, options);
    std::string text = describe(result, f->func_code);
    if (auto* b = std::get_if<capture::Break>(&result)) text += " at " + std::to_string(b->at);
    return PyUnicode_FromString(text.c_str());
  } catch (const cpython::PythonError&) {
    return nullptr;
  } catch (const InternalError& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    return nullptr;
  }
}

PyObject* bytecode(PyObject*, PyObject* function) {
  try {
    PyObject* code = PyFunction_Check(function) ? PyFunction_GetCode(function) : function;
    return PyUnicode_FromString(cpython::print(cpython::decode(reinterpret_cast<PyCodeObject*>(code))).c_str());
  } catch (const cpython::PythonError&) {
    return nullptr;
  } catch (const InternalError& error) {
    PyErr_SetString(PyExc_SystemError, error.what());
    return nullptr;
  }
}

PyObject* disable(PyObject*, PyObject* function) {
  capture::disableCode(PyFunction_GetCode(function));
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {{"capture", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(captureCall)),
                           METH_VARARGS | METH_KEYWORDS, nullptr},
                          {"region", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(captureRegion)),
                           METH_VARARGS | METH_KEYWORDS, nullptr},
                          {"bytecode", bytecode, METH_O, nullptr},
                          {"disable", disable, METH_O, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_fw_capture_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__fw_capture_test() {
  if (!cpython::importNumpy() || !capture::numpy::initialize()) return nullptr;
  if (std::string wrong = cpython::checkRuntimeVersion(); !wrong.empty()) {
    PyErr_SetString(PyExc_ImportError, wrong.c_str());
    return nullptr;
  }
  PyObject* module = PyModule_Create(&kModule);
  unboundSlot = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  if (!module || !unboundSlot || PyModule_AddObjectRef(module, "NULL", unboundSlot) < 0) return nullptr;
  return module;
}
