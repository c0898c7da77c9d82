#include "jit/wavefront.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/symint_facts.h"
#include "jit/memories.h"
#include "jit/scalar_loops.h"

namespace fw::jit {
namespace {

using graph::BufferId;
using kernels::AxisId;
using kernels::Expr;
using kernels::ExprId;
using kernels::Kernel;
using kernels::ScalarOp;
using kernels::Stmt;
using kernels::StmtKind;

constexpr int64_t kLongestCycle = 6;
constexpr size_t kMostStages = 12;

class Finder {
 public:
  Finder(const graph::LoopStep& loop, const ModuleState& m) : loop_(loop), m_(m), memories_(m.plan) {
    if (loop.index) turn_.insert(*loop.index);
  }

  std::optional<Wavefront> run() {
    if (m_.checked || !loop_.trip || !findKernels() || !findCycle()) return std::nullopt;
    for (size_t k : kernels_)
      for (const Stmt& stmt : m_.program.kernels[k].stmts)
        if (stmt.kind == StmtKind::kStore) stored_.insert(memoryOf(k, stmt.access));
    absl::flat_hash_set<BufferId> arrays;
    for (size_t k : kernels_) {
      std::optional<Wavefront::Stage> stage = stageOf(k);
      if (!stage) return std::nullopt;
      found_.stages.push_back(*std::move(stage));
      for (const kernels::Access& access : m_.program.kernels[k].accesses) arrays.insert(access.buffer);
    }
    found_.arrays = static_cast<int64_t>(arrays.size());
    return std::move(found_);
  }

 private:
  /// All there is in a turn, but for the bool by which the loop goes on, which has to be true.
  bool findKernels() {
    size_t weight = 0;
    bool goesOn = false;
    for (const graph::Step& step : loop_.bodies[0].steps) {
      const auto* kernel = std::get_if<graph::KernelStep>(&step.what);
      if (!kernel) return false;
      const auto [first, end] = kernelsOf(m_.program, kernel->group);
      for (size_t k = first; k < end; ++k) {
        const bool truth = storesTruth(m_.program.kernels[k]);
        goesOn |= truth;
        if (truth) continue;
        kernels_.push_back(k);
        weight += weightOf(m_.program.kernels[k]);
      }
    }
    return goesOn && !kernels_.empty() && kernels_.size() <= kMostStages && weight <= kPartWeight;
  }

  bool storesTruth(const Kernel& kernel) const {
    const bool single = kernel.stmts.size() == 1 && kernel.stmts[0].kind == StmtKind::kStore &&
                        kernel.accesses[kernel.stmts[0].access].buffer == loop_.again;
    if (!single) return false;
    const Expr& value = kernel.exprs[kernel.stmts[0].value.index];
    return value.op == ScalarOp::kConst && value.imm != 0;
  }

  bool findCycle() {
    absl::flat_hash_map<BufferId, BufferId> from(loop_.moves.begin(), loop_.moves.end());
    for (const auto& move : loop_.moves) {
      int64_t length = 1;
      for (BufferId at = move.second; at != move.first; ++length) {
        const auto next = from.find(at);
        if (next == from.end() || length > kLongestCycle) return false;
        at = next->second;
      }
      found_.cycle = std::lcm(found_.cycle, length);
    }
    return found_.cycle <= kLongestCycle;
  }

  int memoryOf(size_t kernel, uint32_t access) const {
    return memories_.of(m_.program.kernels[kernel].accesses[access].buffer);
  }

  /// Of a number, or of the sizes of the call, and the same in every turn.
  bool isFixed(const Kernel& kernel, ExprId id) const {
    const Expr& expr = kernel.exprs[id.index];
    return expr.op == ScalarOp::kConst || (expr.op == ScalarOp::kParam && isFixed(expr.sym));
  }
  bool isFixed(graph::SymId id) const { return !graph::mentions(m_.syms, id, turn_); }
  static bool isZero(const Kernel& kernel, ExprId id) {
    const Expr& expr = kernel.exprs[id.index];
    return expr.op == ScalarOp::kConst && expr.imm == 0;
  }

  std::optional<Wavefront::Stage> stageOf(size_t number) const {
    const Kernel& kernel = m_.program.kernels[number];
    const Stmt* outermost = nullptr;
    for (const kernels::Item& item : kernel.body.items) {
      if (!item.stmt.valid()) continue;
      if (outermost) return std::nullopt;
      outermost = &kernel.stmts[item.stmt.index];
    }
    if (!outermost || outermost->kind != StmtKind::kLoop) return std::nullopt;
    absl::flat_hash_map<AxisId, ExprId> upper;
    for (const Stmt& stmt : kernel.stmts) {
      if (stmt.kind != StmtKind::kLoop && stmt.kind != StmtKind::kReduce) continue;
      if (!isZero(kernel, stmt.lower) || !isFixed(kernel, stmt.upper)) return std::nullopt;
      upper[stmt.axis] = stmt.upper;
    }
    std::vector<bool> stores(kernel.accesses.size());
    for (const Stmt& stmt : kernel.stmts)
      if (stmt.kind == StmtKind::kStore) stores[stmt.access] = true;
    Wavefront::Stage stage{number, outermost->upper, {}, {}};
    for (uint32_t a = 0; a < kernel.accesses.size(); ++a) {
      const kernels::Access& access = kernel.accesses[a];
      Wavefront::Touch touch{memoryOf(number, a),
                             stores[a],
                             access.offset,
                             {},
                             graph::itemSize(m_.plan.buffers[access.buffer.index].dtype)};
      if (!stored_.contains(touch.memory)) continue;  // nobody waits for it
      graph::SymId stride;
      for (const kernels::Access::Term& term : access.terms) {
        if (!isFixed(term.stride) || m_.syms.range(term.stride).lo < 0) return std::nullopt;
        if (term.axis == outermost->axis)
          stride = term.stride;
        else
          touch.inner.emplace_back(upper.at(term.axis), term.stride);
      }
      if (!stride.valid() || !isFixed(access.offset) || (stage.stride.valid() && stage.stride != stride))
        return std::nullopt;
      stage.stride = stride;
      stage.touches.push_back(std::move(touch));
    }
    return stage.stride.valid() ? std::optional(std::move(stage)) : std::nullopt;
  }

  const graph::LoopStep& loop_;
  const ModuleState& m_;
  const Memories memories_;
  absl::flat_hash_set<graph::SymId> turn_;
  absl::flat_hash_set<int> stored_;
  std::vector<size_t> kernels_;
  Wavefront found_;
};

}  // namespace

std::optional<Wavefront> wavefront(const graph::LoopStep& loop, const ModuleState& m) { return Finder(loop, m).run(); }

}  // namespace fw::jit
