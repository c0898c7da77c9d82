// From a planned graph to an Executable: one kernel per group, all of them in one native function; those of
// commits in a second one.
#include <chrono>
#include <memory>
#include <optional>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/support/check.h"
#include "jit/compile.h"
#include "kernels/access_proof.h"
#include "kernels/lower.h"
#include "kernels/lower_group.h"
#include "kernels/reach.h"

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

using Kernels = std::vector<kernels::Kernel>;

/// What is known of the symbols bound around a region while code of it runs.
class RegionScopes {
 public:
  RegionScopes(kernels::AccessProver& prover, const graph::Graph& graph, const graph::Plan& plan, int region) {
    if (region == 0) return;
    const graph::Place owner = plan.regions[static_cast<size_t>(region)].owner;
    outer_ = std::make_unique<RegionScopes>(prover, graph, plan, owner.region);
    const graph::Node& node = graph::regionOf(plan, graph, owner.region).node(owner.value);
    if (!node.attrs.has(graph::AttrKey::kSymbol)) return;
    graph::SymContext& syms = graph.syms();
    const graph::SymId symbol = node.attrs.sym(graph::AttrKey::kSymbol);
    std::vector<graph::SymId> facts;
    if (node.op == graph::Op::kBind) {
      facts = {syms.sub(symbol, node.attrs.sym(graph::AttrKey::kLeast)),
               syms.sub(node.attrs.sym(graph::AttrKey::kMost), symbol)};
    } else {
      facts = {symbol};
      if (node.attrs.has(graph::AttrKey::kTrip))
        facts.push_back(syms.sub(syms.sub(node.attrs.sym(graph::AttrKey::kTrip), syms.constant(1)), symbol));
    }
    scope_.emplace(prover, absl::Span<const graph::SymId>(&symbol, 1), facts);
  }

 private:
  std::unique_ptr<RegionScopes> outer_;
  std::optional<kernels::AccessProver::Scope> scope_;
};

/// How far the accesses reach that are not proved to stay inside of their buffers, and results that are views. An error
/// where they may not be left to a check at run time, or where there is no telling: in regions, whose accesses are not
/// known when the call begins.
absl::StatusOr<std::vector<kernels::Reach>> unprovedReaches(const graph::Graph& graph, const graph::Plan& plan,
                                                            const CompileOptions& options, const Kernels& kernels,
                                                            const std::vector<size_t>& kernelsUpTo,
                                                            const Kernels& commits) {
  const std::vector<graph::SymId> scoped(plan.bound.begin(), plan.bound.end());
  kernels::AccessProver prover(plan, graph.syms(), options.guarded, scoped);
  std::vector<kernels::Reach> reaches;
  std::vector<std::string> problems;
  for (size_t result : prover.unprovedResults()) {
    const graph::OutputBinding& output = plan.outputs[result];
    reaches.push_back(kernels::reachOf(output, plan, graph.syms()));
    if (options.refuseUnproved) problems.push_back(absl::StrCat("result ", result, " in buffer ", output.buffer.index));
  }
  bool inRegion = false;
  const auto prove = [&](const kernels::Kernel& kernel, bool known) {
    for (uint32_t access : prover.unproved(kernel)) {
      std::optional<kernels::Reach> reach = kernels::reachOf(kernel, access, graph.syms());
      inRegion |= !known;
      if (options.refuseUnproved || !reach)
        problems.push_back(kernels::describeAccess(kernel, access, plan, graph.syms()));
      else
        reaches.push_back(*std::move(reach));
    }
  };
  for (size_t group = 0, k = 0; group < kernelsUpTo.size(); ++group) {
    const RegionScopes scopes(prover, graph, plan, plan.groups[group].region);
    for (; k < kernelsUpTo[group]; ++k) prove(kernels[k], plan.isStraight());
  }
  for (const kernels::Kernel& commit : commits) prove(commit, plan.isStraight());
  if (inRegion && !options.refuseUnproved)
    return absl::UnimplementedError("an access of a loop or branch is not proved to stay inside of its array");
  if (problems.empty()) return reaches;
  return absl::InternalError("not proved to stay inside of its buffer: " + absl::StrJoin(problems, "; "));
}

/// Moves an access by all of its buffer.
void plantOutside(const graph::Graph& graph, const graph::Plan& plan, std::initializer_list<Kernels*> lists) {
  graph::SymContext& syms = graph.syms();
  for (Kernels* list : lists) {
    for (kernels::Kernel& kernel : *list) {
      if (kernel.accesses.empty()) continue;
      kernels::Access& access = kernel.accesses[0];
      const graph::Buffer& buffer = plan.buffers[access.buffer.index];
      const graph::SymId bytes = syms.mul(syms.product(buffer.shape), syms.constant(graph::itemSize(buffer.dtype)));
      access.offset = syms.add(access.offset, bytes);
      return;
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> compile(const graph::Graph& graph, graph::Plan plan,
                                                    const CompileOptions& options, CompiledText* text) {
  const auto start = std::chrono::steady_clock::now();
  absl::flat_hash_set<graph::ValueId> checked;
  if (options.deferChecks) checked = checkedStores(plan);
  std::vector<kernels::Kernel> kernels, commits;
  std::vector<DeferredCommit> deferred;
  std::vector<size_t> kernelsUpTo;
  const auto isDeferred = [&](const graph::Group& group) {
    return !group.outputs.empty() && checked.contains(group.outputs[0]);
  };
  for (size_t i = 0; i < plan.groups.size() + plan.commits.size(); ++i) {
    if (absl::Status late = options.deadline.check("kernel " + std::to_string(i)); !late.ok()) return late;
    const bool commit = i >= plan.groups.size();
    const graph::Group& group = commit ? plan.commits[i - plan.groups.size()] : plan.groups[i];
    const absl::Cleanup count = [&] {
      if (!commit) kernelsUpTo.push_back(kernels.size());
    };
    if (group.kind == graph::Group::Kind::kCheck && isDeferred(group)) continue;
    std::vector<kernels::Kernel>& list = commit ? commits : kernels;
    const size_t before = list.size();
    const graph::Graph& region = graph::regionOf(plan, graph, group.region);
    absl::Status built = kernels::buildKernels(region, plan, group, static_cast<int>(i), list);
    if (!built.ok()) return built;
    if (text != nullptr && options.keepText)
      for (size_t k = before; k < list.size(); ++k)
        absl::StrAppend(&text->kernels, kernels::print(list[k], graph.syms()), "\n");
    if (commit && isDeferred(group))
      deferred.push_back(deferredCommit(static_cast<int>(before), graph, group, list[before]));
  }
  if (options.plantOutside) plantOutside(graph, plan, {&kernels, &commits});
  auto reaches = unprovedReaches(graph, plan, options, kernels, kernelsUpTo, commits);
  if (!reaches.ok()) return reaches.status();
  CompileTimings timings;
  timings.kernelMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return compileKernels(kernels, commits, graph.syms(), std::move(plan), options, text, timings, std::move(deferred),
                        *reaches, std::move(kernelsUpTo));
}

}  // namespace fw::jit
