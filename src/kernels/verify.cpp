// The rules of the kernel IR (kernel.h), checked in one walk in the order of execution: every operand is defined in an
// enclosing block before its use, types agree, and vectorised bodies hold only what they may.
#include <vector>

#include "absl/strings/str_format.h"
#include "graph/support/check.h"
#include "kernels/kernel.h"

namespace fw::kernels {
namespace {

enum class ResultRule { kSame, kSecond, kBool, kAttr };
ResultRule resultRule(ScalarOp op) {
  static constexpr ResultRule kRules[] = {
#define FW_SCALAR_OP(Id, text, arity, result, flags, ...) ResultRule::k##result,
#include "kernels/scalar_ops.def"
  };
  return kRules[static_cast<int>(op)];
}

bool isElementType(DType d) { return !graph::isComplex(d) && d != DType::kF16; }
bool isIntegral(DType d) { return d == DType::kBool || graph::isInteger(d); }

class KernelVerifier {
 public:
  KernelVerifier(const Kernel& kernel, const graph::SymContext& syms) : kernel_(kernel), syms_(syms) {
    defined_.assign(kernel.exprs.size(), false);
    placed_.assign(kernel.exprs.size(), false);
    axisOpen_.assign(kernel.axisCount, false);
    reduceDone_.assign(kernel.stmts.size(), false);
  }

  std::vector<std::string> run() {
    block(kernel_.body);
    return std::move(errors_);
  }

 private:
  void fail(const std::string& what) { errors_.push_back(kernel_.name + ": " + what); }
  void require(bool ok, const std::string& what) {
    if (!ok) fail(what);
  }
  bool use(ExprId id, const std::string& by) {
    if (id.valid() && id.index < defined_.size() && defined_[id.index]) return true;
    fail(absl::StrFormat("%s uses %%%d, which is not defined there", by, id.index));
    return false;
  }
  DType type(ExprId id) const { return kernel_.exprs[id.index].dtype; }

  /// True if the address depends on the vector axis.
  bool checkAccess(uint32_t index, const std::string& by) {
    if (index >= kernel_.accesses.size()) {
      fail(by + ": no such access");
      return false;
    }
    const Access& a = kernel_.accesses[index];
    require(a.buffer.valid(), by + ": no buffer");
    require(a.offset.valid(), by + ": no offset");
    bool varying = false;
    for (const Access::Term& t : a.terms) {
      require(t.axis.valid() && t.axis.index < axisOpen_.size() && axisOpen_[t.axis.index],
              by + ": address depends on an axis that is not open");
      require(t.stride.valid(), by + ": no stride");
      varying |= t.axis == vectorAxis_;
    }
    return varying;
  }

  /// True if `id` was defined inside of the vectorised body and depends on its axis.
  bool varying(ExprId id) const {
    if (!vectorAxis_.valid() || !id.valid() || id.index >= kernel_.exprs.size()) return false;
    const Expr& e = kernel_.exprs[id.index];
    if (e.op == ScalarOp::kAxis) return e.axis == vectorAxis_;
    if (e.op == ScalarOp::kReduceResult) return true;
    if (isLoad(e.op))
      for (const Access::Term& t : kernel_.accesses[e.access].terms)
        if (t.axis == vectorAxis_) return true;
    for (ExprId operand : e.operands)
      if (varying(operand)) return true;
    return false;
  }

  void expression(ExprId id) {
    if (!id.valid() || id.index >= kernel_.exprs.size()) return fail("item is no expression");
    const Expr& e = kernel_.exprs[id.index];
    const std::string who = absl::StrFormat("%%%d = %s", id.index, std::string(name(e.op)));
    require(!placed_[id.index], who + " stands twice");
    placed_[id.index] = true;
    bool sound = true;
    for (ExprId operand : e.operands) sound &= use(operand, who);
    const int n = static_cast<int>(e.operands.size());
    if (arity(e.op) >= 0 && n != arity(e.op)) {
      fail(who + ": wrong number of operands");
      sound = false;
    }
    if (sound) types(e, who);
    defined_[id.index] = true;
    scope_.push_back(id);
  }

  void types(const Expr& e, const std::string& who) {
    const auto operand = [&](int i) { return type(e.operands[i]); };
    switch (resultRule(e.op)) {
      case ResultRule::kSame: require(e.dtype == operand(0), who + ": result differs from operand 0"); break;
      case ResultRule::kSecond: require(e.dtype == operand(1), who + ": result differs from operand 1"); break;
      case ResultRule::kBool: require(e.dtype == DType::kBool, who + ": result is not bool"); break;
      case ResultRule::kAttr: break;
    }
    if (e.op == ScalarOp::kParam) require(e.dtype == DType::kI64, who + " is not i64");
    if (e.op == ScalarOp::kAxis) require(graph::isInteger(e.dtype), who + " is no integer");
    if (e.op == ScalarOp::kParam) require(e.sym.valid(), who + ": no symbol");
    if (e.op == ScalarOp::kAxis) require(e.axis.valid() && axisOpen_[e.axis.index], who + ": axis is not open");
    if (isLoad(e.op)) checkAccess(e.access, who);
    if (e.op == ScalarOp::kLoadAt) {
      require(!e.operands.empty() && e.operands.size() % 3 == 0, who + ": index, size and stride");
      for (size_t i = 0; i < e.operands.size(); ++i)
        require(operand(static_cast<int>(i)) == DType::kI64, who + ": not i64");
    }
    if (e.op == ScalarOp::kReduceResult) {
      require(e.stmt.valid() && reduceDone_[e.stmt.index], who + ": the reduction does not come before");
      require(e.stmt.valid() && e.imm < kernel_.stmts[e.stmt.index].accumulators.size() &&
                  kernel_.stmts[e.stmt.index].accumulators[e.imm].dtype == e.dtype,
              who + ": no such accumulator");
    }
    if (e.op == ScalarOp::kSelect) {
      require(operand(0) == DType::kBool && operand(1) == operand(2), who + ": operand types");
      return;
    }
    if (e.op == ScalarOp::kCast) {
      require(operand(0) != e.dtype && e.dtype != DType::kBool, who + ": not a conversion");
      if (operand(0) == DType::kF16 || e.dtype == DType::kF16)
        require(operand(0) == DType::kF32 || e.dtype == DType::kF32, who + ": f16 converts from and to f32 only");
      return;
    }
    if (e.op == ScalarOp::kBitcast) {
      require(graph::itemSize(operand(0)) == graph::itemSize(e.dtype), who + ": sizes differ");
      return;
    }
    if (e.op == ScalarOp::kRaiseIf) require(operand(0) == DType::kBool && e.imm != 0, who + ": operand");
    for (size_t i = 0; i < e.operands.size(); ++i) {
      require(operand(i) == operand(0), who + ": operand types differ");
      require(isElementType(operand(i)), who + ": operates on " + std::string(graph::name(operand(i))));
    }
    if (!e.operands.empty()) domain(e.op, operand(0), who);
  }

  /// Operations that exist for some kinds of operands only.
  void domain(ScalarOp op, DType d, const std::string& who) {
    static constexpr ScalarOp kFloatOnly[] = {ScalarOp::kFma,      ScalarOp::kSqrt,    ScalarOp::kFloor,
                                              ScalarOp::kCeil,     ScalarOp::kTrunc,   ScalarOp::kRint,
                                              ScalarOp::kCopySign, ScalarOp::kIsNan,   ScalarOp::kScaleB,
                                              ScalarOp::kCallLibm, ScalarOp::kCallMath};
    static constexpr ScalarOp kIntegralOnly[] = {ScalarOp::kRem,        ScalarOp::kAnd,     ScalarOp::kOr,
                                                 ScalarOp::kXor,        ScalarOp::kNot,     ScalarOp::kShl,
                                                 ScalarOp::kShrLogical, ScalarOp::kShrArith};
    static constexpr ScalarOp kNumberOnly[] = {
        ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kDiv,        ScalarOp::kRem,
        ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kShl, ScalarOp::kShrLogical, ScalarOp::kShrArith};
    for (ScalarOp o : kFloatOnly)
      if (o == op) require(graph::isFloat(d), who + ": floats only");
    for (ScalarOp o : kIntegralOnly)
      if (o == op) require(isIntegral(d), who + ": bool and integers only");
    for (ScalarOp o : kNumberOnly)
      if (o == op) require(d != DType::kBool, who + ": not on bool");
  }

  void statement(StmtId id) {
    if (!id.valid() || id.index >= kernel_.stmts.size()) return fail("item is no statement");
    const Stmt& s = kernel_.stmts[id.index];
    const std::string who = absl::StrFormat("s%d", id.index);
    if (s.kind == StmtKind::kStore) {
      use(s.value, who);
      const bool varying = checkAccess(s.access, who);
      require(!vectorAxis_.valid() || varying, who + ": uniform store in a vectorised body");
      return;
    }
    if (s.kind == StmtKind::kObserve) {
      use(s.value, who);
      return;
    }
    require(!vectorAxis_.valid() || (s.kind != StmtKind::kIf && !s.vectorize),
            who + ": If or second vector axis in a vectorised body");
    if (s.kind == StmtKind::kIf) {
      if (use(s.value, who)) require(type(s.value) == DType::kBool, who + ": condition is not bool");
      nested(s);
      return;
    }
    for (ExprId bound : {s.lower, s.upper})
      if (use(bound, who)) require(type(bound) == DType::kI64, who + ": bound is not i64");
    for (ExprId bound : {s.lower, s.upper}) require(!varying(bound), who + ": varying bound in a vectorised body");
    require(s.kind == StmtKind::kReduce || s.accumulators.empty(), who + ": a loop has no accumulators");
    for (const Accumulator& a : s.accumulators) {
      if (use(a.init, who)) require(type(a.init) == a.dtype, who + ": init has another type");
      require(isElementType(a.dtype), who + ": accumulator type");
      require(arity(a.combine) == 2 && resultRule(a.combine) == ResultRule::kSame, who + ": cannot combine by it");
      domain(a.combine, a.dtype, who);
      if (s.order == ReduceOrder::kPairwise || s.order == ReduceOrder::kPairwisePart || s.order == ReduceOrder::kListed)
        require(a.combine == ScalarOp::kAdd && graph::isFloat(a.dtype), who + ": pairwise and listed sums add floats");
      if (findsExtreme(s.order))
        require(a.combine == ScalarOp::kMinSecond || a.combine == ScalarOp::kMaxSecond, who + ": not an extreme");
    }
    if (findsExtreme(s.order))
      require(s.accumulators.size() == 2 && graph::isInteger(s.accumulators[1].dtype), who + ": an extreme and where");
    if (s.sum >= 0)
      require(s.order == ReduceOrder::kListed && static_cast<size_t>(s.sum) < kernel_.sums.size(), who + ": no list");
    if (!s.axis.valid() || s.axis.index >= axisOpen_.size() || axisOpen_[s.axis.index]) return fail(who + ": axis");
    axisOpen_[s.axis.index] = true;
    if (s.vectorize) vectorAxis_ = s.axis;
    nested(s);
    if (s.vectorize) vectorAxis_ = AxisId();
    axisOpen_[s.axis.index] = false;
    reduceDone_[id.index] = s.kind == StmtKind::kReduce;
    if (s.kind == StmtKind::kReduce) scopeReductions_.push_back(id);
  }

  /// The body of s; what it defines ends with it.
  void nested(const Stmt& s) {
    const size_t exprMark = scope_.size(), reductionMark = scopeReductions_.size();
    block(s.body);
    for (const Accumulator& a : s.accumulators)
      if (use(a.element, "accumulator")) require(type(a.element) == a.dtype, "element has another type");
    while (scope_.size() > exprMark) {
      defined_[scope_.back().index] = false;
      scope_.pop_back();
    }
    while (scopeReductions_.size() > reductionMark) {
      reduceDone_[scopeReductions_.back().index] = false;
      scopeReductions_.pop_back();
    }
  }

  void block(const Block& b) {
    for (const Item& item : b.items) {
      require(item.expr.valid() != item.stmt.valid(), "item is not exactly one of expression and statement");
      if (item.expr.valid())
        expression(item.expr);
      else
        statement(item.stmt);
    }
  }

  const Kernel& kernel_;
  const graph::SymContext& syms_;
  std::vector<std::string> errors_;
  std::vector<bool> defined_, placed_, axisOpen_, reduceDone_;
  std::vector<ExprId> scope_;
  std::vector<StmtId> scopeReductions_;
  AxisId vectorAxis_;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel, const graph::SymContext& syms) {
  return KernelVerifier(kernel, syms).run();
}

}  // namespace fw::kernels
