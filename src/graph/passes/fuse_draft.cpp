// Geometry of groups. An edge from a producer's value to a consumer gives pairs of domain axes that run together. What
// the pairs leave uncovered on either side tells the case:
//
//   producer  consumer
//   all       all        same domain: one loop nest
//   all       some left  the producer is broadcast into a larger domain: computed again for every element, so only if
//                        cheap or along leading axes, and read by nobody else
//   reduced   all        the consumer works on rows of a reduction
//   reduced   as many    the consumer runs over the reduction's domain again (softmax, normalisation)
//
// Anything else stays apart. The join is then validated as a whole: every edge inside must agree with the axis maps.
#include "graph/passes/fuse_draft.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/axes.h"
#include "graph/cost.h"
#include "graph/linear_sum.h"
#include "graph/passes/overwritten.h"
#include "graph/raising.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

bool isUnit(const Graph& graph, SymId size) { return graph.syms().isConst(size, 1); }

bool isArgReduction(Op op) { return op == Op::kArgmax || op == Op::kArgmin; }

bool ascending(const IntList& axes) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (axis < 0) continue;
    if (axis <= last) return false;
    last = axis;
  }
  return true;
}

IntList uncovered(size_t rank, const IntList& covered) {
  IntList left;
  for (size_t axis = 0; axis < rank; ++axis)
    if (std::find(covered.begin(), covered.end(), static_cast<int64_t>(axis)) == covered.end())
      left.push_back(static_cast<int64_t>(axis));
  return left;
}

IntList remapped(const IntList& axes, const IntList& to) {
  IntList result;
  for (int64_t axis : axes) result.push_back(axis < 0 ? -1 : to[axis]);
  return result;
}

/// True if `axes` are the first ones that a loop nest over the draft meets: rows first, then reduced axes.
bool leading(const Draft& draft, IntList axes) {
  IntList order;
  for (size_t axis = 0; axis < draft.domain.size(); ++axis)
    if (!draft.isReduced(static_cast<int64_t>(axis))) order.push_back(static_cast<int64_t>(axis));
  order.insert(order.end(), draft.reduced.begin(), draft.reduced.end());
  order.resize(axes.size());
  std::sort(order.begin(), order.end());
  std::sort(axes.begin(), axes.end());
  return order == axes;
}

bool mayRecompute(const Graph& graph, const Target& target, const Draft& producer, const Draft& consumer,
                  const IntList& toConsumer) {
  // One by one, for each row of the consumer, as well (see validate()).
  const auto isFunction = [&](ValueId id) { return costOf(graph, id) == Cost::kFunction; };
  if (target.space == MemorySpace::kHost && !producer.domain.empty() &&
      std::any_of(producer.values.begin(), producer.values.end(), isFunction))
    return false;
  if (leading(consumer, toConsumer)) return true;
  int total = 0;
  for (ValueId id : producer.values) total += recomputeCost(graph, id);
  return total <= target.recomputeCost;
}

/// Domain axes, innermost first, that a float sum of the draft adds in one go: kernels run them as one loop, so all
/// memory of the group has to be walked evenly along them.
IntList stretchAxes(const Graph& graph, const Draft& draft, ValueId id) {
  const Node& node = graph.node(id);
  if ((node.op != Op::kSum && node.op != Op::kProd) || !isInexact(node.type.dtype)) return {};
  const IntList axes = operandAxes(graph, draft, id, 0);
  const bool linear = node.attrs.has(kRunStrides);
  IntList stretch;
  for (int64_t axis : iterationOrder(graph, linear ? node.operands[0] : orderingOperand(graph, node))) {
    if (!draft.isReduced(axes[axis])) break;
    stretch.push_back(axes[axis]);
  }
  return stretch;
}

/// True if `strides`, given per axis of a value that runs along `axes` of the domain, walk `stretch` evenly.
bool walksEvenly(const Graph& graph, const Draft& draft, const IntList& stretch, const SymList& strides,
                 const IntList& axes) {
  SymContext& syms = graph.syms();
  SymList along(draft.domain.size(), syms.constant(0));
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] >= 0) along[axes[axis]] = strides[axis];
  for (size_t i = 1; i < stretch.size(); ++i) {
    const SymId step = syms.canonical(syms.mul(along[stretch[i - 1]], draft.domain[stretch[i - 1]]));
    if (syms.provablyEqual(syms.canonical(along[stretch[i]]), step) != true) return false;
  }
  return true;
}

/// All memory that the draft may touch is even along the stretches of its sums.
bool stretchesAreLinear(const Graph& graph, const Draft& draft, ValueId sum) {
  const IntList stretch = stretchAxes(graph, draft, sum);
  if (stretch.size() < 2) return true;
  const Node& reduction = graph.node(sum);
  if (reduction.attrs.has(kRunStrides) && draft.contains(reduction.operands[0])) return draft.values.size() == 2;
  for (ValueId user : draft.values) {
    const Node& node = graph.node(user);
    for (size_t i = firstRead(graph, user); i < node.operands.size(); ++i) {
      const ValueId base = viewBase(graph, node.operands[i]);
      if (draft.contains(followIndexMaps(graph, node.operands[i]).base) || graph.type(base).rank() == 0) continue;
      const IntList axes = operandAxes(graph, draft, user, i);
      if (graph.node(base).op == Op::kIota) {
        for (int64_t axis : axes)
          if (std::find(stretch.begin(), stretch.end(), axis) != stretch.end()) return false;
        continue;
      }
      if (graph.node(base).op == Op::kFull) continue;
      absl::StatusOr<AffineView> view = resolveView(graph, node.operands[i], materialisedStrides(graph, base));
      if (view.ok() && !walksEvenly(graph, draft, stretch, view->strides, axes)) return false;
    }
    const IntList& own = draft.axisMap.at(user);
    const bool full = std::all_of(stretch.begin(), stretch.end(),
                                  [&](int64_t axis) { return std::find(own.begin(), own.end(), axis) != own.end(); });
    if (full && !walksEvenly(graph, draft, stretch, materialisedStrides(graph, user), own)) return false;
  }
  return true;
}

/// The innermost axis in memory is kept: kernels add whole rows into rows of accumulators, in one pass.
bool reducesColumns(const Graph& graph, const Draft& draft, ValueId reduction) {
  const ValueId operand = graph.node(reduction).operands[0];
  const IntList order = iterationOrder(graph, operand), axes = operandAxes(graph, draft, reduction, 0);
  return !order.empty() && !draft.isReduced(axes[order[0]]);
}

/// Column reductions accumulate in the memory of an output: each is one itself (no member reads it), or a last row
/// value of its type can lend its memory until it is computed.
bool columnsFindMemory(const Graph& graph, const Draft& draft) {
  absl::flat_hash_set<ValueId> read;
  for (ValueId user : draft.values)
    for (ValueId operand : graph.node(user).operands) read.insert(followIndexMaps(graph, operand).base);
  std::vector<ValueId> lenders;
  for (ValueId id : draft.values) {
    const IntList& axes = draft.axisMap.at(id);
    const auto kept = std::count_if(axes.begin(), axes.end(), [&](int64_t a) { return a >= 0 && !draft.isReduced(a); });
    const bool row = std::none_of(axes.begin(), axes.end(), [&](int64_t a) { return draft.isReduced(a); });
    const bool reduces = classOf(graph, id) == OpClass::kReduction;
    if (row && !reduces && !read.contains(id) && kept == static_cast<int64_t>(draft.rowRank())) lenders.push_back(id);
  }
  for (ValueId id : draft.values) {
    if (classOf(graph, id) != OpClass::kReduction || !read.contains(id)) continue;
    const auto lender = std::find_if(lenders.begin(), lenders.end(),
                                     [&](ValueId other) { return graph.type(other).dtype == graph.type(id).dtype; });
    if (lender == lenders.end()) return false;
    lenders.erase(lender);
  }
  return true;
}

/// Every edge inside agrees with the axis maps; nothing reads a member through a real view; a whole-array reduction has
/// no consumer over the array, nor has one of columns; sums find their stretches in one piece.
bool validate(const Graph& graph, const Target& target, Draft& draft) {
  absl::flat_hash_map<ValueId, bool> afterReduce;
  int reductions = 0;
  bool argReduction = false, columns = false, runsAgain = false, rowFunction = false;
  for (ValueId user : draft.values) {
    const Node& node = graph.node(user);
    const bool reduces = classOf(graph, user) == OpClass::kReduction;
    reductions += reduces;
    columns |= reduces && reducesColumns(graph, draft, user);
    const bool stretches = reduces && target.numpySums && !target.listedSums;
    if (stretches && !stretchesAreLinear(graph, draft, user)) return false;
    argReduction |= isArgReduction(node.op);
    bool after = reduces;
    if (readsAnywhere(graph, user, 0) && draft.contains(viewBase(graph, node.operands[0]))) return false;
    for (size_t i = firstRead(graph, user); i < node.operands.size(); ++i) {
      const IndexMap map = followIndexMaps(graph, node.operands[i]);
      if (!draft.contains(map.base)) {
        if (draft.contains(viewBase(graph, map.base))) return false;
        continue;
      }
      if (axesThrough(graph, draft, user, i, map) != draft.axisMap.at(map.base)) return false;
      after |= afterReduce[map.base];
    }
    afterReduce[user] = after;
    bool runsAlongReduced = false;
    for (int64_t axis : draft.axisMap.at(user)) runsAlongReduced |= axis >= 0 && draft.isReduced(axis);
    runsAgain |= after && runsAlongReduced;
    rowFunction |= after && !runsAlongReduced && costOf(graph, user) == Cost::kFunction;
  }
  if (reductions > target.groupReductions) return false;
  if (runsAgain && (columns || draft.rowRank() == 0)) return false;
  // A processor takes rows one by one. By itself, a function of what each has been reduced to is computed in vectors.
  if (rowFunction && target.space == MemorySpace::kHost && !columns && draft.rowRank() > 0) return false;
  if (columns && !columnsFindMemory(graph, draft)) return false;
  if (argReduction && reductions != 1) return false;
  return settleUpdates(graph, target, draft);
}

Draft unite(const Draft& from, const Draft& into, const IntList& to) {
  Draft joined = into;
  for (ValueId id : from.values) {
    joined.values.push_back(id);
    joined.axisMap[id] = remapped(from.axisMap.at(id), to);
  }
  std::sort(joined.values.begin(), joined.values.end());
  joined.sealed = from.sealed || into.sealed;
  if (!joined.errors) joined.errors = from.errors;
  if (from.kind == Group::Kind::kUpdate) joined.kind = from.kind;
  if (from.kind == Group::Kind::kReduce) {
    joined.kind = Group::Kind::kReduce;
    joined.reduced = remapped(from.reduced, to);
    std::sort(joined.reduced.begin(), joined.reduced.end());
  }
  return joined;
}

}  // namespace

bool Draft::isReduced(int64_t axis) const { return std::find(reduced.begin(), reduced.end(), axis) != reduced.end(); }

int recomputeCost(const Graph& graph, ValueId id) {
  switch (costOf(graph, id)) {
    case Cost::kFree: return 0;
    case Cost::kCheap: return isComplex(graph.type(id).dtype) ? 4 : 1;
    case Cost::kCostly:
    case Cost::kFunction: return kExpensive;
    case Cost::kModulus: break;
  }
  FW_UNREACHABLE();
}

absl::StatusOr<Draft> singleDraft(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  Draft draft;
  draft.values = {id};
  draft.errors = commonRules(graph, draft.values);
  const OpClass cls = info(node.op).cls;
  if (cls == OpClass::kControl) {
    draft.kind = Group::Kind::kControl;
    draft.axisMap[id] = {};
    draft.sealed = true;
    return draft;
  }
  const bool reduces = cls == OpClass::kReduction;
  const SymShape& shape = reduces ? graph.type(node.operands[0]).shape : node.type.shape;
  IntList domainAxis;  // of every axis of `shape`
  for (SymId size : shape) {
    const bool unit = isUnit(graph, size);
    domainAxis.push_back(unit ? -1 : static_cast<int64_t>(draft.domain.size()));
    if (!unit) draft.domain.push_back(size);
  }
  if (reduces) {
    draft.kind = Group::Kind::kReduce;
    const IntList& axes = node.attrs.ints(AttrKey::kAxes);
    const bool keepdims = node.attrs.integerOr(AttrKey::kKeepdims, 0) != 0;
    IntList map;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
      if (gone && domainAxis[axis] >= 0) draft.reduced.push_back(domainAxis[axis]);
      if (!gone || keepdims) map.push_back(gone ? -1 : domainAxis[axis]);
    }
    if (draft.reduced.empty()) return absl::UnimplementedError("plan: a reduction over axes of size 1 only");
    draft.axisMap[id] = map;
    draft.sealed = isArgReduction(node.op);
    return draft;
  }
  draft.axisMap[id] = domainAxis;
  if (cls == OpClass::kJoin) draft.kind = Group::Kind::kJoin;
  if (cls == OpClass::kUpdate) {
    draft.kind = Group::Kind::kUpdate;
    // The kernel runs over the stored slice, not over the base.
    const SymShape& slice = graph.type(node.operands[1]).shape;
    draft.domain.clear();
    for (size_t axis = 0; axis < slice.size(); ++axis) {
      const bool unit = isUnit(graph, slice[axis]);
      draft.axisMap[id][axis] = unit ? -1 : static_cast<int64_t>(draft.domain.size());
      if (!unit) draft.domain.push_back(slice[axis]);
    }
  }
  draft.sealed = cls == OpClass::kJoin || ownsMemory(graph, id);
  return draft;
}

IntList operandAxes(const Graph& graph, const Draft& draft, ValueId user, size_t index) {
  return operandAxes(graph, draft.axisMap.at(user), draft.reduced, user, index);
}

IntList axesThrough(const Graph& graph, const Draft& draft, ValueId user, size_t index, const IndexMap& map) {
  const IntList axes = operandAxes(graph, draft, user, index);
  IntList result;
  for (int64_t axis : map.axes) result.push_back(axis < 0 ? -1 : axes[axis]);
  return result;
}

namespace {

/// The axis that loops of the draft run along first, in the order in which an update lies in memory.
std::optional<int64_t> outermostAxis(const Graph& graph, const Draft& draft, ValueId update) {
  const IntList& axes = draft.axisMap.at(update);
  for (int8_t axis : graph.type(update).layout.order)
    if (axes[axis] >= 0) return axes[axis];
  return std::nullopt;
}

bool runsAlongAll(const Draft& draft, ValueId id) {
  const IntList& axes = draft.axisMap.at(id);
  const auto runs = std::count_if(axes.begin(), axes.end(), [](int64_t axis) { return axis >= 0; });
  return static_cast<size_t>(runs) == draft.domain.size();
}

}  // namespace

// Updates store into memory that members may read, and have to find there what was there before. The older version
// itself is made by another group, whoever reads the new one is in another, and two updates do not share memory. So
// three cases are left for what a member reads: nothing of it is stored to, or the very element of the point, which is
// loaded ahead of its store; or rows that other points store to, at a distance that is known: then all stores are held
// back so far.
bool settleUpdates(const Graph& graph, const Target& target, Draft& draft) {
  draft.held.reset();
  if (draft.kind != Group::Kind::kUpdate) return true;
  absl::flat_hash_set<ValueId> written;  // first versions
  Overwritten stores(graph);
  std::optional<int64_t> outermost;
  for (ValueId id : draft.values) {
    if (graph.node(id).op != Op::kUpdate) continue;
    if (draft.contains(graph.node(id).operands[0]) || !runsAlongAll(draft, id)) return false;
    if (!written.insert(firstVersion(graph, id)).second) return false;
    stores.addUpdate(id, draft.axisMap.at(id), draft.domain);
    if (!outermost) outermost = outermostAxis(graph, draft, id);
  }
  int64_t delay = 0;
  bool held = false;
  for (ValueId user : draft.values) {
    const Node& node = graph.node(user);
    for (size_t i = node.op == Op::kUpdate ? 1 : 0; i < node.operands.size(); ++i) {
      const ValueId base = viewBase(graph, node.operands[i]);
      if (!written.contains(firstVersion(graph, base))) continue;
      if (draft.contains(base) || !stores.writes(base) || readsAnywhere(graph, user, i)) return false;
      if (draft.domain.empty()) continue;  // one point: everything is loaded ahead
      const IntList axes = operandAxes(graph, draft, user, i);
      const absl::StatusOr<bool> free = stores.undisturbed(node.operands[i], axes, draft.domain);
      if (!free.ok()) return false;
      if (*free) continue;
      const std::optional<int64_t> rows = stores.delay(node.operands[i], axes, *outermost);
      if (!rows) return false;
      held = true;
      delay = std::max(delay, *rows);
    }
  }
  const int64_t most = draft.domain.size() == 1 ? target.heldElements : target.heldRows;
  if (held && (target.heldRows == 0 || delay > most)) return false;
  if (held) draft.held = {*outermost, delay};
  return true;
}

bool mayJoin(const Target& target, const Draft& a, const Draft& b) {
  using Kind = Group::Kind;
  const auto joinable = [](const Draft& draft, const Draft& other) {
    return draft.kind == Kind::kMap || (draft.kind == Kind::kReduce && other.kind != Kind::kUpdate) ||
           (draft.kind == Kind::kUpdate && other.kind != Kind::kReduce);
  };
  // Flags are the kernel's, not the operation's.
  if (target.reportsFlags && a.errors && b.errors && *a.errors != *b.errors) return false;
  return joinable(a, b) && joinable(b, a) && a.values.size() + b.values.size() <= target.groupValues;
}

std::optional<Draft> joinAlongEdge(const Graph& graph, const Target& target, const Draft& producer,
                                   const Draft& consumer, ValueId user, size_t index, const IndexMap& map,
                                   bool closed) {
  if (!mayJoin(target, producer, consumer)) return std::nullopt;
  const bool stages = closed && !target.listedSums && producer.values.size() == 1 && consumer.values.size() == 1 &&
                      mayStage(graph, user) && graph.node(user).operands[0] == producer.values[0];
  if (producer.sealed && !stages) return std::nullopt;
  const IntList& from = producer.axisMap.at(map.base);
  const IntList through = axesThrough(graph, consumer, user, index, map);
  IntList to(producer.domain.size(), -1);
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] < 0 || through[axis] < 0) continue;
    if (to[from[axis]] >= 0 && to[from[axis]] != through[axis]) return std::nullopt;
    to[from[axis]] = through[axis];
  }
  const bool producerReduces = producer.kind == Group::Kind::kReduce;
  const bool consumerReduces = consumer.kind == Group::Kind::kReduce;
  IntList coveredProducer;
  for (size_t axis = 0; axis < to.size(); ++axis)
    if (to[axis] >= 0) coveredProducer.push_back(static_cast<int64_t>(axis));
  const IntList leftProducer = uncovered(producer.domain.size(), coveredProducer);
  const IntList leftConsumer = uncovered(consumer.domain.size(), to);
  std::optional<Draft> joined;
  if (leftProducer.empty() && leftConsumer.empty()) {
    if (!ascending(to)) return std::nullopt;
    if (producerReduces && consumerReduces && remapped(producer.reduced, to) != consumer.reduced) return std::nullopt;
    joined = unite(producer, consumer, to);
  } else if (leftProducer.empty()) {
    if (producerReduces || !closed || !mayRecompute(graph, target, producer, consumer, to)) return std::nullopt;
    joined = unite(producer, consumer, to);
  } else if (!producerReduces || leftProducer != producer.reduced) {
    return std::nullopt;
  } else if (leftConsumer.empty()) {
    if (consumerReduces) return std::nullopt;
    IntList back(consumer.domain.size(), -1);
    for (size_t axis = 0; axis < to.size(); ++axis)
      if (to[axis] >= 0) back[to[axis]] = static_cast<int64_t>(axis);
    joined = unite(consumer, producer, back);
  } else {
    if (leftConsumer.size() != leftProducer.size() || producer.rowRank() == 0) return std::nullopt;
    for (size_t i = 0; i < leftProducer.size(); ++i) {
      if (producer.domain[leftProducer[i]] != consumer.domain[leftConsumer[i]]) return std::nullopt;
      to[leftProducer[i]] = leftConsumer[i];
    }
    if (!ascending(to)) return std::nullopt;
    if (consumerReduces && remapped(producer.reduced, to) != consumer.reduced) return std::nullopt;
    joined = unite(producer, consumer, to);
  }
  if (!validate(graph, target, *joined)) return std::nullopt;
  return joined;
}

std::optional<Draft> joinSideBySide(const Graph& graph, const Target& target, const Draft& a, const Draft& b) {
  if (!mayJoin(target, a, b) || a.sealed || b.sealed || a.domain != b.domain || a.domain.empty()) return std::nullopt;
  const bool aReduces = a.kind == Group::Kind::kReduce, bReduces = b.kind == Group::Kind::kReduce;
  if (aReduces && bReduces && a.reduced != b.reduced) return std::nullopt;
  // A map runs in parallel; next to a whole-array reduction it would not.
  if (aReduces != bReduces && (aReduces ? a : b).rowRank() == 0) return std::nullopt;
  IntList same;
  for (size_t axis = 0; axis < a.domain.size(); ++axis) same.push_back(static_cast<int64_t>(axis));
  Draft joined = unite(a, b, same);
  if (!validate(graph, target, joined)) return std::nullopt;
  return joined;
}

}  // namespace fw::graph
