// Attributes of arrays and NumPy scalars. Facts about shape and type are Python values; transposes are views.
#include "cpython/numpy_api.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/nested_iteration.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/examples.h"
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

/// One attribute that is no method; `read` answers null if this object has it from elsewhere.
struct AttributeInfo {
  std::string_view name;
  Value* (*read)(Trace&, Value*);
};

DType dtypeOfSelf(Trace& trace, Value* self) { return trace.graph().type(self->node).dtype; }

Value* sizes(Trace& trace, Value* self) {
  std::vector<Value*> sizes;
  for (SymId s : shapeOf(trace, self->node)) sizes.push_back(trace.pyInt(s));
  return trace.tuple(std::move(sizes));
}

Value* count(Trace& trace, Value* self) { return trace.pyInt(elementCount(trace, shapeOf(trace, self->node))); }

Value* rank(Trace& trace, Value* self) {
  return trace.pyInt(trace.syms().constant(trace.graph().type(self->node).rank()));
}

Value* bytesOfElement(Trace& trace, Value* self) {
  return trace.pyInt(trace.syms().constant(graph::itemSize(dtypeOfSelf(trace, self))));
}

Value* bytesOfAll(Trace& trace, Value* self) {
  const SymId size = trace.syms().constant(graph::itemSize(dtypeOfSelf(trace, self)));
  return trace.pyInt(trace.syms().mul(elementCount(trace, shapeOf(trace, self->node)), size));
}

/// The real part of real numbers is the array itself, no view.
Value* realPart(Trace& trace, Value* self) {
  return graph::isComplex(dtypeOfSelf(trace, self)) ? partOf(trace, self, true) : self;
}

Value* imaginaryPart(Trace& trace, Value* self) {
  return graph::isComplex(dtypeOfSelf(trace, self)) ? partOf(trace, self, false) : nullptr;
}

Value* flatIterator(Trace& trace, Value* self) {
  return self->kind == ValueKind::kArray && !trace.onDevice() ? NestedIteration::flat(trace, self) : nullptr;
}

constexpr AttributeInfo kAttributes[] = {
    {"shape", sizes},
    {"ndim", rank},
    {"size", count},
    {"dtype", [](Trace& t, Value* self) { return dtypeObject(t, dtypeOfSelf(t, self)); }},
    {"itemsize", bytesOfElement},
    {"nbytes", bytesOfAll},
    {"T", [](Trace& t, Value* self) { return transposed(t, self, false); }},
    {"mT", [](Trace& t, Value* self) { return self->kind == ValueKind::kArray ? transposed(t, self, true) : nullptr; }},
    {"real", realPart},
    {"imag", imaginaryPart},
    {"flat", flatIterator},
};

}  // namespace

std::vector<std::string_view> attributeNames() {
  std::vector<std::string_view> names;
  for (const AttributeInfo& row : kAttributes) names.push_back(row.name);
  return names;
}

std::optional<Value*> attribute(Trace& trace, Value* self, const std::string& name) {
  if (MixedNumbers::is(self)) trace.branches.refuse(self);
  for (const AttributeInfo& row : kAttributes) {
    if (row.name != name) continue;
    if (Value* value = row.read(trace, self)) return value;
    return std::nullopt;
  }
  if (findFunction(trace, "ndarray." + name) || (self->kind == ValueKind::kArray && methodWithExamples(trace, name))) {
    Value* method = trace.make(ValueKind::kMethod);
    method->items = {nullptr, self};
    method->name = name;
    return method;
  }
  return std::nullopt;
}

std::optional<Value*> callMethod(Trace& trace, Value* self, const std::string& name, const CallArgs& args) {
  if (MixedNumbers::is(self)) trace.branches.refuse(self);
  const FunctionInfo* function = findFunction(trace, "ndarray." + name);
  if (!function) return std::nullopt;
  if (self->kind != ValueKind::kArray && !isScalarMethod(name))
    unsupported("the method " + name + " of a NumPy scalar");
  trace.graph().setLine(static_cast<uint32_t>(trace.line));
  CallArgs bound = args;
  bound.positional.insert(bound.positional.begin(), self);
  return invoke(trace, *function, bound);
}

}  // namespace fw::capture::numpy
