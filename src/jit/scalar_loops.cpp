#include "jit/scalar_loops.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "graph/rewriting.h"
#include "graph/support/check.h"
#include "jit/emit_call.h"
#include "jit/memories.h"
#include "jit/wavefront.h"

namespace fw::jit {
namespace {

using graph::BufferId;
using graph::BufferKind;
using graph::Step;
using graph::Steps;

/// One element, whatever the rank.
bool isNumber(const graph::Buffer& buffer, const graph::SymContext& syms) {
  return std::all_of(buffer.shape.begin(), buffer.shape.end(),
                     [&](graph::SymId size) { return syms.isConst(size, 1); });
}

/// What some steps and kernels mention.
struct Mentioned {
  absl::flat_hash_set<BufferId> buffers, stored;
  absl::flat_hash_set<BufferId> places, read;  ///< by definitions from 0 on, and by anything else
  absl::flat_hash_set<graph::SymId> syms;      ///< with what they are made of
};

class Walk {
 public:
  /// Steps below `without` are left out.
  Walk(const ModuleState& m, const graph::LoopStep* without = nullptr) : m_(m), without_(without) {}

  void steps(const Steps& list) {
    for (const Step& step : list) std::visit([&](const auto& what) { visit(what); }, step.what);
  }
  void loop(const graph::LoopStep& step) {
    if (step.trip) mention(*step.trip);
    read(step.again);
    for (BufferId handle : step.handles) {
      read(handle);
      read(m_.plan.buffers[handle.index].home);
    }
    for (const auto& [to, from] : step.moves)
      for (BufferId id : {to, from}) read(id);
    steps(step.bodies[0].steps);
  }
  void kernel(const kernels::Kernel& kernel) {
    for (const kernels::Access& access : kernel.accesses) {
      found.buffers.insert(access.buffer);
      mention(access.offset);
      for (const kernels::Access::Term& term : access.terms) mention(term.stride);
    }
    for (const kernels::Stmt& stmt : kernel.stmts)
      if (stmt.kind == kernels::StmtKind::kStore) found.stored.insert(kernel.accesses[stmt.access].buffer);
    for (const kernels::Expr& expr : kernel.exprs) {
      if (expr.op == kernels::ScalarOp::kLoad) read(kernel.accesses[expr.access].buffer);
      if (expr.op == kernels::ScalarOp::kParam) mention(expr.sym);
    }
  }
  Mentioned found;

 private:
  void mention(graph::SymId id) {
    if (!id.valid() || !found.syms.insert(id).second) return;
    for (graph::SymId operand : m_.syms.node(id).operands) mention(operand);
  }
  void read(BufferId id) {
    found.buffers.insert(id);
    found.read.insert(id);
  }
  void visit(const graph::KernelStep& step) {
    const auto [first, end] = kernelsOf(m_.program, step.group);
    for (size_t k = first; k < end; ++k) kernel(m_.program.kernels[k]);
  }
  void visit(const graph::LoopStep& step) {
    if (&step != without_) loop(step);
  }
  void visit(const graph::CondStep& step) {
    read(step.predicate);
    for (const auto& body : step.bodies) steps(body.steps);
  }
  void visit(const graph::BindStep& step) {
    read(step.from);
    mention(step.least);
    mention(step.most);
    steps(step.bodies[0].steps);
  }
  void visit(const graph::DefineStep& step) {
    mention(step.least);
    mention(step.most);
    if (!m_.syms.isConst(step.least, 0)) return read(step.from);
    found.buffers.insert(step.from);
    found.places.insert(step.from);
  }
  void visit(const graph::CallStep& step) {
    for (const graph::Window& operand : step.operands) read(operand.buffer);
    for (BufferId id : step.results)
      if (id.valid()) found.stored.insert(id);
    found.buffers.insert(step.results.begin(), step.results.end());
  }
  void visit(const graph::AllocStep& step) { found.buffers.insert(step.buffer); }
  void visit(const graph::FreeStep& step) { found.buffers.insert(step.buffer); }
  void visit(const graph::CopyStep& step) {
    read(step.from);
    found.buffers.insert(step.to);
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
  bool visit(const graph::CopyStep& step) { return isNumber(m_.plan.buffers[step.to.index], m_.syms); }
  bool visit(const graph::CallStep& step) { return answersNumber(step, m_.plan); }
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

/// What the loops of a nest store to inputs.
class RewrittenPlaces {
 public:
  RewrittenPlaces(const ModuleState& m, ScalarLoop& out) : m_(m), out_(out) {}

  void loop(const graph::LoopStep& step) {
    path_.push_back(&step);
    steps(step.bodies[0].steps);
    path_.pop_back();
  }

 private:
  void steps(const Steps& list) {
    for (const Step& step : list) {
      if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what)) {
        const auto [first, end] = kernelsOf(m_.program, kernel->group);
        for (size_t k = first; k < end; ++k) stores(m_.program.kernels[k]);
      } else if (const auto* loop = std::get_if<graph::LoopStep>(&step.what)) {
        this->loop(*loop);
      } else if (const graph::ControlStep* control = graph::controlOf(step)) {
        for (const auto& body : control->bodies) steps(body.steps);
      }
    }
  }

  void stores(const kernels::Kernel& kernel) {
    for (const kernels::Stmt& stmt : kernel.stmts) {
      if (stmt.kind != kernels::StmtKind::kStore) continue;
      const kernels::Access& access = kernel.accesses[stmt.access];
      if (m_.plan.buffers[access.buffer.index].kind == BufferKind::kInput) add(access);
    }
  }

  void add(const kernels::Access& access) {
    FW_CHECK_MSG(access.terms.empty(), "a loop over numbers stores more than one");
    std::vector<std::optional<graph::SymId>> trips;
    for (size_t i = path_.size(); i-- > 0;) trips.push_back(path_[i]->trip);
    const size_t at = path_.size() - 1 - graph::shortLoops(m_.syms, trips);
    const int64_t item = graph::itemSize(m_.plan.buffers[access.buffer.index].dtype);
    RewrittenPlace place{access.buffer, access.offset, 0, item, {}};
    for (size_t i = at + 1; i < path_.size(); ++i)
      if (path_[i]->index) place.shorts.push_back({*path_[i]->index, *m_.syms.asConst(*path_[i]->trip)});
    std::vector<RewrittenPlace>& known = out_.rewritten[path_[at]];
    for (RewrittenPlace& other : known) {
      if (other.buffer != place.buffer) continue;
      const std::optional<int64_t> distance = distanceOf(other.offset, place.offset);
      if (!distance || std::abs(*distance) > kTogether) continue;
      other.low = std::min(other.low, *distance);
      other.high = std::max(other.high, *distance + item);
      return;
    }
    known.push_back(std::move(place));
  }

  /// From one to the other, if both are the same sum but for a constant.
  std::optional<int64_t> distanceOf(graph::SymId from, graph::SymId to) const {
    int64_t constants[2] = {0, 0};
    std::vector<graph::SymId> rests[2];
    for (const int side : {0, 1}) {
      const graph::SymId id = side ? to : from;
      const graph::SymNode& node = m_.syms.node(id);
      const bool sum = node.op == graph::SymOp::kAdd;
      for (graph::SymId part :
           sum ? absl::Span<const graph::SymId>(node.operands) : absl::Span<const graph::SymId>(&id, 1))
        if (const std::optional<int64_t> constant = m_.syms.asConst(part))
          constants[side] += *constant;
        else
          rests[side].push_back(part);
    }
    return rests[0] == rests[1] ? std::optional(constants[1] - constants[0]) : std::nullopt;
  }

  static constexpr int64_t kTogether = 512;  ///< bytes between places that are saved as one stretch
  const ModuleState& m_;
  ScalarLoop& out_;
  std::vector<const graph::LoopStep*> path_;  ///< outermost first
};

/// Finds definitions that only ask whether a number is within a range, where a later one of the same list of steps asks
/// whether it is within another that begins no earlier, and can ask for the end of both: of an index, that it is an
/// integer of so many bits, and that it is in its array.
class CoveredRanges {
 public:
  CoveredRanges(const ModuleState& m, ScalarLoop& out) : m_(m), out_(out) {}

  void steps(const Steps& list) {
    absl::flat_hash_map<BufferId, Number> numbers;  // by where they are
    std::vector<std::pair<Number, const graph::DefineStep*>> asked;
    for (const Step& step : list) {
      if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what)) {
        store(*kernel, numbers);
      } else if (const auto* define = std::get_if<graph::DefineStep>(&step.what)) {
        const auto number = numbers.find(define->from);
        if (number == numbers.end()) continue;
        for (const auto& [other, before] : asked)
          if (other == number->second) cover(*before, *define);
        if (out_.unused.contains(define->symbol)) asked.emplace_back(number->second, define);
      } else {
        if (const graph::ControlStep* control = graph::controlOf(step))
          for (const auto& body : control->bodies) steps(body.steps);
        numbers.clear();  // some may be stored anew
      }
    }
  }

 private:
  using Number = std::pair<const kernels::Kernel*, uint32_t>;

  void store(const graph::KernelStep& step, absl::flat_hash_map<BufferId, Number>& numbers) const {
    const auto [first, end] = kernelsOf(m_.program, step.group);
    for (size_t k = first; k < end; ++k) {
      const kernels::Kernel& kernel = m_.program.kernels[k];
      for (const kernels::Stmt& stmt : kernel.stmts) {
        if (stmt.kind != kernels::StmtKind::kStore) continue;
        const BufferId id = kernel.accesses[stmt.access].buffer;
        const kernels::ExprId value = out_.places.contains(id) ? indexNumber(kernel, stmt.value) : stmt.value;
        numbers[id] = {&kernel, value.index};
      }
    }
  }

  void cover(const graph::DefineStep& outer, const graph::DefineStep& inner) {
    const auto low = m_.syms.asConst(outer.least), high = m_.syms.asConst(outer.most);
    if (!low || !high || m_.syms.range(inner.least).lo < *low) return;
    out_.covered.insert(outer.symbol);
    if (m_.syms.range(inner.most).hi <= *high) return;
    const auto limit = out_.limits.try_emplace(inner.symbol, *high).first;
    limit->second = std::min(limit->second, *high);
  }

  const ModuleState& m_;
  ScalarLoop& out_;
};

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

bool hasFloats(const kernels::Kernel& kernel) {
  return std::any_of(kernel.exprs.begin(), kernel.exprs.end(),
                     [](const kernels::Expr& expr) { return graph::isFloat(expr.dtype); });
}

bool takesLiberties(const Steps& steps, const ModuleState& m, bool inside) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what)) {
      const auto [first, end] = kernelsOf(m.program, kernel->group);
      const auto* list = m.program.kernels.data();
      return inside && std::any_of(list + first, list + end, hasFloats);
    }
    if (std::holds_alternative<graph::DefineStep>(step.what)) return inside;
    if (std::holds_alternative<graph::BindStep>(step.what) && inside) return true;
    const graph::ControlStep* control = graph::controlOf(step);
    const auto* loop = std::get_if<graph::LoopStep>(&step.what);
    const bool within = inside || (loop && nestOf(*loop, m));
    return control && std::any_of(control->bodies.begin(), control->bodies.end(),
                                  [&](const auto& body) { return takesLiberties(body.steps, m, within); });
  });
}

}  // namespace

bool takesLiberties(const ModuleState& m) { return takesLiberties(m.plan.steps, m, false); }

size_t weightOf(const kernels::Kernel& kernel) { return kernel.exprs.size() + 16 * kernel.stmts.size(); }

std::pair<size_t, size_t> kernelsOf(const kernels::KernelProgram& program, int group) {
  const auto g = static_cast<size_t>(group);
  return {g == 0 ? 0 : program.kernelsUpTo[g - 1], program.kernelsUpTo[g]};
}

kernels::ExprId indexNumber(const kernels::Kernel& kernel, kernels::ExprId value) {
  using kernels::ScalarOp;
  const auto is = [&](kernels::ExprId id, ScalarOp op) { return kernel.exprs[id.index].op == op; };
  const auto operand = [&](kernels::ExprId id, size_t i) { return kernel.exprs[id.index].operands[i]; };
  if (!is(value, ScalarOp::kSelect)) return value;
  const kernels::ExprId below = operand(value, 0), wrapped = operand(value, 1), number = operand(value, 2);
  const bool fits = is(below, ScalarOp::kLt) && operand(below, 0) == number &&
                    is(operand(below, 1), ScalarOp::kConst) && kernel.exprs[operand(below, 1).index].imm == 0 &&
                    is(wrapped, ScalarOp::kAdd) && (operand(wrapped, 0) == number || operand(wrapped, 1) == number);
  return fits ? number : value;
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
  for (BufferId id : loop.handles)
    if (!isNumber(m.plan.buffers[id.index], m.syms) || outside.found.buffers.contains(id)) out.results.push_back(id);
  out.errors = nest->errors.value_or(graph::ErrorRules{});
  const absl::flat_hash_set<BufferId> exchanged(nest->handles.begin(), nest->handles.end());
  for (BufferId id : nest->handles)
    if (!isNumber(m.plan.buffers[id.index], m.syms)) out.handles.push_back(id);
  const Memories memories(m.plan);
  for (BufferId id : inside.found.buffers) {
    out.memories[id] = memories.of(id);
    const graph::Buffer& buffer = m.plan.buffers[id.index];
    const bool mayStay = buffer.kind == BufferKind::kTemp || buffer.kind == BufferKind::kHandle;
    if (!isNumber(buffer, m.syms) || !mayStay) continue;
    out.numbers.push_back(id);
    if (exchanged.contains(id) || !outside.found.buffers.contains(id)) continue;
    out.entering.push_back(id);
    if (inside.found.stored.contains(id)) out.leaving.push_back(id);
  }
  for (graph::SymId symbol : out.symbols)
    if (!inside.found.syms.contains(symbol)) out.unused.insert(symbol);
  for (BufferId id : inside.found.places)
    if (!inside.found.read.contains(id) && !outside.found.buffers.contains(id)) out.places.insert(id);
  CoveredRanges(m, out).steps(loop.bodies[0].steps);
  if (!loop.rewrites.empty()) RewrittenPlaces(m, out).loop(loop);
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
