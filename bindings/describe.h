// Descriptions of functions and variants for explain(), logs and traces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/variant.h"

namespace fw::bindings {

struct RecordedBreak;

struct FunctionFacts {
  std::string name;
  PyObject* callable;
  bool isFunction;
  const std::vector<std::unique_ptr<Variant>>& variants;
  const std::vector<RecordedBreak>& breaks;
  uint64_t pythonCalls;
};

/// New dict: name, file, line, variants (guards, graph, plan, times ...), breaks. nullptr with an exception set.
PyObject* describeFunction(const FunctionFacts& facts);

/// Emits the events of a new variant on every channel that is enabled.
void logVariant(const std::string& name, const Variant& variant, PyFunctionObject* function);

}  // namespace fw::bindings
