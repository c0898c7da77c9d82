// Sums of views with gaps, where NumPy joins rows in its buffer: so do we. Each stretch is copied into the copy's own
// memory, always to its beginning, so that it stays in the cache, and added from there:
//
//   for kept axes (parallel)
//     Reduce over stretches (sequential)
//       for rows of the stretch: loop over the row (vector): scratch = operand
//       Reduce over scratch (pairwise)
#include <algorithm>

#include "graph/linear_sum.h"
#include "graph/pairwise_order.h"
#include "kernels/lower_group.h"
#include "kernels/lower_reduce.h"

namespace fw::kernels {
namespace {

class StagedBuilder {
 public:
  StagedBuilder(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
                const ReduceGroup& g)
      : b_(b),
        group_(group),
        emitter_(emitter),
        g_(g),
        r_(g.reductions[0]),
        copy_(graph.node(r_.id).operands[0]),
        row_(r_.order[0]),
        column_(r_.order[1]) {}

  absl::Status run() {
    graph::SymContext& syms = b_.syms();
    rowSize_ = syms.canonical(group_.domain[column_]);
    rowCount_ = syms.canonical(group_.domain[row_]);
    rowsEach_ = graph::rowsPerStretch(syms, rowSize_);
    const SymId last = syms.sub(rowsEach_, syms.constant(1));
    const SymId count = syms.floorDiv(syms.add(rowCount_, last), rowsEach_);
    kept_ = mergeAxes(syms, group_.domain, g_.kept, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    absl::StatusOr<Accumulation> a = accumulationOf(b_, r_);
    if (!a.ok()) return a.status();
    openLoops(b_, kept_, false, true, [&](const std::vector<AxisId>& keptOf) {
      const std::vector<Val> sums =
          b_.reduce(number(0), b_.param(count), false, ReduceOrder::kSequential, a->accumulators,
                    [&](AxisId stretch) { return oneStretch(keptOf, stretch, *a); });
      emitter_.setAxes(&kept_, keptOf);
      emitter_.define(r_.id, a->finish(sums));
      check(storeOutputs(emitter_, {r_.id}));
    });
    return status_;
  }

 private:
  Val number(int64_t v) { return b_.constantInt(DType::kI64, v); }
  void check(const absl::Status& s) {
    if (status_.ok()) status_ = s;
  }
  std::vector<NestAxis> with(std::initializer_list<NestAxis> more) const {
    std::vector<NestAxis> axes = kept_;
    axes.insert(axes.end(), more);
    return axes;
  }
  static std::vector<AxisId> with(std::vector<AxisId> open, std::initializer_list<AxisId> more) {
    open.insert(open.end(), more);
    return open;
  }

  std::vector<Val> oneStretch(const std::vector<AxisId>& keptOf, AxisId stretch, const Accumulation& a) {
    const NestAxis tiles{{row_}, rowCount_, true, rowsEach_}, rows{{row_}, rowCount_, true, {}},
        columns{{column_}, rowSize_, true, {}};
    const std::vector<NestAxis> source = with({tiles, rows, columns}), target = with({rows, columns}),
                                flat = with({columns});
    const MemoryRef& scratch = emitter_.outputRef(copy_);
    const Val start = b_.op(ScalarOp::kMul, b_.axisValue(stretch), b_.param(rowsEach_));
    const Val left = b_.op(ScalarOp::kSub, b_.param(rowCount_), start);
    const Val count = b_.op(ScalarOp::kMinSecond, b_.param(rowsEach_), left);
    b_.loop(number(0), count, false, false, [&](AxisId row) {
      b_.loop(number(0), b_.param(rowSize_), true, false, [&](AxisId column) {
        emitter_.scoped([&] {
          emitter_.setAxes(&source, with(keptOf, {stretch, row, column}));
          const absl::StatusOr<Value> v = emitter_.operandElement(copy_, 0);
          check(v.status());
          emitter_.setAxes(&target, with(keptOf, {row, column}));
          if (v.ok()) emitter_.store(scratch, *v);
        });
      });
    });
    std::vector<KernelBuilder::Acc> accs = a.accumulators;
    for (KernelBuilder::Acc& acc : accs) acc.init = b_.constant(acc.dtype, -0.0);
    const ReduceOrder order = graph::isComplex(r_.dtype) ? ReduceOrder::kPairwisePart : ReduceOrder::kPairwise;
    const Val elements = b_.op(ScalarOp::kMul, count, b_.param(rowSize_));
    return b_.reduce(number(0), elements, true, order, accs, [&](AxisId at) {
      std::vector<Val> result;
      emitter_.scoped([&] {
        emitter_.setAxes(&flat, with(keptOf, {at}));
        result = a.elements(emitter_.load(scratch));
      });
      return result;
    });
  }

  KernelBuilder& b_;
  const graph::Group& group_;
  GroupEmitter& emitter_;
  const ReduceGroup& g_;
  const Reduction& r_;
  const ValueId copy_;
  const int64_t row_, column_;
  SymId rowSize_, rowCount_, rowsEach_;
  std::vector<NestAxis> kept_;
  absl::Status status_;
};

}  // namespace

bool isStaged(const graph::Group& group, const graph::Graph& graph, const ReduceGroup& g) {
  const Reduction& r = g.reductions[0];
  return r.linear && group.axisMap.contains(graph.node(r.id).operands[0]);
}

absl::Status buildStaged(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
                         const ReduceGroup& g) {
  return StagedBuilder(b, graph, group, emitter, g).run();
}

}  // namespace fw::kernels
