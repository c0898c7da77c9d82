// One kernel per group, or a few, and the proof that they stay inside of their buffers.
#include "kernels/lower_plan.h"

#include <memory>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/bound_sizes.h"
#include "graph/support/check.h"
#include "kernels/access_proof.h"
#include "kernels/lower.h"
#include "kernels/lower_group.h"
#include "kernels/math_calls.h"

namespace fw::kernels {
namespace {

using graph::DeferredCommit;

/// Stores with a check that have a loop to be interrupted.
absl::flat_hash_set<graph::ValueId> checkedStores(const graph::Plan& plan) {
  absl::flat_hash_set<graph::ValueId> stores;
  for (const graph::Group& group : plan.groups)
    if (group.kind == graph::Group::Kind::kCheck && !group.domain.empty()) stores.insert(group.outputs[0]);
  return stores;
}

/// The outermost loop of the kernel runs over the first axes of the loop order, up to the loop's size.
DeferredCommit deferredCommit(int number, const graph::Graph& graph, const graph::Group& commit, const Kernel& kernel) {
  graph::SymContext& syms = graph.syms();
  const graph::ValueId store = commit.outputs[0];
  const graph::Layout& layout = graph.type(graph.node(store).operands[0]).layout;
  for (const Item& item : kernel.body.items) {
    if (!item.stmt.valid()) continue;
    const Expr& upper = kernel.exprs[kernel.stmts[item.stmt.index].upper.index];
    graph::SymId size = syms.constant(1), wanted = upper.sym;
    if (upper.op == ScalarOp::kConst) wanted = syms.constant(static_cast<int64_t>(upper.imm));
    const bool oneOperation = commit.values.size() == 2;  // and the store
    DeferredCommit result{number, loopOrder(layout, commit.axisMap.at(store)), 0, oneOperation};
    for (int64_t axis : result.order) {
      ++result.outer;
      size = syms.canonical(syms.mul(size, commit.domain[axis]));
      if (size == syms.canonical(wanted)) return result;
    }
  }
  FW_UNREACHABLE();
}

/// What is known of the symbols bound around a region while code of it runs.
class RegionScopes {
 public:
  RegionScopes(AccessProver& prover, const graph::Graph& graph, const graph::Plan& plan, int region) {
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
  std::optional<AccessProver::Scope> scope_;
};

/// What definitions say of their symbols.
class Definitions {
 public:
  Definitions(const graph::Graph& graph, const graph::Plan& plan)
      : syms_(graph.syms()),
        inFrontOf_(plan.groups.size()) {
    if (plan.definitions > 0) find(plan.steps, {});
  }

  /// Of the definitions that the kernel mentions, which come in front of it wherever it stands.
  std::vector<graph::SymId> factsFor(const Kernel& kernel) const {
    return facts(all_, [&](graph::SymId symbol) {
      const auto places = [&](const Access& access) { return graph::mentions(syms_, access.offset, symbol); };
      const auto counts = [&](const Expr& e) {
        return e.op == ScalarOp::kParam && graph::mentions(syms_, e.sym, symbol);
      };
      return std::any_of(kernel.accesses.begin(), kernel.accesses.end(), places) ||
             std::any_of(kernel.exprs.begin(), kernel.exprs.end(), counts);
    });
  }

  /// Of all that have been made whenever the group runs.
  std::vector<graph::SymId> factsInFrontOf(size_t group) const {
    return facts(inFrontOf_[group], [](graph::SymId) { return true; });
  }

  /// Of the places in memory that are results: they come behind everything.
  std::vector<graph::SymId> factsFor(absl::Span<const graph::OutputBinding> outputs) const {
    return facts(all_, [&](graph::SymId symbol) {
      return std::any_of(outputs.begin(), outputs.end(), [&](const graph::OutputBinding& output) {
        const auto counts = [&](graph::SymId size) { return graph::mentions(syms_, size, symbol); };
        return output.isView && (graph::mentions(syms_, output.offset, symbol) ||
                                 std::any_of(output.shape.begin(), output.shape.end(), counts));
      });
    });
  }

 private:
  using List = std::vector<const graph::DefineStep*>;

  std::vector<graph::SymId> facts(const List& list, absl::FunctionRef<bool(graph::SymId)> wanted) const {
    std::vector<graph::SymId> facts;
    for (const graph::DefineStep* step : list) {
      if (!wanted(step->symbol)) continue;
      facts.push_back(syms_.sub(step->symbol, step->least));
      facts.push_back(syms_.sub(step->most, step->symbol));
      if (!step->of.valid()) continue;
      facts.push_back(syms_.sub(step->of, step->least));
      facts.push_back(syms_.sub(step->most, step->of));
    }
    return facts;
  }

  /// `made`: those in front of the steps. What a body defines ends with it.
  void find(const graph::Steps& steps, List made) {
    for (const graph::Step& step : steps) {
      if (const auto* define = std::get_if<graph::DefineStep>(&step.what)) {
        all_.push_back(define);
        made.push_back(define);
      }
      if (const auto* kernel = std::get_if<graph::KernelStep>(&step.what))
        inFrontOf_[static_cast<size_t>(kernel->group)] = made;
      if (const graph::ControlStep* control = graph::controlOf(step))
        for (const graph::ControlStep::Body& body : control->bodies) find(body.steps, made);
    }
  }

  graph::SymContext& syms_;
  List all_;
  std::vector<List> inFrontOf_;  ///< by group
};

/// How far the accesses reach that are not proved to stay inside of their buffers, and results that are views. An error
/// where they may not be left to a check at run time, or where there is no telling: in regions, whose accesses are not
/// known when the call begins.
absl::StatusOr<std::vector<Reach>> unprovedReaches(const graph::Graph& graph, const graph::Plan& plan,
                                                   const LoweringOptions& options, const KernelProgram& program) {
  // What is bound on the way has a value wherever it is mentioned (plan_verify.cpp), within the range of the symbol.
  const absl::flat_hash_set<graph::SymId> sizes = graph::boundOnTheWay(plan);
  std::vector<graph::SymId> scoped(plan.bound.begin(), plan.bound.end());
  std::erase_if(scoped, [&](graph::SymId id) { return sizes.contains(id); });
  AccessProver prover(plan, graph.syms(), options.guarded, scoped);
  std::vector<Reach> reaches;
  std::vector<std::string> problems;
  bool inRegion = false;
  // Whether it can be checked when the call begins.
  const auto isEarly = [&](const Reach& reach) {
    const auto late = [&](graph::SymId id) { return graph::mentions(graph.syms(), id, sizes); };
    const auto lateTerm = [&](const Reach::Term& t) { return late(t.stride) || late(t.first) || late(t.last); };
    const auto& shape = plan.buffers[reach.buffer.index].shape;
    return !late(reach.offset) && std::none_of(reach.terms.begin(), reach.terms.end(), lateTerm) &&
           std::none_of(reach.spans.begin(), reach.spans.end(), late) && std::none_of(shape.begin(), shape.end(), late);
  };
  const Definitions definitions(graph, plan);
  {
    const AccessProver::Scope defined(prover, {}, definitions.factsFor(plan.outputs));
    for (size_t result : prover.unprovedResults()) {
      const graph::OutputBinding& output = plan.outputs[result];
      reaches.push_back(reachOf(output, plan, graph.syms()));
      inRegion |= !isEarly(reaches.back());
      if (options.refuseUnproved)
        problems.push_back(absl::StrCat("result ", result, " in buffer ", output.buffer.index));
    }
  }
  const auto unproved = [&](const Kernel& kernel, const std::vector<graph::SymId>& facts) {
    const AccessProver::Scope defined(prover, {}, facts);
    return prover.unproved(kernel);
  };
  const auto prove = [&](const Kernel& kernel, std::optional<size_t> group, bool known) {
    std::vector<uint32_t> open = unproved(kernel, definitions.factsFor(kernel));
    // What has been cut out of a part that data decides need not mention it, and lies where it does all the same.
    if (!open.empty() && group && plan.definitions > 0) open = unproved(kernel, definitions.factsInFrontOf(*group));
    for (uint32_t access : open) {
      std::optional<Reach> reach = reachOf(kernel, access, graph.syms());
      inRegion |= !known || (reach && !isEarly(*reach));
      if (options.refuseUnproved || !reach)
        problems.push_back(describeAccess(kernel, access, plan, graph.syms()));
      else
        reaches.push_back(*std::move(reach));
    }
  };
  for (size_t group = 0, k = 0; group < program.kernelsUpTo.size(); ++group) {
    const RegionScopes scopes(prover, graph, plan, plan.groups[group].region);
    for (; k < program.kernelsUpTo[group]; ++k) prove(program.kernels[k], group, plan.isStraight());
  }
  for (const Kernel& commit : program.commits) prove(commit, std::nullopt, plan.isStraight());
  if (inRegion && !options.refuseUnproved)
    return absl::UnimplementedError(
        "an access behind a loop, branch or call is not proved to stay inside of its array");
  if (problems.empty()) return reaches;
  return absl::InternalError("not proved to stay inside of its buffer: " + absl::StrJoin(problems, "; "));
}

/// Moves an access by all of its buffer.
void plantOutside(const graph::Graph& graph, const graph::Plan& plan, KernelProgram& program) {
  graph::SymContext& syms = graph.syms();
  for (std::vector<Kernel>* list : {&program.kernels, &program.commits}) {
    for (Kernel& kernel : *list) {
      if (kernel.accesses.empty()) continue;
      Access& access = kernel.accesses[0];
      const graph::Buffer& buffer = plan.buffers[access.buffer.index];
      const graph::SymId bytes = syms.mul(syms.product(buffer.shape), syms.constant(graph::itemSize(buffer.dtype)));
      access.offset = syms.add(access.offset, bytes);
      return;
    }
  }
}

}  // namespace

namespace {

/// Kernels of groups may call functions of vector mathematics. Those of commits do not: what they report has been
/// reported before them, and is taken out of them.
absl::StatusOr<KernelProgram> lowerGroups(const graph::Graph& graph, const graph::Plan& plan,
                                          const LoweringOptions& options, MathCalls& calls) {
  KernelProgram program;
  absl::flat_hash_set<graph::ValueId> checked;
  if (options.deferChecks) checked = checkedStores(plan);
  const auto isDeferred = [&](const graph::Group& group) {
    return !group.outputs.empty() && checked.contains(group.outputs[0]);
  };
  int ordinal = 0;
  const auto build = [&](const graph::Group& group, std::vector<Kernel>& list, MathCalls* called) {
    const int own = ordinal++;
    if (absl::Status late = options.deadline.check("kernel " + std::to_string(own)); !late.ok()) return late;
    if (group.kind == graph::Group::Kind::kCheck && isDeferred(group)) return absl::OkStatus();
    return buildKernels(graph::regionOf(plan, graph, group.region), plan, group, own, list, {Numbers::kNumPy, called});
  };
  for (const graph::Group& group : plan.groups) {
    if (absl::Status built = build(group, program.kernels, &calls); !built.ok()) return built;
    program.kernelsUpTo.push_back(program.kernels.size());
  }
  for (const graph::Group& commit : plan.commits) {
    const size_t own = program.commits.size();
    if (absl::Status built = build(commit, program.commits, nullptr); !built.ok()) return built;
    if (isDeferred(commit))
      program.deferred.push_back(deferredCommit(static_cast<int>(own), graph, commit, program.commits[own]));
  }
  return program;
}

}  // namespace

absl::StatusOr<KernelProgram> lowerPlan(const graph::Graph& graph, const graph::Plan& plan,
                                        const LoweringOptions& options) {
  MathCalls calls;
  absl::StatusOr<KernelProgram> lowered = lowerGroups(graph, plan, options, calls);
  if (lowered.ok() && calls.settle()) lowered = lowerGroups(graph, plan, options, calls);
  if (!lowered.ok()) return lowered;
  KernelProgram program = *std::move(lowered);
  if (options.plantOutside) plantOutside(graph, plan, program);
  absl::StatusOr<std::vector<Reach>> reaches = unprovedReaches(graph, plan, options, program);
  if (!reaches.ok()) return reaches.status();
  program.reaches = *std::move(reaches);
  return program;
}

std::string print(const KernelProgram& program, const graph::SymContext& syms) {
  std::string text;
  for (const std::vector<Kernel>* list : {&program.kernels, &program.commits})
    for (const Kernel& kernel : *list) absl::StrAppend(&text, print(kernel, syms), "\n");
  return text;
}

}  // namespace fw::kernels
