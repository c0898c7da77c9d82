// Calls of ufuncs: conversion of the operands, broadcasting, and the value checks that NumPy makes before the loop
// runs.
#include "frame_eval/branch_join.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/mixed_numbers.h"
#include "frame_eval/numpy/device.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {
namespace {

bool isWeakInt(const graph::UfuncOperand& operand) { return operand.weak == Weak::kInt; }

/// A runtime int that may be beyond what a float holds exactly.
bool isLarge(Trace& trace, Value* value) {
  if (value->kind == ValueKind::kDataInt) return value->range.lo < -kExactFloat || value->range.hi > kExactFloat;
  if (value->kind != ValueKind::kPyInt) return false;
  graph::SymRange range = trace.syms().range(trace.syms().canonical(value->sym));
  return range.lo < -kExactFloat || range.hi > kExactFloat;
}

/// NumPy refuses signed integer powers with a negative exponent, which only a known exponent can rule out.
void checkIntegerPower(Trace& trace, Value* exponent, DType loop) {
  if (!graph::isInteger(loop) || !graph::isSigned(loop)) return;
  graph::UfuncOperand e = trace.operand(exponent);
  const graph::Node& node = trace.graph().node(e.value);
  if (!graph::isSigned(node.type.dtype)) return;
  std::optional<SymId> value;
  if (node.op == Op::kSym) value = node.attrs.sym(AttrKey::kExpr);
  if (node.op == Op::kConstant) value = trace.syms().constant(node.attrs.scalar(AttrKey::kValue).asInt());
  if (!value) unsupported("integer power with exponents that are not known");
  if (!trace.decide(trace.syms().constant(0), Relation::kLe, *value)) {
    raises("Integers to negative integer powers are not allowed.");
  }
}

/// The power loops of f32 and f64 know five exponents when there is one exponent for all elements.
std::optional<ValueId> fastPowerLoop(Trace& trace, ValueId base, ValueId exponent, DType loop) {
  graph::Graph& g = trace.graph();
  const graph::Node& node = g.node(exponent);
  bool known = node.op == Op::kConstant && g.type(base).rank() > 0 && (loop == DType::kF32 || loop == DType::kF64);
  if (!known) return std::nullopt;
  double e = node.attrs.scalar(AttrKey::kValue).asDouble();
  if (graph::isInteger(node.type.dtype)) e = static_cast<double>(node.attrs.scalar(AttrKey::kValue).asInt());
  auto run = [&](Op op) { return ufuncNode(trace, op, {g.cast(base, loop)}); };
  if (e == -1) return run(Op::kReciprocal);
  if (e == 0) {
    ValueType type = g.type(run(Op::kPositive));
    return g.addTyped(Op::kFull, {scalarNode(trace, loop, 1)}, std::move(type));
  }
  if (e == 0.5) return run(Op::kSqrt);
  if (e == 1) return run(Op::kPositive);
  if (e == 2) return run(Op::kSquare);
  return std::nullopt;
}

}  // namespace

/// NumPy computes some powers of arrays by other functions (2: square, 0.5: sqrt ...) with other results at the edges:
/// each of those exponents has a variant of its own, all others share one. Powers of scalars are all computed alike.
Value* knownExponent(Trace& trace, Value* base, Value* exponent) {
  const bool scalar = MixedNumbers::mayBeInt(base) || (base->kind != ValueKind::kArray && !sequenceItems(trace, base) &&
                                                       trace.graph().type(trace.operand(base).value).rank() == 0);
  if (scalar) return exponent;
  if (exponent->kind == ValueKind::kPyInt) {
    for (int64_t special : {2, -1, 0, 1}) {
      SymId value = trace.syms().constant(special);
      if (trace.decide(exponent->sym, Relation::kEq, value)) return trace.pyInt(value);
    }
    return exponent;
  }
  if (exponent->kind != ValueKind::kPyFloat) return exponent;
  Numbers& numbers = trace.numbers();
  auto number = numbers.of(exponent);
  if (!number) unsupported("an exponent that is computed from array data");
  for (double special : {2.0, -1.0, 0.0, 0.5, 1.0}) {
    if (!numbers.decide(numbers.step(guards::NumberOp::kEqual, {*number, numbers.constant(special)}))) continue;
    return trace.constant(cpython::checked(PyFloat_FromDouble(special)));
  }
  return exponent;
}

ValueId ufuncNode(Trace& trace, Op op, const std::vector<Value*>& given) {
  graph::Graph& g = trace.graph();
  std::vector<Value*> values = given;
  for (Value*& v : values) v = MixedNumbers{trace}.present(v);
  if (op == Op::kPower && !trace.onDevice()) values[1] = knownExponent(trace, values[0], values[1]);
  absl::InlinedVector<graph::UfuncOperand, 3> operands;
  absl::InlinedVector<graph::OperandType, 3> types;
  std::vector<ValueId> nodes;
  for (Value* v : values) {
    const bool node = MixedNumbers::mayBeInt(v) || sequenceItems(trace, v);
    graph::UfuncOperand o =
        node ? graph::UfuncOperand{MixedNumbers::mayBeInt(v) ? v->node : asArray(trace, v)} : trace.operand(v);
    operands.push_back(o);
    types.push_back(operandType(trace, o));
    nodes.push_back(o.value);
  }
  // A float leaves the dtype to arrays that a np.float64 does not leave it to.
  for (Value* v : values)
    for (const graph::OperandType& other : types) {
      const DType d = other.dtype;
      if (MixedNumbers::is(v) && (d == DType::kF16 || d == DType::kF32 || d == DType::kC64)) trace.branches.refuse(v);
    }
  // With a float an int is one.
  const auto isDouble = [&](size_t i) {
    const bool is = values[i]->kind == ValueKind::kArray || values[i]->kind == ValueKind::kArrayScalar ||
                    numberKind(values[i]) == ValueKind::kPyFloat;
    return is && types[i].dtype == DType::kF64 && !MixedNumbers::mayBeInt(values[i]);
  };
  const auto isLong = [&](size_t i) {
    return types[i].dtype == DType::kI64 && !MixedNumbers::is(values[i]) &&
           (values[i]->kind == ValueKind::kArray || values[i]->kind == ValueKind::kArrayScalar);
  };
  for (Value* v : values) {
    bool decided = !MixedNumbers::mayBeInt(v);
    const bool whole = !decided && g.type(v->node).dtype == DType::kI64;
    for (size_t i = 0; i < values.size(); ++i) decided |= isDouble(i) || (whole && isLong(i));
    if (!decided || (MixedNumbers::mayBeInt(v) && op == Op::kPower)) trace.branches.refuse(v);
  }
  unify(trace, nodes);
  auto signature = graph::resolveUfunc(op, types);
  if (!signature.ok()) orBreak(signature.status());
  if (trace.onDevice()) checkDeviceLoop(op, signature->inputs.back());
  for (size_t i = 0; i < operands.size(); ++i) {
    DType to = signature->inputs[i];
    if (isWeakInt(operands[i]) && graph::isInexact(to) && isLarge(trace, values[i])) {
      operands[i] = {g.cast(g.cast(operands[i].value, DType::kF64), to),
                     Weak::kNo};  // NumPy rounds to a Python float first
    }
    if (!isWeakInt(operands[i]) || !graph::isInteger(to)) continue;
    if (!intFits(trace, values[i], to)) {
      // Comparisons answer without converting, everything else raises.
      if (graph::info(op).loops == graph::Loops::kCompare) unsupported("comparison with a Python integer out of range");
      raises("OverflowError: Python integer out of bounds for " + std::string(graph::name(to)));
    }
    operands[i] = {g.cast(operands[i].value, to), Weak::kNo};
  }
  if (op == Op::kPower && !trace.onDevice()) {
    if (auto fast = fastPowerLoop(trace, nodes[0], nodes[1], signature->inputs[0])) return *fast;
    checkIntegerPower(trace, values[1], signature->inputs[0]);
  }
  return orBreak(graph::addUfunc(g, op, operands));
}

ValueId ufuncNode(Trace& trace, Op op, std::initializer_list<ValueId> nodes) {
  absl::InlinedVector<graph::UfuncOperand, 3> operands;
  for (ValueId node : nodes) operands.push_back({node});
  unify(trace, std::vector<ValueId>(nodes));
  return orBreak(graph::addUfunc(trace.graph(), op, operands));
}

Value* ufunc(Trace& trace, Op op, std::vector<Value*> operands) {
  return trace.arrayOrScalar(ufuncNode(trace, op, operands));
}

}  // namespace fw::capture::numpy
