// Walks a kernel's blocks. What varies along the vector axis becomes vectors, everything else stays scalar and is
// spread over the lanes where a vector needs it.
//
// Bodies of vector statements are emitted more than once (unrolled, tail); `values_` then simply holds the latest copy,
// because nothing outside a body may refer into it. Addresses are kept per access and moved along at each loop
// entry, so that the innermost body finds base + index * itemsize, which is one x86 address.
#include "jit/emit_kernel.h"

#include <algorithm>

#include "graph/support/check.h"
#include "llvm/IR/Intrinsics.h"

namespace fw::jit {

using kernels::Access;
using kernels::Block;
using kernels::Expr;
using kernels::ScalarOp;
using kernels::StmtKind;
using llvm::Value;

KernelEmitter::KernelEmitter(FunctionState& fn, const kernels::Kernel& kernel, bool checked)
    : fn_(fn),
      ops_(fn),
      ir_(fn.ir()),
      kernel_(kernel),
      values_(kernel.exprs.size(), nullptr),
      varying_(kernel.exprs.size(), false),
      axes_(kernel.axisCount, nullptr),
      pointers_(kernel.accesses.size(), nullptr),
      reduced_(kernel.stmts.size()),
      checked_(checked) {
  if (fn.isOptimized()) findKept();
}

// In a block of its own: within a block, the code generator drops a store that a later one overwrites, and with it the
// operation whose flag is wanted.
void KernelEmitter::run() {
  llvm::BasicBlock* own = fn_.block("kernel");
  ir_.CreateBr(own);
  ir_.SetInsertPoint(own);
  locate();
  emitBlock(kernel_.body);
}

void KernelEmitter::runBetween(llvm::Value* from, llvm::Value* to) {
  from_ = from;
  to_ = to;
  ofRows_ = true;
  run();
}

void KernelEmitter::observe() {
  observing_ = true;
  run();
}

void KernelEmitter::probe() {
  probing_ = true;
  observe();
}

void KernelEmitter::locate() {
  for (size_t i = 0; i < kernel_.accesses.size(); ++i) {
    const Access& access = kernel_.accesses[i];
    pointers_[i] = fn_.address(access.buffer, access.offset);
  }
}

void KernelEmitter::emitBlock(const Block& block) {
  for (const kernels::Item& item : block.items) {
    if (item.expr.valid()) {
      emitExpr(item.expr);
    } else {
      emitStmt(item.stmt);
    }
  }
}

DType KernelEmitter::operandType(const Expr& expr) const {
  if (expr.operands.empty()) return expr.dtype;
  return kernel_.exprs[expr.operands[expr.op == ScalarOp::kSelect ? 1 : 0].index].dtype;
}

Value* KernelEmitter::scalar(ExprId id) {
  Value* v = values_[id.index];
  FW_CHECK_MSG(v != nullptr && lanesOf(v) == 1, "kernel " + kernel_.name + ": e" + std::to_string(id.index));
  return v;
}

Value* KernelEmitter::value(ExprId id) {
  Value* v = values_[id.index];
  FW_CHECK_MSG(v != nullptr, "kernel " + kernel_.name + ": e" + std::to_string(id.index));
  return lanesOf(v) == lanes_.count ? v : fn_.splat(v, lanes_.count);
}

void KernelEmitter::emitExpr(ExprId id) {
  const Expr& expr = kernel_.exprs[id.index];
  const bool inLanes = lanes_.count > 1 && varies(id);
  if (expr.op == ScalarOp::kRaiseIf) return emitRaise(expr);
  values_[id.index] = kernels::arity(expr.op) == 0 ? leaf(id, inLanes) : computed(expr, inLanes);
  if (fn_.isOptimized() && !kept_[id.index] && isFloatOperation(expr)) ops_.observe(values_[id.index]);
}

/// Whether it may raise a flag.
bool KernelEmitter::isFloatOperation(const Expr& expr) const {
  return kernels::raisesFlags(expr.op) && (graph::isFloat(expr.dtype) || graph::isFloat(operandType(expr)));
}

// Observing the last operation of a chain is enough. Changing the sign hides none of it.
void KernelEmitter::findKept() {
  kept_.assign(kernel_.exprs.size(), false);
  for (size_t i = kernel_.exprs.size(); i-- > 0;) {
    const Expr& expr = kernel_.exprs[i];
    const bool signs = expr.op == ScalarOp::kAbs || expr.op == ScalarOp::kNeg;
    if (!isFloatOperation(expr) && !(signs && kept_[i])) continue;
    for (ExprId operand : expr.operands) kept_[operand.index] = true;
  }
}

/// What no operands say.
Value* KernelEmitter::leaf(ExprId id, bool inLanes) {
  const Expr& expr = kernel_.exprs[id.index];
  if (expr.op == ScalarOp::kConst) {
    const auto number = numbers_.find(id);
    if (number != numbers_.end()) return number->second;
    Value* constant = ops_.constant(expr.dtype, expr.imm);
    return fn_.isOptimized() && graph::isFloat(expr.dtype) && expr.dtype != DType::kF16
               ? fn_.fenced(llvm::cast<llvm::Constant>(constant))
               : constant;
  }
  if (expr.op == ScalarOp::kParam) return fn_.sym(expr.sym);
  if (expr.op == ScalarOp::kLoad) return emitLoad(expr);
  if (expr.op == ScalarOp::kReduceResult) return reduced_[expr.stmt.index][expr.imm];
  FW_CHECK(expr.op == ScalarOp::kAxis);
  llvm::Type* type = fn_.scalarType(expr.dtype);
  Value* index = ir_.CreateTrunc(axes_[expr.axis.index], type);  // nothing where it is i64
  if (!inLanes) return index;
  return ir_.CreateAdd(fn_.splat(index, lanes_.count), ir_.CreateTrunc(lanes_.index, shapedLike(type, lanes_.index)));
}

/// A place beside another one, as far as an operation shows it.
static bool isStep(const Expr& expr) {
  const bool moves = expr.op == ScalarOp::kParam || expr.op == ScalarOp::kAdd || expr.op == ScalarOp::kSub;
  return moves && expr.dtype == DType::kI64;
}

Value* KernelEmitter::computed(const Expr& expr, bool inLanes) {
  llvm::SmallVector<Value*, 3> operands;
  for (ExprId operand : expr.operands) {
    operands.push_back(inLanes ? value(operand) : scalar(operand));
    if (!kernel_.exprs[operand.index].whole) continue;
    // What raises is needed by what raises in its turn and by stores; anything else may turn out not to look at it.
    const bool selects = expr.op == ScalarOp::kSelect;
    if (!probing_ && (selects || !expr.whole)) ops_.observe(operands.back());
    // A masked instruction would compute, and raise, in the lanes only that take this side.
    if (selects && fn_.target().masks && !fn_.takesLiberties()) operands.back() = ops_.opaque(operands.back());
  }
  if (expr.op == ScalarOp::kRem && fn_.isOptimized() && !inLanes && isStep(kernel_.exprs[expr.operands[0].index]))
    return ops_.remainderOfNear(operands[0], operands[1]);
  return ops_.emit(expr, operandType(expr), operands);
}

void KernelEmitter::emitStmt(StmtId id) {
  const Stmt& stmt = kernel_.stmts[id.index];
  switch (stmt.kind) {
    case StmtKind::kLoop: emitLoop(stmt); return;
    case StmtKind::kReduce: emitReduce(id); return;
    case StmtKind::kStore: observing_ ? emitObserve(stmt) : emitStore(stmt); return;
    case StmtKind::kObserve: emitObserve(stmt); return;
    case StmtKind::kIf:
      fn_.when(scalar(stmt.value), [&] {
        ++depth_;
        emitBlock(stmt.body);
        --depth_;
      });
      return;
  }
}

// In the body of a vector loop the lanes that raised are collected in a register; elsewhere the status word is
// updated at once. Inactive lanes repeat an active one, so they need no masking.
void KernelEmitter::emitRaise(const Expr& expr) {
  if (probing_) return;
  const ExprId condition = expr.operands[0];
  if (depth_ == 0) {
    for (Raised& raised : raised_) {
      if (raised.bit != expr.imm) continue;
      raised.any = ir_.CreateOr(raised.any, value(condition));
      return;
    }
  }
  Value* any = values_[condition.index];
  if (lanesOf(any) > 1) any = ir_.CreateOrReduce(any);
  fn_.raise(any, expr.imm);
}

// --- what varies ---------------------------------------------------------------------------------------------------

bool KernelEmitter::accessVaries(const Access& access, AxisId axis) const {
  return std::any_of(access.terms.begin(), access.terms.end(), [&](const Access::Term& term) {
    return term.axis == axis && !fn_.syms().isConst(term.stride, 0);
  });
}

bool KernelEmitter::markExpr(const Expr& expr, AxisId axis) const {
  if (expr.op == ScalarOp::kAxis) return expr.axis == axis;
  if (expr.op == ScalarOp::kLoad) return accessVaries(kernel_.accesses[expr.access], axis);
  if (expr.op == ScalarOp::kReduceResult) {
    const Stmt& reduce = kernel_.stmts[expr.stmt.index];
    return accumulatorVaries(reduce, reduce.accumulators[expr.imm]);
  }
  return std::any_of(expr.operands.begin(), expr.operands.end(), [&](ExprId operand) { return varies(operand); });
}

/// Where an extreme stands differs from lane to lane as the extreme does.
bool KernelEmitter::accumulatorVaries(const Stmt& reduce, const kernels::Accumulator& acc) const {
  if (varies(acc.init) || varies(acc.element)) return true;
  return kernels::findsExtreme(reduce.order) && varies(reduce.accumulators[0].element);
}

unsigned KernelEmitter::markVarying(const Block& body, AxisId axis) {
  unsigned widest = 1;
  auto count = [&](DType d) {
    widest = std::max(widest, unsigned(graph::itemSize(d)));
    hasSingle_ |= d == DType::kF32;
  };
  for (const kernels::Item& item : body.items) {
    if (item.expr.valid()) {
      const Expr& expr = kernel_.exprs[item.expr.index];
      varying_[item.expr.index] = markExpr(expr, axis);
      if (varies(item.expr)) count(expr.dtype);
      continue;
    }
    const Stmt& stmt = kernel_.stmts[item.stmt.index];
    widest = std::max(widest, markVarying(stmt.body, axis));
    if (stmt.kind == StmtKind::kStore || stmt.kind == StmtKind::kObserve) count(kernel_.exprs[stmt.value.index].dtype);
    for (const kernels::Accumulator& acc : stmt.accumulators)
      if (accumulatorVaries(stmt, acc)) count(acc.dtype);
  }
  return widest;
}

// As many lanes as the widest element fits into a register; but f32 vectors never narrower than 128 bits, because LLVM
// would fill them up with undefined lanes that can raise flags.
unsigned KernelEmitter::chooseLanes(unsigned widest, bool hasSingle) const {
  const unsigned lanes = unsigned(fn_.target().vectorBits) / 8 / widest;
  return hasSingle ? std::max(lanes, 4u) : lanes;
}

void KernelEmitter::collectAccesses(const Block& body, std::vector<uint32_t>& out) const {
  for (const kernels::Item& item : body.items) {
    if (item.expr.valid()) {
      const Expr& expr = kernel_.exprs[item.expr.index];
      if (expr.op == ScalarOp::kLoad) out.push_back(expr.access);
      continue;
    }
    const Stmt& stmt = kernel_.stmts[item.stmt.index];
    if (stmt.kind == StmtKind::kStore) out.push_back(stmt.access);
    collectAccesses(stmt.body, out);
  }
}

}  // namespace fw::jit
