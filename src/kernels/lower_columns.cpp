// Column reductions: the innermost axis in memory is kept, so rows of the operand are combined element by element
// into rows of accumulators. These live in the memory of an output, in tiles small enough for the first-level cache:
//
//   for outer kept axes, for tiles of the innermost kept axis (parallel)
//     loop over the tile (vector): accumulators = identity
//     for reduced axes: loop over the tile (vector): accumulator = combine(accumulator, element)
//     loop over the tile (vector): row outputs
#include <algorithm>

#include "graph/support/check.h"
#include "kernels/lower_group.h"
#include "kernels/lower_reduce.h"

namespace fw::kernels {

namespace {

bool runsAlongAll(const graph::Group& group, ValueId id, const IntList& axes) {
  const IntList& map = group.axisMap.at(id);
  return std::all_of(axes.begin(), axes.end(),
                     [&](int64_t axis) { return std::find(map.begin(), map.end(), axis) != map.end(); });
}

}  // namespace

std::optional<ColumnPlan> planColumns(const graph::Graph& graph, const graph::Group& group, const GroupEmitter& emitter,
                                      const ReduceGroup& g) {
  if (g.kept.empty() || g.order.back() != g.kept.back() || g.stages != 1) return std::nullopt;
  std::vector<ValueId> rowOutputs;
  for (ValueId id : group.outputs) {
    if (g.domainValues.contains(id)) {
      if (g.level.at(id) != 0 || !g.fullValues.contains(id)) return std::nullopt;
      continue;
    }
    if (!runsAlongAll(group, id, g.kept)) return std::nullopt;
    rowOutputs.push_back(id);
  }
  ColumnPlan plan;
  absl::flat_hash_set<ValueId> taken;
  for (const Reduction& r : g.reductions) {
    if (r.method != Reduction::Method::kSequential && r.method != Reduction::Method::kAny) return std::nullopt;
    // One order of rows serves all: the group's, which a sequential reduction must share.
    IntList reduced;
    for (int64_t axis : g.order)
      if (std::find(g.kept.begin(), g.kept.end(), axis) == g.kept.end()) reduced.push_back(axis);
    if (r.order != reduced) return std::nullopt;
    const DType d = graph.type(r.id).dtype;
    ValueId found;
    if (emitter.isOutput(r.id)) found = r.id;
    for (ValueId id : rowOutputs)
      if (!found.valid() && !taken.contains(id) && emitter.outputRef(id).dtype == d &&
          std::none_of(g.reductions.begin(), g.reductions.end(), [&](const Reduction& o) { return o.id == id; }))
        found = id;
    if (!found.valid()) return std::nullopt;
    taken.insert(found);
    plan.accumulators.push_back(&emitter.outputRef(found));
  }
  return plan;
}

namespace {

class ColumnBuilder {
 public:
  ColumnBuilder(KernelBuilder& b, const graph::Group& group, GroupEmitter& emitter, const ReduceGroup& g,
                const ColumnPlan& plan)
      : b_(b),
        group_(group),
        emitter_(emitter),
        g_(g),
        plan_(plan) {}

  absl::Status run() {
    graph::SymContext& syms = b_.syms();
    kept_ = mergeAxes(syms, group_.domain, g_.kept, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    IntList reduced;
    for (int64_t axis : g_.order)
      if (std::find(g_.kept.begin(), g_.kept.end(), axis) == g_.kept.end()) reduced.push_back(axis);
    reduced_ = mergeAxes(syms, group_.domain, reduced, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    const std::vector<NestAxis> outer(kept_.begin(), kept_.end() - 1);
    const int64_t elements = emitter_.target().columnTile;
    const SymId size = kept_.back().size, tile = syms.constant(elements);
    const SymId tiles = syms.floorDiv(syms.add(size, syms.constant(elements - 1)), tile);
    openLoops(b_, outer, false, true, [&](const std::vector<AxisId>& outerOf) {
      b_.loop(b_.constantInt(DType::kI64, 0), b_.param(tiles), false, true, [&](AxisId t) {
        lower_ = b_.op(ScalarOp::kMul, b_.axisValue(t), b_.param(tile));
        upper_ = b_.op(ScalarOp::kMinSecond, b_.op(ScalarOp::kAdd, lower_, b_.param(tile)), b_.param(size));
        tileBody(outerOf);
      });
    });
    return status_;
  }

 private:
  /// Vector loop over the tile with the axes `outerOf`, the tile and `reducedOf` open.
  void overTile(const std::vector<AxisId>& outerOf, const std::vector<AxisId>& reducedOf,
                const std::function<absl::Status()>& body) {
    const std::vector<NestAxis>& axes = reducedOf.empty() ? kept_ : all_;
    emitter_.scoped([&] {
      b_.loop(lower_, upper_, true, false, [&](AxisId j) {
        std::vector<AxisId> axisOf = outerOf;
        axisOf.push_back(j);
        axisOf.insert(axisOf.end(), reducedOf.begin(), reducedOf.end());
        emitter_.setAxes(&axes, axisOf);
        if (absl::Status s = body(); status_.ok()) status_ = s;
      });
    });
  }

  void tileBody(const std::vector<AxisId>& outerOf) {
    all_ = kept_;
    all_.insert(all_.end(), reduced_.begin(), reduced_.end());
    overTile(outerOf, {}, [&] {
      for (size_t i = 0; i < g_.reductions.size(); ++i)
        emitter_.store(*plan_.accumulators[i], identityOf(b_, g_.reductions[i]));
      return absl::OkStatus();
    });
    openLoops(b_, reduced_, false, false, [&](const std::vector<AxisId>& reducedOf) {
      overTile(outerOf, reducedOf, [&] { return accumulate(); });
    });
    overTile(outerOf, {}, [&] {
      for (size_t i = 0; i < g_.reductions.size(); ++i)
        emitter_.define(g_.reductions[i].id, emitter_.load(*plan_.accumulators[i]));
      std::vector<ValueId> rows;
      for (ValueId id : group_.outputs)
        if (!g_.domainValues.contains(id) && !isAccumulatorOf(id)) rows.push_back(id);
      return storeOutputs(emitter_, rows);
    });
  }

  /// The memory of a reduction that is an output holds its value already.
  bool isAccumulatorOf(ValueId id) const {
    return std::any_of(g_.reductions.begin(), g_.reductions.end(), [&](const Reduction& r) { return r.id == id; });
  }

  absl::Status accumulate() {
    std::vector<Value> next;
    std::vector<Val> combined;
    for (size_t i = 0; i < g_.reductions.size(); ++i) {
      absl::StatusOr<Value> element = emitter_.operandElement(g_.reductions[i].id, 0);
      if (!element.ok()) return element.status();
      absl::StatusOr<Value> v = combine(b_, g_.reductions[i], emitter_.load(*plan_.accumulators[i]), *element);
      if (!v.ok()) return v.status();
      combined.push_back(v->re);
      if (v->isComplex()) combined.push_back(v->im);
      next.push_back(*std::move(v));
    }
    emitter_.observeUnused(combined);
    for (size_t i = 0; i < next.size(); ++i) emitter_.store(*plan_.accumulators[i], next[i]);
    std::vector<ValueId> outputs;
    for (ValueId id : group_.outputs)
      if (g_.domainValues.contains(id)) outputs.push_back(id);
    return storeOutputs(emitter_, outputs);
  }

  KernelBuilder& b_;
  const graph::Group& group_;
  GroupEmitter& emitter_;
  const ReduceGroup& g_;
  const ColumnPlan& plan_;
  std::vector<NestAxis> kept_, reduced_, all_;
  Val lower_, upper_;
  absl::Status status_;
};

}  // namespace

absl::Status buildColumns(KernelBuilder& b, const graph::Graph&, const graph::Group& group, GroupEmitter& emitter,
                          const ReduceGroup& g, const ColumnPlan& plan) {
  return ColumnBuilder(b, group, emitter, g, plan).run();
}

}  // namespace fw::kernels
