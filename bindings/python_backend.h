// Backends that are Python callables: they receive a fusewire.Graph and answer a callable for its inputs. The rung
// `numpy` of the ladder is one of them.
#pragma once

#include <Python.h>

#include <memory>
#include <string>

#include "bindings/backend.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

/// Makes `callable` known as the value "@name" of the setting `backend`. Held until the name is registered again.
void registerBackend(const std::string& name, PyObject* callable);

/// By the backend registered under `name`. A backend that raises is kAborted with what it raised; only
/// KeyboardInterrupt and SystemExit pass as PythonError.
absl::StatusOr<std::unique_ptr<runtime::Executable>> makePython(const std::string& name, graph::Graph graph,
                                                                graph::Plan plan);

/// {symbols, nodes, outputs, commits} of a graph; expressions of sizes are text that is Python.
nlohmann::json describeGraph(const graph::Graph& graph);

/// evaluate_graph(text, [array...], [symbol value...]) -> (outputs, inputs as commits leave them): the reference
/// evaluator. PyCFunction.
PyObject* evaluateGraph(PyObject* module, PyObject* args);
/// parse_graph(text) -> dict of describeGraph(). PyCFunction.
PyObject* parseGraph(PyObject* module, PyObject* text);

}  // namespace fw::bindings
