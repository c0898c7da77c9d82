// A graph as plain data for Python, and the reference evaluator on NumPy arrays.
#include <cstring>

#include "bindings/boundary.h"
#include "bindings/python_backend.h"
#include "bindings/to_python.h"
#include "cpython/numpy_api.h"
#include "graph/evaluator.h"
#include "graph/parser.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;
using nlohmann::json;

namespace {

/// Real and imaginary part, or the integer: what Python's constructor of the type takes.
json describeScalar(const graph::Scalar& value) {
  if (graph::isComplex(value.dtype)) return {value.asComplex().real(), value.asComplex().imag()};
  if (graph::isFloat(value.dtype)) return value.asDouble();
  if (value.dtype == graph::DType::kU64) return value.lo;
  return value.asInt();
}

json describeAttrs(const graph::Graph& graph, const graph::Attrs& attrs) {
  json result = json::object();
  auto text = [&](graph::SymId id) { return graph.syms().print(id); };
  for (const auto& [key, value] : attrs.entries()) {
    json& slot = result[std::string(graph::attrName(key))];
    switch (graph::info(key).kind) {
      case graph::AttrKind::kInt: slot = std::get<int64_t>(value); break;
      case graph::AttrKind::kSym: slot = text(std::get<graph::SymId>(value)); break;
      case graph::AttrKind::kScalar: slot = describeScalar(std::get<graph::Scalar>(value)); break;
      case graph::AttrKind::kText: slot = std::get<std::string>(value); break;
      case graph::AttrKind::kInts:
        slot = json::array();
        for (int64_t i : std::get<graph::IntList>(value)) slot.push_back(i);
        break;
      case graph::AttrKind::kSyms:
        slot = json::array();
        for (graph::SymId id : std::get<graph::SymList>(value)) slot.push_back(text(id));
        break;
    }
  }
  return result;
}

json describeNode(const graph::Graph& graph, graph::ValueId id) {
  const graph::Node& node = graph.node(id);
  json operands = json::array(), shape = json::array();
  for (graph::ValueId operand : node.operands) operands.push_back(operand.index);
  for (graph::SymId size : node.type.shape) shape.push_back(graph.syms().print(size));
  const graph::DTypeInfo& dtype = graph::info(node.type.dtype);
  return {{"id", id.index},
          {"op", std::string(graph::info(node.op).text)},
          {"operands", operands},
          {"attrs", describeAttrs(graph, node.attrs)},
          {"dtype", std::string(dtype.text)},
          {"char", std::string(1, dtype.numpyChar)},
          {"shape", shape},
          {"layout", node.type.layout.print()},
          {"line", node.line},
          {"regions", node.regions.size()}};
}

graph::Graph parsed(PyObject* text) {
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (!data) throw PythonError();
  auto graph = graph::parse({data, static_cast<size_t>(size)});
  if (!graph.ok()) raise(PyExc_ValueError, std::string(graph.status().message()));
  return *std::move(graph);
}

graph::HostArray toHost(PyObject* object, graph::DType dtype) {
  Ref array = Ref::steal(PyArray_FromAny(object, PyArray_DescrFromType(graph::info(dtype).numpyChar), 0, 0,
                                         NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED, nullptr));
  if (!array) throw PythonError();
  auto* a = reinterpret_cast<PyArrayObject*>(array.get());
  auto host = graph::HostArray::zeros(dtype, {PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a)});
  std::memcpy(host.data.data(), PyArray_DATA(a), static_cast<size_t>(PyArray_NBYTES(a)));
  return host;
}

Ref fromHost(const graph::HostArray& host) {
  std::vector<npy_intp> shape(host.shape.begin(), host.shape.end());
  Ref array = checked(PyArray_SimpleNewFromDescr(static_cast<int>(shape.size()), shape.data(),
                                                 PyArray_DescrFromType(graph::info(host.dtype).numpyChar)));
  auto* a = reinterpret_cast<PyArrayObject*>(array.get());
  std::memcpy(PyArray_DATA(a), host.data.data(), static_cast<size_t>(PyArray_NBYTES(a)));
  return array;
}

Ref evaluateText(PyObject* text, PyObject* arrays, PyObject* values) {
  const graph::Graph graph = parsed(text);
  const auto inputIds = graph.inputs();
  if (PyList_GET_SIZE(arrays) != static_cast<Py_ssize_t>(inputIds.size()) ||
      PyList_GET_SIZE(values) != graph.syms().symbolCount())
    raise(PyExc_TypeError, "evaluate_graph: wrong number of inputs or symbols");
  std::vector<graph::HostArray> inputs;
  for (size_t i = 0; i < inputIds.size(); ++i) {
    inputs.push_back(toHost(PyList_GET_ITEM(arrays, static_cast<Py_ssize_t>(i)), graph.type(inputIds[i]).dtype));
    if (inputs.back().shape.size() != graph.type(inputIds[i]).shape.size())
      raise(PyExc_ValueError, "evaluate_graph: input " + std::to_string(i) + " has the wrong rank");
  }
  std::vector<int64_t> symbols;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); ++i) {
    symbols.push_back(PyLong_AsLongLong(PyList_GET_ITEM(values, i)));
    if (symbols.back() == -1 && PyErr_Occurred()) throw PythonError();
  }
  std::vector<graph::HostArray> committed;
  auto results = graph::evaluate(graph, inputs, symbols, &committed);
  if (!results.ok()) raise(PyExc_ValueError, std::string(results.status().message()));
  Ref outputs = checked(PyList_New(0)), after = checked(PyList_New(0));
  for (const graph::HostArray& host : *results) checked(PyList_Append(outputs.get(), fromHost(host).get()));
  for (const graph::HostArray& host : committed) checked(PyList_Append(after.get(), fromHost(host).get()));
  return checked(PyTuple_Pack(2, outputs.get(), after.get()));
}

}  // namespace

json describeGraph(const graph::Graph& graph) {
  json symbols = json::array(), nodes = json::array(), outputs = json::array(), commits = json::array();
  for (int i = 0; i < graph.syms().symbolCount(); ++i) symbols.push_back(graph.syms().symbolName(i));
  for (uint32_t i = 0; i < graph.size(); ++i) nodes.push_back(describeNode(graph, graph::ValueId(i)));
  for (graph::ValueId id : graph.outputs()) outputs.push_back(id.index);
  for (graph::ValueId id : graph.commits()) commits.push_back(id.index);
  return {{"symbols", symbols}, {"nodes", nodes}, {"outputs", outputs}, {"commits", commits}};
}

PyObject* parseGraph(PyObject*, PyObject* text) {
  PyObject* result = nullptr;
  return guarded([&] { result = toPython(describeGraph(parsed(text))); }) ? result : nullptr;
}

PyObject* evaluateGraph(PyObject*, PyObject* args) {
  PyObject *text, *arrays, *symbols;
  if (!PyArg_ParseTuple(args, "UO!O!", &text, &PyList_Type, &arrays, &PyList_Type, &symbols)) return nullptr;
  PyObject* result = nullptr;
  return guarded([&] { result = evaluateText(text, arrays, symbols).release(); }) ? result : nullptr;
}

}  // namespace fw::bindings
