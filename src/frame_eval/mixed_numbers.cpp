#include "frame_eval/mixed_numbers.h"

#include <algorithm>

#include "cpython/bytecode.h"
#include "cpython/numpy_api.h"
#include "frame_eval/branch_join.h"
#include "frame_eval/data_ints.h"
#include "frame_eval/interpret_common.h"
#include "frame_eval/numpy/support.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::Scalar;
using graph::SymRange;
using graph::ValueId;

namespace {

constexpr int64_t kSmall = int64_t{1} << 31;  ///< known ones
/// Where ints are that begin a turn.
constexpr SymRange kGivenFloat{-kExactFloat / 2, kExactFloat / 2}, kGivenInt = kTurnInts;

bool isSmall(const Value* value) {
  if (!value->isConstant() || !PyLong_CheckExact(value->object.get())) return false;
  int overflow = 0;
  const int64_t now = PyLong_AsLongLongAndOverflow(value->object.get(), &overflow);
  return !overflow && std::abs(now) <= kSmall;
}

}  // namespace

/// An int that a float holds: a known one, or one of the call's that is small now, which is guarded then.
bool MixedNumbers::isExact(const Value* value) const {
  if (value->kind != ValueKind::kPyInt) return isSmall(value);
  const graph::SymId sym = trace_.syms().canonical(value->sym);
  if (trace_.turns.contains(sym) || trace_.decided.contains(sym)) {  // no guard can see to that
    const SymRange range = trace_.syms().range(sym);
    return range.lo >= -kSmall && range.hi <= kSmall;
  }
  return std::abs(trace_.hint(sym)) <= kSmall;
}

/// A np.int64, or an int in i64.
bool MixedNumbers::isWhole(const Value* value) const {
  if (value->isConstant()) return DataInts::isWhole(value) || PyArray_IsScalar(value->object.get(), Int64);
  return DataInts::isWhole(value) ||
         (value->kind == ValueKind::kArrayScalar && trace_.graph().type(value->node).dtype == DType::kI64);
}

bool MixedNumbers::canBe(const Value* value, DType dtype) const {
  if (value->isNone()) return true;
  if (dtype == DType::kI64) return isWhole(value);
  return isFloat64(trace_, value) || isExact(value);
}

std::optional<DType> MixedNumbers::common(const Value* first, const Value* second) const {
  const bool none = first->isNone() != second->isNone();
  const bool differ = none || numberKind(first) != numberKind(second) || is(first) || is(second);
  const bool ints = DataInts::isWhole(first) && DataInts::isWhole(second);
  if (!differ || ints) return std::nullopt;
  if (none && (DataInts::isWhole(first) || DataInts::isWhole(second))) return DType::kI64;
  for (DType dtype : {DType::kF64, DType::kI64})
    if (canBe(first, dtype) && canBe(second, dtype)) return dtype;
  return std::nullopt;
}

/// As an int of Python's, by its value.
Value* MixedNumbers::asInt(Value* value) {
  DataInts ints{trace_};
  if (is(value)) return ints.make(value->node, value->range);
  Value* whole = DataInts::isWhole(value) ? ints.of(value) : ints.fromNumber(trace_.operand(value).value);
  if (!whole) trace_.fail(BreakReason::kUnsupportedObject, "an integer beyond 62 bits");
  return whole;
}

Value* MixedNumbers::ofInt(Value* value) {
  Value* small = DataInts{trace_}.within(value, kGivenFloat);
  Value* number = trace_.number(ValueKind::kArrayScalar, trace_.graph().cast(small->node, DType::kF64));
  return note(number, classOf(small), small->range, "an int of one class or another");
}

ValueId MixedNumbers::node(Value* value, DType dtype) {
  if (is(value)) return value->node;
  if (value->isNone()) return trace_.graph().constant(Scalar::zero(dtype));
  if (dtype == DType::kI64) return asInt(value)->node;
  if (!isExact(value)) return trace_.operand(value).value;
  if (value->kind == ValueKind::kPyInt) {
    if (!trace_.ensureWithin(value->sym, -kSmall, kSmall))
      trace_.fail(BreakReason::kUnsupportedObject, "a large integer");
    return trace_.graph().cast(asInt(value)->node, dtype);
  }
  return trace_.graph().constant(Scalar::ofDouble(dtype, static_cast<double>(PyLong_AsLongLong(value->object.get()))));
}

Value* MixedNumbers::classOf(Value* value) {
  if (is(value)) return value->which;
  const Class known = leastClass(value);
  return DataInts{trace_}.make(trace_.graph().constant(Scalar::ofInt(DType::kI64, known)), {known, known});
}

SymRange MixedNumbers::classes(const Value* value) const {
  if (is(value)) return value->which->range;
  if (value->isNone()) return {kNone, kNone};
  if (DataInts::isWhole(value)) return {kInt, kInt};
  return numberKind(value) == ValueKind::kPyFloat ? SymRange{kFloat, kFloat} : SymRange{kNumpy, kNumpy};
}

SymRange MixedNumbers::intRange(Value* value, DType dtype) {
  if (is(value)) return value->range;
  if (value->isNone()) return {0, 0};
  if (dtype == DType::kF64 && value->kind == ValueKind::kPyInt) return {-kSmall, kSmall};
  if (dtype == DType::kI64 || isSmall(value)) return asInt(value)->range;
  return {0, 0};
}

Value* MixedNumbers::make(ValueId node, Value* which, SymRange range, const std::string& why) {
  if (which->range.lo == kFloat && which->range.hi == kFloat) return trace_.number(ValueKind::kPyFloat, node);
  if (which->range.lo == kInt && which->range.hi == kInt && trace_.graph().type(node).dtype == DType::kI64)
    return DataInts{trace_}.make(node, range);
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
  const DType dtype = *common(first, second);
  Value *a = classOf(first), *b = classOf(second);
  Value* which = a->node == b->node ? a : DataInts{trace_}.make(where(a->node, b->node), hull(a->range, b->range));
  const SymRange range = hull(intRange(first, dtype), intRange(second, dtype));
  return make(where(node(first, dtype), node(second, dtype)), which, range,
              "array data decides whether a number is Python's or NumPy's");
}

Value* MixedNumbers::isNone(Value* value) {
  const ValueId none = trace_.graph().constant(Scalar::ofInt(DType::kI64, kNone));
  return trace_.number(ValueKind::kPyBool, trace_.graph().binary(Op::kEqual, value->which->node, none));
}

Value* MixedNumbers::present(Value* value) {
  if (!mayBeNone(value)) return value;
  DataInts{trace_}.require(trace_.graph().unary(Op::kLogicalNot, isNone(value)->node));
  return assumed(value);
}

Value* MixedNumbers::assumed(Value* value) {
  if (!mayBeNone(value)) return value;
  Value* which = DataInts{trace_}.make(value->which->node, {kInt, value->which->range.hi});
  return make(value->node, which, value->range, value->name);
}

Value* MixedNumbers::given(ValueId placeholder, ValueId which, SymRange classes) {
  const bool whole = trace_.graph().type(placeholder).dtype == DType::kI64;
  Value* number = trace_.number(ValueKind::kArrayScalar, placeholder);
  return note(number, DataInts{trace_}.make(which, classes), whole ? kGivenInt : kGivenFloat,
              "turns of a loop decide whether a number is Python's or NumPy's");
}

ValueId MixedNumbers::handOn(Value* end, DType dtype) {
  if (end->isNone()) return node(end, dtype);
  if (dtype == DType::kI64) return DataInts{trace_}.within(asInt(end), kGivenInt)->node;
  if (!mayBeInt(end) || contains(kGivenFloat, end->range)) return node(end, dtype);
  graph::Graph& g = trace_.graph();
  const ValueId isNone = g.binary(Op::kNotEqual, end->which->node, g.constant(Scalar::ofInt(DType::kI64, kInt)));
  const ValueId most = g.constant(Scalar::ofDouble(dtype, static_cast<double>(kGivenFloat.hi)));
  const ValueId within = g.binary(Op::kLessEqual, g.unary(Op::kAbsolute, end->node), most);
  DataInts{trace_}.require(g.binary(Op::kLogicalOr, isNone, within));
  return end->node;
}

/// NumPy's, whatever the other one is.
bool MixedNumbers::isDecided(const Value* value) const {
  if (is(value)) return false;
  if (value->isConstant()) return numberKind(value) == ValueKind::kArrayScalar;
  return value->kind == ValueKind::kArray || value->kind == ValueKind::kArrayScalar;
}

/// As an operand beside `about`, which is refused where there is no such operation.
ValueId MixedNumbers::asFloat(Value* value, Value* about) {
  if (value->isNone()) trace_.branches.refuse(about);  // TypeError
  if (canBe(value, DType::kF64)) return node(value, DType::kF64);
  if (!isWhole(value)) trace_.branches.refuse(about);
  return DataInts{trace_}.asFloat(asInt(value));
}

Value* MixedNumbers::greatestClass(Value* left, Value* right, bool divides) {
  graph::Graph& g = trace_.graph();
  Value *a = classOf(left), *b = classOf(right);
  if (a->range.lo < b->range.lo) std::swap(a, b);
  Value* which = a;
  if (b->range.hi > a->range.lo)
    which = DataInts{trace_}.make(g.binary(Op::kMaximum, a->node, b->node),
                                  {a->range.lo, std::max(a->range.hi, b->range.hi)});
  if (!divides || which->range.lo > kInt) return which;
  const ValueId least = g.constant(Scalar::ofInt(DType::kI64, kFloat));
  return DataInts{trace_}.make(g.binary(Op::kMaximum, which->node, least),
                               {kFloat, std::max<int64_t>(kFloat, which->range.hi)});
}

Value* MixedNumbers::binary(int op, Value* left, Value* right) {
  Value* number = is(left) ? left : right;
  const bool whole = isWhole(left) && isWhole(right), divides = op == cpython::kNbTrueDivide;
  if (!whole && (isDecided(left) || isDecided(right))) return nullptr;
  if (whole && !divides) {
    if (op == cpython::kNbPower) trace_.branches.refuse(number);
    Value* result = DataInts{trace_}.binary(op, asInt(left), asInt(right));
    if (!result) trace_.branches.refuse(number);
    return make(result->node, greatestClass(left, right, false), result->range, number->name);
  }
  const Op with = op == cpython::kNbAdd        ? Op::kAdd
                  : op == cpython::kNbSubtract ? Op::kSubtract
                  : op == cpython::kNbMultiply ? Op::kMultiply
                                               : Op::kDivide;
  if (with == Op::kDivide && !divides) trace_.branches.refuse(number);
  const auto canBeInt = [](Value* v) { return mayBeInt(v) || DataInts::isWhole(v); };
  const bool ints = canBeInt(left) && canBeInt(right) && !divides;
  graph::Graph& g = trace_.graph();
  const ValueId a = asFloat(left, number), b = asFloat(right, number);
  SymRange range{0, 0};
  if (ints) {
    // Products of ints know no -0.
    const bool small = canBe(left, DType::kF64) && canBe(right, DType::kF64);
    if (with == Op::kMultiply || !small) trace_.branches.refuse(number);
    const SymRange r = intRange(left, DType::kF64), s = intRange(right, DType::kF64);
    range = with == Op::kAdd ? SymRange{r.lo + s.lo, r.hi + s.hi} : SymRange{r.lo - s.hi, r.hi - s.lo};
    if (!contains({-kExactFloat, kExactFloat}, range)) trace_.branches.refuse(number);
  }
  if (divides)  // Python's raises
    DataInts{trace_}.require(g.binary(Op::kNotEqual, b, g.constant(Scalar::ofDouble(DType::kF64, 0))),
                             PyExc_ZeroDivisionError);
  return make(g.binary(with, a, b), greatestClass(left, right, divides), range, number->name);
}

Value* MixedNumbers::compare(int op, Value* left, Value* right) {
  static constexpr Op kOps[] = {Op::kLess, Op::kLessEqual, Op::kEqual, Op::kNotEqual, Op::kGreater, Op::kGreaterEqual};
  Value* number = is(left) ? left : right;
  const bool whole = isWhole(left) && isWhole(right), decided = isDecided(left) || isDecided(right);
  if (decided && !whole) return nullptr;
  const ValueId a = whole ? node(left, DType::kI64) : asFloat(left, number);
  const ValueId b = whole ? node(right, DType::kI64) : asFloat(right, number);
  const ValueId node = trace_.graph().binary(kOps[op], a, b);
  if (decided) return trace_.number(ValueKind::kArrayScalar, node);
  Value* v = trace_.number(ValueKind::kPyBool, node);
  v->joined = true;
  return v;
}

Value* MixedNumbers::negative(Value* value) {
  if (isWhole(value)) {
    Value* result = DataInts{trace_}.negative(asInt(value));
    return make(result->node, value->which, result->range, value->name);
  }
  if (mayBeInt(value)) trace_.branches.refuse(value);  // there is no -0 among ints
  return make(trace_.graph().unary(Op::kNegative, value->node), value->which, value->range, value->name);
}

}  // namespace fw::capture
