// First step of makePlan: makes explicit, as copy nodes, every place where a value needs memory of its own.
//
// - reshape: a view if resolveView can prove it from the SymIds; otherwise its operand is first copied into packed C
//   order, of which every reshape is a view; so is one on top of very many views. A reshape that NumPy answers with a
//   copy and that reaches an output is copied too. Afterwards every reshape is a view (copy=0). A reshape that NumPy
//   answers with a view and that reaches an output must resolve.
// - update: its buffer is its base's buffer. The base is copied first if it is an input, a view, a source or an output,
// or if
//   anything reads it that does not have to run before the update anyway.
// - slices and transposes of a value that an update has stored, and nothing has overwritten, are read from the update.
// - concatenate: its operands are in memory, so constants and symbolic integers are copied there.
// - reductions of one element per result become what they answer (the decompose pass makes some).
// - float sums that NumPy adds in stretches across rows: over a linear copy of the operand (linear_sum.h).
// - outputs: constants and symbolic integers are copied into a buffer.
// - store: a value that is read through views from what commits write is copied; the target's views must resolve.
// - calls: as concatenate; and what lies otherwise than in NumPy is copied (lying.h).
// - loops, branches, binds: what regions get and answer is packed memory of ours, in one layout inside and outside;
//   but an input that is only read where library functions are called stays where it is: what those compute may depend
//   on the strides of what they are given.
//   What they change in place (in_place.h) is memory of its own before they begin, but for inputs that a loop rewrites;
//   what else a region answers is a fresh value of its own for each result, but that a loop may hand a carried value on
//   in another's place: then memory changes places.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/linear_sum.h"
#include "graph/passes/control.h"
#include "graph/passes/fuse_draft.h"
#include "graph/passes/in_place.h"
#include "graph/passes/lying.h"
#include "graph/passes/planning.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/two_memories.h"
#include "graph/passes/unit_reduction.h"
#include "graph/rewriting.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {

ValueId addCopy(Graph& graph, ValueId value, int64_t serial, Layout layout) {
  const ValueType& from = graph.type(value);
  ValueType type{from.dtype, from.shape, std::move(layout), {}};
  Attrs attrs;
  attrs.set(AttrKey::kIndex, serial);
  return graph.addTyped(Op::kCopy, {value}, std::move(type), std::move(attrs));
}

namespace {

ValueId addCopy(Graph& graph, ValueId value, int64_t serial) {
  return addCopy(graph, value, serial, Layout::c(graph.type(value).rank()));
}

/// Views below an output or the target of a store, these included: their memory is the caller's business.
absl::flat_hash_set<ValueId> viewsUnderOutputs(const Graph& graph) {
  absl::flat_hash_set<ValueId> views;
  std::vector<ValueId> roots = graph.outputs();
  for (ValueId store : graph.commits()) roots.push_back(graph.node(store).operands[0]);
  for (ValueId value : roots)
    for (; isView(graph, value); value = graph.node(value).operands[0]) views.insert(value);
  return views;
}

class Preparer {
 public:
  /// `owned`: inputs whose memory a region may overwrite.
  Preparer(const Graph& graph, const Target& target, absl::flat_hash_set<ValueId> owned)
      : target_(target),
        underOutput_(viewsUnderOutputs(graph)),
        overwriting_(graph, std::move(owned)) {
    for (ValueId output : graph.outputs())
      if (isView(graph, output)) viewed_.insert(viewBase(graph, output));
    const std::vector<bool> live = liveValues(graph);
    for (size_t i = 0; i < graph.size(); ++i) {
      if (!live[i]) continue;
      const Node& node = graph.node(ValueId(i));
      if (node.op == Op::kCopy) copies_ = std::max(copies_, node.attrs.integerOr(AttrKey::kIndex, 0));
      if (node.op == Op::kUpdate) findStored(graph, ValueId(i));
    }
  }

  absl::Status visit(Rewriter& rw, ValueId id) {
    const Op op = rw.in().node(id).op;
    switch (info(op).cls) {
      case OpClass::kView:
        if (overwriting_.isTaken(id)) return take(rw, id);
        if (op == Op::kReshape) return reshape(rw, id);
        if (op == Op::kSlice || op == Op::kTranspose) return view(rw, id);
        break;
      case OpClass::kUpdate: return op == Op::kStore ? store(rw, id) : update(rw, id);
      case OpClass::kJoin:
      case OpClass::kGather: return join(rw, id);
      case OpClass::kReduction: return reduction(rw, id);
      case OpClass::kSource:
        rw.copyNode(id);
        // The views and their base are one array.
        if (op != Op::kInput && viewed_.contains(id)) rw.set(id, addCopy(rw.out(), rw.map(id), ++copies_));
        return absl::OkStatus();
      case OpClass::kControl:
        if (hasRegions(op) || op == Op::kDefine) return control(rw, id);
        if (op == Op::kCall) return join(rw, id);
        break;
      case OpClass::kElementwise:
      case OpClass::kScan:
      case OpClass::kCreation: break;
    }
    rw.copyNode(id);
    return absl::OkStatus();
  }

 private:
  /// The value is in the memory of the update as long as no other one continues there.
  void findStored(const Graph& graph, ValueId update) {
    const ValueId value = graph.node(update).operands[1];
    const auto mayChange = [&](ValueId user) {
      const Node& node = graph.node(user);
      return info(node.op).cls == OpClass::kControl || (node.op == Op::kUpdate && node.operands[0] == update);
    };
    if (classOf(graph, value) != OpClass::kElementwise) return;
    const std::vector<ValueId>& users = overwriting_.users(update);
    if (std::none_of(users.begin(), users.end(), mayChange)) storedIn_.try_emplace(value, update);
  }

  /// Reductions and calls go by the memory that NumPy's operand has.
  bool goesByMemory(const Graph& graph, ValueId view) const {
    const std::vector<ValueId>& users = overwriting_.users(view);
    return std::any_of(users.begin(), users.end(), [&](ValueId user) {
      const OpClass cls = classOf(graph, user);
      const bool follows = cls == OpClass::kView || graph.node(user).op == Op::kCast;
      return cls == OpClass::kReduction || cls == OpClass::kScan || cls == OpClass::kControl ||
             (follows && goesByMemory(graph, user));
    });
  }

  /// An element is taken from its array before that is overwritten.
  absl::Status take(Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    rw.set(id, addCopy(rw.out(), rw.map(id), ++copies_));
    return absl::OkStatus();
  }

  /// A part of a value that an update has stored is read where it was stored: the value itself needs no memory then.
  absl::Status view(Rewriter& rw, ValueId id) {
    const auto stored = storedIn_.find(rw.in().node(id).operands[0]);
    if (stored == storedIn_.end() || id < stored->second || underOutput_.contains(id) || goesByMemory(rw.in(), id)) {
      rw.copyNode(id);
      return absl::OkStatus();
    }
    const Node& update = rw.in().node(stored->second);
    const ValueId whole = rw.out().slice(rw.map(stored->second), update.attrs.syms(AttrKey::kStarts),
                                         update.attrs.syms(AttrKey::kSteps), rw.in().type(stored->first).shape);
    rw.copyNode(id, {&whole, 1});
    return absl::OkStatus();
  }

  absl::Status reduction(Rewriter& rw, ValueId id) {
    const ValueId operand = rw.map(rw.in().node(id).operands[0]);
    // The index 0 needs no element; in a region, what that may raise has no other reader.
    const Op op = rw.in().node(id).op;
    const bool misses = rw.in().isRegion() && (op == Op::kArgmax || op == Op::kArgmin);
    const auto now = misses ? std::nullopt : reduceUnitAxes(rw.out(), rw.in().node(id), operand);
    if (now) {
      const bool shares = viewBase(rw.out(), *now) == viewBase(rw.out(), operand);
      const bool copies = shares && overwriting_.outputs().contains(id);
      if ((shares || isView(rw.out(), *now)) && !copies) borrowed_.insert(id);
      rw.set(id, copies ? addCopy(rw.out(), *now, ++copies_, rw.in().type(id).layout) : *now);
      return absl::OkStatus();
    }
    const Node& node = rw.in().node(id);
    absl::StatusOr<std::optional<LinearSum>> linear = std::nullopt;
    if (target_.numpySums) linear = linearise(rw.in(), node);
    if (!linear.ok() && !target_.listedSums) return linear.status();
    if (!linear.ok() || !linear->has_value()) {
      rw.copyNode(id);
      return absl::OkStatus();
    }
    if (target_.listedSums) {
      Attrs attrs = node.attrs;
      attrs.set(kRunStrides, (*linear)->runStrides);
      rw.set(id, rw.out().addTyped(node.op, {operand}, node.type, std::move(attrs)));
      return absl::OkStatus();
    }
    ValueType type = rw.out().type(operand);
    type.layout = (*linear)->layout;
    Attrs own, attrs = node.attrs;
    own.set(kOwnMemory, int64_t{1});
    attrs.set(kRunStrides, (*linear)->runStrides);
    const ValueId copy = rw.out().addTyped(Op::kCopy, {operand}, std::move(type), std::move(own));
    rw.set(id, rw.out().addTyped(node.op, {copy}, node.type, std::move(attrs)));
    return absl::OkStatus();
  }

  static bool callsLibrary(const Graph& graph) {
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      const auto calls = [](const std::unique_ptr<Graph>& region) { return callsLibrary(*region); };
      if (node.op == Op::kCall || std::any_of(node.regions.begin(), node.regions.end(), calls)) return true;
    }
    return false;
  }

  /// The regions of `node` take `given`, their input number k, as it lies in memory.
  static bool mayLend(const Node& node, size_t k, ValueId given, const Graph& graph) {
    bool calls = false;
    for (const std::unique_ptr<Graph>& region : node.regions) {
      const ValueId input = inputOf(*region, k);
      if (input.valid() && region->type(input).layout != graph.type(given).layout) return false;
      calls |= callsLibrary(*region);
    }
    return calls;
  }

  /// What regions are given.
  absl::Status control(Rewriter& rw, ValueId id) {
    const Node& node = rw.in().node(id);
    const size_t leading = leadingOperands(node.op);
    const std::vector<std::optional<size_t>> inPlace = answersInPlace(node);
    const auto changes = [&](size_t i) {
      if (node.op == Op::kLoop) return !carriesThrough(*node.regions[0], i);
      return i >= leading && std::count(inPlace.begin(), inPlace.end(), i - leading) > 0;
    };
    std::vector<ValueId> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId old = node.operands[i], now = rw.map(old);
      const bool keeps = rewrites(node, i) || overwriting_.isOurs(id, i) && !borrowed_.contains(old) &&
                                                  (!changes(i) || overwriting_.mayOverwrite(old, id));
      Layout layout = packedLike(rw.in().type(old).layout);
      if (i >= leading && memoryLayout(node, i - leading).rank() == layout.rank())
        layout = memoryLayout(node, i - leading);
      const bool lends =
          i >= leading && !changes(i) && lentInput(rw.in(), old) && mayLend(node, i - leading, old, rw.in());
      operands.push_back(keeps || lends ? now : addCopy(rw.out(), now, ++copies_, layout));
    }
    rw.copyNode(id, operands);
    return absl::OkStatus();
  }

  /// Joins, gathers and calls read memory: scalars of the graph get some.
  absl::Status join(Rewriter& rw, ValueId id) {
    std::vector<ValueId> operands;
    for (ValueId old : rw.in().node(id).operands) {
      const ValueId operand = rw.map(old);
      const Op base = rw.out().node(viewBase(rw.out(), operand)).op;
      const bool scalar = base == Op::kConstant || base == Op::kSym;
      operands.push_back(scalar ? addCopy(rw.out(), operand, ++copies_) : operand);
      if (rw.in().node(id).op != Op::kCall || !liesOtherwise(rw.out(), operand)) continue;
      ValueId& copy = lying_[operand];
      if (!copy.valid()) copy = copyWithGaps(rw.out(), operand, ++copies_);
      operands.back() = copy;
    }
    rw.copyNode(id, operands);
    return absl::OkStatus();
  }

  absl::Status reshape(Rewriter& rw, ValueId id) {
    const bool output = underOutput_.contains(id);
    const Node& node = rw.in().node(id);
    const bool copies = node.attrs.integerOr(AttrKey::kCopy, 0) != 0;
    Attrs attrs;
    attrs.set(AttrKey::kCopy, int64_t{0});
    const ValueId operand = rw.map(node.operands[0]);
    const bool deep = !output && isDeep(rw.out(), operand);
    if (!(copies && output) && !deep) {
      const ValueId now = rw.out().addTyped(Op::kReshape, {operand}, node.type, attrs);
      const ValueId base = viewBase(rw.out(), now);
      absl::StatusOr<AffineView> view = resolveView(rw.out(), now, materialisedStrides(rw.out(), base));
      if (view.ok()) {
        rw.set(id, now);
        return absl::OkStatus();
      }
      if (output)
        return absl::UnimplementedError("plan: a returned reshape is not provably a view: " +
                                        std::string(view.status().message()));
    }
    rw.set(id, rw.out().addTyped(Op::kReshape, {addCopy(rw.out(), operand, ++copies_)}, node.type, attrs));
    return absl::OkStatus();
  }

  /// More views on top of each other than anybody writes: resolving each reshape among n of them takes n * n steps.
  static bool isDeep(const Graph& graph, ValueId value) {
    constexpr int kMaxViews = 64;
    int depth = 0;
    for (; isView(graph, value) && depth < kMaxViews; ++depth) value = graph.node(value).operands[0];
    return depth == kMaxViews;
  }

  absl::Status update(Rewriter& rw, ValueId id) {
    const Node& node = rw.in().node(id);
    ValueId base = rw.map(node.operands[0]);
    const ValueId value = rw.map(node.operands[1]);
    if (borrowed_.contains(node.operands[0]) || !overwriting_.mayOverwrite(node.operands[0], id))
      base = addCopy(rw.out(), base, ++copies_, packedLike(node.type.layout));
    const ValueId operands[] = {base, value};
    rw.copyNode(id, operands);
    return absl::OkStatus();
  }

  absl::Status store(Rewriter& rw, ValueId id) {
    rw.copyNode(id);
    const ValueId store = rw.map(id), value = rw.out().node(store).operands[1];
    absl::StatusOr<bool> needsCopy = readsWritten(rw.out(), store, writes_);
    if (!needsCopy.ok()) return needsCopy.status();
    if (*needsCopy) {
      const ValueId target = rw.out().node(store).operands[0];
      const ValueId operands[] = {target,
                                  addCopy(rw.out(), value, ++copies_, packedLike(rw.out().type(target).layout))};
      rw.copyNode(id, operands);
    }
    writes_.add(rw.out(), rw.map(id));
    return absl::OkStatus();
  }

  const Target& target_;
  absl::flat_hash_set<ValueId> underOutput_;
  absl::flat_hash_set<ValueId> viewed_;             // what outputs are views of
  absl::flat_hash_map<ValueId, ValueId> storedIn_;  // by value: the update that has stored it last
  absl::flat_hash_set<ValueId> borrowed_;           // reductions over axes of one element: memory of others
  absl::flat_hash_map<ValueId, ValueId> lying_;     // copies for calls, of values of the result
  Writes writes_;                                   // by the commits so far
  int64_t copies_ = 0;  // the latest number of a copy: capture, too, keeps copies apart by numbers
  const Overwriting overwriting_;
};

}  // namespace

std::optional<int64_t> lentInput(const Graph& graph, ValueId value) {
  const Node& node = graph.node(value);
  const Layout& layout = node.type.layout;
  const bool regular = layout.contiguity == Contiguity::kPacked && !layout.broadcastAxes && !layout.negativeAxes;
  if (node.op != Op::kInput || regular) return std::nullopt;
  if (!graph.isRegion()) return node.attrs.integer(AttrKey::kIndex);
  return node.attrs.has(AttrKey::kLent) ? std::optional(node.attrs.integer(AttrKey::kLent)) : std::nullopt;
}

SymList materialisedStrides(const Graph& graph, ValueId value) {
  SymContext& syms = graph.syms();
  const ValueType& type = graph.type(value);
  const Layout& layout = type.layout;
  // Memory of ours is packed, also where NumPy's array at that point of the program is not.
  const std::optional<int64_t> given = lentInput(graph, value);
  if (!given) return packedStrides(syms, type.shape, packedLike(layout), type.dtype);
  SymList strides;
  const std::string prefix = "t" + std::to_string(*given) + "_";
  for (int axis = 0; axis < type.rank(); ++axis) {
    const bool inner = layout.contiguity == Contiguity::kInner && axis == layout.order.back();
    const std::string name = prefix + std::to_string(axis);
    if (layout.broadcastAxes >> axis & 1) {
      strides.push_back(syms.constant(0));
    } else if (inner && !(layout.negativeAxes >> axis & 1)) {
      strides.push_back(syms.constant(itemSize(type.dtype)));
    } else if (std::optional<SymId> symbol = syms.findSymbol(name)) {
      strides.push_back(*symbol);
    } else {
      FW_CHECK_MSG(syms.isConst(type.shape[axis], 1), "no symbol " + name + " for the stride of a strided input");
      strides.push_back(syms.constant(0));
    }
  }
  return strides;
}

namespace {

/// The project of a value that a loop hands on is that value.
absl::Status forwardCarriedThrough(Graph& graph) {
  bool some = false;
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(ValueId(i));
    if (node.op != Op::kLoop) continue;
    if (node.regions.size() != 1 || node.regions[0]->outputs().size() != node.operands.size() + 1)
      return absl::InternalError("plan: a loop whose turns answer another number of values than they get");
    some = true;
  }
  if (!some) return absl::OkStatus();
  return rewrite(graph, [](Rewriter& rw, ValueId id) {
    const Node& node = rw.in().node(id);
    if (node.op == Op::kProject) {
      const auto index = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
      if (const ValueId given = handedOn(rw.out(), rw.map(node.operands[0]), index); given.valid()) {
        rw.set(id, given);
        return absl::OkStatus();
      }
    }
    rw.copyNode(id);
    return absl::OkStatus();
  });
}

absl::Status prepare(Graph& graph, const Target& target, absl::flat_hash_set<ValueId> owned);

/// Results of a region get memory of their own, but for those that stay `inPlace` (answersInPlace).
absl::Status settleOutputs(const Node& control, absl::Span<const std::optional<size_t>> inPlace, Graph& region) {
  const size_t leading = leadingOutputs(control.op);
  absl::flat_hash_set<ValueId> taken;
  int64_t serial = -2;  // others of a graph have other numbers
  for (size_t i = 0; i < region.outputs().size(); ++i) {
    ValueId& output = region.outputs()[i];
    const bool result = i >= leading;
    const Node& node = region.node(output);
    const Layout own = packedLike(node.type.layout);
    const Layout layout = result ? packedLike(control.type.tuple[i - leading].layout) : own;
    if (layout != own && layout.rank() != own.rank()) return absl::InternalError("plan: ranks of a result differ");
    bool keeps = !isView(region, output) && own == layout && !taken.contains(output);
    if (node.op == Op::kConstant || node.op == Op::kSym) keeps = false;
    const Node& memory = region.node(memoryOf(region, output));
    const std::optional<size_t> place = result ? inPlace[i - leading] : std::nullopt;
    if (memory.op == Op::kInput && result) {
      const auto from = static_cast<size_t>(memory.attrs.integer(AttrKey::kIndex));
      if (control.op != Op::kLoop) keeps &= place == from;
      if (node.op == Op::kInput && control.op == Op::kLoop)
        keeps &= from == i - leading || !carriesThrough(region, from);
    }
    if (place && !keeps) return absl::InternalError("plan: a result does not stay where it was to stay");
    if (isGiven(region, output)) keeps = false;
    if (!keeps) output = addCopy(region, output, serial--, layout);
    if (result) taken.insert(output);
  }
  return absl::OkStatus();
}

/// `given`: inputs of the graph that it may overwrite.
absl::Status prepareRegions(Graph& graph, const Target& target, absl::flat_hash_set<ValueId> given) {
  const Overwriting overwriting(graph, std::move(given));
  for (size_t i = 0; i < graph.size(); ++i) {
    Node& node = graph.mutableNode(ValueId(i));
    const std::vector<std::optional<size_t>> inPlace = answersInPlace(node);
    for (std::unique_ptr<Graph>& region : node.regions) {
      const std::vector<ValueId> inputs = region->inputs();
      absl::flat_hash_set<ValueId> owned;
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (!inputs[k].valid()) continue;
        if (packedLike(region->type(inputs[k]).layout) != memoryLayout(node, k))
          return absl::UnimplementedError("plan: the layout of a value changes between regions");
        const bool changes =
            node.op == Op::kLoop ? !carriesThrough(*region, k) : std::count(inPlace.begin(), inPlace.end(), k) > 0;
        // What nobody reads behind a branch is its own.
        const size_t operand = k + leadingOperands(node.op);
        const bool ends = node.op == Op::kCond && overwriting.isOurs(ValueId(i), operand) &&
                          overwriting.mayOverwrite(node.operands[operand], ValueId(i));
        if (changes || ends) {
          owned.insert(inputs[k]);
        } else if (const auto lent = lentInput(graph, node.operands[k + leadingOperands(node.op)])) {
          region->mutableNode(inputs[k]).attrs.set(AttrKey::kLent, *lent);
        }
      }
      if (absl::Status s = prepare(*region, target, std::move(owned)); !s.ok()) return s;
      if (absl::Status s = settleOutputs(node, inPlace, *region); !s.ok()) return s;
    }
  }
  return absl::OkStatus();
}

absl::Status prepare(Graph& graph, const Target& target, absl::flat_hash_set<ValueId> owned) {
  absl::flat_hash_set<int64_t> ownedIndices;
  for (ValueId input : owned) ownedIndices.insert(graph.node(input).attrs.integer(AttrKey::kIndex));
  Preparer preparer(graph, target, std::move(owned));
  absl::Status status = rewrite(graph, [&](Rewriter& rw, ValueId id) { return preparer.visit(rw, id); });
  if (!status.ok()) return status;
  for (ValueId& output : graph.outputs()) {
    const Op op = graph.node(viewBase(graph, output)).op;
    if (op == Op::kConstant || op == Op::kSym) output = addCopy(graph, output, -1);
  }
  status = rewrite(graph, [](Rewriter& rw, ValueId id) {  // drops reshapes that turned out to be no views
    rw.copyNode(id);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  absl::flat_hash_set<ValueId> own;
  for (ValueId input : graph.inputs())
    if (input.valid() && ownedIndices.contains(graph.node(input).attrs.integer(AttrKey::kIndex))) own.insert(input);
  return prepareRegions(graph, target, std::move(own));
}

absl::Status forwardInAll(Graph& graph) {
  if (absl::Status s = forEachRegion(graph, forwardInAll); !s.ok()) return s;  // inner ones first: they show through
  return forwardCarriedThrough(graph);
}

}  // namespace

absl::Status prepareForPlan(PlanDraft& draft, const PassContext& context) {
  if (absl::Status s = forwardInAll(draft.graph); !s.ok()) return s;
  if (absl::Status s = alternateMemories(draft.graph); !s.ok()) return s;
  return prepare(draft.graph, context.target, {});
}

}  // namespace fw::graph
