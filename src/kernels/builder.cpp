// KernelBuilder: expressions are placed in the outermost open block in which their operands exist and merged with an
// equal one that stands there already. RaiseIf moves with its condition: what NumPy computes once it also reports when
// the loops around run over nothing. What does not move: statements, loads of buffers that the kernel stores to, and
// anything out of the body of an If (integer divisions and loads may be safe only under its condition).
//
// Constant folding lives in fold.cpp.
#include "kernels/builder.h"

#include <algorithm>
#include <cstring>

#include "absl/hash/hash.h"
#include "graph/support/check.h"
#include "kernels/fold.h"
#include "kernels/math_calls.h"

namespace fw::kernels {

namespace {

Expr makeExpr(ScalarOp op, DType dtype) {
  Expr e;
  e.op = op;
  e.dtype = dtype;
  return e;
}

bool isLeafThatMoves(const Expr& e) {
  return e.op == ScalarOp::kConst || e.op == ScalarOp::kParam || e.op == ScalarOp::kAxis;
}

bool sameAccess(const Access& a, const Access& b) {
  if (a.buffer != b.buffer || a.offset != b.offset || a.terms.size() != b.terms.size()) return false;
  for (size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].axis != b.terms[i].axis || a.terms[i].stride != b.terms[i].stride) return false;
  return true;
}

}  // namespace

KernelBuilder::KernelBuilder(graph::SymContext& syms, std::string name, graph::ErrorRules errors, Arithmetic arithmetic)
    : syms_(syms),
      errors_(arithmetic.numbers == Numbers::kNumPy ? errors : graph::ErrorRules{graph::ErrorRules::kAll}),
      arithmetic_(arithmetic) {
  kernel_.name = std::move(name);
  open(false);
}

Kernel KernelBuilder::take() && {
  FW_CHECK(scopes_.size() == 1);
  kernel_.body = close();
  return std::move(kernel_);
}

// --- scopes --------------------------------------------------------------------------------------------------------

void KernelBuilder::open(bool conditional) {
  Scope scope;
  scope.conditional = conditional;
  scope.serial = nextSerial_++;
  scopes_.push_back(std::move(scope));
}

Block KernelBuilder::close() {
  Block block = std::move(scopes_.back().block);
  scopes_.pop_back();
  return block;
}

uint32_t KernelBuilder::depthOf(ExprId id) const {
  FW_CHECK(id.valid() && id.index < exprHome_.size());
  const Home home = exprHome_[id.index];
  FW_CHECK_MSG(home.depth < scopes_.size() && scopes_[home.depth].serial == home.serial,
               "kernel expression used outside of its block");
  return home.depth;
}

/// `depth` moved inwards into the innermost conditional body.
uint32_t KernelBuilder::placement(const Expr& expr, uint32_t depth) const {
  if (isLeafThatMoves(expr)) return depth;
  for (uint32_t d = static_cast<uint32_t>(scopes_.size()); d-- > depth + 1;)
    if (scopes_[d].conditional) return d;
  return depth;
}

void KernelBuilder::append(uint32_t depth, ExprId id) {
  scopes_[depth].block.items.push_back(Item{id, {}});
  exprHome_.resize(kernel_.exprs.size());
  exprHome_[id.index] = Home{depth, scopes_[depth].serial};
}

bool KernelBuilder::sameExpr(const Expr& a, const Expr& b) const {
  if (a.op != b.op || a.dtype != b.dtype || a.operands != b.operands || a.imm != b.imm || a.sym != b.sym ||
      a.axis != b.axis || a.stmt != b.stmt)
    return false;
  return !isLoad(a.op) || sameAccess(kernel_.accesses[a.access], kernel_.accesses[b.access]);
}

uint64_t KernelBuilder::hashExpr(const Expr& e) const {
  uint64_t h =
      absl::HashOf(static_cast<int>(e.op), static_cast<int>(e.dtype), e.imm, e.sym.index, e.axis.index, e.stmt.index);
  for (ExprId id : e.operands) h = absl::HashOf(h, id.index);
  if (isLoad(e.op)) {
    const Access& a = kernel_.accesses[e.access];
    h = absl::HashOf(h, a.buffer.index, a.offset.index);
    for (const Access::Term& t : a.terms) h = absl::HashOf(h, t.axis.index, t.stride.index);
  }
  return h;
}

/// Adds `expr`, whose operands exist from block `depth` on. A Load's access is the last entry of accesses.
Val KernelBuilder::emit(Expr expr, uint32_t depth, bool movable) {
  const DType dtype = expr.dtype;
  const ExprId id(kernel_.exprs.size());
  if (!movable) {
    kernel_.exprs.push_back(std::move(expr));
    append(static_cast<uint32_t>(scopes_.size()) - 1, id);
    return {id, dtype};
  }
  const uint32_t home = placement(expr, depth);
  const uint64_t hash = hashExpr(expr);
  for (uint32_t d = depth; d <= home; ++d) {
    auto it = scopes_[d].consed.find(hash);
    if (it == scopes_[d].consed.end()) continue;
    for (ExprId known : it->second) {
      if (!sameExpr(kernel_.exprs[known.index], expr)) continue;
      if (isLoad(expr.op)) kernel_.accesses.pop_back();
      return {known, dtype};
    }
  }
  kernel_.exprs.push_back(std::move(expr));
  append(home, id);
  scopes_[home].consed[hash].push_back(id);
  return {id, dtype};
}

uint32_t KernelBuilder::addAccess(Access access) {
  absl::InlinedVector<Access::Term, 4> terms;
  for (const Access::Term& t : access.terms)
    if (!syms_.isConst(t.stride, 0)) terms.push_back(t);
  std::sort(terms.begin(), terms.end(), [](const Access::Term& a, const Access::Term& b) { return a.axis < b.axis; });
  access.terms = std::move(terms);
  kernel_.accesses.push_back(std::move(access));
  return static_cast<uint32_t>(kernel_.accesses.size()) - 1;
}

AxisId KernelBuilder::newAxis() {
  axisHome_.push_back(Home{static_cast<uint32_t>(scopes_.size()) - 1, scopes_.back().serial});
  return AxisId(kernel_.axisCount++);
}

// --- leaves --------------------------------------------------------------------------------------------------------

Val KernelBuilder::constantBits(DType d, uint64_t bits) {
  Expr e = makeExpr(ScalarOp::kConst, d);
  e.imm = bits;
  return emit(std::move(e), 0);
}

Val KernelBuilder::constant(DType d, double v) {
  switch (d) {
    case DType::kF64: {
      uint64_t bits;
      std::memcpy(&bits, &v, sizeof bits);
      return constantBits(d, bits);
    }
    case DType::kF32: {
      const float f = static_cast<float>(v);
      uint32_t bits;
      std::memcpy(&bits, &f, sizeof bits);
      return constantBits(d, bits);
    }
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kU64: {
      const int64_t i = static_cast<int64_t>(v);
      FW_CHECK_MSG(static_cast<double>(i) == v, "constant is not an integer");
      return constantInt(d, i);
    }
    case DType::kF16:
    case DType::kC64:
    case DType::kC128: break;
  }
  FW_CHECK_MSG(false, "no scalar constant of type " + std::string(graph::name(d)));
  return {};
}

Val KernelBuilder::constantInt(DType d, int64_t v) {
  FW_CHECK(d == DType::kBool || graph::isInteger(d));
  const int bytes = graph::itemSize(d);
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
  return constantBits(d, d == DType::kBool ? uint64_t(v != 0) : static_cast<uint64_t>(v) & mask);
}

Val KernelBuilder::param(SymId sym) {
  sym = syms_.canonical(sym);
  if (auto v = syms_.asConst(sym)) return constantInt(DType::kI64, *v);
  Expr e = makeExpr(ScalarOp::kParam, DType::kI64);
  e.sym = sym;
  return emit(std::move(e), 0);
}

Val KernelBuilder::axisValue(AxisId axis, DType d) {
  const Home home = axisHome_[axis.index];
  FW_CHECK(home.depth < scopes_.size() && scopes_[home.depth].serial == home.serial);
  Expr e = makeExpr(ScalarOp::kAxis, d);
  e.axis = axis;
  return emit(std::move(e), home.depth);
}

Val KernelBuilder::load(Access access, DType d, bool stays, absl::Span<const Place> places) {
  const graph::BufferId buffer = access.buffer;
  Expr e = makeExpr(places.empty() ? ScalarOp::kLoad : ScalarOp::kLoadAt, d);
  uint32_t depth = 0;
  for (const Place& place : places) {
    FW_CHECK(place.index.dtype == DType::kI64);
    for (Val v : {place.index, param(place.size), param(place.stride)}) {
      depth = std::max(depth, depthOf(v.id));
      e.operands.push_back(v.id);
    }
  }
  e.access = addAccess(std::move(access));
  for (const Access::Term& t : kernel_.accesses[e.access].terms) {
    const Home home = axisHome_[t.axis.index];
    FW_CHECK(home.depth < scopes_.size() && scopes_[home.depth].serial == home.serial);
    depth = std::max(depth, home.depth);
  }
  const bool movable = !stays && !stored_.contains(buffer);
  if (movable) moved_.insert(buffer);
  return emit(std::move(e), depth, movable);
}

std::optional<uint64_t> KernelBuilder::asConstant(Val v) const {
  const Expr& e = expr(v);
  if (e.op != ScalarOp::kConst) return std::nullopt;
  return e.imm;
}

// --- operations ----------------------------------------------------------------------------------------------------

Val KernelBuilder::emitOp(ScalarOp o, DType result, std::initializer_list<Val> operands) {
  uint64_t bits[3] = {};
  int n = 0;
  bool allConstant = true;
  Expr e = makeExpr(o, result);
  uint32_t depth = 0;
  for (Val v : operands) {
    if (auto c = asConstant(v))
      bits[n] = *c;
    else
      allConstant = false;
    ++n;
    depth = std::max(depth, depthOf(v.id));
    e.operands.push_back(v.id);
  }
  if (allConstant)
    if (auto folded = foldConstant(o, operands.begin()->dtype, result, bits, n)) return constantBits(result, *folded);
  return emit(std::move(e), depth);
}

namespace {

bool answersBool(ScalarOp o) {
  switch (o) {
#define FW_RESULT_Same false
#define FW_RESULT_Second false
#define FW_RESULT_Attr false
#define FW_RESULT_Bool true
#define FW_SCALAR_OP(Id, text, arity, result, flags, ...) \
  case ScalarOp::k##Id: return FW_RESULT_##result;
#include "kernels/scalar_ops.def"
#undef FW_RESULT_Same
#undef FW_RESULT_Second
#undef FW_RESULT_Attr
#undef FW_RESULT_Bool
  }
  FW_UNREACHABLE();
}

}  // namespace

Val KernelBuilder::op(ScalarOp o, Val a) {
  FW_CHECK(arity(o) == 1 && o != ScalarOp::kCast && o != ScalarOp::kBitcast && o != ScalarOp::kRaiseIf);
  if (o == ScalarOp::kNot || o == ScalarOp::kNeg)  // both undo themselves, bit for bit
    if (const Expr& e = expr(a); e.op == o) return {e.operands[0], a.dtype};
  return emitOp(o, answersBool(o) ? DType::kBool : a.dtype, {a});
}

Val KernelBuilder::op(ScalarOp o, Val a, Val b) {
  FW_CHECK(arity(o) == 2);
  FW_CHECK_MSG(a.dtype == b.dtype, std::string("operands of ") + std::string(name(o)) + " differ in type");
  if (auto v = simplify(o, a, b)) return *v;
  return emitOp(o, answersBool(o) ? DType::kBool : a.dtype, {a, b});
}

Val KernelBuilder::op(ScalarOp o, Val a, Val b, Val c) {
  if (o == ScalarOp::kSelect) return select(a, b, c);
  FW_CHECK(arity(o) == 3 && a.dtype == b.dtype && b.dtype == c.dtype);
  return emitOp(o, a.dtype, {a, b, c});
}

/// How a parameter compares with a constant that lies outside of its range.
std::optional<bool> KernelBuilder::orderByRange(ScalarOp o, Val a, Val b) const {
  if (a.dtype != DType::kI64 || !answersBool(o)) return std::nullopt;
  const auto rangeOf = [&](Val v) -> std::optional<graph::SymRange> {
    if (expr(v).op == ScalarOp::kParam) return syms_.range(expr(v).sym);
    const auto constant = asConstant(v);
    if (!constant) return std::nullopt;
    const auto number = static_cast<int64_t>(*constant);
    return graph::SymRange{number, number};
  };
  const std::optional<graph::SymRange> x = rangeOf(a), y = rangeOf(b);
  if (!x || !y) return std::nullopt;
  const bool below = x->hi<y->lo, above = x->lo> y->hi, notAbove = x->hi <= y->lo, notBelow = x->lo >= y->hi;
  const auto decided = [](bool holds, bool fails) { return holds || fails ? std::optional(holds) : std::nullopt; };
  if (o == ScalarOp::kEq) return decided(false, below || above);
  if (o == ScalarOp::kNe) return decided(below || above, false);
  if (o == ScalarOp::kLt) return decided(below, notBelow);
  if (o == ScalarOp::kLe) return decided(notAbove, above);
  if (o == ScalarOp::kGt) return decided(above, notAbove);
  return o == ScalarOp::kGe ? decided(notBelow, below) : std::nullopt;
}

/// Identities of integers and bool. Floats get none: zero signs, NaNs and flags would have to be kept.
std::optional<Val> KernelBuilder::simplify(ScalarOp o, Val a, Val b) {
  if (graph::isFloat(a.dtype)) return std::nullopt;
  const auto ca = asConstant(a), cb = asConstant(b);
  if (ca && cb) return std::nullopt;
  if (const std::optional<bool> known = orderByRange(o, a, b)) return constantInt(DType::kBool, *known);
  if (o == ScalarOp::kNe && a.dtype == DType::kBool) o = ScalarOp::kXor;
  const uint64_t ones = a.dtype == DType::kBool ? 1 : ~uint64_t{0} >> (64 - 8 * graph::itemSize(a.dtype));
  const auto is = [](const std::optional<uint64_t>& c, uint64_t v) { return c && *c == v; };
  switch (identityOf(o)) {
    case Identity::kNone: return std::nullopt;
    case Identity::kZero:
      if (is(cb, 0)) return a;
      if (is(ca, 0)) return b;
      return std::nullopt;
    case Identity::kZeroRight: return is(cb, 0) ? std::optional(a) : std::nullopt;
    case Identity::kOne:
      if (is(cb, 1) || is(ca, 0)) return a;
      if (is(ca, 1) || is(cb, 0)) return b;
      return std::nullopt;
    case Identity::kOneRight: return is(cb, 1) ? std::optional(a) : std::nullopt;
    case Identity::kOnes:
      if (is(cb, ones) || is(ca, 0) || a.id == b.id) return a;
      if (is(ca, ones) || is(cb, 0)) return b;
      return std::nullopt;
    case Identity::kZeroOr:
      if (is(cb, 0) || is(ca, ones) || a.id == b.id) return a;
      if (is(ca, 0) || is(cb, ones)) return b;
      return std::nullopt;
  }
  FW_UNREACHABLE();
}

Val KernelBuilder::select(Val cond, Val a, Val b) {
  FW_CHECK(cond.dtype == DType::kBool && a.dtype == b.dtype);
  if (auto c = asConstant(cond)) return *c ? a : b;
  if (a.id == b.id) return a;
  Expr e = makeExpr(ScalarOp::kSelect, a.dtype);
  e.operands = {cond.id, a.id, b.id};
  return emit(std::move(e), std::max({depthOf(cond.id), depthOf(a.id), depthOf(b.id)}));
}

Val KernelBuilder::cast(Val a, DType to) {
  if (a.dtype == to) return a;
  if (a.dtype == DType::kF16 && to != DType::kF32) return cast(cast(a, DType::kF32), to);
  FW_CHECK_MSG(to != DType::kF16 || a.dtype == DType::kF32, "f16 comes from f32 only: see lowerCast");
  if (to == DType::kBool) return op(ScalarOp::kNe, a, constantBits(a.dtype, 0));
  return emitOp(ScalarOp::kCast, to, {a});
}

Val KernelBuilder::bitcast(Val a, DType to) {
  if (a.dtype == to) return a;
  FW_CHECK(graph::itemSize(a.dtype) == graph::itemSize(to));
  if (const Expr& e = expr(a); e.op == ScalarOp::kBitcast) {
    const ExprId inner = e.operands[0];
    return bitcast({inner, kernel_.exprs[inner.index].dtype}, to);
  }
  return emitOp(ScalarOp::kBitcast, to, {a});
}

Val KernelBuilder::libm(Libm function, DType result, absl::Span<const Val> args) {
  return emitCall(ScalarOp::kCallLibm, static_cast<uint64_t>(function), result, args);
}

Val KernelBuilder::callMath(Libm function, absl::Span<const Val> args) {
  return emitCall(ScalarOp::kCallMath, MathCall{function, errors_.ignored != graph::ErrorRules::kAll}.imm(),
                  args[0].dtype, args);
}

Val KernelBuilder::emitCall(ScalarOp o, uint64_t imm, DType result, absl::Span<const Val> args) {
  Expr e = makeExpr(o, result);
  e.imm = imm;
  uint32_t depth = 0;
  for (Val v : args) {
    FW_CHECK(v.dtype == result);
    depth = std::max(depth, depthOf(v.id));
    e.operands.push_back(v.id);
  }
  return emit(std::move(e), depth);
}

void KernelBuilder::raiseIf(Val cond, uint64_t statusBit) {
  FW_CHECK(cond.dtype == DType::kBool);
  if (statusBit & errors_.reported) statusBit |= kDecline;
  statusBit &= ~uint64_t{errors_.ignored};
  if (statusBit == 0 || asConstant(cond) == 0) return;
  Expr e = makeExpr(ScalarOp::kRaiseIf, DType::kBool);
  e.imm = statusBit;
  e.operands.push_back(cond.id);
  emit(std::move(e), depthOf(cond.id));
}

// --- statements ----------------------------------------------------------------------------------------------------

void KernelBuilder::loop(Val lower, Val upper, bool vectorize, bool parallel, const std::function<void(AxisId)>& body) {
  FW_CHECK(lower.dtype == DType::kI64 && upper.dtype == DType::kI64);
  depthOf(lower.id), depthOf(upper.id);
  open(false);
  Stmt s;
  s.kind = StmtKind::kLoop;
  s.axis = newAxis();
  s.lower = lower.id;
  s.upper = upper.id;
  s.vectorize = vectorize;
  s.parallel = parallel;
  body(s.axis);
  s.body = close();
  const StmtId id(kernel_.stmts.size());
  kernel_.stmts.push_back(std::move(s));
  scopes_.back().block.items.push_back(Item{{}, id});
}

std::vector<Val> KernelBuilder::reduce(Val lower, Val upper, bool vectorize, ReduceOrder order,
                                       std::vector<Acc> accumulators,
                                       const std::function<std::vector<Val>(AxisId)>& body) {
  FW_CHECK(lower.dtype == DType::kI64 && upper.dtype == DType::kI64);
  depthOf(lower.id), depthOf(upper.id);
  open(false);
  Stmt s;
  s.kind = StmtKind::kReduce;
  s.axis = newAxis();
  s.lower = lower.id;
  s.upper = upper.id;
  s.vectorize = vectorize;
  s.order = order;
  const std::vector<Val> elements = body(s.axis);
  FW_CHECK(elements.size() == accumulators.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Acc& acc = accumulators[i];
    FW_CHECK(elements[i].dtype == acc.dtype && acc.init.dtype == acc.dtype);
    depthOf(elements[i].id);
    s.accumulators.push_back(Accumulator{acc.dtype, acc.combine, acc.init.id, elements[i].id});
  }
  s.body = close();
  for (const Acc& acc : accumulators) depthOf(acc.init.id);
  const StmtId id(kernel_.stmts.size());
  kernel_.stmts.push_back(std::move(s));
  scopes_.back().block.items.push_back(Item{{}, id});
  std::vector<Val> results;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    Expr e = makeExpr(ScalarOp::kReduceResult, accumulators[i].dtype);
    e.stmt = id;
    e.imm = i;
    results.push_back(emit(std::move(e), 0, false));
  }
  return results;
}

void KernelBuilder::listSum(ListedSum sum) {
  Stmt& outermost = kernel_.stmts.back();
  FW_CHECK(outermost.kind == StmtKind::kReduce && outermost.order == ReduceOrder::kListed);
  outermost.sum = static_cast<int>(kernel_.sums.size());
  kernel_.sums.push_back(std::move(sum));
}

void KernelBuilder::declareStored(graph::BufferId buffer) {
  FW_CHECK_MSG(!moved_.contains(buffer), "declareStored() after a load of the buffer");
  stored_.insert(buffer);
}

void KernelBuilder::store(Access access, Val value) {
  declareStored(access.buffer);
  depthOf(value.id);
  Stmt s;
  s.kind = StmtKind::kStore;
  s.access = addAccess(std::move(access));
  s.value = value.id;
  const StmtId id(kernel_.stmts.size());
  kernel_.stmts.push_back(std::move(s));
  scopes_.back().block.items.push_back(Item{{}, id});
}

void KernelBuilder::observe(Val value) {
  depthOf(value.id);
  Stmt s;
  s.kind = StmtKind::kObserve;
  s.value = value.id;
  const StmtId id(kernel_.stmts.size());
  kernel_.stmts.push_back(std::move(s));
  scopes_.back().block.items.push_back(Item{{}, id});
}

void KernelBuilder::branch(Val cond, const std::function<void()>& body) {
  FW_CHECK(cond.dtype == DType::kBool);
  if (auto c = asConstant(cond)) {
    if (*c) body();
    return;
  }
  depthOf(cond.id);
  open(true);
  body();
  Stmt s;
  s.kind = StmtKind::kIf;
  s.value = cond.id;
  s.body = close();
  const StmtId id(kernel_.stmts.size());
  kernel_.stmts.push_back(std::move(s));
  scopes_.back().block.items.push_back(Item{{}, id});
}

}  // namespace fw::kernels
