// The bounds of loops are taken as far apart as they can be, where they depend on the indices of outer loops.
#include "kernels/reach.h"

#include <algorithm>

#include "graph/support/check.h"

namespace fw::kernels {
namespace {

/// Smallest and largest value.
struct Interval {
  SymId first, last;
};

class Finder {
 public:
  Finder(const Kernel& kernel, graph::SymContext& syms) : kernel_(kernel), syms_(syms), axes_(kernel.axisCount) {}

  std::optional<Reach> find(uint32_t access) {
    access_ = access;
    return block(kernel_.body) ? result_ : std::nullopt;
  }

 private:
  /// True if the access has been found below.
  bool block(const Block& b) {
    for (const Item& item : b.items) {
      if (item.expr.valid()) {
        const Expr& e = kernel_.exprs[item.expr.index];
        if (e.op == ScalarOp::kLoad && e.access == access_) return found(graph::itemSize(e.dtype));
        if (e.op == ScalarOp::kLoadAt && e.access == access_) return true;  // it is proved or not made
        continue;
      }
      const Stmt& s = kernel_.stmts[item.stmt.index];
      const bool here = s.kind == StmtKind::kStore && s.access == access_;
      if (here) return found(graph::itemSize(kernel_.exprs[s.value.index].dtype));
      if (s.kind != StmtKind::kLoop && s.kind != StmtKind::kReduce) {
        if (block(s.body)) return true;
        continue;
      }
      const std::optional<Interval> lower = interval(s.lower), upper = interval(s.upper);
      std::optional<Interval>& axis = axes_[s.axis.index];
      if (lower && upper) axis = Interval{lower->first, syms_.sub(upper->last, syms_.constant(1))};
      loops_.push_back(s.axis);
      if (block(s.body)) return true;
      loops_.pop_back();
      axis.reset();
    }
    return false;
  }

  bool found(int64_t bytes) {
    const Access& a = kernel_.accesses[access_];
    Reach reach{a.buffer, a.offset, bytes, {}, {}};
    for (AxisId axis : loops_) {
      const std::optional<Interval>& bounds = axes_[axis.index];
      if (!bounds) return true;
      reach.spans.push_back(syms_.sub(bounds->last, bounds->first));
    }
    for (const Access::Term& t : a.terms) {
      const bool open = std::find(loops_.begin(), loops_.end(), t.axis) != loops_.end();
      if (!open) return true;
      reach.terms.push_back({t.stride, axes_[t.axis.index]->first, axes_[t.axis.index]->last});
    }
    result_ = std::move(reach);
    return true;
  }

  std::optional<Interval> interval(ExprId id) {
    const Expr& e = kernel_.exprs[id.index];
    if (e.dtype != DType::kI64) return std::nullopt;
    if (e.op == ScalarOp::kAxis) return axes_[e.axis.index];
    if (e.op == ScalarOp::kConst || e.op == ScalarOp::kParam) {
      const SymId value = e.op == ScalarOp::kParam ? e.sym : syms_.constant(static_cast<int64_t>(e.imm));
      return Interval{value, value};
    }
    absl::InlinedVector<Interval, 3> x;
    for (ExprId operand : e.operands) {
      const std::optional<Interval> known = interval(operand);
      if (!known) return std::nullopt;
      x.push_back(*known);
    }
    if (e.op == ScalarOp::kAdd) return Interval{syms_.add(x[0].first, x[1].first), syms_.add(x[0].last, x[1].last)};
    if (e.op == ScalarOp::kSub) return Interval{syms_.sub(x[0].first, x[1].last), syms_.sub(x[0].last, x[1].first)};
    if (e.op == ScalarOp::kMinSecond)
      return Interval{syms_.min(x[0].first, x[1].first), syms_.min(x[0].last, x[1].last)};
    if (e.op == ScalarOp::kMaxSecond)
      return Interval{syms_.max(x[0].first, x[1].first), syms_.max(x[0].last, x[1].last)};
    if (e.op == ScalarOp::kMul) {
      for (size_t by = 0; by < 2; ++by) {  // a factor that is not negative keeps the order
        const SymId factor = x[by].first;
        if (factor != x[by].last || !syms_.provablyLessEqual(syms_.constant(0), factor)) continue;
        return Interval{syms_.mul(x[1 - by].first, factor), syms_.mul(x[1 - by].last, factor)};
      }
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  graph::SymContext& syms_;
  uint32_t access_ = 0;
  std::vector<std::optional<Interval>> axes_;
  std::vector<AxisId> loops_;
  std::optional<Reach> result_;
};

}  // namespace

std::optional<Reach> reachOf(const Kernel& kernel, uint32_t access, graph::SymContext& syms) {
  return Finder(kernel, syms).find(access);
}

Reach reachOf(const graph::OutputBinding& output, const graph::Plan& plan, graph::SymContext& syms) {
  FW_CHECK(output.isView);
  Reach reach{output.buffer, output.offset, graph::itemSize(plan.buffers[output.buffer.index].dtype), {}, {}};
  for (size_t axis = 0; axis < output.shape.size(); ++axis) {
    const SymId last = syms.sub(output.shape[axis], syms.constant(1));
    reach.terms.push_back({output.strides[axis], syms.constant(0), last});
    reach.spans.push_back(last);
  }
  return reach;
}

}  // namespace fw::kernels
