#include "jit/scalar_loops.h"

#include <algorithm>
#include <utility>

#include "jit/memories.h"
#include "jit/wavefront.h"

namespace fw::jit {
namespace {

using graph::BufferId;
using graph::BufferKind;
using graph::Step;
using graph::Steps;

/// What some steps and kernels mention.
struct Mentioned {
  absl::flat_hash_set<BufferId> buffers, stored;
};

class Walk {
 public:
  /// Steps below `without` are left out.
  Walk(const ModuleState& m, const graph::LoopStep* without = nullptr) : m_(m), without_(without) {}

  void steps(const Steps& list) {
    for (const Step& step : list) std::visit([&](const auto& what) { visit(what); }, step.what);
  }
  void loop(const graph::LoopStep& step) {
    found.buffers.insert(step.again);
    for (BufferId handle : step.handles) {
      found.buffers.insert(handle);
      found.buffers.insert(m_.plan.buffers[handle.index].home);
    }
    for (const auto& [to, from] : step.moves) found.buffers.insert({to, from});
    steps(step.bodies[0].steps);
  }
  void kernel(const kernels::Kernel& kernel) {
    for (const kernels::Access& access : kernel.accesses) found.buffers.insert(access.buffer);
    for (const kernels::Stmt& stmt : kernel.stmts)
      if (stmt.kind == kernels::StmtKind::kStore) found.stored.insert(kernel.accesses[stmt.access].buffer);
  }
  Mentioned found;

 private:
  void visit(const graph::KernelStep& step) {
    const auto [first, end] = kernelsOf(m_.program, step.group);
    for (size_t k = first; k < end; ++k) kernel(m_.program.kernels[k]);
  }
  void visit(const graph::LoopStep& step) {
    if (&step != without_) loop(step);
  }
  void visit(const graph::CondStep& step) {
    found.buffers.insert(step.predicate);
    for (const auto& body : step.bodies) steps(body.steps);
  }
  void visit(const graph::BindStep& step) {
    found.buffers.insert(step.from);
    steps(step.bodies[0].steps);
  }
  void visit(const graph::DefineStep& step) { found.buffers.insert(step.from); }
  void visit(const graph::CallStep& step) {
    for (const graph::Window& operand : step.operands) found.buffers.insert(operand.buffer);
    found.buffers.insert(step.results.begin(), step.results.end());
  }
  void visit(const graph::AllocStep& step) { found.buffers.insert(step.buffer); }
  void visit(const graph::FreeStep& step) { found.buffers.insert(step.buffer); }
  void visit(const graph::CopyStep& step) {
    found.buffers.insert({step.from, step.to});
    found.stored.insert(step.to);
  }
  void visit(const graph::AcceptStep&) {}
  void visit(const graph::CommitStep&) {}

  const ModuleState& m_;
  const graph::LoopStep* const without_;
};

/// Whether steps are kernels on numbers, and loops and branches of those; adds up what is in them.
class Nest {
 public:
  explicit Nest(const ModuleState& m) : m_(m) {}
  size_t weight = 0;
  std::optional<graph::ErrorRules> errors;
  absl::flat_hash_set<graph::SymId> symbols;
  ScalarLoop::Buffers handles;

  bool isScalar(const Steps& steps) {
    return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
      return std::visit([&](const auto& what) { return visit(what); }, step.what);
    });
  }
  bool visit(const graph::LoopStep& step) {
    if (step.index) symbols.insert(*step.index);
    handles.insert(handles.end(), step.handles.begin(), step.handles.end());
    return isScalar(step.bodies[0].steps);
  }

 private:
  bool visit(const graph::KernelStep& step) {
    const auto [first, end] = kernelsOf(m_.program, step.group);
    for (size_t k = first; k < end; ++k) {
      const kernels::Kernel& kernel = m_.program.kernels[k];
      weight += weightOf(kernel);
      if (errors && kernel.errors && *errors != *kernel.errors) return false;  // flags are all of the loop's
      if (kernel.errors) errors = kernel.errors;
      const auto loops = [](const kernels::Stmt& s) {
        return s.kind == kernels::StmtKind::kLoop || s.kind == kernels::StmtKind::kReduce;
      };
      if (std::any_of(kernel.stmts.begin(), kernel.stmts.end(), loops)) return false;
    }
    return true;
  }
  bool visit(const graph::CondStep& step) { return isScalar(step.bodies[0].steps) && isScalar(step.bodies[1].steps); }
  bool visit(const graph::BindStep& step) {
    symbols.insert(step.symbol);
    return isScalar(step.bodies[0].steps);
  }
  bool visit(const graph::DefineStep& step) {
    symbols.insert(step.symbol);
    return true;
  }
  bool visit(const graph::CopyStep& step) { return m_.plan.buffers[step.to.index].shape.empty(); }
  bool visit(const graph::CallStep&) { return false; }
  bool visit(const graph::AllocStep&) { return false; }
  bool visit(const graph::FreeStep&) { return false; }
  bool visit(const graph::AcceptStep&) { return false; }
  bool visit(const graph::CommitStep&) { return false; }

  const ModuleState& m_;
};

/// Null if the loop is no scalar one.
std::optional<Nest> nestOf(const graph::LoopStep& loop, const ModuleState& m) {
  if (m.checked) return std::nullopt;  // numbers in registers have no place to be compared with
  Nest nest(m);
  if (!nest.visit(loop) || nest.weight > kNestWeight) return std::nullopt;
  return nest;
}

void mark(const Steps& steps, const ModuleState& m, bool inside, std::vector<bool>& marked) {
  for (const Step& step : steps) {
    if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what)) {
      const auto [first, end] = kernelsOf(m.program, kernel->group);
      for (size_t k = first; k < end; ++k) marked[k] = inside;
    }
    const graph::ControlStep* control = graph::controlOf(step);
    if (!control) continue;
    const auto* loop = std::get_if<graph::LoopStep>(&step.what);
    const bool within = inside || (loop && (nestOf(*loop, m) || wavefront(*loop, m)));
    for (const auto& body : control->bodies) mark(body.steps, m, within, marked);
  }
}

}  // namespace

size_t weightOf(const kernels::Kernel& kernel) { return kernel.exprs.size() + 16 * kernel.stmts.size(); }

std::pair<size_t, size_t> kernelsOf(const kernels::KernelProgram& program, int group) {
  const auto g = static_cast<size_t>(group);
  return {g == 0 ? 0 : program.kernelsUpTo[g - 1], program.kernelsUpTo[g]};
}

std::optional<ScalarLoop> scalarLoop(const graph::LoopStep& loop, const ModuleState& m) {
  std::optional<Nest> nest = nestOf(loop, m);
  if (!nest) return std::nullopt;

  Walk inside(m), outside(m, &loop);
  inside.loop(loop);
  outside.steps(m.plan.steps);
  for (const kernels::Kernel& commit : m.program.commits) outside.kernel(commit);
  for (const graph::OutputBinding& output : m.plan.outputs) outside.found.buffers.insert(output.buffer);

  ScalarLoop out;
  out.symbols = std::move(nest->symbols);
  out.results = loop.handles;
  out.errors = nest->errors.value_or(graph::ErrorRules{});
  const absl::flat_hash_set<BufferId> exchanged(nest->handles.begin(), nest->handles.end());
  for (BufferId id : nest->handles)
    if (!m.plan.buffers[id.index].shape.empty()) out.handles.push_back(id);
  const Memories memories(m.plan);
  for (BufferId id : inside.found.buffers) {
    out.memories[id] = memories.of(id);
    const graph::Buffer& buffer = m.plan.buffers[id.index];
    const bool mayStay = buffer.kind == BufferKind::kTemp || buffer.kind == BufferKind::kHandle;
    if (!buffer.shape.empty() || !mayStay) continue;
    out.numbers.push_back(id);
    if (exchanged.contains(id) || !outside.found.buffers.contains(id)) continue;
    out.entering.push_back(id);
    if (inside.found.stored.contains(id)) out.leaving.push_back(id);
  }
  // Code is the same in every process (content_name.h).
  for (ScalarLoop::Buffers* list : {&out.numbers, &out.entering, &out.leaving})
    std::sort(list->begin(), list->end(), [](BufferId a, BufferId b) { return a.index < b.index; });
  return out;
}

std::vector<bool> inLoopsOfTheirOwn(const ModuleState& m) {
  std::vector<bool> marked(m.program.kernels.size(), false);
  if (!m.program.kernelsUpTo.empty()) mark(m.plan.steps, m, false, marked);
  return marked;
}

}  // namespace fw::jit
