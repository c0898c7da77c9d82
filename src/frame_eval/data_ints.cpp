// Arithmetic on intervals decides what has to be checked. A check is a definition of a symbol that nobody reads: it
// fails the call where the number is out of the range.
//
// In loops, what a turn finds is taken to be within kGiven. That is true of what the first turn finds; and of the
// others if a turn adds no more than kSlow, as counters do, since nobody waits for as many turns as it would take to
// leave it. Of others it is checked at the end of each turn. So a counter is `root + growth`: what the loop has given,
// and how far it has come from there.
#include "frame_eval/data_ints.h"

#include <algorithm>
#include <bit>

#include "cpython/bytecode.h"
#include "frame_eval/interpret_common.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::capture {

using graph::DType;
using graph::Op;
using graph::SymId;
using graph::SymRange;
using graph::ValueId;

namespace {

constexpr int64_t kGiven = kTurnInts.hi;
constexpr int64_t kBegin = int64_t{1} << 60;
constexpr int64_t kSlow = int64_t{1} << 9;  ///< times 2^50 turns stays below kGiven - kBegin
constexpr SymRange kAny{-kMostDataInt, kMostDataInt};

struct SumRange {
  SymRange range;
  bool fits;  ///< no sum needs more than 64 bits
};
SumRange rangeOfSum(SymRange a, SymRange b, bool minus) {
  const __int128 lo = minus ? __int128{a.lo} - b.hi : __int128{a.lo} + b.lo;
  const __int128 hi = minus ? __int128{a.hi} - b.lo : __int128{a.hi} + b.hi;
  const auto clamp = [](__int128 v) { return static_cast<int64_t>(std::clamp<__int128>(v, INT64_MIN, INT64_MAX)); };
  const SymRange range{clamp(lo), clamp(hi)};
  return {range, range.lo == lo && range.hi == hi};
}

/// The least 2^n - 1 that is not below.
int64_t maskOver(int64_t value) {
  int64_t mask = 0;
  while (mask < value) mask = 2 * mask + 1;
  return mask;
}

}  // namespace

bool DataInts::isInt(const Value* v) {
  if (v->kind == ValueKind::kDataInt || v->kind == ValueKind::kPyInt || v->kind == ValueKind::kPyBool) return true;
  if (!v->isConstant() || !PyLong_Check(v->object.get())) return false;
  if (!PyLong_CheckExact(v->object.get()) && !PyBool_Check(v->object.get())) return false;
  int overflow = 0;
  const int64_t now = PyLong_AsLongLongAndOverflow(v->object.get(), &overflow);
  return overflow == 0 && now >= -kMostDataInt && now <= kMostDataInt;
}

bool DataInts::isWhole(const Value* v) {
  return isInt(v) && v->kind != ValueKind::kPyBool && !(v->isConstant() && PyBool_Check(v->object.get()));
}

bool DataInts::any(const Value* left, const Value* right) {
  return left->kind == ValueKind::kDataInt || right->kind == ValueKind::kDataInt;
}

Value* DataInts::make(ValueId node, SymRange range) {
  FW_CHECK(trace_.graph().type(node).dtype == DType::kI64);
  Value* v = trace_.number(ValueKind::kDataInt, node);
  v->range = range;
  return v;
}

Value* DataInts::of(Value* value) {
  if (value->kind == ValueKind::kDataInt) return value;
  if (!isInt(value)) return nullptr;
  graph::Graph& g = trace_.graph();
  if (value->kind == ValueKind::kPyBool) return make(g.cast(value->node, DType::kI64), {0, 1});
  if (value->isConstant()) {
    const int64_t now = PyLong_AsLongLong(value->object.get());
    return make(g.constant(graph::Scalar::ofInt(DType::kI64, now)), {now, now});
  }
  const SymId sym = trace_.syms().canonical(value->sym);
  const SymRange range = graph::refinedRange(trace_.syms(), sym);
  if (!contains(kAny, range)) {
    if (trace_.decided.contains(sym)) return nullptr;
    graph::SymContext& syms = trace_.syms();
    const bool within = trace_.turns.contains(sym)
                            ? trace_.turns.decide(syms.constant(kAny.lo), guards::Relation::kLe, sym) == true &&
                                  trace_.turns.decide(sym, guards::Relation::kLe, syms.constant(kAny.hi)) == true
                            : trace_.ensureWithin(sym, kAny.lo, kAny.hi);
    if (!within) return nullptr;
  }
  return make(g.sym(sym), {std::max(range.lo, kAny.lo), std::min(range.hi, kAny.hi)});
}

SymId DataInts::symbol(Value* value, SymId least, SymId most) {
  graph::SymContext& syms = trace_.syms();
  const auto low = syms.asConst(least), high = syms.asConst(most);
  const SymRange range = graph::refinedRange(syms, most);
  return trace_.decided.define(value->node, least, most, {low ? *low : -kMostDataInt, high ? *high : range.hi});
}

bool DataInts::isWithin(Value* value, SymRange range) {
  const Value* v = of(value);
  return v && contains(range, v->range);
}

Value* DataInts::within(Value* value, SymRange range) {
  if (contains(range, value->range)) return value;
  graph::SymContext& syms = trace_.syms();
  (void)symbol(value, syms.constant(range.lo), syms.constant(range.hi));
  Value* v = make(value->node, {std::max(range.lo, value->range.lo), std::min(range.hi, value->range.hi)});
  v->base = value->base;
  v->growth = value->growth;
  return v;
}

void DataInts::require(ValueId condition) {
  const SymId one = trace_.syms().constant(1);
  (void)trace_.decided.define(trace_.graph().cast(condition, DType::kI64), one, one, {1, 1});
}

Value* DataInts::fromNumber(ValueId node) {
  graph::Graph& g = trace_.graph();
  const DType dtype = g.type(node).dtype;
  SymRange range{INT64_MIN, INT64_MAX};
  if (dtype == DType::kBool) {
    range = {0, 1};
  } else if (graph::isInteger(dtype) && graph::itemSize(dtype) < 8) {
    const int bits = graph::itemSize(dtype) * 8 - (graph::isSigned(dtype) ? 1 : 0);
    range = {graph::isSigned(dtype) ? -(int64_t{1} << bits) : 0, (int64_t{1} << bits) - 1};
  }
  if (trace_.branches.raising && graph::isFloat(dtype)) {
    require(g.binary(Op::kEqual, node, node), PyExc_ValueError);
    require(g.unary(Op::kLogicalNot, g.unary(Op::kIsinf, node)), PyExc_OverflowError);
  }
  const ValueId whole = g.cast(node, DType::kI64);
  if (contains(kAny, range) || dtype == DType::kI64) return make(whole, range);
  // What is too large for 64 bits, infinite or no number is out of this range when it has been converted.
  const SymId least = trace_.syms().constant(dtype == DType::kU64 ? 0 : kAny.lo);
  (void)trace_.decided.define(whole, least, trace_.syms().constant(kAny.hi), kAny);
  return make(whole, {dtype == DType::kU64 ? 0 : kAny.lo, kAny.hi});
}

ValueId DataInts::asFloat(Value* value) {
  return trace_.graph().cast(within(value, {-kExactFloat, kExactFloat})->node, DType::kF64);
}

// ---- operators ----------------------------------------------------------------------------------------------------

Value* DataInts::sum(Value* left, Value* right, bool minus) {
  const auto total = [&] { return rangeOfSum(left->range, right->range, minus); };
  const bool fits = total().fits;
  // Where only one is beyond kAny, so is a sum that wraps around.
  if (!fits && !contains(kAny, left->range)) right = within(right, {-kGiven, kGiven});
  if (!fits && !contains(kAny, right->range)) left = within(left, {-kGiven, kGiven});
  const SymRange b = right->range, range = total().range;
  const ValueId node = trace_.graph().binary(minus ? Op::kSubtract : Op::kAdd, left->node, right->node);
  Value* v = trace_.number(ValueKind::kDataInt, node);
  v->range = range;
  const bool slow = b.lo >= -kSlow && b.hi <= kSlow;
  if (left->base && slow) {
    v->base = left->base;
    v->growth = minus ? SymRange{left->growth.lo - b.hi, left->growth.hi - b.lo}
                      : SymRange{left->growth.lo + b.lo, left->growth.hi + b.hi};
    if (v->growth.lo < -kSlow || v->growth.hi > kSlow) v->base = nullptr;
  }
  return fits ? v : within(v, kAny);
}

Value* DataInts::product(Value* left, Value* right) {
  left = within(left, kAny);
  right = within(right, kAny);
  const auto size = [](SymRange r) { return std::max<int64_t>({1, std::abs(r.lo), std::abs(r.hi)}); };
  constexpr int64_t kRoot = int64_t{1} << 31;  // of kMostDataInt
  // The smaller one says how large the other one may be.
  if (size(left->range) < size(right->range)) std::swap(left, right);
  const auto fits = [&] { return __int128{size(left->range)} * size(right->range) <= INT64_MAX; };
  if (size(right->range) > kRoot && !fits() && right->range.lo != right->range.hi)
    right = within(right, {-kRoot, kRoot});
  if (!fits()) {  // powers of two are looked at sooner
    const auto most = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(INT64_MAX / size(right->range))));
    left = within(left, {-most, most});
  }
  const int64_t ends[] = {left->range.lo * right->range.lo, left->range.lo * right->range.hi,
                          left->range.hi * right->range.lo, left->range.hi * right->range.hi};
  return make(trace_.graph().binary(Op::kMultiply, left->node, right->node),
              {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)});
}

/// Of small exponents; null for others.
Value* DataInts::power(Value* base, int64_t exponent) {
  constexpr int64_t kMost = 16;
  if (exponent < 1 || exponent > kMost) return nullptr;
  Value* result = nullptr;
  for (Value* square = base;; square = product(square, square)) {
    if (exponent % 2 != 0) result = result ? product(result, square) : square;
    exponent /= 2;
    if (exponent == 0) return result;
  }
}

/// // and %, by Python's rule, which is NumPy's.
Value* DataInts::quotient(Value* left, Value* right, bool rest) {
  left = within(left, kAny);
  right = within(right, kAny);
  graph::Graph& g = trace_.graph();
  const SymRange a = left->range, b = right->range;
  if (b.lo == 0 && b.hi == 0) trace_.fail(BreakReason::kPythonException, "ZeroDivisionError: division by zero");
  const bool mayBeZero = b.lo <= 0 && b.hi >= 0;
  const ValueId zero = g.constant(graph::Scalar::ofInt(DType::kI64, 0));
  if (mayBeZero) require(g.binary(Op::kNotEqual, right->node, zero), PyExc_ZeroDivisionError);
  const ValueId node = g.binary(rest ? Op::kRemainder : Op::kFloorDivide, left->node, right->node);
  if (rest) return make(node, {b.lo < 0 ? b.lo + 1 : 0, b.hi > 0 ? b.hi - 1 : 0});
  const int64_t most = std::max(std::abs(a.lo), std::abs(a.hi));
  if (b.lo <= 0) return make(node, {-most, most});
  const auto floored = [](int64_t x, int64_t by) { return x / by - (x % by < 0 ? 1 : 0); };
  return make(node, {floored(a.lo, a.lo < 0 ? b.lo : b.hi), floored(a.hi, a.hi < 0 ? b.hi : b.lo)});
}

Value* DataInts::bits(int op, Value* left, Value* right) {
  const Op with = op == cpython::kNbAnd ? Op::kBitwiseAnd : op == cpython::kNbOr ? Op::kBitwiseOr : Op::kBitwiseXor;
  // Two's complement: bits of numbers of at most 62 bits, but for the largest magnitude itself. What a mask is laid
  // over may be anything: of the room of a list nobody knows what stands there.
  const SymRange narrow{-kMostDataInt, kMostDataInt - 1};
  const bool masks = with == Op::kBitwiseAnd && (left->range.lo >= 0 || right->range.lo >= 0);
  if (!masks || left->range.lo >= 0) left = within(left, narrow);
  if (!masks || right->range.lo >= 0) right = within(right, narrow);
  const SymRange a = left->range, b = right->range;
  SymRange range = kAny;
  if (a.lo >= 0 && b.lo >= 0)
    range = {0, with == Op::kBitwiseAnd ? std::min(a.hi, b.hi) : std::min(maskOver(std::max(a.hi, b.hi)), kAny.hi)};
  else if (with == Op::kBitwiseAnd && (a.lo >= 0 || b.lo >= 0))
    range = {0, a.lo >= 0 ? a.hi : b.hi};
  return make(trace_.graph().binary(with, left->node, right->node), range);
}

Value* DataInts::shift(Value* left, Value* right, bool up) {
  left = within(left, kAny);
  const int64_t size = std::max(std::abs(left->range.lo), std::abs(left->range.hi));
  const int free = 61 - static_cast<int>(std::bit_width(static_cast<uint64_t>(size)));
  right = within(right, {0, up ? std::max(free, 30) : 62});
  const SymRange by = right->range;
  if (!up) {
    const SymRange a = left->range;
    const ValueId node = trace_.graph().binary(Op::kRightShift, left->node, right->node);
    return make(node, {a.lo >> (a.lo < 0 ? by.lo : by.hi), a.hi >> (a.hi < 0 ? by.hi : by.lo)});
  }
  const int64_t most = kGiven >> by.hi;
  left = within(left, {-most, most});
  const SymRange a = left->range;
  const ValueId node = trace_.graph().binary(Op::kLeftShift, left->node, right->node);
  return make(node,
              {a.lo * (int64_t{1} << (a.lo < 0 ? by.hi : by.lo)), a.hi * (int64_t{1} << (a.hi < 0 ? by.lo : by.hi))});
}

Value* DataInts::binary(int op, Value* first, Value* second) {
  Value *left = of(first), *right = of(second);
  if (!left || !right) return nullptr;
  switch (op) {
    case cpython::kNbAdd: return left->base ? sum(left, right, false) : sum(right, left, false);
    case cpython::kNbSubtract: return sum(left, right, true);
    case cpython::kNbMultiply: return product(left, right);
    case cpython::kNbFloorDivide: return quotient(left, right, false);
    case cpython::kNbRemainder: return quotient(left, right, true);
    case cpython::kNbTrueDivide: {
      graph::Graph& g = trace_.graph();
      if (right->range.lo <= 0 && right->range.hi >= 0)
        require(g.binary(Op::kNotEqual, right->node, g.constant(graph::Scalar::ofInt(DType::kI64, 0))),
                PyExc_ZeroDivisionError);
      return trace_.number(ValueKind::kPyFloat, g.binary(Op::kDivide, asFloat(left), asFloat(right)));
    }
    case cpython::kNbAnd:
    case cpython::kNbOr:
    case cpython::kNbXor: return bits(op, left, right);
    case cpython::kNbLshift: return shift(left, right, true);
    case cpython::kNbRshift: return shift(left, right, false);
    case cpython::kNbPower: return right->range.lo == right->range.hi ? power(left, right->range.lo) : nullptr;
    default: return nullptr;
  }
}

Value* DataInts::negative(Value* value) {
  value = within(value, kAny);
  return make(trace_.graph().unary(Op::kNegative, value->node), {-value->range.hi, -value->range.lo});
}

Value* DataInts::absolute(Value* value) {
  if (value->range.lo >= 0) return value;
  value = within(value, kAny);
  const int64_t most = std::max(std::abs(value->range.lo), std::abs(value->range.hi));
  return make(trace_.graph().unary(Op::kAbsolute, value->node), {0, most});
}

Value* DataInts::ofScalar(Value* value) {
  if (isInt(value) || value->kind == ValueKind::kDataInt) return of(value);
  return fromNumber(trace_.operand(value).value);
}

std::optional<ValueId> DataInts::inDtype(Value* value, DType dtype) {
  if (!value) return std::nullopt;
  const int bits = graph::itemSize(dtype) * 8 - (graph::isSigned(dtype) ? 1 : 0);
  SymRange range{INT64_MIN, INT64_MAX};
  if (bits < 62) range = {graph::isSigned(dtype) ? -(int64_t{1} << bits) : 0, (int64_t{1} << bits) - 1};
  if (!graph::isSigned(dtype)) range.lo = 0;
  return trace_.graph().cast(within(value, range)->node, dtype);
}

// ---- branches and loops -------------------------------------------------------------------------------------------

/// The node is still to come.
Value* DataInts::join(Value* first, Value* second) {
  const auto rangeOf = [&](Value* v) -> std::optional<SymRange> {
    if (v->kind == ValueKind::kDataInt) return v->range;
    if (v->isConstant()) {
      const int64_t now = PyLong_AsLongLong(v->object.get());
      return SymRange{now, now};
    }
    return graph::refinedRange(trace_.syms(), trace_.syms().canonical(v->sym));
  };
  const SymRange a = *rangeOf(first), b = *rangeOf(second);
  Value* v = trace_.make(ValueKind::kDataInt);
  v->range = hull(a, b);
  const auto grown = [](Value* one, Value* root) -> std::optional<SymRange> {
    if (one == root) return SymRange{0, 0};
    return one->kind == ValueKind::kDataInt && one->base == root ? std::optional(one->growth) : std::nullopt;
  };
  for (Value* side : {first, second}) {
    Value* root = side->kind == ValueKind::kDataInt ? side->base : nullptr;
    const auto one = root ? grown(first, root) : std::nullopt, other = root ? grown(second, root) : std::nullopt;
    if (!one || !other) continue;
    v->base = root;
    v->growth = {std::min(one->lo, other->lo), std::max(one->hi, other->hi)};
  }
  return v;
}

Value* DataInts::given(ValueId placeholder, SymRange range) {
  Value* v = make(placeholder, range);
  if (range != kTurnInts) return v;
  v->base = v;
  v->growth = {0, 0};
  return v;
}

ValueId DataInts::begin(Value* value) {
  Value* v = of(value);
  if (!v) trace_.fail(BreakReason::kUnsupportedObject, "an integer beyond 62 bits");
  return within(v, {-kBegin, kBegin})->node;
}

ValueId DataInts::handOn(Value* given, Value* end) {
  Value* v = of(end);
  if (!v) trace_.fail(BreakReason::kUnsupportedObject, "an integer beyond 62 bits");
  if (v->base == given) return v->node;
  return within(v, given->range)->node;
}

SymRange DataInts::inAllTurns(Value* begin, Value* given, Value* end) {
  if (given->range != kTurnInts) return given->range;
  Value *from = of(begin), *to = of(end);
  if (!from || !to || to->base == given) return kTurnInts;
  const SymRange range = hull(from->range, to->range);
  return {std::max(range.lo, -kBegin), std::min(range.hi, kBegin)};
}

}  // namespace fw::capture
