// Python numbers that are not known while tracing. Ints are symbolic, kept within int64 by guards; floats are rank-0
// f64 values whose + - * are the machine's, as in CPython. What has no exact form in the graph is computed by CPython's
// own operators before the compiled code runs if it comes from arguments alone (numbers.h), and breaks if it depends on
// array data. Only what Python answers by raising, or by an int beyond 64 bits, is specialised to the value seen now.
#include <algorithm>

#include "frame_eval/builtins.h"
#include "frame_eval/complex_numbers.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/interpreter.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"
#include "guards/set_index.h"

namespace fw::capture {

using cpython::checked;
using graph::DType;
using graph::Op;
using guards::Relation;

namespace {

bool isFloatLike(Value* v) {
  return v->kind == ValueKind::kPyFloat || (v->isConstant() && PyFloat_CheckExact(v->object.get()));
}

/// Functions of module _operator, by CPython's NB_* numbers and by Py_LT .. Py_GE.
constexpr const char* kOperatorFunctions[] = {"add", "and_", "floordiv", "lshift", "matmul",  "mul", "mod",
                                              "or_", "pow",  "rshift",   "sub",    "truediv", "xor"};
constexpr const char* kComparisonFunctions[] = {"lt", "le", "eq", "ne", "gt", "ge"};

/// log2 of a power of two, -1 for anything else.
int exactLog2(int64_t v) { return v > 0 && (v & (v - 1)) == 0 ? __builtin_ctzll(static_cast<uint64_t>(v)) : -1; }

/// Computed from ints that may be beyond 33 bits; sizes are not. A break if they occur in it too often: loops like
/// `a, b = b, a % b + b` double an expression each time, and nobody could read it through.
bool isWide(Trace& trace, graph::SymId sym) {
  constexpr int64_t kNarrow = int64_t{1} << 33;
  constexpr size_t kMostLeaves = 1000;
  std::vector<int64_t> symbols;
  guards::symbolsIn(trace.syms(), sym, symbols);
  if (symbols.size() > kMostLeaves)
    throw CaptureBreak::ofUnrolled(BreakReason::kGraphLimit,
                                   "an int computed from more than " + std::to_string(kMostLeaves) + " ints");
  return std::any_of(symbols.begin(), symbols.end(), [&](int64_t symbol) {
    using From = guards::SymbolBinding::From;
    const From from = trace.guardSet().symbols[static_cast<size_t>(symbol)].from;
    const graph::SymRange range = trace.syms().range(trace.syms().symbolId(static_cast<int>(symbol)));
    return (from == From::kPyInt || from == From::kNumber) && (range.lo < -kNarrow || range.hi > kNarrow);
  });
}

/// By Py_LT .. Py_GE.
constexpr Op kCompareOps[] = {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual, Op::kGreater, Op::kGreaterEqual};

/// Not one that is known before the compiled code runs.
bool isDataBool(Trace& trace, Value* v) {
  return v->kind == ValueKind::kPyBool && !v->joined && !trace.numbers().of(v);
}

/// &, | and ^ of two bools, of which array data decides one at least; null for others.
Value* boolBinary(Trace& trace, int op, Value* left, Value* right) {
  const auto isBool = [](const Value* v) {
    return (v->kind == ValueKind::kPyBool && !v->joined) || (v->isConstant() && PyBool_Check(v->object.get()));
  };
  if (!isBool(left) || !isBool(right) || (!isDataBool(trace, left) && !isDataBool(trace, right))) return nullptr;
  if (op != cpython::kNbAnd && op != cpython::kNbOr && op != cpython::kNbXor) return nullptr;
  const Op with = op == cpython::kNbAnd ? Op::kBitwiseAnd : op == cpython::kNbOr ? Op::kBitwiseOr : Op::kBitwiseXor;
  return trace.number(ValueKind::kPyBool,
                      trace.graph().binary(with, trace.operand(left).value, trace.operand(right).value));
}

/// Of ints that the graph binds on the way: as a bool of the graph if it is not known.
Value* outcome(Trace& trace, int op, graph::SymId left, graph::SymId right, std::optional<bool> known) {
  if (known) return trace.constant(*known ? Py_True : Py_False);
  graph::Graph& g = trace.graph();
  return trace.number(ValueKind::kPyBool, g.binary(kCompareOps[op], g.sym(left), g.sym(right)));
}

/// Of numbers that library calls decide: known if it holds whatever they are.
Value* sizeCompare(Trace& trace, int op, graph::SymId left, graph::SymId right) {
  graph::SymContext& syms = trace.syms();
  std::optional<bool> known;
  if (op == Py_EQ || op == Py_NE) {
    known = syms.provablyEqual(left, right);
    if (known && op == Py_NE) known = !*known;
  } else {
    const bool strict = op == Py_LT || op == Py_GE;  // a >= b is no a < b
    known = strict ? syms.provablyLess(left, right) : syms.provablyLess(right, left);
    if (known && (op == Py_GE || op == Py_LE)) known = !*known;
  }
  return outcome(trace, op, left, right, known);
}

/// left op right as a relation; != is == negated.
struct Ordered {
  graph::SymId left;
  Relation relation;
  graph::SymId right;
  bool negated;
};

Ordered ordered(int op, graph::SymId left, graph::SymId right) {
  const Relation relation = op == Py_EQ || op == Py_NE   ? Relation::kEq
                            : op == Py_LT || op == Py_GT ? Relation::kLt
                                                         : Relation::kLe;
  if (op == Py_GT || op == Py_GE) std::swap(left, right);
  return {left, relation, right, op == Py_NE};
}

bool variesByTurn(Trace& trace, Value* v) { return v->kind == ValueKind::kPyInt && trace.turns.contains(v->sym); }

/// A float of array data or of the turn of a loop: what it is, no guard can tell.
bool isDecidedOnTheWay(Trace& trace, Value* left, Value* right) {
  const auto is = [&](Value* v) {
    return variesByTurn(trace, v) || v->kind == ValueKind::kDataInt ||
           (v->kind == ValueKind::kPyFloat && !trace.numbers().of(v));
  };
  return is(left) || is(right);
}

/// A divisor of zero raises in Python, which then makes the call.
void requireNotZero(Trace& trace, graph::ValueId divisor) {
  graph::Graph& g = trace.graph();
  const graph::ValueId zero = g.constant(graph::Scalar::zero(DType::kF64));
  DataInts{trace}.require(g.binary(Op::kNotEqual, divisor, zero), PyExc_ZeroDivisionError);
}

/// Of ints that turns of loops decide: what is not linear in the turn, or a quotient, is computed rather than reasoned
/// about.
bool isLinear(Trace& trace, int op, Value* left, Value* right) {
  switch (op) {
    case cpython::kNbAdd:
    case cpython::kNbSubtract:
    case cpython::kNbTrueDivide: return true;
    case cpython::kNbMultiply: return !variesByTurn(trace, left) || !variesByTurn(trace, right);
    default: return false;
  }
}

}  // namespace

/// The number as f64, exactly, or a break.
graph::ValueId Interpreter::asFloat(Value* value) {
  graph::Graph& g = trace_.graph();
  if (value->kind == ValueKind::kPyFloat) return value->node;
  if (value->kind == ValueKind::kPyBool) return g.cast(value->node, DType::kF64);
  if (value->kind == ValueKind::kDataInt) return DataInts{trace_}.asFloat(value);
  if (value->kind == ValueKind::kPyInt) {
    if (!trace_.ensureWithin(value->sym, -kExactFloat, kExactFloat)) {
      PyObject* type = reinterpret_cast<PyObject*>(&PyFloat_Type);
      if (Value* rounded = trace_.numbers().apply(type, {value})) return rounded->node;
      trace_.fail(BreakReason::kUnsupportedObject, "an integer too large to be exact as float");
    }
    return g.cast(g.sym(trace_.syms().canonical(value->sym)), DType::kF64);
  }
  FW_CHECK(value->isConstant());
  double v = PyFloat_AsDouble(value->object.get());
  if (v == -1.0 && PyErr_Occurred()) raisesPending();
  return g.constant(graph::Scalar::ofDouble(DType::kF64, v));
}

Value* Interpreter::specializedBinary(int op, Value* left, Value* right) {
  if (Value* result = trace_.numbers().apply(Numbers::operatorFunction(kOperatorFunctions[op]), {left, right}))
    return result;
  Value* a = trace_.specializeNumber(left);
  Value* b = trace_.specializeNumber(right);
  if (!a || !b) {
    trace_.fail(BreakReason::kUnsupportedInstruction, "this operator on Python numbers computed from array data");
  }
  return foldBinary(op, a, b);
}

Value* Interpreter::floatBinary(int op, Value* left, Value* right) {
  if (ComplexNumbers::is(left) || ComplexNumbers::is(right)) {
    Value* result = ComplexNumbers{*this, trace_}.binary(op, left, right);
    return result ? result : specializedBinary(op, left, right);
  }
  // Large constant ints are compared and added exactly by Python; leave those to Python.
  graph::Graph& g = trace_.graph();
  auto result = [&](Op graphOp) {
    return trace_.number(ValueKind::kPyFloat, g.binary(graphOp, asFloat(left), asFloat(right)));
  };
  switch (op) {
    case cpython::kNbAdd: return result(Op::kAdd);
    case cpython::kNbSubtract: return result(Op::kSubtract);
    case cpython::kNbMultiply: return result(Op::kMultiply);
    case cpython::kNbTrueDivide: {
      if (right->isConstant()) {
        if (PyFloat_AsDouble(right->object.get()) == 0) raiseError(PyExc_ZeroDivisionError, "float division by zero");
        return result(Op::kDivide);
      }
      if (right->kind == ValueKind::kPyInt && !variesByTurn(trace_, right)) {
        if (trace_.decide(right->sym, Relation::kEq, trace_.syms().constant(0))) {
          raiseAbout(PyExc_ZeroDivisionError, "float division by zero");
        }
        return result(Op::kDivide);
      }
      if (auto divisor = trace_.numbers().of(right)) {
        if (trace_.numbers().truth(*divisor)) return result(Op::kDivide);
        raiseAbout(PyExc_ZeroDivisionError, "float division by zero");
      }
      requireNotZero(trace_, asFloat(right));
      return result(Op::kDivide);
    }
    case cpython::kNbFloorDivide:
    case cpython::kNbRemainder:
      if (trace_.onDevice() || !isDecidedOnTheWay(trace_, left, right)) return specializedBinary(op, left, right);
      requireNotZero(trace_, asFloat(right));
      return result(op == cpython::kNbRemainder ? Op::kRemainder : Op::kFloorDivide);
    case cpython::kNbPower:
      if (trace_.onDevice() || !isDecidedOnTheWay(trace_, left, right)) return specializedBinary(op, left, right);
      return floatPower(trace_, asFloat(left), asFloat(right));
    default: return specializedBinary(op, left, right);
  }
}

Value* Interpreter::intBinary(int op, Value* left, Value* right) {
  if (Value* result = boolBinary(trace_, op, left, right)) return result;
  const bool turns = variesByTurn(trace_, left) || variesByTurn(trace_, right);
  const bool data = DataInts::any(left, right) || isDataBool(trace_, left) || isDataBool(trace_, right) ||
                    (turns && !isLinear(trace_, op, left, right));
  if (data && DataInts::isInt(left) && DataInts::isInt(right)) {
    if (Value* result = DataInts{trace_}.binary(op, left, right)) return result;
    trace_.fail(BreakReason::kUnsupportedInstruction, "this operator on Python ints computed from array data");
  }
  if (left->kind == ValueKind::kPyBool || right->kind == ValueKind::kPyBool) return specializedBinary(op, left, right);
  graph::SymContext& syms = trace_.syms();
  auto fits = [&](Value* v) {
    int overflow = 0;
    if (v->isConstant()) (void)PyLong_AsLongLongAndOverflow(v->object.get(), &overflow);
    return !overflow;
  };
  if (!fits(left) || !fits(right)) return specializedBinary(op, left, right);
  graph::SymId a = trace_.asSym(left), b = trace_.asSym(right);
  // Large ints would need guards that their results fit, which go one way or another; CPython computes with them as it
  // does.
  if (isWide(trace_, a) || isWide(trace_, b)) {
    if (Value* result = trace_.numbers().apply(Numbers::operatorFunction(kOperatorFunctions[op]), {left, right}))
      return result;
  }
  switch (op) {
    case cpython::kNbAdd:
    case cpython::kNbSubtract: {
      constexpr int64_t kLimit = int64_t{1} << 61;
      if (!trace_.ensureWithin(a, -kLimit, kLimit) || !trace_.ensureWithin(b, -kLimit, kLimit)) break;
      return trace_.pyInt(op == cpython::kNbAdd ? syms.add(a, b) : syms.sub(a, b));
    }
    case cpython::kNbMultiply: {
      // Small constants leave the other factor nearly all of int64.
      auto limit = [&](graph::SymId other) {
        auto known = syms.asConst(other);
        int64_t magnitude = known && *known != INT64_MIN ? std::max<int64_t>(1, std::abs(*known)) : 0;
        return magnitude ? (int64_t{1} << 61) / magnitude : int64_t{1} << 31;
      };
      int64_t limitA = limit(b), limitB = limit(a);
      if (!trace_.ensureWithin(a, -limitA, limitA) || !trace_.ensureWithin(b, -limitB, limitB)) break;
      return trace_.pyInt(syms.mul(a, b));
    }
    case cpython::kNbFloorDivide:
    case cpython::kNbRemainder: {
      if (trace_.decide(b, Relation::kEq, syms.constant(0))) raiseAbout(PyExc_ZeroDivisionError, "division by zero");
      graph::SymId zero = syms.constant(0);
      (void)(trace_.decide(zero, Relation::kLt, b) || trace_.decide(b, Relation::kLt, zero));
      b = syms.canonical(b);
      graph::SymRange range = graph::refinedRange(syms, b);
      if (range.lo <= 0 && range.hi >= 0) break;
      if (!trace_.ensureWithin(a, -INT64_MAX, INT64_MAX)) break;
      return trace_.pyInt(op == cpython::kNbFloorDivide ? syms.floorDiv(a, b) : syms.mod(a, b));
    }
    case cpython::kNbTrueDivide: {
      if (variesByTurn(trace_, right))
        if (Value* result = DataInts{trace_}.binary(op, left, right)) return result;
      // Correctly rounded by Python; so is the division of two exactly converted operands.
      if (trace_.decide(b, Relation::kEq, syms.constant(0))) raiseAbout(PyExc_ZeroDivisionError, "division by zero");
      graph::ValueId quotient = trace_.graph().binary(Op::kDivide, asFloat(left), asFloat(right));
      return trace_.number(ValueKind::kPyFloat, quotient);
    }
    case cpython::kNbPower:
      if (syms.isConst(b, 2)) return intBinary(cpython::kNbMultiply, left, left);
      break;
    case cpython::kNbLshift:
    case cpython::kNbRshift: {
      // By a constant they are products and quotients, which shapes understand.
      auto by = syms.asConst(b);
      if (!by || *by < 0 || *by > 30) break;
      Value* power = trace_.pyInt(syms.constant(int64_t{1} << *by));
      return intBinary(op == cpython::kNbLshift ? cpython::kNbMultiply : cpython::kNbFloorDivide, left, power);
    }
    case cpython::kNbAnd: {
      auto mask = syms.asConst(b);
      if (!mask || *mask < 0 || *mask >= (int64_t{1} << 31) || exactLog2(*mask + 1) < 0) break;
      return intBinary(cpython::kNbRemainder, left, trace_.pyInt(syms.constant(*mask + 1)));
    }
    default: break;
  }
  return specializedBinary(op, left, right);
}

namespace {

/// What the comparison of two ints answers if that is known by where they are.
std::optional<bool> byRanges(int op, graph::SymRange a, graph::SymRange b) {
  const bool below = a.hi<b.lo, above = a.lo> b.hi, notAbove = a.hi <= b.lo, notBelow = a.lo >= b.hi;
  const auto either = [](bool yes, bool no) { return yes || no ? std::optional(yes) : std::nullopt; };
  switch (op) {
    case Py_LT: return either(below, notBelow);
    case Py_LE: return either(notAbove, above);
    case Py_GT: return either(above, notAbove);
    case Py_GE: return either(notBelow, below);
    case Py_EQ: return either(notAbove && notBelow, below || above);
    case Py_NE: return either(below || above, notAbove && notBelow);
    default: return std::nullopt;
  }
}

}  // namespace

Value* Interpreter::numberCompare(int op, Value* left, Value* right) {
  bool equality = op == Py_EQ || op == Py_NE;
  if (ComplexNumbers::is(left) || ComplexNumbers::is(right)) {
    if (Value* result = equality ? ComplexNumbers{*this, trace_}.equal(op == Py_EQ, left, right) : nullptr)
      return result;
    Value* a = trace_.specializeNumber(left);
    Value* b = trace_.specializeNumber(right);
    if (!a || !b || !equality) trace_.fail(BreakReason::kUnsupportedObject, "comparison of complex numbers");
    return fold(PyObject_RichCompare(a->object.get(), b->object.get(), op));
  }
  bool floating =
      isFloatLike(left) || isFloatLike(right) || left->kind == ValueKind::kPyBool || right->kind == ValueKind::kPyBool;
  if (!floating && DataInts::any(left, right)) {
    DataInts ints{trace_};
    Value *a = ints.of(left), *b = ints.of(right);
    if (!a || !b) trace_.fail(BreakReason::kUnsupportedObject, "comparison with a large integer");
    if (const auto known = byRanges(op, a->range, b->range)) return trace_.constant(*known ? Py_True : Py_False);
    return trace_.number(ValueKind::kPyBool, trace_.graph().binary(kCompareOps[op], a->node, b->node));
  }
  if (!floating) {
    const graph::SymId a = trace_.asSym(left), b = trace_.asSym(right);
    if (trace_.decided.contains(a) || trace_.decided.contains(b)) return sizeCompare(trace_, op, a, b);
    const Ordered o = ordered(op, a, b);
    std::optional<bool> holds;
    if (trace_.turns.contains(a) || trace_.turns.contains(b))
      holds = trace_.turns.decide(o.left, o.relation, o.right);
    else
      holds = trace_.decide(o.left, o.relation, o.right);
    if (holds) holds = *holds != o.negated;
    return outcome(trace_, op, a, b, holds);
  }
  // Python compares large ints with floats exactly, without rounding them.
  for (Value* v : {left, right}) {
    int overflow = 0;
    bool constant = v->isConstant() && PyLong_Check(v->object.get());
    int64_t known = constant ? PyLong_AsLongLongAndOverflow(v->object.get(), &overflow) : 0;
    bool large = overflow || known > kExactFloat || known < -kExactFloat;
    if (v->kind == ValueKind::kPyInt) large = !trace_.ensureWithin(v->sym, -kExactFloat, kExactFloat);
    if (!large) continue;
    if (Value* result = trace_.numbers().apply(Numbers::operatorFunction(kComparisonFunctions[op]), {left, right}))
      return result;
    trace_.fail(BreakReason::kUnsupportedObject, "comparison of a float with a large integer");
  }
  return trace_.number(ValueKind::kPyBool, trace_.graph().binary(kCompareOps[op], asFloat(left), asFloat(right)));
}

}  // namespace fw::capture
