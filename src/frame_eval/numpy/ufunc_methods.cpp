// Methods of ufuncs: add.reduce, maximum.accumulate, multiply.outer, subtract.at. A reduction is the function of NumPy
// that is made of it; an outer ufunc is the ufunc of stretched operands; `at` changes its first operand.
#include "cpython/numpy_api.h"
#include "cpython/numpy_names.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/in_place.h"

namespace fw::capture::numpy {

using cpython::checked;

namespace {

struct Reduction {
  std::string_view ufunc, method, function;
};
/// NumPy's functions that do nothing else, but for their default axis.
constexpr Reduction kReductions[] = {
    {"np.add", "reduce", "np.sum"},         {"np.multiply", "reduce", "np.prod"},
    {"np.maximum", "reduce", "np.max"},     {"np.minimum", "reduce", "np.min"},
    {"np.logical_and", "reduce", "np.all"}, {"np.logical_or", "reduce", "np.any"},
    {"np.add", "accumulate", "np.cumsum"},  {"np.multiply", "accumulate", "np.cumprod"},
};

/// array, axis=0, dtype=None, out=None, ...: the names that follow the array.
Value* reduceBy(Trace& trace, std::string_view function, const CallArgs& args) {
  CallArgs given = args;
  const bool axis = given.positional.size() > 1 ||
                    std::ranges::any_of(given.keywords, [](const auto& keyword) { return keyword.first == "axis"; });
  if (!axis) given.keywords.emplace_back("axis", trace.constant(cpython::checked(PyLong_FromLong(0))));
  return callNamed(trace, function, given);
}

/// left[..., None, None] op right.
Value* outer(Trace& trace, Op op, const CallArgs& args, const std::string& name) {
  if (args.positional.size() != 2 || !args.keywords.empty()) unsupported(name + " with these arguments");
  Value *left = args.positional[0], *right = args.positional[1];
  for (Value* operand : {left, right})
    if (operand->kind != ValueKind::kArray) unsupported(name + " of something that is no array");
  graph::Graph& g = trace.graph();
  IntList axes;
  const int rank = g.type(left->node).rank();
  for (int i = 0; i < g.type(right->node).rank(); ++i) axes.push_back(rank + i);
  if (!axes.empty()) left = trace.array(g.expand(left->node, axes));
  return ufunc(trace, op, {left, right});
}

}  // namespace

bool isMethodOfUfunc(PyObject* callable) {
  if (!PyCFunction_Check(callable) || !PyCFunction_GET_SELF(callable)) return false;
  return cpython::isUfunc(PyCFunction_GET_SELF(callable));
}

Value* callUfuncMethod(Trace& trace, PyObject* callable, const UfuncOf& ufunc, const CallArgs& args) {
  const std::string method = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  const std::string name = ufunc.name + "." + method;
  if (trace.onDevice()) unsupported(name + " on a device");
  for (const Reduction& row : kReductions)
    if (row.ufunc == ufunc.name && row.method == method) return reduceBy(trace, row.function, args);
  if (method == "outer") return outer(trace, ufunc.op, args, name);
  if (method != "at" || args.positional.empty() || args.positional[0]->kind != ValueKind::kArray) unsupported(name);
  if (!args.keywords.empty()) unsupported(name + " with keywords");
  LibraryNode what{.name = name, .function = {}, .positional = {args.positional.begin() + 1, args.positional.end()}};
  changeBy(trace, args.positional[0], Ref::create(callable), std::move(what));
  return trace.constant(Py_None);
}

}  // namespace fw::capture::numpy
