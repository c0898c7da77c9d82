#include "frame_eval/mixed_numbers.h"

#include <algorithm>

#include "cpython/bytecode.h"
#include "cpython/numpy_api.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::SymRange;
using graph::ValueId;

namespace {

constexpr int64_t kExact = int64_t{1} << 53;  ///< ints that a float holds
constexpr SymRange kGiven{-kExact / 2, kExact / 2};
constexpr int64_t kSmall = int64_t{1} << 31;  ///< known ones

std::optional<int64_t> smallInt(const Value* value) {
  if (!value->isConstant() || !PyLong_CheckExact(value->object.get())) return std::nullopt;
  int overflow = 0;
  const int64_t now = PyLong_AsLongLongAndOverflow(value->object.get(), &overflow);
  return !overflow && std::abs(now) <= kSmall ? std::optional(now) : std::nullopt;
}

bool contains(SymRange outer, SymRange inner) { return outer.lo <= inner.lo && inner.hi <= outer.hi; }

}  // namespace

bool MixedNumbers::canBe(const Value* value) const { return isFloat64(trace_, value) || smallInt(value); }

ValueId MixedNumbers::node(Value* value) {
  if (is(value)) return value->node;
  const std::optional<int64_t> known = smallInt(value);
  return known ? trace_.graph().constant(graph::Scalar::ofDouble(DType::kF64, static_cast<double>(*known)))
               : trace_.operand(value).value;
}

Value* MixedNumbers::classOf(Value* value) {
  if (is(value)) return value->which;
  const int64_t known = smallInt(value)                                  ? kInt
                        : numberKind(value) == ValueKind::kPyFloat ? kFloat
                                                                         : kNumpy;
  const ValueId node = trace_.graph().constant(graph::Scalar::ofInt(DType::kI64, known));
  return DataInts{trace_}.make(node, {known, known});
}

SymRange MixedNumbers::intRange(const Value* value) const {
  if (is(value)) return value->range;
  const std::optional<int64_t> known = smallInt(value);
  return known ? SymRange{*known, *known} : SymRange{0, 0};
}

Value* MixedNumbers::make(ValueId node, Value* which, SymRange range, const std::string& why) {
  if (which->range.lo == kFloat && which->range.hi == kFloat) return trace_.number(ValueKind::kPyFloat, node);
  Value* number = trace_.number(ValueKind::kArrayScalar, node);
  return which->range.lo == kNumpy ? number : note(number, which, range, why);
}

Value* MixedNumbers::note(Value* number, Value* which, SymRange range, const std::string& why) {
  trace_.branches.noteNumber(number, why);
  number->which = which;
  number->range = range;
  return number;
}

Value* MixedNumbers::choose(ValueId condition, Value* first, Value* second) {
  const auto where = [&](ValueId a, ValueId b) { return numpy::ufuncNode(trace_, Op::kWhere, {condition, a, b}); };
  Value *a = classOf(first), *b = classOf(second);
  const SymRange r = intRange(first), s = intRange(second);
  const SymRange classes{std::min(a->range.lo, b->range.lo), std::max(a->range.hi, b->range.hi)};
  Value* which = a->node == b->node ? a : DataInts{trace_}.make(where(a->node, b->node), classes);
  return make(where(node(first), node(second)), which, {std::min(r.lo, s.lo), std::max(r.hi, s.hi)},
              "array data decides whether a number is an int, a float or a np.float64");
}

Value* MixedNumbers::given(ValueId placeholder, ValueId which, bool mayBeInt) {
  Value* classes = DataInts{trace_}.make(which, {mayBeInt ? kInt : kFloat, kNumpy});
  return note(trace_.number(ValueKind::kArrayScalar, placeholder), classes, mayBeInt ? kGiven : SymRange{0, 0},
              "turns of a loop decide whether a number is an int, a float or a np.float64");
}

void MixedNumbers::handOn(Value* end) {
  if (!mayBeInt(end) || contains(kGiven, end->range)) return;
  graph::Graph& g = trace_.graph();
  const ValueId zero = g.constant(graph::Scalar::ofInt(DType::kI64, kInt));
  const ValueId most = g.constant(graph::Scalar::ofDouble(DType::kF64, static_cast<double>(kGiven.hi)));
  const ValueId isNone = g.binary(Op::kNotEqual, end->which->node, zero);
  const ValueId within = g.binary(Op::kLessEqual, g.unary(Op::kAbsolute, end->node), most);
  DataInts{trace_}.require(g.binary(Op::kLogicalOr, isNone, within));
}

/// Of `about`, which is refused where the other one is of a kind that does not go with it.
ValueId MixedNumbers::operand(Value* value, Value* about) {
  if (canBe(value)) return node(value);
  Value* whole = DataInts::isInt(value) ? DataInts{trace_}.of(value) : nullptr;
  if (!whole) trace_.branches.refuse(about);
  return DataInts{trace_}.asFloat(whole);
}

Value* MixedNumbers::binary(int op, Value* left, Value* right) {
  Value* number = is(left) ? left : right;
  const auto isWhole = [](Value* v) { return mayBeInt(v) || DataInts::isInt(v); };
  const bool ints = isWhole(left) && isWhole(right), divides = op == cpython::kNbTrueDivide;
  const Op with = op == cpython::kNbAdd        ? Op::kAdd
                  : op == cpython::kNbSubtract ? Op::kSubtract
                  : op == cpython::kNbMultiply ? Op::kMultiply
                                               : Op::kDivide;
  if (with == Op::kDivide && !divides) trace_.branches.refuse(number);
  if (ints && with == Op::kMultiply) trace_.branches.refuse(number);  // products of ints know no -0
  graph::Graph& g = trace_.graph();
  const ValueId a = operand(left, number), b = operand(right, number);
  SymRange range{0, 0};
  if (ints && !divides) {
    if (!canBe(left) || !canBe(right)) trace_.branches.refuse(number);
    const SymRange r = intRange(left), s = intRange(right);
    range = with == Op::kAdd ? SymRange{r.lo + s.lo, r.hi + s.hi} : SymRange{r.lo - s.hi, r.hi - s.lo};
    if (!contains({-kExact, kExact}, range)) trace_.branches.refuse(number);
  }
  if (divides)  // Python's raises
    DataInts{trace_}.require(
        g.binary(Op::kNotEqual, b, g.constant(graph::Scalar::ofDouble(DType::kF64, 0))));
  // The greatest class.
  Value* which = nullptr;
  for (Value* v : {left, right}) {
    if (!canBe(v)) continue;  // an int
    Value* of = classOf(v);
    if (!which) {
      which = of;
    } else if (which->range.hi <= of->range.lo) {
      which = of;
    } else if (of->range.hi > which->range.lo) {
      which = DataInts{trace_}.make(g.binary(Op::kMaximum, which->node, of->node),
                                    {std::max(which->range.lo, of->range.lo), std::max(which->range.hi, of->range.hi)});
    }
  }
  if (divides && which->range.lo == kInt) {
    const ValueId one = g.constant(graph::Scalar::ofInt(DType::kI64, kFloat));
    which = DataInts{trace_}.make(g.binary(Op::kMaximum, which->node, one), {kFloat, which->range.hi});
  }
  return make(g.binary(with, a, b), which, range, number->name);
}

Value* MixedNumbers::compare(int op, Value* left, Value* right) {
  static constexpr Op kOps[] = {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual, Op::kGreater, Op::kGreaterEqual};
  Value* number = is(left) ? left : right;
  const ValueId a = operand(left, number), b = operand(right, number);
  Value* v = trace_.number(ValueKind::kPyBool, trace_.graph().binary(kOps[op], a, b));
  v->joined = true;
  return v;
}

Value* MixedNumbers::negative(Value* value) {
  if (mayBeInt(value)) trace_.branches.refuse(value);  // there is no -0 among ints
  return make(trace_.graph().unary(Op::kNegative, value->node), value->which, value->range, value->name);
}

}  // namespace fw::capture
