// Functions that NumPy composes of ufuncs (clip, round, isclose ...), written down in the same steps, and selection.
#include <cmath>

#include "cpython/numpy_api.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/complex_length.h"

namespace fw::capture::numpy {
namespace {

/// The value as NumPy sees it after np.asarray: never weak.
Value* strong(Trace& trace, Value* value) {
  if (value->kind == ValueKind::kArray || value->kind == ValueKind::kArrayScalar) return value;
  return trace.array(asArray(trace, value));
}

Value* pyFloat(Trace& trace, double v) { return trace.constant(cpython::checked(PyFloat_FromDouble(v))); }
Value* pyLong(Trace& trace, long v) { return trace.constant(cpython::checked(PyLong_FromLong(v))); }

DType dtypeOf(Trace& trace, Value* value) { return trace.graph().type(trace.operand(value).value).dtype; }

/// A bound of clip: Python ints beyond the type are handled by NumPy in its own way.
void checkBound(Bound& a, Value* bound, DType dtype) {
  if (graph::isInteger(dtype) && !sequenceItems(a.trace, bound) && !intFits(a.trace, bound, dtype)) {
    a.refuse("a bound out of the range of the type");
  }
}

}  // namespace

namespace handlers {

Value* where(Bound& a) {
  if (!a["x"] != !a["y"]) raises("either both or neither of x and y should be given");
  if (!a["x"]) return nonzero(a);
  Value* condition = a["condition"];
  return a.trace.array(ufuncNode(a.trace, Op::kWhere, std::vector<Value*>{strong(a.trace, condition), a["x"], a["y"]}));
}

Value* clip(Bound& a) {
  if (a.trace.onDevice()) checkDeviceClip(a);
  bool function = a.function == "np.clip";
  Value* low = a["min"];
  Value* high = a["max"];
  if (function && (a["a_min"] || a["a_max"])) {
    if (low || high || !a["a_min"] || !a["a_max"]) raises("clip() needs a_min and a_max, or min and max");
    low = a["a_min"];
    high = a["a_max"];
  }
  Value* x = strong(a.trace, a["a"]);
  DType dtype = dtypeOf(a.trace, x);
  bool noLow = absent(low), noHigh = absent(high);
  if (!noLow) checkBound(a, low, dtype);
  if (!noHigh) checkBound(a, high, dtype);
  Value* out = outArg(a.trace, a["out"]);
  auto run = [&](Op op, const std::vector<Value*>& operands) {
    const ValueId node = ufuncNode(a.trace, op, operands);
    return out ? writeOut(a.trace, out, node, true) : a.trace.arrayOrScalar(node);
  };
  if (noLow && noHigh) return run(Op::kPositive, {x});
  if (noLow) return run(Op::kMinimum, {x, high});
  if (noHigh) return run(Op::kMaximum, {x, low});
  return run(Op::kClip, {x, low, high});
}

Value* round(Bound& a) {
  Trace& t = a.trace;
  Value* x = strong(t, a["a"]);
  ValueId node = x->node;
  const ValueType type = t.graph().type(node);
  int64_t decimals = a["decimals"] ? knownInt(t, a["decimals"]) : 0;
  if (type.dtype == DType::kBool || graph::isComplex(type.dtype)) a.refuse("bool or complex values");
  if (graph::isInteger(type.dtype)) {
    if (decimals < 0) a.refuse("negative decimals of integers");
    if (type.rank() == 0) return t.arrayOrScalar(node);
    return t.array(copyAs(t, node, graph::likeLayout(type.layout, graph::unitAxes(t.syms(), shapeOf(t, node)))));
  }
  if (decimals == 0) return ufunc(t, Op::kRint, {x});
  // The scaled array is allocated in C order, or in F order for F-contiguous arrays.
  if (!type.layout.isCOrder()) a.refuse("decimals and an array that is not in C order");
  if (std::abs(decimals) > 22) a.refuse("this many decimals");
  Value* factor = pyFloat(t, std::pow(10.0, static_cast<double>(std::abs(decimals))));
  Value* scaled = ufunc(t, decimals > 0 ? Op::kMultiply : Op::kDivide, {x, factor});
  return ufunc(t, decimals > 0 ? Op::kDivide : Op::kMultiply, {ufunc(t, Op::kRint, {scaled}), factor});
}

Value* real(Bound& a) {
  Value* x = a["val"];
  bool numpyValue = x->kind == ValueKind::kArray || x->kind == ValueKind::kArrayScalar;
  if (!numpyValue) a.refuse("a Python number");
  return graph::isComplex(dtypeOf(a.trace, x)) ? partOf(a.trace, x, true) : x;
}

Value* imag(Bound& a) {
  Value* x = a["val"];
  bool numpyValue = x->kind == ValueKind::kArray || x->kind == ValueKind::kArrayScalar;
  if (!numpyValue || !graph::isComplex(dtypeOf(a.trace, x))) a.refuse("a real argument");
  return partOf(a.trace, x, false);
}

Value* angle(Bound& a) {
  Value* z = strong(a.trace, a["z"]);
  if (!graph::isComplex(dtypeOf(a.trace, z))) return ufunc(a.trace, Op::kArctan2, {pyLong(a.trace, 0), z});
  graph::Graph& g = a.trace.graph();
  return a.trace.arrayOrScalar(
      ufuncNode(a.trace, Op::kArctan2, {g.unary(Op::kImag, z->node), g.unary(Op::kReal, z->node)}));
}

Value* conj(Bound& a) {
  if (!graph::isComplex(dtypeOf(a.trace, a["a"]))) return a["a"];
  return ufunc(a.trace, Op::kConjugate, {a["a"]});
}

Value* absolute(Bound& a) {
  DType dtype = dtypeOf(a.trace, a["a"]);
  if (a["a"]->kind != ValueKind::kArray && graph::isInteger(dtype)) {
    if (a.trace.onDevice()) a.refuse("an integer NumPy scalar (overflow would warn)");
    DataInts ints{a.trace};
    return a.trace.arrayOrScalar(*ints.inDtype(ints.absolute(ints.ofScalar(a["a"])), dtype));
  }
  Value* result = ufunc(a.trace, Op::kAbsolute, {a["a"]});
  if (a["a"]->kind == ValueKind::kArray && !a.trace.onDevice()) checkComplexLength(a.trace, result->node);
  return result;
}

Value* diff(Bound& a) {
  Trace& t = a.trace;
  graph::SymContext& syms = t.syms();
  int64_t n = a["n"] ? knownInt(t, a["n"]) : 1;
  if (n == 0) return a["a"];
  if (n < 0) raises("order must be non-negative");
  ValueId node = a.array("a");
  int rank = t.graph().type(node).rank();
  if (rank == 0) raises("diff requires input that is at least one dimensional");
  auto axis = static_cast<size_t>(a["axis"] ? axisArg(t, a["axis"], rank) : rank - 1);
  Op op = t.graph().type(node).dtype == DType::kBool ? Op::kNotEqual : Op::kSubtract;
  if (n > 16) a.refuse("large n");
  for (; n > 0; --n) {
    SymShape shape = shapeOf(t, node);
    if (!isPositive(t, shape[axis])) a.refuse("an empty axis");
    shape[axis] = syms.sub(shape[axis], syms.constant(1));
    SymList zeros(shape.size(), syms.constant(0)), ones(shape.size(), syms.constant(1)), starts = zeros;
    starts[axis] = syms.constant(1);
    node = ufuncNode(t, op, {t.graph().slice(node, starts, ones, shape), t.graph().slice(node, zeros, ones, shape)});
  }
  return t.array(node);
}

Value* outer(Bound& a) {
  graph::Graph& g = a.trace.graph();
  ValueId left = ravelValue(a.trace, a["a"])->node, right = ravelValue(a.trace, a["b"])->node;
  return a.trace.array(ufuncNode(a.trace, Op::kMultiply, {g.expand(left, {1}), g.expand(right, {0})}));
}

namespace {

ValueId closeness(Bound& a) {
  Trace& t = a.trace;
  auto isPython = [](Value* v) { return v->kind != ValueKind::kArray && v->kind != ValueKind::kArrayScalar; };
  Value *x = a["a"], *y = a["b"];
  if (isPython(x) && isPython(y)) a.refuse("Python numbers or sequences only");
  if (isPython(x) && sequenceItems(t, x)) x = strong(t, x);
  if (isPython(y) && sequenceItems(t, y)) y = strong(t, y);
  if (!isPython(y)) {
    graph::OperandType types[] = {{dtypeOf(t, y)}, {DType::kF64, Weak::kFloat}};
    DType inexact = graph::resultType(types, 2);
    Value* converted = t.make(y->kind);
    converted->node = t.graph().cast(y->node, inexact);
    y = converted;
  } else if (t.operand(y).weak == Weak::kInt) {
    Value* converted = t.make(ValueKind::kPyFloat);
    converted->node = t.graph().cast(t.operand(y).value, DType::kF64);
    y = converted;
  }
  Value* rtol = a["rtol"] ? a["rtol"] : pyFloat(t, 1e-5);
  Value* atol = a["atol"] ? a["atol"] : pyFloat(t, 1e-8);
  for (Value* tolerance : {rtol, atol}) {
    bool finite = tolerance->isConstant() && PyFloat_CheckExact(tolerance->object.get()) &&
                  std::isfinite(PyFloat_AS_DOUBLE(tolerance->object.get()));
    if (!finite) a.refuse("tolerances that are not constant floats");
  }
  bool equalNan = a["equal_nan"] && flag(a["equal_nan"], "equal_nan");
  Value* distance = ufunc(t, Op::kAbsolute, {ufunc(t, Op::kSubtract, {x, y})});
  Value* bound = ufunc(t, Op::kAdd, {atol, ufunc(t, Op::kMultiply, {rtol, ufunc(t, Op::kAbsolute, {y})})});
  Value* close = ufunc(t, Op::kBitwiseAnd, {ufunc(t, Op::kLessEqual, {distance, bound}), ufunc(t, Op::kIsfinite, {y})});
  Value* result = ufunc(t, Op::kBitwiseOr, {close, ufunc(t, Op::kEqual, {x, y})});
  if (equalNan) {
    Value* nans = ufunc(t, Op::kBitwiseAnd, {ufunc(t, Op::kIsnan, {x}), ufunc(t, Op::kIsnan, {y})});
    result = ufunc(t, Op::kBitwiseOr, {result, nans});
  }
  return result->node;
}

}  // namespace

Value* isclose(Bound& a) {
  ValueId close = closeness(a);
  if (a.trace.graph().type(close).rank() == 0) return a.trace.arrayOrScalar(close);
  return makeView(a.trace, a.trace.array(close), close);  // NumPy answers result[()]
}

Value* allclose(Bound& a) {
  ValueId close = closeness(a);
  IntList axes;
  for (int i = 0; i < a.trace.graph().type(close).rank(); ++i) axes.push_back(i);
  return a.trace.number(ValueKind::kPyBool, a.trace.graph().reduce(Op::kAll, close, axes, false));
}

Value* divmod(Bound& a) {
  return a.trace.tuple(
      {ufunc(a.trace, Op::kFloorDivide, {a["x1"], a["x2"]}), ufunc(a.trace, Op::kRemainder, {a["x1"], a["x2"]})});
}

}  // namespace handlers

void checkComplexLength(Trace& trace, ValueId node) {
  const graph::Node& length = trace.graph().node(node);
  const graph::ValueType& operand = trace.graph().type(length.operands[0]);
  if (!graph::isComplex(operand.dtype)) return;
  if (operand.rank() == 0) unsupported("np.absolute of one complex number (abs() is compiled)");
  if (operand.layout.negativeAxes != 0)
    unsupported("np.absolute of complex numbers along a negative stride (two formulas, by the strides of all axes)");
}

}  // namespace fw::capture::numpy
