// Arrays made of sizes and scalars. arange and linspace follow NumPy's arithmetic element by element.
#include <limits>

#include "cpython/numpy_api.h"
#include "frame_eval/numpy/binding.h"
#include "graph/symint_facts.h"

namespace fw::capture::numpy {
namespace {

DType dtypeOr(Bound& a, DType otherwise) { return absent(a["dtype"]) ? otherwise : dtypeArg(a.trace, a["dtype"]); }

Value* filled(Bound& a, const SymShape& shape, ValueId scalar, graph::Layout layout) {
  graph::Graph& g = a.trace.graph();
  DType dtype = g.type(scalar).dtype;
  return a.trace.array(g.addTyped(Op::kFull, {scalar}, {dtype, shape, std::move(layout), {}}));
}

Value* filledC(Bound& a, double value) {
  char order = a["order"] && textOf(a["order"]) == "F" ? 'F' : 'C';
  if (order == 'C') checkOrder(a["order"], "");
  SymShape shape = shapeArg(a.trace, a["shape"]);
  auto rank = static_cast<int>(shape.size());
  ValueId scalar = scalarNode(a.trace, dtypeOr(a, DType::kF64), value);
  return filled(a, shape, scalar, order == 'F' ? graph::Layout::f(rank) : graph::Layout::c(rank));
}

/// fill_value as an element of `dtype`; copyto(casting="unsafe") on Python scalars checks what fits.
ValueId fillValue(Bound& a, DType dtype) {
  Value* value = a["fill_value"];
  if (sequenceItems(a.trace, value)) a.refuse("a sequence as fill_value");
  graph::UfuncOperand operand = a.trace.operand(value);
  const ValueType& type = a.trace.graph().type(operand.value);
  if (type.rank() != 0) a.refuse("an array as fill_value");
  if (graph::isComplex(type.dtype) && !graph::isComplex(dtype)) a.refuse("a complex fill_value");
  if (graph::isInexact(type.dtype) && graph::isInteger(dtype)) a.refuse("a float fill_value for integers");
  return castOperand(a.trace, value, dtype);
}

Value* like(Bound& a, std::optional<double> value) {
  graph::Graph& g = a.trace.graph();
  Value* prototype = a["a"];
  ValueId node = a.array("a");
  const ValueType type = g.type(node);
  checkOrder(a["order"], "K");
  if (a["subok"]) flag(a["subok"], "subok");
  if (a["order"] && textOf(a["order"]) == "C") a.refuse("order");
  DType dtype = dtypeOr(a, type.dtype);
  ValueId scalar = value ? scalarNode(a.trace, dtype, *value) : fillValue(a, dtype);
  if (!absent(a["shape"])) {
    SymShape shape = shapeArg(a.trace, a["shape"]);
    bool cOrder = prototype->kind != ValueKind::kArray || type.layout.isCOrder() || shape.size() != type.shape.size();
    if (!cOrder) a.refuse("shape");
    return filled(a, shape, scalar, graph::Layout::c(static_cast<int>(shape.size())));
  }
  return filled(a, shapeOf(a.trace, node), scalar,
                graph::likeLayout(type.layout, graph::unitAxes(a.trace.syms(), shapeOf(a.trace, node))));
}

ValueId iota(Trace& trace, SymId n) {
  return trace.graph().addTyped(Op::kIota, {}, {DType::kI64, {n}, graph::Layout::c(1), {}});
}

ValueId intNode(Trace& trace, SymId value) {
  if (auto known = trace.syms().asConst(value)) return trace.graph().constant(Scalar::ofInt(DType::kI64, *known));
  return trace.graph().sym(value);
}

/// A Python float or int argument as a float that is known before the compiled code runs.
NumberId floatNumber(Bound& a, Value* value) {
  auto number = a.trace.numbers().of(value);
  if (!number) a.refuse("an argument that is computed from array data, or too large");
  bool whole = a.trace.numbers().type(*number) == guards::NumberType::kInt;
  return whole ? a.trace.numbers().step(guards::NumberOp::kToFloat, {*number}) : *number;
}

/// math.ceil().
PyObject* ceilFunction() {
  static PyObject* module = cpython::checked(PyImport_ImportModule("math")).release();
  static PyObject* function = cpython::checked(PyObject_GetAttrString(module, "ceil")).release();
  return function;
}

bool isInt(Value* v) {
  return v->kind == ValueKind::kPyInt || v->kind == ValueKind::kDataInt ||
         (v->isConstant() && PyLong_CheckExact(v->object.get()));
}

bool isPythonNumber(Value* v) {
  return isInt(v) || v->kind == ValueKind::kPyFloat || (v->isConstant() && PyFloat_CheckExact(v->object.get()));
}

Value* integerRange(Bound& a, SymId start, SymId stop, SymId step, DType dtype) {
  Trace& t = a.trace;
  graph::SymContext& syms = t.syms();
  graph::Graph& g = t.graph();
  const SymId zero = syms.constant(0), one = syms.constant(1);
  if (t.decide(step, Relation::kEq, zero)) raises("ZeroDivisionError: arange with step 0");
  const bool up = t.decide(zero, Relation::kLt, step);
  step = syms.canonical(step);
  SymId stride = up ? step : syms.neg(step);
  if (graph::refinedRange(syms, stride).lo <= 0) {
    stride = syms.constant(t.specialize(stride));
    step = up ? stride : syms.neg(stride);
  }
  SymId span = up ? syms.sub(stop, start) : syms.sub(start, stop);
  SymId n = zero;
  if (t.decide(zero, Relation::kLt, span)) n = syms.floorDiv(syms.add(span, syms.sub(stride, one)), stride);
  checkElementCount(t, {n});
  // The first two elements are stored with NumPy's check that they fit.
  if (graph::isInteger(dtype) && dtype != DType::kI64) {
    for (SymId s : {start, syms.add(start, step)}) {
      if (!intFits(t, t.pyInt(s), dtype)) a.refuse("values that do not fit dtype");
    }
  }
  ValueId node = iota(t, syms.canonical(n));
  if (!syms.isConst(step, 1)) node = g.binary(Op::kMultiply, node, intNode(t, step));
  if (!syms.isConst(start, 0)) node = g.binary(Op::kAdd, node, intNode(t, start));
  // Float types count exactly as long as all the integers are exact in them.
  if (graph::isInexact(dtype)) {
    int64_t exact = dtype == DType::kF64 ? int64_t{1} << 53 : int64_t{1} << 24;
    bool small = dtype == DType::kF64 || dtype == DType::kF32;
    if (!small || !t.ensureWithin(start, -exact, exact) || !t.ensureWithin(stop, -exact, exact) ||
        !t.ensureWithin(step, -exact, exact)) {
      a.refuse("this dtype");
    }
  }
  if (dtype == DType::kBool) a.refuse("dtype=bool");
  return t.array(g.cast(node, dtype));
}

/// NumPy stores start and start + step, and fills the rest with start + i * delta, delta being the stored difference.
Value* floatRange(Bound& a, Value* from, Value* to, Value* by, DType dtype) {
  if (dtype != DType::kF64) a.refuse("floats and dtype");
  using guards::NumberOp;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Trace& t = a.trace;
  graph::Graph& g = t.graph();
  Numbers& numbers = t.numbers();
  const NumberId start = floatNumber(a, from), stop = floatNumber(a, to), step = floatNumber(a, by);
  if (!numbers.truth(step)) raises("ZeroDivisionError: arange with step 0");
  const NumberId span = numbers.step(NumberOp::kDivide, {numbers.step(NumberOp::kSubtract, {stop, start}), step});
  SymId n = t.syms().constant(0);
  if (numbers.decide(numbers.step(NumberOp::kGreater, {span, numbers.constant(0.0)}))) {
    auto length = numbers.call(ceilFunction(), {span});
    Value* count = length ? numbers.bindInt(*length, {1, int64_t{1} << 40}) : nullptr;
    if (!count) a.refuse("this range");
    n = t.asSym(count);
  } else if (!numbers.decide(numbers.step(NumberOp::kLessEqual, {span, numbers.constant(0.0)}))) {
    a.refuse("this range");  // NaN
  } else if (numbers.decide(numbers.step(NumberOp::kEqual, {span, numbers.constant(0.0)})) &&
             !numbers.decide(numbers.step(NumberOp::kEqual, {start, stop}))) {
    a.refuse("a step so large that the quotient is 0");  // one element or none, by the quotient's sign
  }
  auto node = [&](Value* v) { return g.cast(t.operand(v).value, DType::kF64); };
  const ValueId first = node(from), i = iota(t, n);
  const ValueId second = g.binary(Op::kAdd, first, node(by));
  const ValueId delta = g.binary(Op::kSubtract, second, first);  // the rounding of each step counts
  ValueId value = g.binary(Op::kAdd, first, g.binary(Op::kMultiply, g.cast(i, DType::kF64), delta));
  auto replaceAt = [&](int64_t at, ValueId by) {
    value = ufuncNode(t, Op::kWhere, {ufuncNode(t, Op::kEqual, {i, intNode(t, t.syms().constant(at))}), by, value});
  };
  const NumberId next = numbers.step(NumberOp::kAdd, {start, step});
  const NumberId stored = numbers.step(NumberOp::kSubtract, {next, start});
  if (!numbers.decide(numbers.step(NumberOp::kGreater, {numbers.constant(kInfinity), stored})) ||
      !numbers.decide(numbers.step(NumberOp::kGreater, {stored, numbers.constant(-kInfinity)})))
    a.refuse("a step without end");  // start + 0 * delta is no number
  const NumberId again = numbers.step(NumberOp::kAdd, {start, stored});
  if (!numbers.decide(numbers.step(NumberOp::kEqual, {again, next}))) replaceAt(1, second);
  if (numbers.decide(numbers.step(NumberOp::kSameBits, {start, numbers.constant(-0.0)}))) replaceAt(0, first);
  return t.array(value);
}

Value* unitMatrix(Bound& a, SymId rows, SymId columns, SymId k, DType dtype) {
  Trace& t = a.trace;
  graph::Graph& g = t.graph();
  ValueId i = g.expand(iota(t, rows), {1}), j = g.expand(iota(t, columns), {0});
  if (!t.syms().isConst(k, 0)) i = g.binary(Op::kAdd, i, intNode(t, k));
  return t.array(g.cast(ufuncNode(t, Op::kEqual, {i, j}), dtype));
}

}  // namespace

namespace handlers {

Value* zeros(Bound& a) { return filledC(a, 0); }
Value* ones(Bound& a) { return filledC(a, 1); }

Value* full(Bound& a) {
  checkOrder(a["order"], "");
  SymShape shape = shapeArg(a.trace, a["shape"]);
  if (sequenceItems(a.trace, a["fill_value"])) a.refuse("a sequence as fill_value");
  DType own = a.trace.graph().type(a.array("fill_value")).dtype;
  ValueId scalar = fillValue(a, dtypeOr(a, own));
  return filled(a, shape, scalar, graph::Layout::c(static_cast<int>(shape.size())));
}

Value* zerosLike(Bound& a) { return like(a, 0.0); }
Value* onesLike(Bound& a) { return like(a, 1.0); }
Value* fullLike(Bound& a) { return like(a, std::nullopt); }

Value* arange(Bound& a) {
  Value *start = a["start"], *stop = a["stop"], *step = a["step"];
  if (!start || isNone(start)) a.refuse("no start");
  if (absent(stop)) {
    stop = start;
    start = a.trace.constant(cpython::checked(PyLong_FromLong(0)));
  }
  if (absent(step)) step = a.trace.constant(cpython::checked(PyLong_FromLong(1)));
  for (Value* v : {start, stop, step}) {
    if (!isPythonNumber(v)) a.refuse("an argument that is no Python number");
  }
  bool integers = isInt(start) && isInt(stop) && isInt(step);
  DType dtype = dtypeOr(a, integers ? DType::kI64 : DType::kF64);
  if (integers) return integerRange(a, a.trace.asSize(start), a.trace.asSize(stop), a.trace.asSym(step), dtype);
  return floatRange(a, start, stop, step, dtype);
}

/// numpy/_core/function_base.py: y = arange(num) * step + start with step = (stop - start) / div, the last element is
/// stop.
Value* linspace(Bound& a) {
  Trace& t = a.trace;
  graph::Graph& g = t.graph();
  graph::SymContext& syms = t.syms();
  for (std::string_view name : {"start", "stop"}) {
    if (!isPythonNumber(a[name])) a.refuse("bounds that are no Python numbers");
  }
  bool endpoint = !a["endpoint"] || flag(a["endpoint"], "endpoint");
  DType dtype = dtypeOr(a, DType::kF64);
  if (!graph::isFloat(dtype)) a.refuse("dtype");
  SymId num = a["num"] ? t.asSize(a["num"]) : syms.constant(50), one = syms.constant(1);
  if (!t.decide(syms.constant(0), Relation::kLe, num)) raises("Number of samples must be non-negative.");
  checkElementCount(t, {num});
  SymId div = endpoint ? syms.sub(num, one) : num;
  ValueId start = g.cast(t.operand(a["start"]).value, DType::kF64),
          stop = g.cast(t.operand(a["stop"]).value, DType::kF64);
  ValueId delta = g.binary(Op::kSubtract, stop, start);
  ValueId i = iota(t, num), y = g.cast(i, DType::kF64);
  bool several = t.decide(syms.constant(0), Relation::kLt, div);
  if (several) {
    ValueId count = g.cast(intNode(t, div), DType::kF64);
    ValueId step = g.binary(Op::kDivide, delta, count);
    // A step that underflows to zero is applied in two multiplications.
    ValueId isZero = ufuncNode(t, Op::kEqual, {step, scalarNode(t, DType::kF64, 0)});
    ValueId tiny = g.binary(Op::kMultiply, g.binary(Op::kDivide, y, count), delta);
    y = ufuncNode(t, Op::kWhere, {isZero, tiny, g.binary(Op::kMultiply, y, step)});
  } else {
    y = g.binary(Op::kMultiply, y, delta);
  }
  y = g.binary(Op::kAdd, y, start);
  if (endpoint && t.decide(one, Relation::kLt, num)) {
    y = ufuncNode(t, Op::kWhere, {ufuncNode(t, Op::kEqual, {i, intNode(t, syms.sub(num, one))}), stop, y});
  }
  if (dtype != DType::kF64 || !several) return t.array(g.cast(y, dtype));
  Value* owner = t.array(y);  // NumPy works in place on a reshaped arange
  return makeView(t, owner, y);
}

Value* eye(Bound& a) {
  checkOrder(a["order"], "");
  SymId rows = shapeArg(a.trace, a["N"])[0];
  SymId columns = absent(a["M"]) ? rows : shapeArg(a.trace, a["M"])[0];
  checkElementCount(a.trace, {rows, columns});
  SymId k = a["k"] ? a.trace.asSym(a["k"]) : a.trace.syms().constant(0);
  return unitMatrix(a, rows, columns, k, dtypeOr(a, DType::kF64));
}

Value* identity(Bound& a) {
  SymId n = shapeArg(a.trace, a["n"])[0];
  checkElementCount(a.trace, {n, n});
  return unitMatrix(a, n, n, a.trace.syms().constant(0), dtypeOr(a, DType::kF64));
}

Value* meshgrid(Bound& a) {
  graph::Graph& g = a.trace.graph();
  auto mode = a["indexing"] ? textOf(a["indexing"]) : std::optional<std::string>("xy");
  if (mode != "xy" && mode != "ij") a.refuse("indexing");
  size_t rank = a.rest.size();
  if (rank == 0) a.refuse("no arguments");
  std::vector<ValueId> nodes;
  SymShape shape;
  for (size_t i = 0; i < rank; ++i) {
    ValueId node = ravelValue(a.trace, a.rest[i])->node;
    size_t at = mode == "xy" && rank > 1 && i < 2 ? 1 - i : i;
    IntList axes;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (axis != at) axes.push_back(static_cast<int64_t>(axis));
    }
    nodes.push_back(axes.empty() ? node : g.expand(node, axes));
  }
  shape = unify(a.trace, nodes);
  std::vector<Value*> results;
  for (ValueId node : nodes) {
    ValueId whole = g.broadcastTo(node, shape);
    results.push_back(a.trace.array(copyAs(a.trace, whole, graph::Layout::c(static_cast<int>(rank)))));
  }
  return a.trace.tuple(std::move(results));
}

}  // namespace handlers
}  // namespace fw::capture::numpy
