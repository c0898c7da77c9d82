// Temporary elision: NumPy computes an operator in the place of an operand that nobody else holds, if that is large, so
// that the result has the layout of the operand, where a new array would have one between those of both. NumPy looks at
// the reference count, and at the stack of C frames for being called by the interpreter straight away.
//
// Method: read of numpy/_core/src/multiarray/temp_elide.c, and asked of this NumPy with an array.
#include "cpython/bytecode.h"
#include "cpython/numpy_api.h"
#include "frame_eval/numpy/numpy_ops.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {

using graph::Layout;

namespace {

constexpr int64_t kLeastBytes = 256 * 1024;

/// Whether this NumPy does.
bool elides() {
  static const bool answer = [] {
    constexpr char kCode[] =
        "import numpy as np\n"
        "x, y = np.ones((512, 128), order='F'), np.ones((512, 128))\n"
        "elides = ((x + 1) * y).strides == x.strides\n";
    cpython::Ref globals = cpython::Ref::steal(PyDict_New());
    cpython::Ref done = globals ? cpython::Ref::steal(PyRun_String(kCode, Py_file_input, globals.get(), globals.get()))
                                : cpython::Ref();
    if (!done) return PyErr_Clear(), false;
    return PyDict_GetItemString(globals.get(), "elides") == Py_True;
  }();
  return answer;
}

enum class Elided : uint8_t { kNever, kLeft, kEither };

Elided elidedBy(int number) {
  switch (number) {
    case cpython::kNbAdd:
    case cpython::kNbMultiply:
    case cpython::kNbAnd:
    case cpython::kNbOr:
    case cpython::kNbXor: return Elided::kEither;
    case cpython::kNbSubtract:
    case cpython::kNbFloorDivide:
    case cpython::kNbTrueDivide:
    case cpython::kNbLshift:
    case cpython::kNbRshift: return Elided::kLeft;
    default: return Elided::kNever;
  }
}

}  // namespace

Value* inPlaceOfTemporary(Trace& trace, int number, Value* left, Value* right, Value* result,
                          absl::FunctionRef<bool(const Value*)> isHeld) {
  const Elided elided = elidedBy(number);
  const auto isArray = [](const Value* v) { return v->kind == ValueKind::kArray; };
  if (elided == Elided::kNever || trace.onDevice() || !isArray(left) || !isArray(right) || !isArray(result))
    return result;
  const ValueType type = trace.graph().type(result->node);
  const auto layoutOf = [&](const Value* operand) { return trace.graph().type(operand->node).layout; };
  if (type.rank() < 2 || (layoutOf(left) == type.layout && layoutOf(right) == type.layout)) return result;
  const auto mayBe = [&](const Value* operand, const Value* other) {
    const ValueType &own = trace.graph().type(operand->node), &others = trace.graph().type(other->node);
    return own.shape == type.shape && others.shape == own.shape && own.dtype == type.dtype &&
           own.dtype != graph::DType::kBool && graph::canCastSafely(others.dtype, own.dtype) && !operand->base &&
           !operand->source.valid() && trace.graph().node(operand->node).op != graph::Op::kInput && !isHeld(operand);
  };
  const Value* temporary = mayBe(left, right)                                ? left
                           : elided == Elided::kEither && mayBe(right, left) ? right
                                                                             : nullptr;
  if (!temporary || !elides()) return result;
  graph::SymContext& syms = trace.syms();
  const graph::SymId bytes = syms.mul(elementCount(trace, type.shape), syms.constant(graph::itemSize(type.dtype)));
  if (!trace.decide(syms.constant(kLeastBytes), guards::Relation::kLe, syms.canonical(bytes))) return result;
  const Layout layout = layoutOf(temporary);
  return layout == type.layout ? result : trace.array(copyAs(trace, result->node, layout));
}

}  // namespace fw::capture::numpy
