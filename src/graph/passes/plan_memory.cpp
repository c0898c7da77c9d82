// Places every materialised value: inputs and outputs in arrays of the call, the rest in one workspace.
//
// A temporary lives from the group that stores it to the last group that reads it. In execution order each takes the
// first slot that is free by then and has provably its size in bytes; otherwise a new slot is appended. Sizes are
// symbolic, so a slot is never cut up. Slots start at multiples of 64. What commits read lives to the end. An update
// continues in the buffer of its base: a chain of updates is one buffer, which lives as long as any of its versions and
// is an output if the last one is.
#include <algorithm>
#include <climits>

#include "graph/passes/planning.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kEnd = INT_MAX;  // a group number after all others

class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, Plan& plan) : graph_(graph), plan_(plan), syms_(graph.syms()) {}

  absl::Status run() {
    findLastReads();
    addInputs();
    addOutputs();
    addTemporaries();
    return bindOutputs();
  }

 private:
  struct Slot {
    SymId bytes;
    SymId offset;
    int freeAfter;  // group number
  };

  /// First version of the memory that `value` lives in: updates lead to their bases.
  ValueId memoryOf(ValueId value) const {
    while (graph_.node(value).op == Op::kUpdate) value = graph_.node(value).operands[0];
    return value;
  }

  void findLastReads() {
    for (int at = 0; at < static_cast<int>(plan_.groups.size()); ++at) {
      for (ValueId id : plan_.groups[at].values)
        for (ValueId operand : graph_.node(id).operands) lastRead_[memoryOf(viewBase(graph_, operand))] = at;
      for (ValueId id : plan_.groups[at].outputs) {
        const ValueId memory = memoryOf(id);
        lastRead_[memory] = std::max(lastRead_[memory], at);
        lastVersion_[memory] = id;
      }
    }
    for (const Group& group : plan_.commits)
      for (ValueId id : group.values)
        for (ValueId operand : graph_.node(id).operands) lastRead_[memoryOf(viewBase(graph_, operand))] = kEnd;
  }

  BufferId addBuffer(BufferKind kind, int index, ValueId value) {
    const ValueType& type = graph_.type(value);
    Buffer buffer{
        kind, index, type.dtype, type.shape, type.layout, materialisedStrides(graph_, value), syms_.constant(0)};
    const BufferId id(plan_.buffers.size());
    plan_.buffers.push_back(std::move(buffer));
    plan_.bufferOf[value] = id;
    return id;
  }

  void addInputs() {
    const std::vector<ValueId> inputs = graph_.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid()) addBuffer(BufferKind::kInput, static_cast<int>(i), inputs[i]);
    for (ValueId store : graph_.commits()) {
      const BufferId buffer = plan_.bufferOf.at(viewBase(graph_, graph_.node(store).operands[0]));
      plan_.bufferOf[store] = buffer;
    }
  }

  void addOutputs() {
    int count = 0;
    for (ValueId output : graph_.outputs()) {
      const ValueId memory = memoryOf(viewBase(graph_, output));
      if (!plan_.bufferOf.contains(memory)) addBuffer(BufferKind::kOutput, count++, memory);
    }
  }

  void addTemporaries() {
    std::vector<Slot> slots;
    SymId end = syms_.constant(0);
    int count = 0;
    for (int at = 0; at < static_cast<int>(plan_.groups.size()); ++at) {
      for (ValueId id : plan_.groups[at].outputs) {
        const ValueId memory = memoryOf(id);
        if (!plan_.bufferOf.contains(memory)) {
          const BufferId buffer = addBuffer(BufferKind::kTemp, count++, memory);
          plan_.buffers[buffer.index].offset = place(slots, end, bytesOf(memory), at, lastRead_.at(memory));
        }
        const BufferId buffer = plan_.bufferOf.at(memory);  // by value: inserting below moves the table
        plan_.bufferOf[id] = buffer;
      }
    }
    plan_.workspaceBytes = end;
  }

  SymId bytesOf(ValueId value) {
    const ValueType& type = graph_.type(value);
    const SymId bytes = syms_.mul(syms_.product(type.shape), syms_.constant(itemSize(type.dtype)));
    if (std::optional<int64_t> fixed = syms_.asConst(bytes))
      return syms_.constant((*fixed + kAlignment - 1) / kAlignment * kAlignment);
    const SymId blocks = syms_.floorDiv(syms_.add(bytes, syms_.constant(kAlignment - 1)), syms_.constant(kAlignment));
    return syms_.mul(blocks, syms_.constant(kAlignment));
  }

  SymId place(std::vector<Slot>& slots, SymId& end, SymId bytes, int from, int to) {
    for (Slot& slot : slots) {
      // A slot read by the storing group itself is not free: the group may store before it has read everything.
      if (slot.freeAfter >= from || syms_.provablyEqual(slot.bytes, bytes) != true) continue;
      slot.freeAfter = to;
      return slot.offset;
    }
    slots.push_back({bytes, end, to});
    end = syms_.add(end, bytes);
    return slots.back().offset;
  }

  absl::Status bindOutputs() {
    for (ValueId output : graph_.outputs()) {
      const ValueId base = viewBase(graph_, output);
      const ValueId memory = memoryOf(base);
      auto last = lastVersion_.find(memory);
      if (last != lastVersion_.end() && last->second != base)
        return absl::InternalError("plan: an output is overwritten by a later update");
      const BufferId buffer = plan_.bufferOf.at(memory);
      const SymList& strides = plan_.buffers[buffer.index].strides;
      OutputBinding binding{buffer, base != output, syms_.constant(0), graph_.type(output).shape, strides};
      if (binding.isView) {
        absl::StatusOr<AffineView> view = resolveView(graph_, output, strides);
        if (!view.ok()) return view.status();
        binding.offset = view->offset;
        binding.strides = view->strides;
      }
      plan_.outputs.push_back(std::move(binding));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  Plan& plan_;
  SymContext& syms_;
  absl::flat_hash_map<ValueId, int> lastRead_;
  absl::flat_hash_map<ValueId, ValueId> lastVersion_;
};

}  // namespace

absl::Status planMemory(const Graph& graph, Plan& plan) { return MemoryPlanner(graph, plan).run(); }

}  // namespace fw::graph
