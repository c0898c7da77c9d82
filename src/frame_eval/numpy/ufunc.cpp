// Calls of ufuncs: conversion of the operands, broadcasting, and the value checks that NumPy makes before the loop runs.
#include "frame_eval/numpy/support.h"

namespace fw::capture::numpy {
namespace {

bool isWeakInt(const graph::UfuncOperand& operand) { return operand.weak == Weak::kInt; }

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

/// NumPy computes some exponents by other functions (2: square, 0.5: sqrt ...) with other results at the edges, so the value of
/// a Python exponent belongs to the variant.
Value* knownExponent(Trace& trace, Value* exponent) {
  if (exponent->kind != ValueKind::kPyFloat && exponent->kind != ValueKind::kPyInt) return exponent;
  Value* known = trace.specializeNumber(exponent);
  if (!known) unsupported("an exponent that is computed from array data");
  return known;
}

ValueId ufuncNode(Trace& trace, Op op, const std::vector<Value*>& given) {
  graph::Graph& g = trace.graph();
  std::vector<Value*> values = given;
  if (op == Op::kPower) values[1] = knownExponent(trace, values[1]);
  absl::InlinedVector<graph::UfuncOperand, 3> operands;
  absl::InlinedVector<graph::OperandType, 3> types;
  std::vector<ValueId> nodes;
  for (Value* v : values) {
    graph::UfuncOperand o = sequenceItems(trace, v) ? graph::UfuncOperand{asArray(trace, v)} : trace.operand(v);
    operands.push_back(o);
    types.push_back(operandType(trace, o));
    nodes.push_back(o.value);
  }
  unify(trace, nodes);
  auto signature = graph::resolveUfunc(op, types);
  if (!signature.ok()) orBreak(signature.status());
  for (size_t i = 0; i < operands.size(); ++i) {
    DType to = signature->inputs[i];
    if (!isWeakInt(operands[i]) || !graph::isInteger(to)) continue;
    if (!intFits(trace, values[i], to)) {
      // Comparisons answer without converting, everything else raises.
      if (graph::info(op).loops == graph::Loops::kCompare) unsupported("comparison with a Python integer out of range");
      raises("OverflowError: Python integer out of bounds for " + std::string(graph::name(to)));
    }
    operands[i] = {g.cast(operands[i].value, to), Weak::kNo};
  }
  if (op == Op::kPower) {
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
