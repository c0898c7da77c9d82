// Commits of one operation are not interrupted: their flags are that operation's. This is about all others. Native code
// has found a flag and kept what the part where it came up has overwritten. That is put back, so the operands are what
// they were; the part and all behind it is computed here once more, one operation after the other, in blocks, with a
// look at the processor's flags after each. Slow, and rare. Only the operations are covered that update loops are made
// of; commits with others are checked as a whole before anything is stored (see passes/commits.cpp).
#include "runtime/commit_report.h"

#include <algorithm>
#include <cfenv>
#include <cstring>

#include "graph/axes.h"
#include "graph/support/check.h"
#include "graph/views.h"

namespace fw::runtime {

using graph::Graph;
using graph::Group;
using graph::Node;
using graph::Op;
using graph::SymId;
using graph::ValueId;

namespace {

constexpr int64_t kBlock = 1024;

bool isArithmetic(Op op) { return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kDivide; }

}  // namespace

/// Reads a commit's group into a Commit.
class CommitReader {
 public:
  CommitReader(const Graph& graph, const graph::Plan& plan, std::vector<SymId>& wanted)
      : graph_(graph),
        plan_(plan),
        wanted_(wanted) {}

  std::optional<CommitReporter::Commit> read(const Group& group) {
    group_ = &group;
    const graph::DType dtype = graph_.type(group.outputs[0]).dtype;
    if (dtype != graph::DType::kF32 && dtype != graph::DType::kF64) return std::nullopt;
    commit_ = {.single = dtype == graph::DType::kF32, .rank = static_cast<int>(group.domain.size())};
    commit_.sizes = append(group.domain);
    for (ValueId store : group.outputs) {
      std::optional<CommitReporter::Leaf> target = memory(graph_.node(store).operands[0], group.axisMap.at(store));
      if (!target || graph_.type(store).dtype != dtype) return std::nullopt;
      commit_.targets.push_back(*target);
    }
    for (ValueId id : group.values) {
      const Node& node = graph_.node(id);
      if (node.op == Op::kStore) continue;
      if ((!isArithmetic(node.op) && node.op != Op::kNegative) || node.type.dtype != dtype) return std::nullopt;
      CommitReporter::Operation operation{.op = node.op, .line = node.line, .order = id.index};
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const std::optional<int> operand = this->operand(id, i, dtype);
        if (!operand) return std::nullopt;
        operation.operands[i] = *operand;
      }
      numberOf_[id] = static_cast<int>(commit_.operations.size());
      commit_.operations.push_back(operation);
    }
    const auto leaves = static_cast<int>(commit_.leaves.size());
    for (CommitReporter::Operation& operation : commit_.operations)
      for (int& operand : operation.operands)
        if (operand <= kOperation) operand = leaves + (kOperation - operand);
    return std::move(commit_);
  }

 private:
  static constexpr int kOperation = -2;  // operation k is kOperation - k until all leaves are known

  int append(absl::Span<const SymId> ids) {
    const int first = static_cast<int>(wanted_.size());
    wanted_.insert(wanted_.end(), ids.begin(), ids.end());
    return first;
  }

  std::optional<int> operand(ValueId user, size_t index, graph::DType dtype) {
    const ValueId value = graph_.node(user).operands[index], base = graph::viewBase(graph_, value);
    const Node& node = graph_.node(base);
    if (node.type.dtype != dtype) return std::nullopt;
    if (auto it = numberOf_.find(base); it != numberOf_.end()) return kOperation - it->second;
    std::optional<CommitReporter::Leaf> leaf;
    if (node.op == Op::kConstant)
      leaf.emplace().constant = node.attrs.scalar(graph::AttrKey::kValue).asDouble();
    else
      leaf = memory(value, graph::operandAxes(graph_, group_->axisMap.at(user), group_->reducedAxes, user, index));
    if (!leaf) return std::nullopt;
    commit_.leaves.push_back(*leaf);
    return static_cast<int>(commit_.leaves.size()) - 1;
  }

  /// `value`, whose axes run along the domain axes `map`.
  std::optional<CommitReporter::Leaf> memory(ValueId value, const graph::IntList& map) {
    const std::optional<graph::BufferId> at = plan_.findBuffer(graph::viewBase(graph_, value));
    if (!at) return std::nullopt;
    const graph::Buffer& buffer = plan_.buffers[at->index];
    auto view = graph::resolveView(graph_, value, buffer.strides);
    if (!view.ok()) return std::nullopt;
    CommitReporter::Leaf leaf;
    leaf.buffer = static_cast<int>(at->index);
    leaf.inWorkspace = buffer.kind == graph::BufferKind::kTemp;
    graph::SymContext& syms = graph_.syms();
    leaf.offset = append({leaf.inWorkspace ? syms.add(view->offset, buffer.offset) : view->offset});
    std::vector<SymId> strides(group_->domain.size(), syms.constant(0));
    for (size_t axis = 0; axis < map.size(); ++axis)
      if (map[axis] >= 0) strides[map[axis]] = view->strides[axis];
    leaf.strides = append(strides);
    return leaf;
  }

  const Graph& graph_;
  const graph::Plan& plan_;
  std::vector<SymId>& wanted_;
  const Group* group_ = nullptr;
  CommitReporter::Commit commit_;
  absl::flat_hash_map<ValueId, int> numberOf_;
};

std::optional<CommitReporter> CommitReporter::make(const Graph& graph, const graph::Plan& plan) {
  CommitReporter reporter;
  reporter.commits_.resize(plan.commits.size());
  std::vector<SymId> wanted;
  bool any = false;
  for (const Group& group : plan.groups) {
    if (group.kind != Group::Kind::kCheck) continue;
    auto commit = CommitReader(graph, plan, wanted).read(group);
    if (!commit) return std::nullopt;
    for (size_t i = 0; i < plan.commits.size(); ++i)
      if (plan.commits[i].outputs[0] == group.outputs[0]) reporter.commits_[i] = *std::move(commit);
    any = true;
  }
  if (!any) return std::nullopt;
  reporter.program_ = SymProgram(graph.syms(), wanted);
  return reporter;
}

namespace {

template <class T>
[[gnu::noinline]] void compute(Op op, const T* a, const T* b, T* out, int64_t count) {
  if (op == Op::kAdd) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  } else if (op == Op::kSubtract) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
  } else if (op == Op::kMultiply) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
  } else if (op == Op::kDivide) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] / b[i];
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = -a[i];
  }
}

int32_t flagsNow() {
  const int raised = std::fetestexcept(FE_ALL_EXCEPT);
  return (raised & FE_INVALID ? kStatusInvalid : 0) | (raised & FE_DIVBYZERO ? kStatusDivide : 0) |
         (raised & FE_OVERFLOW ? kStatusOverflow : 0) | (raised & FE_UNDERFLOW ? kStatusUnderflow : 0);
}

}  // namespace

/// Walks the elements from `index` on, axes in `order` (outermost first), one stretch of the last axis at a time.
template <class T>
void CommitReporter::run(const Commit& commit, const graph::IntList& order, const std::vector<int64_t>& values,
                         const Context& context, Scratch& scratch) const {
  const size_t leaves = commit.leaves.size();
  std::vector<int64_t>& index = scratch.index;
  const auto column = [&](int k) { return static_cast<T*>(scratch.columns->data()) + k * kBlock; };
  const int64_t* sizes = &values[commit.sizes];
  const int64_t inner = order.back();
  while (true) {
    const int64_t count = std::min(kBlock, sizes[inner] - index[inner]);
    for (size_t k = 0; k < leaves; ++k) {
      const Leaf& leaf = commit.leaves[k];
      T* out = column(static_cast<int>(k));
      if (leaf.buffer < 0) {
        std::fill(out, out + count, static_cast<T>(leaf.constant));
        continue;
      }
      const void* const memory = leaf.inWorkspace ? context.workspace : context.buffers[leaf.buffer];
      const auto* at = static_cast<const char*>(memory) + values[leaf.offset];
      for (int d = 0; d < commit.rank; ++d) at += index[d] * values[leaf.strides + d];
      for (int64_t i = 0; i < count; ++i) std::memcpy(out + i, at + i * values[leaf.strides + inner], sizeof(T));
    }
    for (size_t k = 0; k < commit.operations.size(); ++k) {
      const Operation& operation = commit.operations[k];
      const T* a = column(operation.operands[0]);
      std::feclearexcept(FE_ALL_EXCEPT);
      const T* b = operation.operands[1] < 0 ? a : column(operation.operands[1]);
      compute<T>(operation.op, a, b, column(static_cast<int>(leaves + k)), count);
      scratch.flags[k] |= flagsNow();
    }
    index[inner] += count;
    size_t d = order.size();
    while (d-- > 0 && index[order[d]] == sizes[order[d]]) {
      if (d == 0) return;
      index[order[d]] = 0;
      ++index[order[d - 1]];
    }
  }
}

/// Elements are saved in the order of the loops, those of each target behind those of the one before.
template <class T>
void CommitReporter::restore(const Commit& commit, const DeferredCommit& deferred, const CommitProgress& progress,
                             const std::vector<int64_t>& values, void* const* buffers) const {
  int64_t inner = 1;
  for (size_t i = deferred.outer; i < deferred.order.size(); ++i) inner *= values[commit.sizes + deferred.order[i]];
  const char* saved = static_cast<const char*>(progress.saved);
  for (const Leaf& leaf : commit.targets) {
    char* const target = static_cast<char*>(buffers[leaf.buffer]) + values[leaf.offset];
    const char* from = saved;
    for (int64_t k = progress.position * inner; k < progress.end * inner; ++k, from += sizeof(T)) {
      char* at = target;
      int64_t rest = k;
      for (size_t i = deferred.order.size(); i-- > 0;) {
        const int64_t axis = deferred.order[i], size = values[commit.sizes + axis];
        at += rest % size * values[leaf.strides + axis];
        rest /= size;
      }
      std::memcpy(at, from, sizeof(T));
    }
    saved += partElements(inner) * static_cast<int64_t>(sizeof(T));
  }
}

std::vector<int64_t> CommitReporter::geometry(const int64_t* symbols) const {
  std::vector<int64_t> values(program_.resultCount());
  program_.run(symbols, values.data());
  return values;
}

int64_t CommitReporter::savedBytes(absl::Span<const DeferredCommit> deferred,
                                   const std::vector<int64_t>& geometry) const {
  int64_t bytes = 0;
  for (const DeferredCommit& d : deferred) {
    if (d.whole) continue;
    const Commit& commit = commits_[d.commit];
    int64_t inner = 1;
    for (size_t i = d.outer; i < d.order.size(); ++i) inner *= geometry[commit.sizes + d.order[i]];
    const size_t part = static_cast<size_t>(partElements(inner)) * (commit.single ? sizeof(float) : sizeof(double));
    bytes = std::max(bytes, static_cast<int64_t>(part * commit.targets.size()));
  }
  return bytes;
}

bool CommitReporter::prepare(absl::Span<const DeferredCommit> deferred, Scratch& scratch) const {
  size_t operations = 0, most = 0, rank = 0;
  int64_t columns = 0;
  for (const DeferredCommit& d : deferred) {
    const Commit& commit = commits_[d.commit];
    operations += commit.operations.size();
    if (d.whole) continue;
    most = std::max(most, commit.operations.size());
    rank = std::max(rank, static_cast<size_t>(commit.rank));
    columns = std::max(columns, static_cast<int64_t>(commit.leaves.size() + commit.operations.size()));
  }
  scratch.raised.reserve(operations);
  scratch.flags.reserve(most);
  scratch.index.reserve(rank);
  return scratch.columns.emplace(columns * kBlock * static_cast<int64_t>(sizeof(double))).ok();
}

void CommitReporter::report(const DeferredCommit& deferred, int32_t status, Scratch& scratch) const {
  const Operation& operation = commits_[deferred.commit].operations.front();
  if (status) scratch.raised.push_back({status, operation.line, graph::info(operation.op).text, operation.order});
}

void CommitReporter::inspect(const DeferredCommit& deferred, const CommitProgress& progress,
                             const std::vector<int64_t>& geometry, const Context& context, Scratch& scratch) const {
  const Commit& commit = commits_[deferred.commit];
  if (commit.single)
    restore<float>(commit, deferred, progress, geometry, context.buffers);
  else
    restore<double>(commit, deferred, progress, geometry, context.buffers);
  scratch.index.assign(static_cast<size_t>(commit.rank), 0);
  int64_t position = progress.position;
  for (int i = deferred.outer; i-- > 0;) {
    const int64_t size = geometry[commit.sizes + deferred.order[i]];
    scratch.index[deferred.order[i]] = position % size;
    position /= size;
  }
  scratch.flags.assign(commit.operations.size(), 0);
  std::fenv_t environment;
  std::feholdexcept(&environment);
  if (commit.single)
    run<float>(commit, deferred.order, geometry, context, scratch);
  else
    run<double>(commit, deferred.order, geometry, context, scratch);
  std::fesetenv(&environment);
  for (size_t k = 0; k < commit.operations.size(); ++k) {
    const Operation& operation = commit.operations[k];
    if (const int32_t flags = scratch.flags[k])
      scratch.raised.push_back({flags, operation.line, graph::info(operation.op).text, operation.order});
  }
}

}  // namespace fw::runtime
