// One walk over the kernel, with loops taken by the number of their turns: an axis stands for the middle of its range,
// so that triangles come out right.
#include "kernels/work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "graph/dtype.h"
#include "kernels/math_calls.h"

namespace fw::kernels {

namespace {

class WorkCounter {
 public:
  WorkCounter(const Kernel& kernel, const graph::SymContext& syms, const graph::Plan& plan,
              absl::Span<const int64_t> symbols)
      : kernel_(kernel),
        syms_(syms),
        plan_(plan),
        symbols_(symbols),
        numbers_(kernel.exprs.size()),
        turns_(kernel.axisCount, 0),
        middles_(kernel.axisCount, 0) {}

  std::optional<KernelWork> count() {
    block(kernel_.body, 1);
    for (const auto& [place, bytes] : moved_) work_.bytes += std::min(bytes, extentOf(place.first));
    if (!known_) return std::nullopt;
    return work_;
  }

 private:
  void block(const Block& block, double times) {
    for (const Item& item : block.items) {
      if (item.expr.valid())
        expr(item.expr, times);
      else
        stmt(kernel_.stmts[item.stmt.index], times);
    }
  }

  void expr(ExprId id, double times) {
    const Expr& e = kernel_.exprs[id.index];
    numbers_[id.index] = number(e);
    if (isLoad(e.op)) move(e.access, /*isStore=*/false);
    if (graph::isFloat(e.dtype)) work_.operations += operationsOf(e) * times;
  }

  static double operationsOf(const Expr& e) {
    if (e.op == ScalarOp::kFma) return 2;
    if (e.op != ScalarOp::kCallMath) return e.op != ScalarOp::kCast && raisesFlags(e.op) ? 1 : 0;
    double sum = 0;
    for (const Expr& inner : mathFunction(MathCall::of(e.imm), e.dtype).kernel.exprs) sum += operationsOf(inner);
    return sum;
  }

  void stmt(const Stmt& s, double times) {
    switch (s.kind) {
      case StmtKind::kStore: return move(s.access, /*isStore=*/true);
      case StmtKind::kIf: return block(s.body, times);
      case StmtKind::kObserve: return;
      case StmtKind::kLoop:
      case StmtKind::kReduce: break;
    }
    const std::optional<double> lower = numbers_[s.lower.index], upper = numbers_[s.upper.index];
    if (!lower || !upper) {
      known_ = false;
      return;
    }
    const double turns = std::max(*upper - *lower, 0.0);
    turns_[s.axis.index] = turns;
    middles_[s.axis.index] = (*lower + *upper - 1) / 2;
    block(s.body, times * turns);
    for (const Accumulator& a : s.accumulators)
      if (graph::isFloat(a.dtype)) work_.operations += times * turns;
  }

  /// Of integers that bounds are made of; nothing if it depends on data.
  std::optional<double> number(const Expr& e) const {
    const auto operand = [&](size_t i) { return numbers_[e.operands[i].index]; };
    if (e.op == ScalarOp::kConst) return static_cast<double>(static_cast<int64_t>(e.imm));
    if (e.op == ScalarOp::kAxis) return middles_[e.axis.index];
    if (e.op == ScalarOp::kParam) {
      const auto value = syms_.evaluate(e.sym, symbols_);
      return value.ok() ? std::optional<double>(*value) : std::nullopt;
    }
    if (e.dtype != DType::kI64 || e.operands.size() != 2 || !operand(0) || !operand(1)) return std::nullopt;
    const double a = *operand(0), b = *operand(1);
    if (e.op == ScalarOp::kAdd) return a + b;
    if (e.op == ScalarOp::kSub) return a - b;
    if (e.op == ScalarOp::kMul) return a * b;
    if (e.op == ScalarOp::kMinSecond) return std::min(a, b);
    if (e.op == ScalarOp::kMaxSecond) return std::max(a, b);
    if (e.op == ScalarOp::kDiv && b != 0) return std::trunc(a / b);
    return std::nullopt;
  }

  void move(uint32_t access, bool isStore) {
    const Access& a = kernel_.accesses[access];
    double elements = 1;
    for (const Access::Term& term : a.terms)
      if (!syms_.isConst(term.stride, 0)) elements *= turns_[term.axis.index];
    moved_[{a.buffer, isStore}] += elements * static_cast<double>(graph::itemSize(plan_.buffers[a.buffer.index].dtype));
  }

  double extentOf(graph::BufferId id) const {
    const graph::Buffer& buffer = plan_.buffers[id.index];
    auto bytes = static_cast<double>(graph::itemSize(buffer.dtype));
    for (const SymId size : buffer.shape) {
      const auto value = syms_.evaluate(size, symbols_);
      if (!value.ok()) return HUGE_VAL;
      bytes *= static_cast<double>(*value);
    }
    return bytes;
  }

  const Kernel& kernel_;
  const graph::SymContext& syms_;
  const graph::Plan& plan_;
  const absl::Span<const int64_t> symbols_;
  std::vector<std::optional<double>> numbers_;                ///< by expression
  std::vector<double> turns_, middles_;                       ///< by axis
  std::map<std::pair<graph::BufferId, bool>, double> moved_;  ///< by buffer, whether it is written
  KernelWork work_;
  bool known_ = true;
};

}  // namespace

std::optional<KernelWork> workOf(const Kernel& kernel, const graph::SymContext& syms, const graph::Plan& plan,
                                 absl::Span<const int64_t> symbols) {
  return WorkCounter(kernel, syms, plan, symbols).count();
}

}  // namespace fw::kernels
