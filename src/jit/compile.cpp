// From a planned graph to an Executable: one kernel per group, all of them in one native function; those of
// commits in a second one.
#include <chrono>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/support/check.h"
#include "jit/compile.h"
#include "kernels/access_proof.h"
#include "kernels/lower.h"
#include "kernels/lower_group.h"

namespace fw::jit {
namespace {

/// Stores with a check that have a loop to be interrupted.
absl::flat_hash_set<graph::ValueId> checkedStores(const graph::Plan& plan) {
  absl::flat_hash_set<graph::ValueId> stores;
  for (const graph::Group& group : plan.groups)
    if (group.kind == graph::Group::Kind::kCheck && !group.domain.empty()) stores.insert(group.outputs[0]);
  return stores;
}

/// The outermost loop of the kernel runs over the first axes of the loop order, up to the loop's size.
DeferredCommit deferredCommit(int number, const graph::Graph& graph, const graph::Group& commit,
                              const kernels::Kernel& kernel) {
  graph::SymContext& syms = graph.syms();
  const graph::ValueId store = commit.outputs[0];
  const graph::Layout& layout = graph.type(graph.node(store).operands[0]).layout;
  for (const kernels::Item& item : kernel.body.items) {
    if (!item.stmt.valid()) continue;
    const kernels::Expr& upper = kernel.exprs[kernel.stmts[item.stmt.index].upper.index];
    graph::SymId size = syms.constant(1), wanted = upper.sym;
    if (upper.op == kernels::ScalarOp::kConst) wanted = syms.constant(static_cast<int64_t>(upper.imm));
    const bool oneOperation = commit.values.size() == 2;  // and the store
    DeferredCommit result{number, kernels::loopOrder(layout, commit.axisMap.at(store)), 0, oneOperation};
    for (int64_t axis : result.order) {
      ++result.outer;
      size = syms.canonical(syms.mul(size, commit.domain[axis]));
      if (size == syms.canonical(wanted)) return result;
    }
  }
  FW_UNREACHABLE();
}

/// Every access of the kernels stays inside of its buffer, and so do results that are views.
absl::Status proveAccesses(const graph::Graph& graph, const graph::Plan& plan, const CompileOptions& options,
                           std::initializer_list<const std::vector<kernels::Kernel>*> lists) {
  kernels::AccessProver prover(plan, graph.syms(), options.guarded);
  std::vector<std::string> problems = prover.unprovedResults();
  for (const std::vector<kernels::Kernel>* list : lists)
    for (const kernels::Kernel& kernel : *list)
      for (uint32_t access : prover.unproved(kernel))
        problems.push_back(kernels::describeAccess(kernel, access, plan, graph.syms()));
  if (problems.empty()) return absl::OkStatus();
  return absl::InternalError("not proved to stay inside of its buffer: " + absl::StrJoin(problems, "; "));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> compile(const graph::Graph& graph, graph::Plan plan,
                                                    const CompileOptions& options, CompiledText* text) {
  const auto start = std::chrono::steady_clock::now();
  absl::flat_hash_set<graph::ValueId> checked;
  if (options.deferChecks) checked = checkedStores(plan);
  std::vector<kernels::Kernel> kernels, commits;
  std::vector<DeferredCommit> deferred;
  const auto isDeferred = [&](const graph::Group& group) {
    return !group.outputs.empty() && checked.contains(group.outputs[0]);
  };
  for (size_t i = 0; i < plan.groups.size() + plan.commits.size(); ++i) {
    if (absl::Status late = options.deadline.check("kernel " + std::to_string(i)); !late.ok()) return late;
    const bool commit = i >= plan.groups.size();
    const graph::Group& group = commit ? plan.commits[i - plan.groups.size()] : plan.groups[i];
    if (group.kind == graph::Group::Kind::kCheck && isDeferred(group)) continue;
    std::vector<kernels::Kernel>& list = commit ? commits : kernels;
    const size_t before = list.size();
    absl::Status built = kernels::buildKernels(graph, plan, group, static_cast<int>(i), list);
    if (!built.ok()) return built;
    if (text != nullptr && options.keepText)
      for (size_t k = before; k < list.size(); ++k)
        absl::StrAppend(&text->kernels, kernels::print(list[k], graph.syms()), "\n");
    if (commit && isDeferred(group))
      deferred.push_back(deferredCommit(static_cast<int>(before), graph, group, list[before]));
  }
  if (options.refuseUnproved)
    if (absl::Status s = proveAccesses(graph, plan, options, {&kernels, &commits}); !s.ok()) return s;
  CompileTimings timings;
  timings.kernelMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compileKernels(kernels, commits, graph.syms(), std::move(plan), options, text, timings, std::move(deferred));
}

}  // namespace fw::jit
