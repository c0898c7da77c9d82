// Runs a Python callable as the code of a variant. The callable gets copies of the inputs, since nothing keeps their
// memory alive for what it may store; its results are copied into the buffers of the plan. Whatever goes wrong at run
// time declines the call, so that Python computes it, and is reported once per program.
#include "bindings/python_backend.h"

#include <cstring>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "bindings/buffer_windows.h"
#include "cpython/numpy_api.h"
#include "cpython/ref.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"
#include "runtime/buffer_results.h"

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;

namespace {

/// Guarded by the GIL; never destroyed, as variants may outlive static objects.
absl::flat_hash_map<std::string, Ref>& registry() {
  static auto* table = new absl::flat_hash_map<std::string, Ref>;
  return *table;
}

class PythonExecutable : public runtime::Executable {
 public:
  PythonExecutable(std::string name, Ref run, std::vector<int> trailing, graph::Graph graph, graph::Plan plan,
                   std::vector<graph::BufferId> targets, size_t outputCount)
      : name_(std::move(name)),
        run_(std::move(run)),
        trailing_(std::move(trailing)),
        graph_(std::move(graph)),
        plan_(std::move(plan)),
        targets_(std::move(targets)),
        outputCount_(outputCount) {}

  const graph::Plan& plan() const override { return plan_; }

  int32_t compute(runtime::Context& context) const override {
    GilScope gil;
    try {
      Ref arguments = argumentsOf(context.buffers, symbolsOf(context));
      Ref answer = Ref::steal(PyObject_CallObject(run_.get(), arguments.get()));
      if (!answer) return declined(takeError());
      return accept(answer.get(), context.buffers, symbolsOf(context));
    } catch (const PythonError&) {
      return declined(takeError());  // a pending wish to leave passes on through takeError()
    }
  }

  int32_t commit(runtime::Context& context) const override {
    GilScope gil;
    auto waiting = pending_.extract(context.buffers);
    FW_CHECK(!waiting.empty());
    for (size_t i = 0; i < waiting.mapped().size(); ++i)
      copyInto(targets_[outputCount_ + i], waiting.mapped()[i], context.buffers, symbolsOf(context));
    return 0;
  }

 private:
  absl::Span<const int64_t> symbolsOf(const runtime::Context& context) const {
    return {context.symbols, static_cast<size_t>(graph_.syms().symbolCount())};
  }

  std::vector<npy_intp> values(absl::Span<const graph::SymId> ids, absl::Span<const int64_t> symbols) const {
    return evaluated(graph_.syms(), ids, symbols);
  }

  /// An array over the memory of a buffer; only for the time of this call.
  Ref window(const graph::Buffer& buffer, void* data, absl::Span<const int64_t> symbols) const {
    return windowOf(buffer.dtype, values(buffer.shape, symbols), values(buffer.strides, symbols), data);
  }

  Ref argumentsOf(void* const* buffers, absl::Span<const int64_t> symbols) const {
    std::map<int, Ref> inputs;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan_.buffers[b];
      if (buffer.kind != graph::BufferKind::kInput) continue;
      Ref array = window(buffer, buffers[b], symbols);
      inputs[buffer.index] = checked(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array.get()), NPY_KEEPORDER));
    }
    Ref arguments = checked(PyTuple_New(static_cast<Py_ssize_t>(inputs.size() + trailing_.size())));
    Py_ssize_t at = 0;
    for (auto& [index, array] : inputs) PyTuple_SET_ITEM(arguments.get(), at++, array.release());
    for (int symbol : trailing_)
      PyTuple_SET_ITEM(arguments.get(), at++, checked(PyLong_FromLongLong(symbols[symbol])).release());
    return arguments;
  }

  int32_t accept(PyObject* answer, void* const* buffers, absl::Span<const int64_t> symbols) const {
    const bool bare = targets_.size() == 1 && !PyTuple_Check(answer) && !PyList_Check(answer);
    Ref items = bare ? checked(PyTuple_Pack(1, answer)) : checked(PySequence_Tuple(answer));
    if (PyTuple_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(targets_.size()))
      return declined("it answered " + std::to_string(PyTuple_GET_SIZE(items.get())) + " values for " +
                      std::to_string(targets_.size()) + " outputs");
    std::vector<Ref> arrays;
    for (size_t i = 0; i < targets_.size(); ++i) {
      const graph::Buffer& buffer = plan_.buffers[targets_[i].index];
      PyObject* item = PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
      Ref array = checked(PyArray_FromAny(item, nullptr, 0, 0, 0, nullptr));
      auto* a = reinterpret_cast<PyArrayObject*>(array.get());
      const std::vector<npy_intp> shape = values(buffer.shape, symbols);
      if (PyArray_DESCR(a)->type_num != guards::typeNumber(buffer.dtype) ||
          static_cast<size_t>(PyArray_NDIM(a)) != shape.size() ||
          !std::equal(shape.begin(), shape.end(), PyArray_DIMS(a)))
        return declined("output " + std::to_string(i) + " has the wrong type or shape");
      arrays.push_back(std::move(array));
    }
    const auto written = arrays.begin() + static_cast<ptrdiff_t>(outputCount_);
    for (size_t i = 0; i < outputCount_; ++i) copyInto(targets_[i], arrays[i], buffers, symbols);
    if (written != arrays.end()) pending_[buffers] = {written, arrays.end()};
    return 0;
  }

  void copyInto(graph::BufferId target, const Ref& array, void* const* buffers,
                absl::Span<const int64_t> symbols) const {
    Ref memory = window(plan_.buffers[target.index], buffers[target.index], symbols);
    auto* to = reinterpret_cast<PyArrayObject*>(memory.get());
    checked(PyArray_CopyInto(to, reinterpret_cast<PyArrayObject*>(array.get())));
  }

  int32_t declined(const std::string& why) const {
    reportFailure(name_, why, reported_);
    return runtime::kStatusDecline;
  }

  std::string name_;
  Ref run_;
  std::vector<int> trailing_;  ///< symbols handed over behind the arrays: those that no shape tells
  graph::Graph graph_;
  graph::Plan plan_;
  std::vector<graph::BufferId> targets_;  ///< where results go: outputs, then inputs that the graph's commits write
  size_t outputCount_;
  /// What compute() has for commit(), by the buffers of the call; calls of several threads may be between the two. The
  /// GIL guards it.
  mutable std::map<const void*, std::vector<Ref>> pending_;
  mutable bool reported_ = false;  ///< guarded by the GIL
};

/// What the backend makes of the graph: its callable, and the symbols that the callable wants.
std::pair<Ref, std::vector<int>> callBackend(PyObject* backend, const graph::Graph& graph) {
  Ref module = checked(PyImport_ImportModule("fusewire._graph"));
  const std::string text = graph::print(graph);
  Ref unicode = checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  Ref object = checked(PyObject_CallMethod(module.get(), "Graph", "O", unicode.get()));
  Ref run = checked(PyObject_CallOneArg(backend, object.get()));
  if (!PyCallable_Check(run.get())) {
    PyErr_Format(PyExc_TypeError, "it answered a %s, not a callable", Py_TYPE(run.get())->tp_name);
    throw PythonError();
  }
  Ref list = checked(PyObject_GetAttrString(object.get(), "_trailing"));
  std::vector<int> trailing;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    trailing.push_back(static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(list.get(), i))));
  return {std::move(run), std::move(trailing)};
}

}  // namespace

void registerBackend(const std::string& name, PyObject* callable) { registry()["@" + name] = Ref::create(callable); }

absl::StatusOr<std::unique_ptr<runtime::Executable>> makePython(const std::string& name, graph::Graph graph,
                                                                graph::Plan plan) {
  auto found = registry().find(name);
  if (found == registry().end()) return absl::AbortedError("backend '" + name.substr(1) + "' is not registered");
  if (!plan.isStraight()) return absl::UnimplementedError("a backend for straight code only");
  std::vector<graph::BufferId> targets;
  graph.outputs().clear();
  for (const runtime::BufferResult& result : runtime::bufferResults(plan)) {
    graph.outputs().push_back(result.value);
    targets.push_back(result.buffer);
  }
  const size_t outputCount = targets.size();
  std::map<int, graph::BufferId> written;
  for (graph::ValueId store : graph.commits()) {
    const graph::BufferId buffer = plan.bufferOf(store);
    written[plan.buffers[buffer.index].index] = buffer;
  }
  for (const auto& [input, buffer] : written) targets.push_back(buffer);
  Ref backend = found->second;
  try {
    auto [run, trailing] = callBackend(backend.get(), graph);
    return std::make_unique<PythonExecutable>(name.substr(1), std::move(run), std::move(trailing), std::move(graph),
                                              std::move(plan), std::move(targets), outputCount);
  } catch (const PythonError&) {
    return absl::AbortedError("backend '" + name.substr(1) + "' raised " + takeError());
  }
}

}  // namespace fw::bindings
