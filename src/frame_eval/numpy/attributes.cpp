// Attributes of arrays and NumPy scalars. Facts about shape and type are Python values; transposes are views.
#include "cpython/numpy_api.h"
#include "frame_eval/numpy/binding.h"
#include "guards/array_layout.h"

namespace fw::capture::numpy {
namespace {

Value* dtypeObject(Trace& trace, DType dtype) {
  return trace.constant(reinterpret_cast<PyObject*>(guards::builtinDescr(dtype)));
}

Value* transposed(Trace& trace, Value* self, bool matrix) {
  int rank = trace.graph().type(self->node).rank();
  if (matrix && rank < 2) raises("ValueError: matrix transpose with ndim < 2 is undefined");
  if (self->kind != ValueKind::kArray) return self;
  IntList perm;
  for (int i = 0; i < rank; ++i) perm.push_back(matrix ? i : rank - 1 - i);
  if (matrix) std::swap(perm[static_cast<size_t>(rank) - 1], perm[static_cast<size_t>(rank) - 2]);
  return makeView(trace, self, rank < 2 ? self->node : trace.graph().transpose(self->node, perm));
}

}  // namespace

/// The parts of a complex array are views of its memory that the graph cannot name. As operands they may be used; a
/// part that is returned or written breaks, because its node is no chain of views over its owner's.
Value* partOf(Trace& trace, Value* self, bool real) {
  ValueId node = trace.graph().unary(real ? Op::kReal : Op::kImag, self->node);
  return self->kind == ValueKind::kArray ? makeView(trace, self, node) : trace.arrayOrScalar(node);
}

namespace {

/// Methods of NumPy scalars that answer what the array method answers for a 0-d array.
bool isScalarMethod(std::string_view name) {
  for (std::string_view known : {"sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "copy", "astype",
                                 "item", "conj", "conjugate", "clip", "round", "__abs__", "__copy__"}) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

std::optional<Value*> attribute(Trace& trace, Value* self, const std::string& name) {
  graph::Graph& g = trace.graph();
  DType dtype = g.type(self->node).dtype;
  SymShape shape = shapeOf(trace, self->node);
  bool array = self->kind == ValueKind::kArray;
  if (name == "shape") {
    std::vector<Value*> sizes;
    for (SymId s : shape) sizes.push_back(trace.pyInt(s));
    return trace.tuple(std::move(sizes));
  }
  if (name == "ndim") return trace.pyInt(trace.syms().constant(static_cast<int64_t>(shape.size())));
  if (name == "size") return trace.pyInt(elementCount(trace, shape));
  if (name == "dtype") return dtypeObject(trace, dtype);
  if (name == "itemsize") return trace.pyInt(trace.syms().constant(graph::itemSize(dtype)));
  if (name == "nbytes") {
    return trace.pyInt(trace.syms().mul(elementCount(trace, shape), trace.syms().constant(graph::itemSize(dtype))));
  }
  if (name == "T") return transposed(trace, self, false);
  if (name == "mT" && array) return transposed(trace, self, true);
  if (name == "real" && !graph::isComplex(dtype)) return self;  // the array itself, no view
  if ((name == "real" || name == "imag") && graph::isComplex(dtype)) return partOf(trace, self, name == "real");
  if (findFunction("ndarray." + name)) {
    Value* method = trace.make(ValueKind::kMethod);
    method->items = {nullptr, self};
    method->name = name;
    return method;
  }
  return std::nullopt;
}

std::optional<Value*> callMethod(Trace& trace, Value* self, const std::string& name, const CallArgs& args) {
  const FunctionInfo* function = findFunction("ndarray." + name);
  if (!function) return std::nullopt;
  if (self->kind != ValueKind::kArray && !isScalarMethod(name))
    unsupported("the method " + name + " of a NumPy scalar");
  trace.graph().setLine(static_cast<uint32_t>(trace.line));
  CallArgs bound = args;
  bound.positional.insert(bound.positional.begin(), self);
  return invoke(trace, *function, bound);
}

}  // namespace fw::capture::numpy
