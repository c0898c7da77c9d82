// Operators of arrays and NumPy scalars. For arrays they are the ufuncs, but for the fast paths of `**`; NumPy scalars
// have arithmetic of their own, which answers the same but warns about integer overflow.
#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "cpython/bytecode.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/binding.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/masks.h"
#include "graph/support/check.h"

namespace fw::capture::numpy {
namespace {

/// The ufunc of a binary operator, by the operator's name in the op table.
Op opOf(int number) {
  static const std::vector<std::optional<Op>> ops = {
#define FW_BINARY_OPERATOR(Id, name, inplace) graph::opFromNumpyName("operator." name),
#include "cpython/binary_operators.def"
  };
  FW_CHECK(number >= 0 && number < cpython::kNbFirstInplace);
  FW_CHECK(ops[number]);
  return *ops[number];
}

/// Arithmetic that can overflow: NumPy's integer scalars warn then.
bool mayOverflow(Op op) {
  return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kPower || op == Op::kNegative ||
         op == Op::kAbsolute || op == Op::kFloorDivide || op == Op::kRemainder;
}

/// Python's number of the operator.
int numberOf(Op op) {
  switch (op) {
    case Op::kAdd: return cpython::kNbAdd;
    case Op::kSubtract: return cpython::kNbSubtract;
    case Op::kMultiply: return cpython::kNbMultiply;
    case Op::kFloorDivide: return cpython::kNbFloorDivide;
    case Op::kRemainder: return cpython::kNbRemainder;
    default: return cpython::kNbPower;
  }
}

/// `result`, or the same with checks where it is arithmetic of NumPy's integer scalars: what does not fit into the type
/// fails the call.
ValueId checkedScalar(Trace& trace, Op op, ValueId result, const std::vector<Value*>& operands) {
  const DType dtype = trace.graph().type(result).dtype;
  if (!mayOverflow(op) || !graph::isInteger(dtype) || !std::all_of(operands.begin(), operands.end(), isScalar))
    return result;
  if (trace.onDevice()) unsupported("arithmetic of integer NumPy scalars (overflow would warn)");
  // Quotients by zero of NumPy's raise nothing.
  const absl::Cleanup leave = [&, outer = std::exchange(trace.branches.raising, nullptr)] {
    trace.branches.raising = outer;
  };
  DataInts ints{trace};
  Value* first = ints.ofScalar(operands[0]);
  Value* answer = nullptr;
  if (operands.size() == 1) {
    answer = ints.negative(first);
  } else if (Value* second = ints.ofScalar(operands[1]); first && second) {
    answer = ints.binary(numberOf(op), first, second);
  }
  const std::optional<ValueId> node = ints.inDtype(answer, dtype);
  if (!node) unsupported("arithmetic of integer NumPy scalars (overflow would warn)");
  return *node;
}

/// NumPy's f16 scalars find quotient and remainder together: what computing the other one raises is reported, too. (Of
/// a quotient by 0 not always; then Python runs the call and tells.)
void watchOtherHalf(Trace& trace, Op op, ValueId result, const std::vector<Value*>& operands) {
  const graph::Graph& g = trace.graph();
  const bool divides = op == Op::kRemainder || op == Op::kFloorDivide;
  if (!divides || g.type(result).dtype != DType::kF16 || !std::all_of(operands.begin(), operands.end(), isScalar))
    return;
  ufuncNode(trace, op == Op::kRemainder ? Op::kFloorDivide : Op::kRemainder, operands);
}

/// The ufunc that array ** exponent runs instead of power, for exponents that are Python numbers known here.
std::optional<Op> fastPower(Trace& trace, Value* base, Value* exponent) {
  if (base->kind != ValueKind::kArray || !exponent->isConstant()) return std::nullopt;
  PyObject* o = exponent->object.get();
  bool inexact = graph::isInexact(trace.graph().type(base->node).dtype);
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    long e = PyLong_AsLongAndOverflow(o, &overflow);
    if (overflow) unsupported("a huge exponent");
    if (e == 2) return Op::kSquare;
    if (e == -1 && inexact) return Op::kReciprocal;
  } else if (PyFloat_CheckExact(o)) {
    double e = PyFloat_AS_DOUBLE(o);
    if (e == 0.5 && inexact) return Op::kSqrt;
  }
  return std::nullopt;
}

ValueId binaryNode(Trace& trace, Op op, Value* left, Value* right) {
  if (op == Op::kPower && trace.onDevice())
    if (auto fast = deviceFastPower(trace, left, right)) return *fast;
  if (op == Op::kPower && !trace.onDevice()) {
    right = knownExponent(trace, left, right);
    if (auto fast = fastPower(trace, left, right)) {
      return ufuncNode(trace, *fast, {left->node});
    }
  }
  ValueId node = ufuncNode(trace, op, std::vector<Value*>{left, right});
  trace.ufuncCalls += countsAsArithmetic(trace.graph().node(node));
  watchOtherHalf(trace, op, node, {left, right});
  return checkedScalar(trace, op, node, {left, right});
}

/// array op= value: the ufunc's result is cast to the array's type and written into it.
Value* inplaceOp(Trace& trace, Op op, Value* target, Value* right) {
  if (op == Op::kPower && trace.onDevice()) unsupported("a power in place on a device");
  checkWriteable(trace, target);
  graph::Graph& g = trace.graph();
  // Only the right side may broadcast.
  ValueId other = asArray(trace, right);
  broadcastInto(trace, other, shapeOf(trace, target->node), false);
  ValueId node = binaryNode(trace, op, target, right);
  checkOwnProduct(trace, op, target);
  DType to = g.type(target->node).dtype;
  if (!graph::canCastSameKind(g.type(node).dtype, to)) {
    raises("UFuncTypeError: cannot cast the result of an in-place operation");
  }
  writeAll(trace, target, g.cast(node, to));
  return target;
}

void checkOperand(Value* value) {
  // Sequences beside NumPy scalars repeat or concatenate; other objects may bring operators of their own.
  bool sequence = value->kind == ValueKind::kTuple || value->kind == ValueKind::kList;
  if (value->isConstant()) sequence = PyTuple_CheckExact(value->object.get());
  if (!sequence && !value->isNumeric() && !value->isConstant()) unsupported("an operator of an array and this object");
}

}  // namespace

bool countsAsArithmetic(const graph::Node& node) {
  const bool counted =
      node.op == Op::kAdd || node.op == Op::kSubtract || node.op == Op::kMultiply || node.op == Op::kDivide;
  return counted && graph::isInexact(node.type.dtype) && node.type.rank() > 0;
}

Value* binaryOp(Trace& trace, int number, bool inplace, Value* left, Value* right) {
  if (number == cpython::kNbMatrixMultiply) {
    if (inplace) unsupported("the operator @=");
    if (left->kind != ValueKind::kArray || right->kind != ValueKind::kArray)
      unsupported("the operator @ of what is no array");
    return callNamed(trace, "np.matmul", {{left, right}, {}});
  }
  Op op = opOf(number);
  if (trace.onDevice()) needsArray("an operator", {{left, right}, {}});
  if (isSelection(left) || isSelection(right)) {
    if (Value* selected = selectionOp(trace, op, inplace, left, right)) return selected;
    settled(trace, left);
    settled(trace, right);
  }
  checkOperand(left);
  checkOperand(right);
  bool array = left->kind == ValueKind::kArray || right->kind == ValueKind::kArray;
  bool sequence = !(left->isNumeric() || left->isConstant()) || !(right->isNumeric() || right->isConstant());
  if (sequence && (!array || inplace)) unsupported("an operator of a sequence and a NumPy scalar");
  if (inplace && left->kind == ValueKind::kArray) return inplaceOp(trace, op, left, right);
  return trace.arrayOrScalar(binaryNode(trace, op, left, right));
}

ValueId operatorNode(Trace& trace, Op op, Value* left, Value* right) { return binaryNode(trace, op, left, right); }

Value* compare(Trace& trace, int op, Value* left, Value* right) {
  if (trace.onDevice()) needsArray("a comparison", {{left, right}, {}});
  settled(trace, left);
  settled(trace, right);
  checkOperand(left);
  checkOperand(right);
  // NumPy's complex scalars order NaN in another way than its arrays.
  auto isComplexScalar = [&](const Value* v) {
    return v->kind == ValueKind::kArrayScalar && graph::isComplex(trace.graph().type(v->node).dtype);
  };
  const bool arrays = left->kind == ValueKind::kArray || right->kind == ValueKind::kArray;
  if (op != Py_EQ && op != Py_NE && !arrays && (isComplexScalar(left) || isComplexScalar(right)))
    unsupported("the order of complex NumPy scalars");
  switch (op) {
    case Py_LT: return ufunc(trace, Op::kLess, {left, right});
    case Py_LE: return ufunc(trace, Op::kLessEqual, {left, right});
    case Py_EQ: return ufunc(trace, Op::kEqual, {left, right});
    case Py_NE: return ufunc(trace, Op::kNotEqual, {left, right});
    case Py_GT: return ufunc(trace, Op::kGreater, {left, right});
    case Py_GE: return ufunc(trace, Op::kGreaterEqual, {left, right});
  }
  FW_UNREACHABLE();
}

Value* unaryOp(Trace& trace, Unary number, Value* operand) {
  if (trace.onDevice()) needsArray("an operator", {{operand}, {}});
  settled(trace, operand);
  Op op = Op::kPositive;
  switch (number) {
    case Unary::kNegative: op = Op::kNegative; break;
    case Unary::kPositive: op = Op::kPositive; break;
    case Unary::kInvert: op = Op::kInvert; break;
  }
  const ValueId node = ufuncNode(trace, op, std::vector<Value*>{operand});
  return trace.arrayOrScalar(checkedScalar(trace, op, node, {operand}));
}

}  // namespace fw::capture::numpy
