// CuPy next to NumPy: results of rank 0 are arrays; what is computed element by element is in C order, whatever order
// the operands have; functions of some types have formulas of their own. What is let through here has been compared
// with CuPy bit for bit on a device (tests/cuda).
#include "frame_eval/numpy/device.h"

#include <algorithm>

namespace fw::capture::numpy {
namespace {

bool hasArray(Value* value) {
  if (value->kind == ValueKind::kArray || isSelection(value)) return true;
  if (value->kind != ValueKind::kTuple && value->kind != ValueKind::kList) return false;
  for (Value* item : value->items)
    if (item && hasArray(item)) return true;
  return false;
}

[[noreturn]] void refuseLoop(Op op, DType loop) {
  unsupported(std::string(graph::info(op).text) + " of " + std::string(graph::name(loop)) + " on a device");
}

bool isLogic(Op op) {
  const graph::Loops loops = graph::info(op).loops;
  return loops == graph::Loops::kCompare || loops == graph::Loops::kLogical || loops == graph::Loops::kBitwise;
}

/// What CuPy computes of complex numbers by the formulas known here.
constexpr Op kComplex[] = {Op::kAdd,      Op::kSubtract, Op::kMultiply,  Op::kDivide, Op::kNegative,
                           Op::kPositive, Op::kSquare,   Op::kConjugate, Op::kIsnan,  Op::kWhere};
/// Rows whose results follow the order of the argument where that is C or F.
constexpr std::string_view kOrdered[] = {"ndarray.astype", "np.asarray",      "np.asanyarray",
                                         "ndarray.copy",   "ndarray.flatten", "np.zeros_like",
                                         "np.ones_like",   "np.empty_like",   "np.full_like"};
/// Functions of NumPy's that no array of another library takes for its own.
constexpr std::string_view kNumPysOwn[] = {"np.asarray", "np.asanyarray", "np.ascontiguousarray"};
/// Rows whose order is not known where the arguments are not in C order.
constexpr std::string_view kJoins[] = {"np.concatenate", "np.concat", "np.stack", "np.vstack", "np.hstack", "np.roll"};

template <size_t N>
bool isOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Value* ordered(Trace& trace, const FunctionInfo& function, Value* value) {
  if (value->kind == ValueKind::kTuple || value->kind == ValueKind::kList)
    for (Value*& item : value->items) item = ordered(trace, function, item);
  if (value->kind != ValueKind::kArray || value->base || value->source.valid()) return value;
  const graph::Layout& layout = trace.graph().type(value->node).layout;
  if (layout.isCOrder()) return value;
  const bool kept = isOneOf(function.name, kOrdered);
  if (kept && !layout.isFOrder()) unsupported(std::string(function.name) + " of an array in neither C nor F order");
  if (isOneOf(function.name, kJoins)) unsupported(std::string(function.name) + " of arrays in other than C order");
  if (!kept) value->node = freshOnDevice(trace, value->node);
  return value;
}

}  // namespace

void needsArray(const std::string& name, const CallArgs& args) {
  if (isOneOf(name, kNumPysOwn)) unsupported(name + " of NumPy's, which converts no arrays of a device");
  for (Value* value : args.positional)
    if (hasArray(value)) return;
  unsupported(name + " without an array, next to arrays of a device");
}

std::optional<ValueId> deviceFastPower(Trace& trace, Value* base, Value* exponent) {
  PyObject* known = exponent->isConstant() ? exponent->object.get() : nullptr;
  const bool whole = exponent->kind == ValueKind::kPyInt || (known && PyLong_CheckExact(known));
  const bool real = exponent->kind == ValueKind::kPyFloat || (known && PyFloat_CheckExact(known));
  if (base->kind != ValueKind::kArray || (!whole && !real)) return std::nullopt;
  const auto is = [&](double value) {
    if (known && whole) return PyLong_AsLong(known) == static_cast<long>(value) && !PyErr_Occurred();
    if (known) return PyFloat_AS_DOUBLE(known) == value;
    if (whole) return trace.decide(exponent->sym, Relation::kEq, trace.syms().constant(static_cast<int64_t>(value)));
    Numbers& numbers = trace.numbers();
    const auto number = numbers.of(exponent);
    if (!number) unsupported("an exponent that is computed from array data");
    return numbers.decide(numbers.step(guards::NumberOp::kEqual, {*number, numbers.constant(value)}));
  };
  std::optional<Op> op;
  if (is(2))
    op = Op::kSquare;
  else if (real && is(0.5))
    op = Op::kSqrt;
  else if (real && is(-1))
    op = Op::kReciprocal;
  PyErr_Clear();  // of an int that is too large
  if (!op) return std::nullopt;
  graph::Graph& g = trace.graph();
  const graph::UfuncOperand power = trace.operand(exponent);
  const graph::OperandType types[] = {{g.type(base->node).dtype, Weak::kNo}, operandType(trace, power)};
  const auto signature = graph::resolveUfunc(Op::kPower, types);
  if (!signature.ok()) orBreak(signature.status());
  checkDeviceLoop(*op, signature->inputs[0]);
  return ufuncNode(trace, *op, {g.cast(base->node, signature->inputs[0])});
}

void checkDeviceLoop(Op op, DType loop) {
  if (graph::isComplex(loop) && std::find(std::begin(kComplex), std::end(kComplex), op) == std::end(kComplex))
    refuseLoop(op, loop);
  if (loop == DType::kBool) {
    const bool known = isLogic(op) || op == Op::kAdd || op == Op::kMultiply || op == Op::kWhere || op == Op::kMaximum ||
                       op == Op::kMinimum;
    if (!known) refuseLoop(op, loop);
  }
  if (graph::isInteger(loop)) {
    const graph::Loops loops = graph::info(op).loops;
    const bool wide = graph::itemSize(loop) == 8;
    if (loops == graph::Loops::kRound || op == Op::kReciprocal || (op == Op::kFmod && wide)) refuseLoop(op, loop);
  }
}

void checkDeviceClip(Bound& a) {
  const bool method = a["a_min"] == nullptr;
  Value *low = a[method ? "min" : "a_min"], *high = a[method ? "max" : "a_max"];
  if (absent(low) || absent(high)) a.refuse("one bound on a device");
  if (a["a"]->kind != ValueKind::kArray) a.refuse("what is no array of the device");
  if (!graph::isFloat(a.trace.graph().type(a["a"]->node).dtype)) a.refuse("integers on a device");
}

void checkDeviceReduction(Op op, DType input) {
  const bool logical = op == Op::kAny || op == Op::kAll || op == Op::kCountNonzero;
  if (graph::isComplex(input) && op != Op::kSum && !logical) refuseLoop(op, input);
  if (input == DType::kF16 && (op == Op::kVar || op == Op::kStd)) refuseLoop(op, input);
  if (input == DType::kF16 && op == Op::kProd) refuseLoop(op, input);  // rounded at every step
  if (input == DType::kBool && !logical && op != Op::kSum && op != Op::kMax && op != Op::kMin) refuseLoop(op, input);
}

ValueId freshOnDevice(Trace& trace, ValueId node) {
  const ValueType& type = trace.graph().type(node);
  return type.layout.isCOrder() ? node : copyAs(trace, node, graph::Layout::c(type.rank()));
}

Value* orderedOnDevice(Trace& trace, const FunctionInfo& function, Value* result) {
  return ordered(trace, function, result);
}

}  // namespace fw::capture::numpy
