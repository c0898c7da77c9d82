// graph::chunkOf() as scalar expressions. Which neighbouring axes are one run depends on strides that may be known at
// run time only: every way to join them is computed and the one that holds is selected. All of it is uniform and stands
// in the kernel's outermost block.
#include "kernels/stretches.h"

#include "absl/status/status.h"
#include "graph/pairwise_order.h"

namespace fw::kernels {
namespace {

constexpr size_t kMaxAxes = 4;

class StretchFinder {
 public:
  StretchFinder(KernelBuilder& b, bool casting) : b_(b), casting_(casting) {}

  struct Chunk {
    Val length, period;
  };

  struct Axis {
    Val size;
    SymId symbolicSize, stride;
  };

  /// `runs` are complete but for the last one, which axes[at] may join.
  Chunk join(const std::vector<Axis>& axes, size_t at, std::vector<Val> runs) {
    if (at == axes.size()) return chunkOf(runs);
    graph::SymContext& syms = b_.syms();
    const SymId step = syms.canonical(syms.mul(axes[at - 1].stride, axes[at - 1].symbolicSize));
    const SymId stride = syms.canonical(axes[at].stride);
    const std::optional<bool> known = syms.provablyEqual(stride, step);
    std::vector<Val> joined = runs, apart = runs;
    joined.back() = mul(joined.back(), axes[at].size);
    apart.push_back(axes[at].size);
    if (known) return join(axes, at + 1, *known ? joined : apart);
    const Val same = b_.op(ScalarOp::kEq, b_.param(stride), b_.param(step));
    const Chunk one = join(axes, at + 1, joined), other = join(axes, at + 1, apart);
    return {b_.select(same, one.length, other.length), b_.select(same, one.period, other.period)};
  }

 private:
  Val number(int64_t v) { return b_.constantInt(DType::kI64, v); }
  Val mul(Val x, Val y) { return b_.op(ScalarOp::kMul, x, y); }
  Val atMostBuffer(Val x) { return b_.op(ScalarOp::kMinSecond, x, number(graph::kNumpyBufferElements)); }

  /// Step by step as in graph/pairwise_order.h.
  Chunk chunkOf(const std::vector<Val>& runs) {
    const Val buffer = number(graph::kNumpyBufferElements);
    Val bestCost = number(casting_ ? 2 : 1), size = runs[0], best = runs[0], core = number(1);
    Val joined = b_.constantInt(DType::kBool, 0), stopped = b_.constantInt(DType::kBool, 0);
    for (size_t i = 1; i < runs.size(); ++i) {
      if (casting_ || i > 1) stopped = b_.op(ScalarOp::kOr, stopped, b_.op(ScalarOp::kGe, size, buffer));
      const Val inner = size;
      size = mul(size, runs[i]);
      const Val better = b_.op(ScalarOp::kLe, mul(number(2), best), mul(bestCost, atMostBuffer(size)));
      const Val take = b_.op(ScalarOp::kAnd, better, b_.op(ScalarOp::kNot, stopped));
      bestCost = b_.select(take, number(2), bestCost);
      core = b_.select(take, inner, core);
      best = b_.select(take, size, best);
      joined = b_.op(ScalarOp::kOr, joined, take);
    }
    if (casting_) joined = b_.constantInt(DType::kBool, 1);
    const Val safeCore = b_.op(ScalarOp::kMaxSecond, core, number(1));  // empty arrays
    const Val whole = mul(core, b_.op(ScalarOp::kDiv, buffer, safeCore));
    const Val cut = b_.op(ScalarOp::kAnd, joined, b_.op(ScalarOp::kGt, best, buffer));
    return {b_.select(cut, whole, best), best};
  }

  KernelBuilder& b_;
  bool casting_;
};

Val ceilDiv(KernelBuilder& b, Val x, Val y) {
  const Val up = b.op(ScalarOp::kSub, b.op(ScalarOp::kAdd, x, y), b.constantInt(DType::kI64, 1));
  return b.op(ScalarOp::kDiv, up, y);
}

}  // namespace

absl::StatusOr<Stretches> stretchesOf(KernelBuilder& b, const graph::SymShape& domain, const Reduction& r) {
  if (r.runStrides.size() > kMaxAxes) return absl::UnimplementedError("float sum over that many axes at once");
  std::vector<StretchFinder::Axis> axes;
  for (size_t i = 0; i < r.runStrides.size(); ++i) {
    const SymId size = domain[r.order[r.order.size() - 1 - i]];
    axes.push_back({b.param(size), size, r.runStrides[i]});
  }
  const StretchFinder::Chunk chunk = StretchFinder(b, r.buffered).join(axes, 1, {axes[0].size});
  const Val one = b.constantInt(DType::kI64, 1);
  Stretches s;
  SymId total = b.syms().constant(1);
  for (int64_t axis : r.order) total = b.syms().mul(total, domain[axis]);
  s.total = b.param(total);
  s.length = b.op(ScalarOp::kMaxSecond, chunk.length, one);
  s.period = b.op(ScalarOp::kMaxSecond, chunk.period, one);
  s.perPeriod = ceilDiv(b, s.period, s.length);
  s.count = b.op(ScalarOp::kMul, ceilDiv(b, s.total, s.period), s.perPeriod);
  return s;
}

StretchRange rangeOf(KernelBuilder& b, const Stretches& s, Val index) {
  const Val start = b.op(ScalarOp::kMul, b.op(ScalarOp::kDiv, index, s.perPeriod), s.period);
  const Val end = b.op(ScalarOp::kMinSecond, b.op(ScalarOp::kAdd, start, s.period), s.total);
  const Val offset = b.op(ScalarOp::kMul, b.op(ScalarOp::kRem, index, s.perPeriod), s.length);
  const Val lower = b.op(ScalarOp::kAdd, start, offset);
  return {lower, b.op(ScalarOp::kMinSecond, b.op(ScalarOp::kAdd, lower, s.length), end)};
}

void declineUnitAxes(KernelBuilder& b, const graph::SymShape& domain, const Reduction& r) {
  for (int64_t axis : r.notUnit) {
    if (b.syms().provablyEqual(domain[axis], b.syms().constant(1)) == false) continue;
    b.raiseIf(b.op(ScalarOp::kEq, b.param(domain[axis]), b.constantInt(DType::kI64, 1)), kDecline);
  }
}

}  // namespace fw::kernels
