// CPython's formulas (complexobject.c), operation by operation. It looks at no floating-point flags, and passes over
// most of what they tell; where it raises OverflowError, the call is Python's.
#include "frame_eval/complex_numbers.h"

#include "cpython/bytecode.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::Scalar;
using graph::ValueId;

bool ComplexNumbers::is(const Value* value) {
  return value->kind == ValueKind::kPyComplex || isConstantOf(value, &PyComplex_Type);
}

/// On the way: what a guard can hold fast is not.
bool ComplexNumbers::isComputed(Value* value) const {
  if (value->isConstant() || value->source.valid()) return false;
  if (value->kind == ValueKind::kPyInt) return trace_.turns.contains(value->sym) || trace_.decided.contains(value->sym);
  return !trace_.numbers().of(value);
}

Value* ComplexNumbers::number(ValueId node) { return trace_.number(ValueKind::kPyComplex, node); }

Value* ComplexNumbers::make(ValueId real, ValueId imag) {
  return number(trace_.graph().binary(Op::kComplex, real, imag));
}

ValueId ComplexNumbers::node(Value* value) {
  if (is(value)) return trace_.operand(value).value;
  return trace_.graph().cast(in_.asFloat(value), DType::kC128);
}

Value* ComplexNumbers::binary(int op, Value* left, Value* right) {
  if (trace_.onDevice() || (!isComputed(left) && !isComputed(right))) return nullptr;
  graph::Graph& g = trace_.graph();
  switch (op) {
    case cpython::kNbAdd: return number(g.binary(Op::kAdd, node(left), node(right)));
    case cpython::kNbSubtract: return number(g.binary(Op::kSubtract, node(left), node(right)));
    case cpython::kNbMultiply: return number(g.binary(Op::kMultiply, node(left), node(right)));
    case cpython::kNbTrueDivide: return quotient(node(left), node(right));
    case cpython::kNbPower: {
      constexpr int64_t kMost = 16;
      if (!isConstantOf(right, &PyLong_Type)) return nullptr;
      int overflow = 0;
      const int64_t exponent = PyLong_AsLongLongAndOverflow(right->object.get(), &overflow);
      if (overflow || exponent < 1 || exponent > kMost) return nullptr;
      const ValueId result = power(node(left), exponent);
      DataInts{trace_}.require(g.unary(Op::kIsfinite, result));
      return number(result);
    }
    default: return nullptr;
  }
}

/// Squares, and their product, which begins with 1.
ValueId ComplexNumbers::power(ValueId base, int64_t exponent) {
  graph::Graph& g = trace_.graph();
  ValueId result = g.constant(Scalar::ofComplex(DType::kC128, {1, 0}));
  for (ValueId square = base;; square = g.binary(Op::kMultiply, square, square)) {
    if (exponent % 2 != 0) result = g.binary(Op::kMultiply, result, square);
    exponent /= 2;
    if (exponent == 0) return result;
  }
}

/// Scaled by the larger part of the divisor. Zero and NaN are Python's.
Value* ComplexNumbers::quotient(ValueId left, ValueId right) {
  graph::Graph& g = trace_.graph();
  const ValueId a = g.unary(Op::kReal, left), b = g.unary(Op::kImag, left);
  const ValueId c = g.unary(Op::kReal, right), d = g.unary(Op::kImag, right);
  const ValueId real = g.unary(Op::kAbsolute, c), imag = g.unary(Op::kAbsolute, d);
  const ValueId larger = g.binary(Op::kGreaterEqual, real, imag);
  const auto select = [&](ValueId x, ValueId y) { return numpy::ufuncNode(trace_, Op::kWhere, {larger, x, y}); };
  const ValueId large = select(c, d), small = select(d, c);
  const ValueId zero = g.constant(Scalar::ofDouble(DType::kF64, 0));
  DataInts{trace_}.require(g.binary(Op::kGreater, g.unary(Op::kAbsolute, large), zero));
  DataInts{trace_}.require(g.binary(Op::kEqual, small, small));
  const ValueId ratio = g.binary(Op::kDivide, small, large);
  const ValueId scale = g.binary(Op::kAdd, large, g.binary(Op::kMultiply, small, ratio));
  const ValueId p = select(a, b), q = select(b, a);
  const ValueId product = g.binary(Op::kMultiply, p, ratio);
  const ValueId sum = g.binary(Op::kAdd, p, g.binary(Op::kMultiply, q, ratio));
  const ValueId difference = select(g.binary(Op::kSubtract, q, product), g.binary(Op::kSubtract, product, q));
  return make(g.binary(Op::kDivide, sum, scale), g.binary(Op::kDivide, difference, scale));
}

Value* ComplexNumbers::equal(bool equal, Value* left, Value* right) {
  if (trace_.onDevice() || (!isComputed(left) && !isComputed(right))) return nullptr;
  const Op op = equal ? Op::kEqual : Op::kNotEqual;
  return trace_.number(ValueKind::kPyBool, trace_.graph().binary(op, node(left), node(right)));
}

Value* ComplexNumbers::negative(Value* value) {
  return isComputed(value) ? number(trace_.graph().unary(Op::kNegative, value->node)) : nullptr;
}

/// The hypotenuse, as of NumPy's scalars.
Value* ComplexNumbers::absolute(Value* value) {
  if (!isComputed(value)) return nullptr;
  const ValueId length = trace_.graph().unary(Op::kAbsolute, value->node);
  DataInts{trace_}.require(trace_.graph().unary(Op::kIsfinite, length));
  return trace_.number(ValueKind::kPyFloat, length);
}

Value* ComplexNumbers::part(Value* value, bool real) {
  return trace_.number(ValueKind::kPyFloat, trace_.graph().unary(real ? Op::kReal : Op::kImag, value->node));
}

}  // namespace fw::capture
