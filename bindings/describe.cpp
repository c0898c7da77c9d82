// Everything is described as JSON once; Python gets it parsed, the trace writes it.
#include "bindings/describe.h"

#include "bindings/function_state.h"
#include "cpython/ref.h"
#include "graph/support/event.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::Ref;
using nlohmann::json;

namespace {

json timesOf(const Variant& variant) {
  const PhaseTimes& t = variant.times();
  return {{"capture", t.captureMs}, {"passes", t.passesMs},       {"plan", t.planMs},
          {"kernels", t.jit.kernelMs}, {"llvm_ir", t.jit.irMs},   {"codegen", t.jit.codegenMs},
          {"link", t.jit.linkMs},   {"compile", t.compileMs},     {"guards", t.stubMs},
          {"total", t.captureMs + t.passesMs + t.planMs + t.compileMs + t.stubMs}};
}

json describeVariant(const Variant& variant, PyObject* code) {
  return {{"guards", guards::print(variant.guardSet(), code)},
          {"graph", variant.graphText()},
          {"plan", variant.planText()},
          {"kernels", variant.kernelCount()},
          {"hits", variant.hits()},
          {"declines", variant.declines()},
          {"ms", timesOf(variant)}};
}

/// json.loads(text): the C++ side builds one tree, Python turns it into objects.
PyObject* toPython(const json& value) {
  Ref module = Ref::steal(PyImport_ImportModule("json"));
  if (!module) return nullptr;
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  Ref unicode = Ref::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  return unicode ? PyObject_CallMethod(module.get(), "loads", "O", unicode.get()) : nullptr;
}

}  // namespace

PyObject* describeFunction(const FunctionFacts& facts) {
  json description = {{"name", facts.name}, {"python_calls", facts.pythonCalls}, {"variants", json::array()},
                      {"breaks", json::array()}};
  PyObject* code = nullptr;
  if (facts.isFunction) {
    code = reinterpret_cast<PyFunctionObject*>(facts.callable)->func_code;
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code)->co_filename);
    if (!file) return nullptr;
    description["file"] = file;
    description["line"] = reinterpret_cast<PyCodeObject*>(code)->co_firstlineno;
  }
  for (const auto& variant : facts.variants) description["variants"].push_back(describeVariant(*variant, code));
  for (const RecordedBreak& b : facts.breaks) {
    const capture::BreakInfo& info = capture::info(b.what.reason);
    description["breaks"].push_back({{"reason", std::string(info.text)}, {"message", std::string(info.message)},
                                     {"detail", b.what.detail}, {"hint", std::string(info.hint)}, {"file", b.what.file},
                                     {"line", b.what.line}, {"kinds", b.count}});
  }
  return toPython(description);
}

void logVariant(const std::string& name, const Variant& variant, PyFunctionObject* function) {
  auto log = [&](Channel channel, std::string_view kind, const std::string& text) {
    if (channelEnabled(channel)) emit(channel, kind, name + ":\n" + text, {{"function", name}, {"text", text}});
  };
  log(Channel::kGraph, "graph", variant.graphText());
  log(Channel::kKernels, "plan", variant.planText());
  if (channelEnabled(Channel::kGuards)) log(Channel::kGuards, "guards", guards::print(variant.guardSet(), function->func_code));
  if (channelEnabled(Channel::kPerf)) {
    const json times = timesOf(variant);
    std::string text = name + ": compiled in";
    for (const auto& [phase, ms] : times.items()) text += " " + phase + " " + std::to_string(ms.get<double>()) + " ms";
    emit(Channel::kPerf, "compiled", text, {{"function", name}, {"ms", times}});
  }
}

}  // namespace fw::bindings
