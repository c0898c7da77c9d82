// Places every materialised value: inputs and outputs in arrays of the call, the rest in one workspace.
//
// A temporary lives from the group that stores it to the last group that reads it. In execution order each takes the
// first slot that is free by then and has provably its size in bytes; otherwise a new slot is appended. Sizes are
// symbolic, so a slot is never cut up; slots of one size are kept together (SlotPool). Slots start at multiples of the
// alignment of the target, and large ones not one right behind the other.
// A temporary whose size is known only on the way does not fit into one workspace that is there from the beginning. It
// gets memory when it is first stored, and gives it back behind its last reader; where the call returns it, it is an
// array. Room for the largest size that is possible would do without asking, but for masks and counts that is far more
// than what is used, and it has no bound where values decide (bincount).
// What commits read lives to the end. An update continues in the buffer of its base: a chain of updates is one buffer,
// which lives as long as any of its versions and is an output if the last one is.
//
// Positions run through the whole tree of steps. Regions read what they are given where it is. What a loop changes in
// place stays where it is; what it computes anew has two memories, which change places behind every iteration.
#include <algorithm>
#include <climits>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "graph/bound_sizes.h"
#include "graph/passes/control.h"
#include "graph/passes/planning.h"
#include "graph/passes/slot_pool.h"
#include "graph/rewriting.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr int kEnd = INT_MAX;  // a group number after all others
constexpr size_t kPoolsCompared = 32;
constexpr int64_t kSmallBytes = 4096;  // several of them are in the first cache together, wherever they begin

class MemoryPlanner {
 public:
  /// Plain: no two values share memory.
  MemoryPlanner(const Graph& graph, Plan& plan, const Target& target, bool plain)
      : graph_(graph),
        plan_(plan),
        syms_(graph.syms()),
        target_(target),
        alignment_(target.alignment),
        plain_(plain) {
    memory_.resize(plan.regions.size());
    for (int region = static_cast<int>(plan.regions.size()); region-- > 0;) findMemory(region);  // bodies first
  }

  absl::Status run() {
    number(plan_.steps, 0);
    liveTogether();
    addInputs();
    addOutputs();
    if (absl::Status s = place(plan_.steps, 0); !s.ok()) return s;
    if (!unallocated_.empty()) return absl::InternalError("plan: nothing stores an array of a size that is bound");
    plan_.workspaceBytes = end_;
    return bindOutputs();
  }

 private:
  const Graph& in(int region) const { return regionOf(plan_, graph_, region); }
  /// First version of the memory that a value lives in: updates lead to their bases, what a loop changes in place to
  /// what it begins with.
  Place memoryOf(Place value) const { return {value.region, memory_[value.region][value.value.index]}; }

  void findMemory(int region) {
    const Graph& graph = in(region);
    std::vector<ValueId>& memory = memory_[region];
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      ValueId base(i);
      if (node.op == Op::kUpdate) base = memory[node.operands[0].index];
      if (node.op == Op::kProject && hasRegions(graph.node(node.operands[0]).op)) {
        const Node& control = graph.node(node.operands[0]);
        const auto index = static_cast<size_t>(node.attrs.integer(AttrKey::kIndex));
        if (const std::optional<size_t> input = placeOf({region, node.operands[0]}, index))
          base = memory[control.operands[*input + leadingOperands(control.op)].index];
      }
      memory.push_back(base);
    }
    if (region > 0) bodies_[plan_.regions[region].owner].push_back(region);
  }

  /// The input in whose memory a loop, branch or bind leaves result number `k`; nullopt: elsewhere.
  std::optional<size_t> placeOf(Place control, size_t k) const {
    const Op op = in(control.region).node(control.value).op;
    const auto bodies = bodies_.find(control);
    if (bodies == bodies_.end()) return std::nullopt;  // nobody runs it
    std::vector<std::optional<size_t>> inputs;
    for (int body : bodies->second) inputs.push_back(inputUnder(body, k + leadingOutputs(op)));
    return staysIn(op, k, inputs);
  }

  /// The input whose memory output number `k` of a region is in; nullopt: memory of its own.
  std::optional<size_t> inputUnder(int body, size_t k) const {
    const Graph& inside = in(body);
    const Node& source = inside.node(memoryOf({body, inside.outputs()[k]}).value);
    if (source.op != Op::kInput) return std::nullopt;
    return static_cast<size_t>(source.attrs.integer(AttrKey::kIndex));
  }

  /// The carried value of a loop in whose memory value number `k` is at the end of an iteration; nullopt: in memory of
  /// its own.
  std::optional<size_t> carriedFrom(int body, size_t k) const {
    return inputUnder(body, k + leadingOutputs(Op::kLoop));
  }

  // ---- positions: every kernel has one, control has one before and one behind its regions

  void reads(int region, ValueId value, int at) {
    int& last = lastRead_[memoryOf({region, viewBase(in(region), value)})];
    last = std::max(last, at);
  }

  /// Results of a step, by element of its tuple.
  void answers(int region, const std::vector<ValueId>& results, int at) {
    for (ValueId result : results) {
      if (!result.valid()) continue;
      reads(region, result, at);
      lastVersion_[memoryOf({region, result})] = result;
    }
  }

  void number(Steps& steps, int region) {
    for (Step& step : steps) {
      if (auto* kernel = std::get_if<KernelStep>(&step.what)) {
        numberKernel(plan_.groups[kernel->group], clock_++);
      } else if (auto* commit = std::get_if<CommitStep>(&step.what)) {
        numberKernel(plan_.commits[commit->commit], kEnd);
      } else if (auto* call = std::get_if<CallStep>(&step.what)) {
        const int at = clock_++;
        for (ValueId operand : in(region).node(call->node.value).operands) reads(region, operand, at);
        answers(region, call->projects, at);
      } else if (auto* define = std::get_if<DefineStep>(&step.what)) {
        reads(region, in(region).node(define->node.value).operands[0], clock_++);
      } else if (ControlStep* control = controlOf(step)) {
        const Node& node = in(region).node(control->node.value);
        ++clock_;
        for (ControlStep::Body& body : control->bodies) number(body.steps, body.region);
        const int end = clock_++;
        for (const ControlStep::Body& body : control->bodies)
          for (ValueId output : in(body.region).outputs()) reads(body.region, output, end);
        for (ValueId operand : node.operands) reads(region, operand, end);
        answers(region, control->results, end);
        if (const auto* loop = std::get_if<LoopStep>(&step.what)) link(*loop, region);
      }
    }
  }

  void numberKernel(const Group& group, int at) {
    for (ValueId id : group.values)
      for (ValueId operand : in(group.region).node(id).operands) reads(group.region, operand, at);
    if (at == kEnd) return;
    for (ValueId id : group.outputs) {
      reads(group.region, id, at);
      lastVersion_[memoryOf({group.region, id})] = id;
    }
  }

  /// What moves in a loop: any of these memories may hold any of the results behind it.
  void link(const LoopStep& loop, int region) {
    const Node& node = in(region).node(loop.node.value);
    std::vector<Place> together;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (carriedFrom(loop.bodies[0].region, k) == k) continue;
      together.push_back(memoryOf({region, node.operands[k]}));
      if (loop.results[k].valid()) together.push_back(memoryOf({region, loop.results[k]}));
    }
    if (together.size() > 1) linked_.push_back(std::move(together));
  }

  void liveTogether() {
    for (bool changed = true; std::exchange(changed, false);)
      for (const std::vector<Place>& places : linked_) {
        int last = 0;
        for (const Place& place : places) last = std::max(last, lastRead_.at(place));
        for (const Place& place : places) changed |= std::exchange(lastRead_.at(place), last) != last;
      }
  }

  // ---- buffers

  BufferId addBuffer(BufferKind kind, int index, Place place) {
    const Graph& graph = in(place.region);
    const ValueType& type = graph.type(place.value);
    const SymList strides = materialisedStrides(graph, place.value);
    return addBuffer({kind, index, type.dtype, type.shape, type.layout, strides, syms_.constant(0), {}}, place);
  }

  BufferId addBuffer(Buffer buffer, Place place) {
    const BufferId id(plan_.buffers.size());
    plan_.buffers.push_back(std::move(buffer));
    plan_.memory[place] = id;
    return id;
  }

  void addInputs() {
    const std::vector<ValueId> inputs = graph_.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid()) addBuffer(BufferKind::kInput, static_cast<int>(i), {0, inputs[i]});
    for (ValueId store : graph_.commits()) {
      const BufferId buffer = plan_.bufferOf(viewBase(graph_, graph_.node(store).operands[0]));
      plan_.memory[{0, store}] = buffer;
    }
  }

  void addOutputs() {
    int count = 0;
    for (ValueId output : graph_.outputs()) {
      const Place memory = memoryOf({0, viewBase(graph_, output)});
      if (plan_.memory.contains(memory)) continue;
      if (isGiven(graph_, memory.value))
        addBuffer(BufferKind::kGiven, given_++, memory);
      else if (isDependent(memory))
        unallocated_.insert(addBuffer(BufferKind::kGiven, given_++, memory));
      else
        addBuffer(BufferKind::kOutput, count++, memory);
    }
  }

  bool isDependent(Place value) const { return isDependent(in(value.region).type(value.value).shape); }
  bool isDependent(const SymShape& shape) const {
    return std::any_of(shape.begin(), shape.end(), [&](SymId size) { return mentions(syms_, size, plan_.bound); });
  }

  BufferId addTemporary(Place value, int from, int to) {
    const ValueType& type = in(value.region).type(value.value);
    const BufferId id = addTemporary({BufferKind::kTemp,
                                      0,
                                      type.dtype,
                                      type.shape,
                                      type.layout,
                                      materialisedStrides(in(value.region), value.value),
                                      syms_.constant(0),
                                      {}},
                                     from, to);
    plan_.memory[value] = id;
    return id;
  }

  BufferId addTemporary(Buffer buffer, int from, int to) {
    const bool dependent = isDependent(buffer.shape);
    buffer.kind = dependent ? BufferKind::kHeap : BufferKind::kTemp;
    buffer.index = dependent ? heap_++ : temporaries_++;
    if (!dependent) buffer.offset = place(bytesOf(buffer.dtype, buffer.shape), from, to);
    const BufferId id(plan_.buffers.size());
    plan_.buffers.push_back(std::move(buffer));
    if (dependent) {
      unallocated_.insert(id);
      heapUntil_[id] = to;
    }
    return id;
  }

  /// The step in front of steps[i] that asks for the memory of a value that steps[i] stores, if that is to be done.
  void allocate(Place value, Steps& steps, size_t& i, std::vector<BufferId>& owned) {
    if (unallocated_.empty()) return;
    const auto memory = plan_.memory.find(value);
    if (memory != plan_.memory.end()) allocate(memory->second, steps, i, owned);
  }

  /// Memory that the loop at steps[i] puts its values into, and what they are copied to behind it.
  void allocateForLoop(Steps& steps, size_t& i, absl::Span<const CopyStep> settled, std::vector<BufferId>& owned) {
    if (unallocated_.empty()) return;
    const std::vector<BufferId> handles = std::get<LoopStep>(steps[i].what).handles;
    for (BufferId handle : handles) allocate(plan_.buffers[handle.index].home, steps, i, owned);
    for (const CopyStep& copy : settled) allocate(copy.to, steps, i, owned);
  }

  void allocate(BufferId buffer, Steps& steps, size_t& i, std::vector<BufferId>& owned) {
    if (unallocated_.erase(buffer) == 0) return;
    const bool array = plan_.buffers[buffer.index].kind == BufferKind::kGiven;
    const AllocStep alloc{buffer, array ? plan_.madeArrays++ : -1};
    steps.insert(steps.begin() + static_cast<ptrdiff_t>(i++), Step{alloc});
    if (!array) owned.push_back(buffer);
  }

  /// The steps behind steps[i] that give back what nobody reads from position now_ on.
  void free(Steps& steps, size_t& i, std::vector<BufferId>& owned) {
    for (size_t k = 0; k < owned.size();) {
      if (heapUntil_.at(owned[k]) >= now_) {
        ++k;
        continue;
      }
      steps.insert(steps.begin() + static_cast<ptrdiff_t>(++i), Step{FreeStep{owned[k]}});
      owned.erase(owned.begin() + static_cast<ptrdiff_t>(k));
    }
  }

  absl::Status place(Steps& steps, int region) {
    std::vector<BufferId> owned;  // memory that steps of this list have asked for
    for (size_t i = 0; i < steps.size(); ++i) {
      if (auto* kernel = std::get_if<KernelStep>(&steps[i].what)) {
        Group& group = plan_.groups[kernel->group];
        for (ValueId id : group.outputs) placeOutput({region, id}, now_);
        for (ValueId id : group.outputs) allocate({region, id}, steps, i, owned);
        if (group.held) placeHeld(group, steps, i, owned);
        ++now_;
      } else if (auto* call = std::get_if<CallStep>(&steps[i].what)) {
        if (absl::Status s = placeCall(*call, region, now_++); !s.ok()) return s;
      } else if (auto* define = std::get_if<DefineStep>(&steps[i].what)) {
        define->from = plan_.bufferOf(in(region).node(define->node.value).operands[0], region);
        ++now_;
      } else if (ControlStep* control = controlOf(steps[i])) {
        const int begin = now_++;
        std::vector<CopyStep> settled;
        giveInputs(*control, region);
        absl::Status status;
        if (auto* loop = std::get_if<LoopStep>(&steps[i].what)) {
          status = placeLoop(*loop, region, begin, settled);
          if (status.ok()) allocateForLoop(steps, i, settled, owned);
        } else {
          const BufferId decides = plan_.bufferOf(in(region).node(control->node.value).operands[0], region);
          if (auto* cond = std::get_if<CondStep>(&steps[i].what)) cond->predicate = decides;
          if (auto* bind = std::get_if<BindStep>(&steps[i].what)) bind->from = decides;
          placeResults(*control, region, begin);
          for (ValueId result : control->results)
            if (result.valid()) allocate({region, result}, steps, i, owned);
          control = controlOf(steps[i]);
          status = placeBodies(*control);
        }
        if (!status.ok()) return status;
        ++now_;
        for (const CopyStep& copy : settled) steps.insert(steps.begin() + static_cast<ptrdiff_t>(++i), Step{copy});
      }
      free(steps, i, owned);
    }
    return absl::OkStatus();
  }

  /// Where a value lies that is a buffer, or a view of one.
  absl::StatusOr<Window> windowOf(Place value) const {
    const Graph& graph = in(value.region);
    const BufferId buffer = plan_.bufferOf(viewBase(graph, value.value), value.region);
    const SymList& strides = plan_.buffers[buffer.index].strides;
    Window window{buffer, syms_.constant(0), graph.type(value.value).shape, strides};
    if (!isView(graph, value.value)) return window;
    absl::StatusOr<AffineView> view = resolveView(graph, value.value, strides);
    if (!view.ok()) return view.status();
    window.offset = view->offset;
    window.strides = view->strides;
    return window;
  }

  absl::Status placeCall(CallStep& call, int region, int at) {
    const Graph& graph = in(region);
    for (ValueId operand : graph.node(call.node.value).operands) {
      absl::StatusOr<Window> window = windowOf({region, operand});
      if (!window.ok()) return window.status();
      call.operands.push_back(*std::move(window));
    }
    for (ValueId result : call.projects) {
      if (!result.valid()) {
        call.results.emplace_back();
        continue;
      }
      const Place place{region, result};
      if (!plan_.memory.contains(place)) {
        if (isGiven(graph, result))
          addBuffer(BufferKind::kGiven, given_++, place);
        else
          addTemporary(place, at, lastRead_.at(memoryOf(place)));
      }
      call.results.push_back(plan_.bufferOf(result, region));
    }
    return absl::OkStatus();
  }

  void placeOutput(Place value, int at) {
    const Node& node = in(value.region).node(value.value);
    if (node.op == Op::kUpdate) {
      plan_.memory[value] = plan_.bufferOf(node.operands[0], value.region);
      return;
    }
    if (!plan_.memory.contains(value)) addTemporary(value, at, lastRead_.at(memoryOf(value)));
  }

  /// What updates of the group hold back: rows of its domain, as they follow each other in the loops.
  void placeHeld(Group& group, Steps& steps, size_t& i, std::vector<BufferId>& owned) {
    const Graph& graph = in(group.region);
    Group::Held& held = *group.held;
    held.rows = group.domain.size() == 1 ? target_.heldElements : target_.heldRows;
    for (ValueId id : group.outputs) {
      if (graph.node(id).op != Op::kUpdate) continue;
      const ValueType& type = graph.type(id);
      const IntList& axes = group.axisMap.at(id);
      Buffer buffer{BufferKind::kTemp, 0, type.dtype, group.domain, {}, {}, syms_.constant(0), {}};
      buffer.shape[static_cast<size_t>(held.axis)] = syms_.constant(held.rows + held.delay);
      // Of more than two axes, as large as in the array: products of its sizes are simpler than those of the slice.
      for (size_t axis = 0; axis < axes.size() && group.domain.size() > 2; ++axis)
        if (axes[axis] >= 0 && axes[axis] != held.axis)
          buffer.shape[static_cast<size_t>(axes[axis])] = type.shape[axis];
      buffer.layout.order = {static_cast<int8_t>(held.axis)};
      for (int8_t axis : type.layout.order)
        if (axes[axis] >= 0 && axes[axis] != held.axis) buffer.layout.order.push_back(static_cast<int8_t>(axes[axis]));
      buffer.strides = packedStrides(syms_, buffer.shape, buffer.layout, buffer.dtype);
      held.buffers.push_back(addTemporary(std::move(buffer), now_, now_));
      allocate(held.buffers.back(), steps, i, owned);
    }
  }

  /// Inputs of regions are the memory of what they are given.
  void giveInputs(const ControlStep& control, int region) {
    const Node& node = in(region).node(control.node.value);
    for (const ControlStep::Body& body : control.bodies) {
      const std::vector<ValueId> inputs = in(body.region).inputs();
      for (size_t k = 0; k < inputs.size(); ++k)
        if (inputs[k].valid())
          plan_.memory[{body.region, inputs[k]}] = plan_.bufferOf(node.operands[k + leadingOperands(node.op)], region);
    }
  }

  /// Every branch stores its results in the memory of the whole, if it does not leave them where it was given them.
  void placeResults(ControlStep& control, int region, int begin) {
    for (size_t i = 0; i < control.results.size(); ++i) {
      if (!control.results[i].valid()) continue;
      const Place result{region, control.results[i]};
      if (const std::optional<size_t> input = placeOf(control.node, i)) {
        const Node& node = in(region).node(control.node.value);
        plan_.memory[result] = plan_.bufferOf(node.operands[*input + leadingOperands(node.op)], region);
        continue;
      }
      if (!plan_.memory.contains(result)) addTemporary(result, begin, lastRead_.at(memoryOf(result)));
      for (const ControlStep::Body& body : control.bodies)
        plan_.memory[memoryOf({body.region, in(body.region).outputs()[i]})] = plan_.bufferOf(result.value, region);
    }
  }

  absl::Status placeBodies(ControlStep& control) {
    for (ControlStep::Body& body : control.bodies)
      if (absl::Status s = place(body.steps, body.region); !s.ok()) return s;
    return absl::OkStatus();
  }

  BufferId addHandle(BufferId home, std::optional<Place> place) {
    Buffer handle = plan_.buffers[home.index];
    handle.kind = BufferKind::kHandle;
    handle.index = handles_++;
    handle.home = home;
    const BufferId id(plan_.buffers.size());
    plan_.buffers.push_back(std::move(handle));
    if (place) plan_.memory[*place] = id;
    return id;
  }

  absl::Status placeLoop(LoopStep& loop, int region, int begin, std::vector<CopyStep>& settled) {
    const Node& node = in(region).node(loop.node.value);
    ControlStep::Body& body = loop.bodies[0];
    const Graph& inside = in(body.region);
    const std::vector<ValueId> inputs = inside.inputs();
    const size_t count = node.operands.size();
    std::vector<BufferId> outer, handleOf(count), sources;
    for (size_t k = 0; k < count; ++k) {
      outer.push_back(plan_.bufferOf(node.operands[k], region));
      if (rewrites(node, k)) loop.rewrites.push_back(outer.back());
      plan_.rewrites |= !loop.rewrites.empty();
      if (carriedFrom(body.region, k) == k) continue;
      std::optional<Place> input;
      if (k < inputs.size() && inputs[k].valid()) input = Place{body.region, inputs[k]};
      loop.handles.push_back(handleOf[k] = addHandle(outer[k], input));
    }
    for (size_t k = 0; k < count; ++k) {
      if (!handleOf[k].valid()) continue;
      if (const std::optional<size_t> from = carriedFrom(body.region, k)) {
        if (!handleOf[*from].valid()) return absl::InternalError("plan: a value moves that stays");
        sources.push_back(handleOf[*from]);
        continue;
      }
      const Place fresh = memoryOf({body.region, inside.outputs()[k + 1]});
      const BufferId own = addTemporary(fresh, begin, lastRead_.at(memoryOf({region, node.operands[k]})));
      sources.push_back(addHandle(own, fresh));
      loop.handles.push_back(sources.back());
    }
    // Behind each fresh value stand those that hand their memory on to the next: the last of them leaves its own, as
    // large as all of them, to what is computed in the next iteration.
    absl::flat_hash_map<BufferId, BufferId> takenBy;
    const size_t moving = sources.size();
    for (size_t i = 0; i < moving; ++i)
      if (!takenBy.emplace(sources[i], loop.handles[i]).second)
        return absl::InternalError("plan: memory moves to two places");
    for (size_t i = moving; i < loop.handles.size(); ++i) {
      BufferId last = loop.handles[i];
      for (auto next = takenBy.find(last); next != takenBy.end(); next = takenBy.find(last)) last = next->second;
      sources.push_back(last);
    }
    for (size_t i = 0; i < sources.size(); ++i)
      if (loop.handles[i] != sources[i]) loop.moves.emplace_back(loop.handles[i], sources[i]);
    if (absl::Status s = place(body.steps, body.region); !s.ok()) return s;
    loop.again = plan_.bufferOf(inside.outputs()[0], body.region);
    for (size_t k = 0; k < count; ++k) {
      if (!loop.results[k].valid()) continue;
      const Place result{region, loop.results[k]};
      if (!handleOf[k].valid())
        plan_.memory[result] = outer[k];
      else if (const auto elsewhere = plan_.memory.find(result); elsewhere != plan_.memory.end())
        settled.push_back({handleOf[k], elsewhere->second});  // it has a place already
      else
        plan_.memory[result] = handleOf[k];
    }
    return absl::OkStatus();
  }

  SymId bytesOf(DType dtype, const SymShape& shape) {
    const SymId bytes = syms_.mul(syms_.product(shape), syms_.constant(itemSize(dtype)));
    if (std::optional<int64_t> fixed = syms_.asConst(bytes))
      return syms_.constant((*fixed + alignment_ - 1) / alignment_ * alignment_);
    const SymId blocks = syms_.floorDiv(syms_.add(bytes, syms_.constant(alignment_ - 1)), syms_.constant(alignment_));
    return syms_.mul(blocks, syms_.constant(alignment_));
  }

  /// The pool for a size. Equal sizes that are written differently are met among the latest few.
  SlotPool& poolFor(SymId bytes) {
    if (const auto known = poolOf_.find(bytes); known != poolOf_.end()) return pools_[known->second];
    const size_t oldest = pools_.size() > kPoolsCompared ? pools_.size() - kPoolsCompared : 0;
    size_t at = oldest;
    while (at < pools_.size() && syms_.provablyEqual(pools_[at].bytes(), bytes) != true) ++at;
    if (at == pools_.size()) pools_.emplace_back(bytes);
    poolOf_[bytes] = at;
    return pools_[at];
  }

  SymId place(SymId bytes, int from, int to) {
    SlotPool& pool = poolFor(bytes);
    if (std::optional<SymId> offset = pool.take(from, to)) return *offset;
    const SymId offset = end_;
    if (!plain_) pool.add(offset, to);
    end_ = syms_.add(end_, isSmall(bytes) ? bytes : syms_.add(bytes, syms_.constant(target_.stagger)));
    return offset;
  }

  bool isSmall(SymId bytes) const {
    const std::optional<int64_t> fixed = syms_.asConst(bytes);
    return fixed && *fixed < kSmallBytes;
  }

  absl::Status bindOutputs() {
    for (ValueId output : graph_.outputs()) {
      const ValueId base = viewBase(graph_, output);
      const Place memory = memoryOf({0, base});
      auto last = lastVersion_.find(memory);
      if (last != lastVersion_.end() && last->second != base)
        return absl::InternalError("plan: an output is overwritten by a later update");
      absl::StatusOr<Window> window = windowOf({0, output});
      if (!window.ok()) return window.status();
      plan_.outputs.push_back(
          {window->buffer, base != output, window->offset, std::move(window->shape), std::move(window->strides)});
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  Plan& plan_;
  SymContext& syms_;
  const Target& target_;
  const int64_t alignment_;
  const bool plain_;
  std::vector<std::vector<ValueId>> memory_;             // by region and value
  absl::flat_hash_map<Place, std::vector<int>> bodies_;  // by control node: its regions
  SymId end_ = syms_.constant(0);
  std::vector<SlotPool> pools_;
  absl::flat_hash_map<SymId, size_t> poolOf_;
  absl::flat_hash_map<Place, int> lastRead_;
  absl::flat_hash_map<Place, ValueId> lastVersion_;
  std::vector<std::vector<Place>> linked_;
  absl::flat_hash_set<BufferId> unallocated_;     // of a size that is known on the way, and not stored yet
  absl::flat_hash_map<BufferId, int> heapUntil_;  // kHeap: position of the last reader
  int clock_ = 0, now_ = 0, temporaries_ = 0, handles_ = 0, given_ = 0, heap_ = 0;
};

}  // namespace

absl::Status planMemory(PlanDraft& draft, const PassContext& context) {
  return MemoryPlanner(draft.graph, draft.plan, context.target, context.isOff("memory")).run();
}

}  // namespace fw::graph
