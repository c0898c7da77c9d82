// The statements themselves are Python source, made by fusewire._statements from the text of the captured graph and the
// list of writes. It gets arrays over the memory of the call: inputs, sizes, outputs to fill. All of it happens in
// compute(): what an error leaves half-done is put back there, and Python runs the call.
#include "bindings/statements_backend.h"

#include <map>

#include "bindings/buffer_windows.h"

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;

namespace {

class StatementsExecutable : public runtime::Executable {
 public:
  StatementsExecutable(Ref run, std::vector<int> trailing, graph::Graph graph, graph::Plan plan)
      : run_(std::move(run)),
        trailing_(std::move(trailing)),
        graph_(std::move(graph)),
        plan_(std::move(plan)) {}

  const graph::Plan& plan() const override { return plan_; }

  int32_t compute(runtime::Context& context) const override {
    GilScope gil;
    try {
      Ref arguments = argumentsOf(context.buffers, {context.symbols, static_cast<size_t>(graph_.syms().symbolCount())});
      Ref answer = Ref::steal(PyObject_CallObject(run_.get(), arguments.get()));
      if (answer) return 0;
    } catch (const PythonError&) {}
    reportFailure("statements", takeError(), reported_);
    return runtime::kStatusDecline;
  }

  /// Has happened in compute().
  int32_t commit(runtime::Context&) const override { return 0; }

 private:
  Ref window(const graph::Buffer& buffer, int64_t offset, const graph::SymShape& shape, const graph::SymList& strides,
             void* data, absl::Span<const int64_t> symbols) const {
    return windowOf(buffer.dtype, evaluated(graph_.syms(), shape, symbols), evaluated(graph_.syms(), strides, symbols),
                    static_cast<char*>(data) + offset);
  }

  /// (inputs, sizes, outputs): an output is None where it is a part of an input.
  Ref argumentsOf(void* const* buffers, absl::Span<const int64_t> symbols) const {
    std::map<int, Ref> byIndex;
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const graph::Buffer& buffer = plan_.buffers[b];
      if (buffer.kind == graph::BufferKind::kInput)
        byIndex[buffer.index] = window(buffer, 0, buffer.shape, buffer.strides, buffers[b], symbols);
    }
    Ref inputs = checked(PyList_New(0)), sizes = checked(PyList_New(0)), outputs = checked(PyList_New(0));
    for (auto& [index, array] : byIndex) checked(PyList_Append(inputs.get(), array.get()));
    for (int symbol : trailing_)
      checked(PyList_Append(sizes.get(), checked(PyLong_FromLongLong(symbols[symbol])).get()));
    for (const graph::OutputBinding& output : plan_.outputs) {
      const graph::Buffer& buffer = plan_.buffers[output.buffer.index];
      if (buffer.kind == graph::BufferKind::kInput) {
        checked(PyList_Append(outputs.get(), Py_None));
        continue;
      }
      const int64_t offset = evaluated(graph_.syms(), {&output.offset, 1}, symbols)[0];
      Ref array = window(buffer, offset, output.shape, output.strides, buffers[output.buffer.index], symbols);
      checked(PyList_Append(outputs.get(), array.get()));
    }
    return checked(PyTuple_Pack(3, inputs.get(), sizes.get(), outputs.get()));
  }

  Ref run_;
  std::vector<int> trailing_;  ///< symbols handed over behind the arrays: those that no shape tells
  graph::Graph graph_;
  graph::Plan plan_;
  mutable bool reported_ = false;  ///< guarded by the GIL
};

/// [(array, before, part, value, after, made)] by numbers of nodes.
Ref listOf(const std::vector<capture::ProgramWrite>& writes) {
  Ref list = checked(PyList_New(0));
  for (const capture::ProgramWrite& write : writes) {
    Ref item = checked(Py_BuildValue("(iIIIIi)", write.array, write.before.index, write.part.index, write.value.index,
                                     write.after.index, write.made));
    checked(PyList_Append(list.get(), item.get()));
  }
  return list;
}

}  // namespace

absl::StatusOr<std::unique_ptr<runtime::Executable>> makeStatements(graph::Graph graph, graph::Plan plan,
                                                                    const Script& script) {
  try {
    Ref module = checked(PyImport_ImportModule("fusewire._statements"));
    Ref made = checked(
        PyObject_CallMethod(module.get(), "statements", "sO", script.graph.c_str(), listOf(script.writes).get()));
    Ref run = Ref::create(PyTuple_GET_ITEM(made.get(), 0));
    std::vector<int> trailing;
    PyObject* list = PyTuple_GET_ITEM(made.get(), 1);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
      trailing.push_back(static_cast<int>(PyLong_AsLong(PyList_GET_ITEM(list, i))));
    return std::make_unique<StatementsExecutable>(std::move(run), std::move(trailing), std::move(graph),
                                                  std::move(plan));
  } catch (const PythonError&) {
    return absl::AbortedError("backend 'statements' raised " + takeError());
  }
}

}  // namespace fw::bindings
