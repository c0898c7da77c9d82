// Kernels of groups with reductions: rows.
//
//   for kept axes (parallel)                 one row per iteration
//     stage 1: Reduce over reduced axes      reductions of the inputs
//     row values
//     stage 2: Reduce over reduced axes      reductions that need stage 1 (softmax: sum of exp(x - max))
//     ...
//     loop over reduced axes                 outputs that run over the domain and need the last stage
//     row outputs
//
// Values over the domain that several stages need are computed in each of them, unless they are expensive: those are
// stored by the first stage, into their own buffer or into that of an output which a later stage overwrites anyway.
// Column reductions that can run along memory are built in lower_columns.cpp instead.
#include "kernels/lower_reduce.h"

#include <algorithm>
#include <set>

#include "graph/cost.h"
#include "graph/pairwise_order.h"
#include "graph/refused.h"
#include "graph/support/check.h"
#include "kernels/lower_group.h"
#include "kernels/stretches.h"

namespace fw::kernels {

using graph::Op;
using graph::OpClass;

absl::StatusOr<ReduceGroup> analyseReduceGroup(const graph::Graph& graph, const graph::Group& group,
                                               const GroupEmitter& emitter) {
  ReduceGroup g;
  const auto isReduced = [&](int64_t axis) {
    return std::find(group.reducedAxes.begin(), group.reducedAxes.end(), axis) != group.reducedAxes.end();
  };
  for (ValueId id : group.values) {
    const graph::Node& node = graph.node(id);
    int level = 0;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const Operand& operand = emitter.operand(id, i);
      if (operand.kind == Operand::Kind::kMember) level = std::max(level, g.level.at(operand.value));
    }
    const bool reduces = graph::info(node.op).cls == OpClass::kReduction;
    g.level[id] = level + reduces;
    g.stages = std::max(g.stages, g.level[id]);
    size_t axes = 0;
    bool overDomain = false;
    for (int64_t axis : group.axisMap.at(id)) {
      axes += axis >= 0;
      overDomain |= axis >= 0 && isReduced(axis);
    }
    if (overDomain) g.domainValues.insert(id);
    if (axes == group.domain.size()) g.fullValues.insert(id);
    if (!reduces) continue;
    if (g.order.empty()) {  // the first reduction's operand leads the loop order
      const ValueId operand = node.operands[0];
      const IntList own = loopOrder(graph.type(operand).layout, emitter.operandAxes(id, 0));
      for (size_t axis = 0; axis < group.domain.size(); ++axis)
        if (std::find(own.begin(), own.end(), static_cast<int64_t>(axis)) == own.end())
          g.order.push_back(static_cast<int64_t>(axis));
      g.order.insert(g.order.end(), own.begin(), own.end());
    }
    absl::StatusOr<Reduction> r = analyseReduction(graph, group, emitter, id, g.order);
    if (!r.ok()) return graph::Refused::of(graph, id).in(r.status());
    r->level = g.level[id];
    g.reductions.push_back(*std::move(r));
  }
  if (g.reductions.empty()) return absl::InternalError("reduce group without reductions");
  for (int64_t axis : g.order)
    if (!isReduced(axis)) g.kept.push_back(axis);
  return g;
}

namespace {

constexpr size_t kShortRowValues = 16;  ///< in a kernel that has its rows in two forms

class RowBuilder {
 public:
  RowBuilder(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group, GroupEmitter& emitter,
             const ReduceGroup& g)
      : b_(b),
        graph_(graph),
        group_(group),
        emitter_(emitter),
        g_(g) {}

  absl::Status run() {
    for (const Reduction& r : g_.reductions)
      if (r.dtype == DType::kF16 && r.method == Reduction::Method::kSequential && r.op == Op::kSum)
        return absl::UnimplementedError("float16 sum that rounds every step, into no output");
    planStores();
    kept_ = mergeAxes(b_.syms(), group_.domain, g_.kept, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    vectorRows_ = manyRowsAtOnce();
    if (vectorRows_ || !mayTakeShortRows()) {
      rows();
      return status_;
    }
    const Val isShort = rowsAreShort();
    if (const auto known = b_.asConstant(isShort)) {
      vectorRows_ = shortRows_ = *known != 0;
      rows();
      return status_;
    }
    for (const bool across : {true, false}) {
      vectorRows_ = shortRows_ = across;
      b_.branch(across ? isShort : b_.op(ScalarOp::kNot, isShort), [&] { emitter_.scoped([&] { rows(); }); });
    }
    return status_;
  }

  /// If the innermost axis in memory is kept, the lanes of a vector are neighbouring rows; the reductions inside are
  /// scalar loops over vectors then.
  bool manyRowsAtOnce() const {
    if (g_.kept.empty() || g_.order.back() != g_.kept.back()) return false;
    return std::all_of(group_.outputs.begin(), group_.outputs.end(),
                       [&](ValueId id) { return runsAlong(id, g_.kept.back()); });
  }

 private:
  /// Rows of a few elements leave lanes idle, and cost more than their elements: the lanes of a vector are several such
  /// rows, where there are enough. What the code has twice for that is small.
  bool mayTakeShortRows() const {
    if (b_.numbers() != Numbers::kNumPy) return false;  // a device divides rows among its threads
    if (g_.kept.empty() || g_.stages != 1 || group_.values.size() > kShortRowValues) return false;
    const auto anyOrder = [](const Reduction& r) {
      return r.method == Reduction::Method::kAny || r.method == Reduction::Method::kArg;
    };
    if (!std::all_of(g_.reductions.begin(), g_.reductions.end(), anyOrder)) return false;
    for (ValueId id : group_.outputs)
      if (overDomain(id) || !runsAlong(id, g_.kept.back())) return false;
    // Short elements fill more lanes than are loaded at once, unless a position stands beside each.
    const bool positions = std::all_of(g_.reductions.begin(), g_.reductions.end(),
                                       [](const Reduction& r) { return r.method == Reduction::Method::kArg; });
    return std::all_of(group_.values.begin(), group_.values.end(), [&](ValueId id) {
      const graph::Node& node = graph_.node(id);
      for (size_t i = 0; i < node.operands.size() && !positions; ++i) {
        const Operand& operand = emitter_.operand(id, i);
        if (operand.kind == Operand::Kind::kMemory && graph::itemSize(operand.memory.dtype) < 4) return false;
      }
      return graph::costOf(graph_, id) != graph::Cost::kFunction;
    });
  }
  Val rowsAreShort() {
    SymId length = b_.syms().constant(1);
    for (int64_t axis : group_.reducedAxes) length = b_.syms().mul(length, group_.domain[axis]);
    const int64_t longest = emitter_.target().shortRow, fewest = emitter_.target().shortRowsTogether;
    const Val isShort = b_.op(ScalarOp::kLe, b_.param(length), b_.constantInt(DType::kI64, longest));
    const Val areMany = b_.op(ScalarOp::kGe, b_.param(kept_.back().size), b_.constantInt(DType::kI64, fewest));
    return b_.op(ScalarOp::kAnd, isShort, areMany);
  }

  void rows() {
    openLoops(b_, kept_, vectorRows_, true, [&](const std::vector<AxisId>& axisOf) {
      emitter_.setAxes(&kept_, axisOf);
      row();
    });
  }

  bool overDomain(ValueId id) const { return g_.domainValues.contains(id); }
  void check(const absl::Status& s) {
    if (status_.ok() && !s.ok()) status_ = s;
  }

  /// Where values of a row are at hand once more, memory costs more than computing them again.
  bool expensive(ValueId id) const {
    return b_.numbers() == Numbers::kNumPy && graph::costOf(graph_, id) == graph::Cost::kFunction;
  }

  /// Decides in which stage every output over the domain is stored, and which values are kept in memory between stages.
  void planStores() {
    for (ValueId id : group_.outputs) {
      if (!overDomain(id)) continue;
      const bool inStage = g_.fullValues.contains(id) && g_.level.at(id) < g_.stages;
      storeStage_[id] = inStage ? g_.level.at(id) + 1 : g_.stages + 1;
    }
    absl::flat_hash_map<ValueId, std::set<int>> neededIn;
    absl::flat_hash_set<ValueId> takenBuffers;
    for (size_t i = group_.values.size(); i-- > 0;) {
      const ValueId id = group_.values[i];
      std::set<int> stages;
      if (graph::info(graph_.node(id).op).cls == OpClass::kReduction) {
        stages.insert(g_.level.at(id));
      } else if (overDomain(id)) {
        if (storeStage_.contains(id)) neededIn[id].insert(storeStage_[id]);
        stages = neededIn[id];
        if (stages.size() > 1 && expensive(id) && keepInMemory(id, stages, takenBuffers)) stages = {*stages.begin()};
      }
      for (size_t k = 0; k < graph_.node(id).operands.size(); ++k) {
        const Operand& operand = emitter_.operand(id, k);
        if (operand.kind == Operand::Kind::kMember && overDomain(operand.value))
          neededIn[operand.value].insert(stages.begin(), stages.end());
      }
    }
  }

  bool keepInMemory(ValueId id, const std::set<int>& stages, absl::flat_hash_set<ValueId>& taken) {
    const int first = *stages.begin(), last = *stages.rbegin();
    if (first > g_.stages || !g_.fullValues.contains(id)) return false;
    if (auto own = storeStage_.find(id); own != storeStage_.end()) {
      own->second = first;
      return true;
    }
    for (const auto& [output, stage] : storeStage_) {
      const MemoryRef& ref = emitter_.outputRef(output);
      if (taken.contains(output) || stage < last || stage == first || ref.dtype != graph_.type(id).dtype) continue;
      if (!g_.fullValues.contains(output) || output == id) continue;
      taken.insert(output);
      scratch_[id] = {first, &ref};
      return true;
    }
    return false;
  }

  /// Everything that happens once per row.
  void row() {
    for (int stage = 1; stage <= g_.stages && status_.ok(); ++stage) {
      std::vector<bool> done(g_.reductions.size(), false);
      for (size_t i = 0; i < g_.reductions.size(); ++i) {
        if (done[i] || g_.reductions[i].level != stage) continue;
        std::vector<const Reduction*> together;
        for (size_t k = i; k < g_.reductions.size(); ++k) {
          if (done[k] || g_.reductions[k].level != stage || !g_.reductions[k].sameLoops(g_.reductions[i])) continue;
          together.push_back(&g_.reductions[k]);
          done[k] = true;
          if (together[0]->method == Reduction::Method::kArg) break;
        }
        if (together[0]->method == Reduction::Method::kArg)
          argReduce(*together[0]);
        else
          reduceTogether(together, stage);
        if (!status_.ok()) return;
      }
    }
    storeRest();
    std::vector<ValueId> rows;
    for (ValueId id : group_.outputs)
      if (!overDomain(id)) rows.push_back(id);
    check(storeOutputs(emitter_, rows));
  }

  std::vector<NestAxis> withKept(const std::vector<NestAxis>& inner) const {
    std::vector<NestAxis> axes = kept_;
    axes.insert(axes.end(), inner.begin(), inner.end());
    return axes;
  }

  /// Outputs over the domain that no stage has stored.
  void storeRest() {
    for (ValueId id : group_.outputs) {
      if (!overDomain(id) || storedOutputs_.contains(id)) continue;
      IntList order;
      for (int64_t axis : g_.order)
        if (isReduced(axis) && runsAlong(id, axis)) order.push_back(axis);
      std::vector<ValueId> outputs;
      for (ValueId other : group_.outputs)
        if (overDomain(other) && !storedOutputs_.contains(other) && sameAxes(id, other)) outputs.push_back(other);
      const std::vector<NestAxis> inner =
          mergeAxes(b_.syms(), group_.domain, order, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
      const std::vector<NestAxis> axes = withKept(inner);
      emitter_.scoped([&] {
        std::vector<AxisId> open = emitter_.axisOf();
        openLoops(b_, inner, !vectorRows_, false, [&](const std::vector<AxisId>& axisOf) {
          open.insert(open.end(), axisOf.begin(), axisOf.end());
          emitter_.setAxes(&axes, open);
          check(storeOutputs(emitter_, outputs));
        });
      });
      storedOutputs_.insert(outputs.begin(), outputs.end());
    }
  }

  bool isReduced(int64_t axis) const {
    return std::find(group_.reducedAxes.begin(), group_.reducedAxes.end(), axis) != group_.reducedAxes.end();
  }
  bool runsAlong(ValueId id, int64_t axis) const {
    const IntList& map = group_.axisMap.at(id);
    return std::find(map.begin(), map.end(), axis) != map.end();
  }
  bool sameAxes(ValueId a, ValueId c) const {
    for (int64_t axis : group_.reducedAxes)
      if (runsAlong(a, axis) != runsAlong(c, axis)) return false;
    return true;
  }

  /// Stores that a stage makes on the way, at the end of its body.
  void storesOfStage(int stage) {
    std::vector<ValueId> outputs;
    for (ValueId id : group_.outputs)
      if (overDomain(id) && !storedOutputs_.contains(id) && storeStage_.at(id) <= stage) outputs.push_back(id);
    check(storeOutputs(emitter_, outputs));
    storedOutputs_.insert(outputs.begin(), outputs.end());
    for (auto& [id, scratch] : scratch_) {
      if (scratch.first != stage || keptInMemory_.contains(id)) continue;
      absl::StatusOr<Value> v = emitter_.element(id);
      check(v.status());
      if (!v.ok()) return;
      emitter_.store(*scratch.second, *v);
      keptInMemory_.insert(id);
      fresh_.push_back({id, scratch.second});
    }
    for (ValueId id : outputs)
      if (expensive(id)) fresh_.push_back({id, &emitter_.outputRef(id)});
  }

  /// What the last body stored is read from now on.
  void readBack() {
    for (const auto& [id, ref] : fresh_) emitter_.readFrom(id, *ref);
    fresh_.clear();
  }

  /// One Reduce nest for reductions that run alike.
  void reduceTogether(const std::vector<const Reduction*>& together, int stage) {
    const Reduction& r = *together[0];
    std::vector<Accumulation> parts;
    std::vector<KernelBuilder::Acc> accs;
    for (const Reduction* one : together) {
      absl::StatusOr<Accumulation> a = accumulationOf(b_, *one);
      check(a.status());
      if (!a.ok()) return;
      accs.insert(accs.end(), a->accumulators.begin(), a->accumulators.end());
      parts.push_back(*std::move(a));
    }
    absl::StatusOr<std::vector<NestAxis>> inner = axesOf(r);
    check(inner.status());
    if (!inner.ok()) return;
    const std::vector<NestAxis> axes = withKept(*inner);
    std::vector<Val> results;
    emitter_.scoped([&] {
      results = reduceNest(r, axes, kept_.size(), emitter_.axisOf(), accs, [&] {
        std::vector<Val> elements;
        for (size_t i = 0; i < together.size(); ++i) {
          absl::StatusOr<Value> v = emitter_.operandElement(together[i]->id, 0);
          check(v.status());
          if (!v.ok()) continue;
          for (Val e : parts[i].elements(*v)) elements.push_back(e);
        }
        if (!status_.ok()) {  // any values of the right types: the kernel is thrown away
          elements.clear();
          for (const KernelBuilder::Acc& acc : accs) elements.push_back(acc.init);
          return elements;
        }
        emitter_.observeUnused(elements);
        storesOfStage(stage);
        return elements;
      });
    });
    readBack();
    size_t at = 0;
    for (size_t i = 0; i < together.size() && status_.ok(); ++i) {
      const size_t n = parts[i].accumulators.size();
      const Value result = parts[i].finish(absl::MakeSpan(results).subspan(at, n));
      emitter_.define(together[i]->id, result);
      // The rounding of an f16 stands behind the loop, where nobody needs it for its flags.
      if (result.dtype == DType::kF16 && emitter_.target().reportsFlags) b_.observe(result.re);
      at += n;
    }
  }

  /// Loops over the reduced axes of r, as its order demands.
  absl::StatusOr<std::vector<NestAxis>> axesOf(const Reduction& r) {
    std::vector<NestAxis> axes =
        mergeAxes(b_.syms(), group_.domain, r.order, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    if (r.method == Reduction::Method::kSequential && axes.size() > 1)
      return absl::UnimplementedError("sequential float reduction over several axes");
    if (r.method != Reduction::Method::kPairwise) return axes;
    // The axes of a stretch must be one loop; what else was merged with it is not part of the stretch.
    const size_t outer = r.order.size() - r.run;
    IntList chain(r.order.begin(), r.order.begin() + outer), run(r.order.begin() + outer, r.order.end());
    axes = mergeAxes(b_.syms(), group_.domain, chain, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    const std::vector<NestAxis> stretch =
        mergeAxes(b_.syms(), group_.domain, run, emitter_.refs(), group_.reducedAxes, emitter_.indexAxes());
    if (stretch.size() != 1) return absl::UnimplementedError("float sum along axes that operands walk differently");
    if (axes.size() > 1) return absl::UnimplementedError("float sum over several separate axes");
    if (!axes.empty() && (r.buffered || r.dtype == DType::kF16))
      return absl::UnimplementedError("float sum with conversion over several axes");
    axes.push_back(stretch[0]);
    return axes;
  }

  using ElementsFn = std::function<std::vector<Val>()>;

  /// Opens axes[at...] as nested reductions; accumulators of inner ones start from identities.
  std::vector<Val> reduceNest(const Reduction& r, const std::vector<NestAxis>& axes, size_t at,
                              std::vector<AxisId> open, const std::vector<KernelBuilder::Acc>& accs,
                              const ElementsFn& elements) {
    const Val zero = b_.constantInt(DType::kI64, 0), size = b_.param(axes[at].size);
    const bool last = at + 1 == axes.size(), pairwise = r.method == Reduction::Method::kPairwise;
    const bool listed = r.method == Reduction::Method::kListed;
    if (last && r.linear) return stretchedSum(r, axes, open, accs, elements);
    if (last && pairwise && r.buffered) return bufferedSum(r, axes, open, accs, elements);
    if (last) return innermost(r, axes, zero, size, open, accs, elements);
    std::vector<KernelBuilder::Acc> inner = accs;
    if (pairwise)
      for (KernelBuilder::Acc& acc : inner) acc.init = b_.constant(acc.dtype, -0.0);
    const ReduceOrder order = pairwise ? ReduceOrder::kSequential : listed ? ReduceOrder::kListed : ReduceOrder::kAny;
    std::vector<Val> results = b_.reduce(zero, size, false, order, accs, [&](AxisId axis) {
      std::vector<AxisId> deeper = open;
      deeper.push_back(axis);
      return reduceNest(r, axes, at + 1, deeper, inner, elements);
    });
    if (listed && at == kept_.size()) b_.listSum(r.list);
    return results;
  }

  std::vector<Val> innermost(const Reduction& r, const std::vector<NestAxis>& axes, Val lower, Val upper,
                             const std::vector<AxisId>& open, const std::vector<KernelBuilder::Acc>& accs,
                             const ElementsFn& elements) {
    ReduceOrder order = ReduceOrder::kAny;
    if (r.method == Reduction::Method::kSequential) order = ReduceOrder::kSequential;
    if (r.method == Reduction::Method::kPairwise)
      order = graph::isComplex(r.dtype) ? ReduceOrder::kPairwisePart : ReduceOrder::kPairwise;
    if (r.method == Reduction::Method::kListed) order = ReduceOrder::kListed;
    const bool vectorize = !vectorRows_ && order != ReduceOrder::kSequential;
    std::vector<Val> results = b_.reduce(lower, upper, vectorize, order, accs, [&](AxisId axis) {
      std::vector<AxisId> all = open;
      all.push_back(axis);
      std::vector<Val> result;
      emitter_.scoped([&] {
        emitter_.setAxes(&axes, all);
        result = elements();
      });
      return result;
    });
    if (order == ReduceOrder::kListed && axes.size() == kept_.size() + 1) b_.listSum(r.list);
    return results;
  }

  /// Stretches of a linear copy, one after the other.
  std::vector<Val> stretchedSum(const Reduction& r, const std::vector<NestAxis>& axes, const std::vector<AxisId>& open,
                                const std::vector<KernelBuilder::Acc>& accs, const ElementsFn& elements) {
    absl::StatusOr<Stretches> s = stretchesOf(b_, group_.domain, r);
    check(s.status());
    const Val zero = b_.constantInt(DType::kI64, 0);
    if (!s.ok()) return innermost(r, axes, zero, zero, open, accs, elements);
    // Between stretches f16 is rounded; accumulators are not.
    if (r.dtype == DType::kF16) b_.raiseIf(b_.op(ScalarOp::kGt, s->count, b_.constantInt(DType::kI64, 1)), kDecline);
    std::vector<KernelBuilder::Acc> inner = accs;
    for (KernelBuilder::Acc& acc : inner) acc.init = b_.constant(acc.dtype, -0.0);
    return b_.reduce(zero, s->count, false, ReduceOrder::kSequential, accs, [&](AxisId index) {
      const StretchRange range = rangeOf(b_, *s, b_.axisValue(index));
      return innermost(r, axes, range.lower, range.upper, open, inner, elements);
    });
  }

  /// Stretches of NumPy's buffer, one after the other.
  std::vector<Val> bufferedSum(const Reduction& r, const std::vector<NestAxis>& axes, const std::vector<AxisId>& open,
                               const std::vector<KernelBuilder::Acc>& accs, const ElementsFn& elements) {
    graph::SymContext& syms = b_.syms();
    const SymId size = axes.back().size, chunk = syms.constant(graph::kNumpyBufferElements);
    const SymId count = syms.floorDiv(syms.add(size, syms.constant(graph::kNumpyBufferElements - 1)), chunk);
    std::vector<KernelBuilder::Acc> inner = accs;
    for (KernelBuilder::Acc& acc : inner) acc.init = b_.constant(acc.dtype, -0.0);
    return b_.reduce(b_.constantInt(DType::kI64, 0), b_.param(count), false, ReduceOrder::kSequential, accs,
                     [&](AxisId stretch) {
                       const Val lower = b_.op(ScalarOp::kMul, b_.axisValue(stretch), b_.param(chunk));
                       const Val end = b_.op(ScalarOp::kAdd, lower, b_.param(chunk));
                       const Val upper = b_.op(ScalarOp::kMinSecond, end, b_.param(size));
                       return innermost(r, axes, lower, upper, open, inner, elements);
                     });
  }

  /// Where teams of threads reduce: first the extreme, then the least flat index (C order of the reduced axes) where it
  /// stands. Else both at once.
  void argReduce(const Reduction& r) {
    Reduction extreme = r;
    extreme.method = Reduction::Method::kAny;
    extreme.op = r.op == Op::kArgmax ? Op::kMax : Op::kMin;
    absl::StatusOr<Accumulation> a = accumulationOf(b_, extreme);
    check(a.status());
    if (!a.ok()) return;
    // The flat index as if it were an address: axes merge only where it advances evenly too.
    MemoryRef flat{{}, DType::kI64, b_.syms().constant(0), {}};
    flat.strides.assign(group_.domain.size(), b_.syms().constant(0));
    SymId step = b_.syms().constant(1);
    for (size_t i = group_.reducedAxes.size(); i-- > 0;) {
      flat.strides[group_.reducedAxes[i]] = step;
      step = b_.syms().mul(step, group_.domain[group_.reducedAxes[i]]);
    }
    std::vector<const MemoryRef*> refs = emitter_.refs();
    refs.push_back(&flat);
    const std::vector<NestAxis> axes =
        withKept(mergeAxes(b_.syms(), group_.domain, r.order, refs, group_.reducedAxes, emitter_.indexAxes()));
    const auto operand = [&]() -> Value {
      absl::StatusOr<Value> v = emitter_.operandElement(r.id, 0);
      check(v.status());
      return v.ok() ? *v : identityOf(b_, extreme);
    };
    Value pos;
    const DType d = a->accumulators[0].dtype;
    if (b_.numbers() == Numbers::kNumPy) {
      const ScalarOp combine = extreme.op == Op::kMax ? ScalarOp::kMaxSecond : ScalarOp::kMinSecond;
      const Val worst = a->accumulators[0].init;
      const PositionNest nest{r.id, combine, worst, axes, kept_.size(), flat, !vectorRows_, shortRows_};
      emitter_.scoped([&] {
        const absl::StatusOr<Val> found = positionOfExtreme(b_, emitter_, nest);
        check(found.status());
        if (found.ok()) pos = Value{DType::kI64, *found, {}};
      });
      if (status_.ok()) emitter_.define(r.id, pos);
      return;
    }
    emitter_.scoped([&] {
      const auto found = reduceNest(extreme, axes, kept_.size(), emitter_.axisOf(), a->accumulators,
                                    [&] { return a->elements(operand()); });
      const Val none = b_.constantInt(DType::kI64, INT64_MAX);
      const auto first =
          reduceNest(extreme, axes, kept_.size(), emitter_.axisOf(), {{DType::kI64, ScalarOp::kMinSecond, none}}, [&] {
            const Val x = b_.cast(operand().re, d);
            Val hit = b_.op(ScalarOp::kEq, x, found[0]);
            if (found.size() > 1) hit = b_.select(found[1], b_.op(ScalarOp::kIsNan, x), hit);
            return std::vector<Val>{b_.select(hit, flatIndex(flat), none)};
          });
      pos = Value{DType::kI64, first[0], {}};
    });
    emitter_.define(r.id, pos);
  }

  Val flatIndex(const MemoryRef& flat) {
    Val sum = b_.constantInt(DType::kI64, 0);
    const std::vector<NestAxis>& axes = emitter_.axes();
    for (size_t i = kept_.size(); i < axes.size(); ++i) {
      const Val stride = b_.param(flat.strides[axes[i].innermost()]);
      sum = b_.op(ScalarOp::kAdd, sum, b_.op(ScalarOp::kMul, b_.axisValue(emitter_.axisOf()[i]), stride));
    }
    return sum;
  }

  KernelBuilder& b_;
  const graph::Graph& graph_;
  const graph::Group& group_;
  GroupEmitter& emitter_;
  const ReduceGroup& g_;
  absl::Status status_;
  std::vector<NestAxis> kept_;
  bool vectorRows_ = false;
  bool shortRows_ = false;  ///< in the code for rows of a few elements
  absl::flat_hash_map<ValueId, int> storeStage_;
  absl::flat_hash_map<ValueId, std::pair<int, const MemoryRef*>> scratch_;
  absl::flat_hash_set<ValueId> storedOutputs_, keptInMemory_;
  std::vector<std::pair<ValueId, const MemoryRef*>> fresh_;
};

}  // namespace

absl::Status buildReduce(KernelBuilder& b, const graph::Graph& graph, const graph::Group& group,
                         GroupEmitter& emitter) {
  absl::StatusOr<ReduceGroup> g = analyseReduceGroup(graph, group, emitter);
  if (!g.ok()) return g.status();
  if (b.numbers() != Numbers::kNumPy) return RowBuilder(b, graph, group, emitter, *g).run();
  const bool staged = isStaged(group, graph, *g);
  const std::optional<ColumnPlan> columns = staged ? std::nullopt : planColumns(graph, group, emitter, *g);
  if (absl::Status s = keepRaising(b, graph, group, emitter, columns ? Rows::kTogether : Rows::kOneByOne); !s.ok())
    return s;
  for (const Reduction& r : g->reductions) declineUnitAxes(b, group.domain, r);
  if (staged) return buildStaged(b, graph, group, emitter, *g);
  if (columns) return buildColumns(b, graph, group, emitter, *g, *columns);
  return RowBuilder(b, graph, group, emitter, *g).run();
}

}  // namespace fw::kernels
