// What a plan promises: every number is one of something, steps mention groups in order and once, what they read has
// been computed and has memory of its type.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "graph/alias.h"
#include "graph/bound_sizes.h"
#include "graph/plan_text.h"

namespace fw::graph {
namespace {

class PlanVerifier {
 public:
  PlanVerifier(const Plan& plan, const Graph& graph) : plan_(plan), graph_(graph) {}

  std::vector<std::string> run() {
    if (!regionsAreSound()) return std::move(problems_);
    buffers();
    if (!problems_.empty()) return std::move(problems_);
    unbound_ = boundOnTheWay(plan_);
    enter(0);
    steps(plan_.steps, 0);
    require(groups_ == plan_.groups.size(), "groups that no step mentions");
    require(commits_ == plan_.commits.size(), "commits that no step mentions");
    require(calls_ == plan_.calls, "number of calls");
    require(definitions_ == plan_.definitions, "number of definitions");
    outputs();
    return std::move(problems_);
  }

 private:
  void require(bool holds, const std::string& what) {
    if (!holds) problems_.push_back(what);
  }
  const Graph& in(int region) const { return regionOf(plan_, graph_, region); }
  static std::string name(Place place) {
    return "%" + std::to_string(place.value.index) + " of region " + std::to_string(place.region);
  }
  bool exists(BufferId id) const { return id.valid() && id.index < plan_.buffers.size(); }

  bool regionsAreSound() {
    require(!plan_.regions.empty(), "no regions");
    for (size_t i = 1; i < plan_.regions.size() && problems_.empty(); ++i) {
      const PlanRegion& region = plan_.regions[i];
      const bool older = region.owner.region >= 0 && static_cast<size_t>(region.owner.region) < i;
      require(older && region.owner.value.index < in(region.owner.region).size(), "the owner of a region");
      if (!problems_.empty()) break;
      const size_t count = in(region.owner.region).node(region.owner.value).regions.size();
      require(region.number >= 0 && static_cast<size_t>(region.number) < count, "the number of a region");
    }
    return problems_.empty();
  }

  void buffers() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const std::string which = "buffer " + std::to_string(i);
      require(buffer.shape.size() == buffer.strides.size() && buffer.layout.rank() == int(buffer.shape.size()),
              which + ": rank");
      const bool handle = buffer.kind == BufferKind::kHandle;
      require(!handle || exists(buffer.home), which + ": home");
      require(!handle || !exists(buffer.home) || plan_.buffers[buffer.home.index].dtype == buffer.dtype,
              which + ": type of its home");
    }
    for (const auto& [place, id] : plan_.memory) {
      const bool known = place.region >= 0 && static_cast<size_t>(place.region) < plan_.regions.size() &&
                         place.value.index < in(place.region).size();
      require(known && exists(id), "memory of " + name(place));
      if (!known || !exists(id)) continue;
      const ValueType& type = in(place.region).type(place.value);
      const Buffer& buffer = plan_.buffers[id.index];
      const bool store = in(place.region).node(place.value).op == Op::kStore;  // into a part of an input
      require(type.dtype == buffer.dtype && (store || type.shape.size() == buffer.shape.size()),
              "type of the memory of " + name(place));
    }
  }

  /// What a region finds: its inputs.
  void enter(int region) {
    for (ValueId input : in(region).inputs())
      if (input.valid()) computed_.insert({region, input});
  }

  /// Constants and symbolic integers are everywhere; other values have memory, and have been computed.
  bool isThere(Place place) const {
    const Graph& graph = in(place.region);
    const ValueId base = viewBase(graph, place.value);
    const Op op = graph.node(base).op;
    if (op == Op::kConstant || op == Op::kSym) return true;
    const Place memory{place.region, base};
    return plan_.memory.contains(memory) && computed_.contains(memory);
  }

  void group(const Group& group, int region) {
    const Graph& graph = in(region);
    require(group.region == region, "a group of another region");
    if (group.region != region) return;
    absl::flat_hash_set<ValueId> members;
    const auto rank = static_cast<int64_t>(group.domain.size());
    const auto isAxis = [&](int64_t axis) { return axis >= -1 && axis < rank; };
    require(std::all_of(group.reducedAxes.begin(), group.reducedAxes.end(), isAxis), "axes of a reduction");
    for (SymId size : group.domain) require(isKnown(size), "a group of a size that is not known yet");
    if (group.held) heldBack(group, region);
    for (ValueId id : group.values) {
      const auto map = group.axisMap.find(id);
      const bool mapped = map != group.axisMap.end() && map->second.size() == graph.type(id).shape.size();
      require(mapped && std::all_of(map->second.begin(), map->second.end(), isAxis), "axes of " + name({region, id}));
      for (ValueId operand : graph.node(id).operands) {
        const bool inside = members.contains(viewBase(graph, operand)) || members.contains(operand);
        if (!inside) requireMemory({region, viewBase(graph, operand)});
        require(inside || isThere({region, operand}), name({region, operand}) + " is read before it is there");
      }
      members.insert(id);
    }
    for (ValueId id : group.outputs) {
      require(members.contains(id), "output " + name({region, id}) + " of a group that does not compute it");
      require(group.kind == Group::Kind::kCheck || plan_.memory.contains({region, id}),
              name({region, id}) + " has no memory");
      requireMemory({region, id});
      computed_.insert({region, id});
      if (group.kind == Group::Kind::kCommit || group.kind == Group::Kind::kCheck) continue;
      const std::optional<BufferId> memory = plan_.findBuffer(id, region);
      require(!memory || plan_.buffers[memory->index].kind != BufferKind::kInput || rewritten_.contains(*memory),
              name({region, id}) + " is stored into an input");
    }
  }

  void heldBack(const Group& group, int region) {
    const Group::Held& held = *group.held;
    const bool along = held.axis >= 0 && held.axis < static_cast<int64_t>(group.domain.size()) && held.delay >= 0 &&
                       held.rows >= held.delay;
    require(along && group.kind == Group::Kind::kUpdate, "what a group holds back");
    size_t updates = 0;
    for (ValueId id : group.outputs) {
      if (in(region).node(id).op != Op::kUpdate) continue;
      if (updates++ >= held.buffers.size()) continue;
      const BufferId buffer = held.buffers[updates - 1];
      require(exists(buffer) && plan_.buffers[buffer.index].dtype == in(region).type(id).dtype &&
                  plan_.buffers[buffer.index].shape.size() == group.domain.size(),
              "where a group holds back " + name({region, id}));
    }
    require(updates == held.buffers.size(), "buffers of what a group holds back");
  }

  void visit(const AllocStep& step, int) {
    const bool own = exists(step.buffer) && (plan_.buffers[step.buffer.index].kind == BufferKind::kHeap ||
                                             plan_.buffers[step.buffer.index].kind == BufferKind::kGiven);
    require(own, "memory is asked for a buffer that has some");
    if (!own) return;
    const Buffer& buffer = plan_.buffers[step.buffer.index];
    for (SymId size : buffer.shape) require(isKnown(size), "memory of a size that is not known yet");
    const bool array = buffer.kind == BufferKind::kGiven;
    require(array == (step.number >= 0) && step.number < plan_.madeArrays, "number of an array");
    require(allocated_.insert(step.buffer).second, "memory is asked for twice");
  }
  void visit(const FreeStep& step, int) {
    require(exists(step.buffer) && plan_.buffers[step.buffer.index].kind == BufferKind::kHeap,
            "memory is freed that is not asked for");
    require(allocated_.erase(step.buffer) == 1, "memory is freed that is not there");
  }

  /// Symbols that are bound on the way have a value behind that step.
  bool isKnown(SymId id) const { return !mentions(graph_.syms(), id, unbound_); }

  /// A buffer that stands in memory of its own.
  void requireMemory(Place place) {
    const auto at = plan_.memory.find(place);
    if (at == plan_.memory.end()) return;
    const bool heap = plan_.buffers[at->second.index].kind == BufferKind::kHeap;
    require(!heap || allocated_.contains(at->second), "memory of " + name(place) + " is not there");
  }

  void steps(const Steps& steps, int region) {
    for (const Step& step : steps) std::visit([&](const auto& what) { visit(what, region); }, step.what);
  }

  void visit(const KernelStep& step, int region) {
    require(static_cast<size_t>(step.group) == groups_ && groups_ < plan_.groups.size(), "order of groups");
    if (groups_ < plan_.groups.size()) group(plan_.groups[groups_++], region);
  }
  void visit(const CommitStep& step, int region) {
    require(accepted_, "a commit in front of accept");
    require(static_cast<size_t>(step.commit) == commits_ && commits_ < plan_.commits.size(), "order of commits");
    if (commits_ < plan_.commits.size()) group(plan_.commits[commits_++], region);
  }
  void visit(const AcceptStep&, int region) {
    require(region == 0 && !accepted_, "one accept, outside of all regions");
    accepted_ = true;
  }
  void visit(const CopyStep& step, int) {
    const bool both = exists(step.from) && exists(step.to);
    require(both, "buffers of a copy");
    if (!both) return;
    const Buffer &from = plan_.buffers[step.from.index], &to = plan_.buffers[step.to.index];
    require(from.dtype == to.dtype && from.shape == to.shape && from.layout == to.layout, "a copy of different types");
  }

  bool holds(BufferId id, DType dtype) const {
    return exists(id) && plan_.buffers[id.index].dtype == dtype && plan_.buffers[id.index].shape.empty();
  }

  void visit(const LoopStep& step, int region) {
    require(holds(step.again, DType::kBool), "what a loop goes on by");
    const auto isHandle = [&](BufferId id) {
      return exists(id) && plan_.buffers[id.index].kind == BufferKind::kHandle;
    };
    require(std::all_of(step.handles.begin(), step.handles.end(), isHandle), "handles of a loop");
    absl::flat_hash_set<BufferId> to, from;
    for (const auto& move : step.moves) {
      require(isHandle(move.first) && isHandle(move.second), "a loop moves what is no handle");
      require(to.insert(move.first).second && from.insert(move.second).second, "a loop moves memory to two places");
    }
    for (BufferId id : step.rewrites)
      require(exists(id) && plan_.buffers[id.index].kind == BufferKind::kInput && rewritten_.insert(id).second,
              "a loop rewrites what is no input");
    control(step, region, Op::kLoop);
    for (BufferId id : step.rewrites) rewritten_.erase(id);
  }
  void visit(const CondStep& step, int region) {
    require(holds(step.predicate, DType::kBool), "what a branch is taken by");
    control(step, region, Op::kCond);
  }
  void visit(const BindStep& step, int region) {
    require(holds(step.from, DType::kI64) && plan_.bound.contains(step.symbol), "what a symbol is bound to");
    control(step, region, Op::kBind);
  }

  void visit(const DefineStep& step, int region) {
    require(holds(step.from, DType::kI64) && plan_.bound.contains(step.symbol), "what a symbol is defined as");
    const Graph& graph = in(region);
    const bool known = step.node.region == region && step.node.value.index < graph.size() &&
                       graph.node(step.node.value).op == Op::kDefine;
    require(known, "the node of a definition");
    if (known) require(isThere({region, graph.node(step.node.value).operands[0]}), "a symbol is defined too early");
    require(unbound_.erase(step.symbol) == 1, "a symbol is bound twice");
    ++definitions_;
  }

  void visit(const CallStep& step, int region) {
    const Graph& graph = in(region);
    const bool known = step.node.region == region && step.node.value.index < graph.size() &&
                       graph.node(step.node.value).op == Op::kCall;
    require(known, "the node of a call");
    if (!known) return;
    const Node& node = graph.node(step.node.value);
    require(step.number == calls_++, "order of calls");
    require(step.operands.size() == node.operands.size(), "operands of a call");
    for (const Window& operand : step.operands)
      require(exists(operand.buffer) && operand.shape.size() == operand.strides.size(), "an operand of a call");
    for (ValueId operand : node.operands)
      require(isThere({region, operand}), name({region, operand}) + " is given before it is there");
    for (ValueId operand : node.operands) requireMemory({region, viewBase(graph, operand)});
    const SymList none;
    const SymList& sizes = node.attrs.has(AttrKey::kSizes) ? node.attrs.syms(AttrKey::kSizes) : none;
    require(std::equal(sizes.begin(), sizes.end(), step.sizes.begin(), step.sizes.end()), "sizes that a call binds");
    for (SymId size : step.sizes) {
      const bool answered = std::any_of(node.type.tuple.begin(), node.type.tuple.end(), [&](const ValueType& type) {
        return std::find(type.shape.begin(), type.shape.end(), size) != type.shape.end();
      });
      require(answered && graph_.syms().node(size).op == SymOp::kSymbol, "a call binds what is no size of its results");
      require(unbound_.erase(size) == 1, "a symbol is bound twice");
    }
    const size_t count = node.type.tuple.size();
    require(step.projects.size() == count && step.results.size() == count, "results of a call");
    if (step.projects.size() != count || step.results.size() != count) return;
    computed_.insert(step.node);
    for (size_t i = 0; i < count; ++i) {
      if (!step.projects[i].valid()) continue;
      const std::optional<BufferId> memory = plan_.findBuffer(step.projects[i], region);
      require(memory && *memory == step.results[i], name({region, step.projects[i]}) + " is somewhere else");
      computed_.insert({region, step.projects[i]});
    }
  }

  void control(const ControlStep& step, int region, Op op) {
    const Graph& graph = in(region);
    const bool known =
        step.node.region == region && step.node.value.index < graph.size() && graph.node(step.node.value).op == op;
    require(known && step.bodies.size() == graph.node(step.node.value).regions.size(), "the node of a step");
    if (!problems_.empty()) return;
    for (ValueId operand : graph.node(step.node.value).operands)
      require(isThere({region, operand}), name({region, operand}) + " is given before it is there");
    for (const ControlStep::Body& body : step.bodies) {
      const auto number = static_cast<size_t>(body.region);
      require(number < plan_.regions.size() && plan_.regions[number].owner == step.node, "the region of a body");
      if (!problems_.empty()) return;
      enter(body.region);
      steps(body.steps, body.region);
      for (ValueId output : in(body.region).outputs())
        require(isThere({body.region, output}), name({body.region, output}) + " is answered before it is there");
    }
    require(step.results.size() == graph.type(step.node.value).tuple.size(), "results of a step");
    computed_.insert(step.node);  // a result itself where it is wanted for what it raises
    for (ValueId result : step.results)
      if (result.valid()) computed_.insert({region, result});
  }

  void outputs() {
    require(plan_.outputs.size() == graph_.outputs().size(), "number of results");
    for (size_t i = 0; i < std::min(plan_.outputs.size(), graph_.outputs().size()); ++i) {
      require(exists(plan_.outputs[i].buffer), "memory of a result");
      const Place place{0, graph_.outputs()[i]};
      require(isThere(place), "result " + name(place) + " is not computed");
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  std::vector<std::string> problems_;
  absl::flat_hash_set<Place> computed_;
  size_t groups_ = 0, commits_ = 0;
  int calls_ = 0, definitions_ = 0;
  absl::flat_hash_set<SymId> unbound_;  ///< symbols of calls and definitions that are still to come
  absl::flat_hash_set<BufferId> allocated_;
  absl::flat_hash_set<BufferId> rewritten_;  ///< by the loop at hand
  bool accepted_ = false;
};

}  // namespace

std::vector<std::string> verify(const Plan& plan, const Graph& graph) { return PlanVerifier(plan, graph).run(); }

}  // namespace fw::graph
