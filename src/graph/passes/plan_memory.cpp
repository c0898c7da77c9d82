// Places every materialised value: inputs and outputs in arrays of the call, the rest in one workspace.
//
// A temporary lives from the group that stores it to the last group that reads it. In execution order each takes the
// first slot that is free by then and has provably its size in bytes; otherwise a new slot is appended. Sizes are
// symbolic, so a slot is never cut up; slots of one size are kept together (SlotPool). Slots start at multiples of 64.
// What commits read lives to the end. An update continues in the buffer of its base: a chain of updates is one buffer,
// which lives as long as any of its versions and is an output if the last one is.
#include <algorithm>
#include <climits>
#include <functional>
#include <optional>
#include <queue>

#include "graph/passes/planning.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::graph {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kEnd = INT_MAX;  // a group number after all others
constexpr size_t kPoolsCompared = 32;

/// Slots of one size. Those that are taken come free in the order of the groups that read them last.
class SlotPool {
 public:
  explicit SlotPool(SymId bytes) : bytes_(bytes) {}
  SymId bytes() const { return bytes_; }

  /// The first slot that no group from `from` on reads, taken up to group `to`; nullopt if there is none.
  std::optional<SymId> take(int from, int to) {
    // A slot read by the storing group itself is not free: the group may store before it has read everything.
    for (; !taken_.empty() && taken_.top().first < from; taken_.pop()) free_.push(taken_.top().second);
    if (free_.empty()) return std::nullopt;
    const size_t slot = free_.top();
    free_.pop();
    taken_.emplace(to, slot);
    return offsets_[slot];
  }

  void add(SymId offset, int to) {
    taken_.emplace(to, offsets_.size());
    offsets_.push_back(offset);
  }

 private:
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  SymId bytes_;
  std::vector<SymId> offsets_;
  LeastFirst<std::pair<int, size_t>> taken_;  // last reader, slot
  LeastFirst<size_t> free_;
};

class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, Plan& plan) : graph_(graph), plan_(plan), syms_(graph.syms()) {
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      memory_.push_back(node.op == Op::kUpdate ? memory_[node.operands[0].index] : ValueId(i));
    }
  }

  absl::Status run() {
    findLastReads();
    addInputs();
    addOutputs();
    addTemporaries();
    return bindOutputs();
  }

 private:
  /// First version of the memory that `value` lives in: updates lead to their bases.
  ValueId memoryOf(ValueId value) const { return memory_[value.index]; }

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
    int count = 0;
    for (int at = 0; at < static_cast<int>(plan_.groups.size()); ++at) {
      for (ValueId id : plan_.groups[at].outputs) {
        const ValueId memory = memoryOf(id);
        if (!plan_.bufferOf.contains(memory)) {
          const BufferId buffer = addBuffer(BufferKind::kTemp, count++, memory);
          plan_.buffers[buffer.index].offset = place(bytesOf(memory), at, lastRead_.at(memory));
        }
        const BufferId buffer = plan_.bufferOf.at(memory);  // by value: inserting below moves the table
        plan_.bufferOf[id] = buffer;
      }
    }
    plan_.workspaceBytes = end_;
  }

  SymId bytesOf(ValueId value) {
    const ValueType& type = graph_.type(value);
    const SymId bytes = syms_.mul(syms_.product(type.shape), syms_.constant(itemSize(type.dtype)));
    if (std::optional<int64_t> fixed = syms_.asConst(bytes))
      return syms_.constant((*fixed + kAlignment - 1) / kAlignment * kAlignment);
    const SymId blocks = syms_.floorDiv(syms_.add(bytes, syms_.constant(kAlignment - 1)), syms_.constant(kAlignment));
    return syms_.mul(blocks, syms_.constant(kAlignment));
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
    pool.add(offset, to);
    end_ = syms_.add(end_, bytes);
    return offset;
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
  std::vector<ValueId> memory_;  // by value
  SymId end_ = syms_.constant(0);
  std::vector<SlotPool> pools_;
  absl::flat_hash_map<SymId, size_t> poolOf_;
  absl::flat_hash_map<ValueId, int> lastRead_;
  absl::flat_hash_map<ValueId, ValueId> lastVersion_;
};

}  // namespace

absl::Status planMemory(const Graph& graph, Plan& plan) { return MemoryPlanner(graph, plan).run(); }

}  // namespace fw::graph
