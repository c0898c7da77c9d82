// makePlan: the steps of plan_steps.def, one after the other, and the one that makes the tree. Memory is placed in
// plan_memory.cpp, the text form is in plan_text.cpp.
#include "graph/passes/pass_manager.h"
#include "graph/passes/planning.h"
#include "graph/refused.h"
#include "graph/rewriting.h"
#include "graph/verifier.h"

namespace fw::graph {
namespace {

struct PlanStep {
  std::string_view text;
  absl::Status (*run)(PlanDraft&, const PassContext&);
};

constexpr PlanStep kPlanSteps[] = {
#define FW_PLAN_STEP(Id, text, function, off) {text, function},
#include "graph/passes/plan_steps.def"
};

absl::Status checkGraph(const Graph& graph, const PassContext& context, std::string_view when) {
  if (!context.verifyEach) return absl::OkStatus();
  const std::vector<std::string> problems = verify(graph, Stage::kDecomposed);
  if (problems.empty()) return absl::OkStatus();
  std::string text = "plan: unsound graph " + std::string(when);
  for (const std::string& problem : problems) text += "\n  " + problem;
  return absl::InternalError(text + "\n" + print(graph));
}

/// Groups and steps of a graph and its regions.
class Planner {
 public:
  Planner(PlanDraft& draft, const PassContext& context)
      : graph_(draft.graph),
        plan_(draft.plan),
        target_(context.target),
        plain_(context.isOff("fuse")) {}

  absl::Status run(absl::Span<const ValueId> kept, std::vector<Group> checks) {
    plan_.regions.push_back({{-1, ValueId()}, 0});
    if (absl::Status s = steps(graph_, 0, kept, plan_.steps); !s.ok()) return s;
    for (Group& check : checks) add(std::move(check), plan_.steps);
    if (plan_.commits.empty()) return absl::OkStatus();
    plan_.steps.push_back({AcceptStep{}});
    for (int i = 0; i < static_cast<int>(plan_.commits.size()); ++i) plan_.steps.push_back({CommitStep{i}});
    return absl::OkStatus();
  }

 private:
  void add(Group group, Steps& steps) {
    steps.push_back({KernelStep{static_cast<int>(plan_.groups.size())}});
    plan_.groups.push_back(std::move(group));
  }

  absl::Status steps(const Graph& graph, int region, absl::Span<const ValueId> kept, Steps& out) {
    absl::StatusOr<std::vector<Group>> groups = fuse(graph, kept, target_, plain_);
    if (!groups.ok()) return groups.status();
    for (Group& group : *groups) {
      group.region = region;
      if (group.kind != Group::Kind::kControl) {
        add(std::move(group), out);
        continue;
      }
      absl::Status status = control(graph, region, group, out);
      if (!status.ok()) return Refused::of(graph, group.values[0]).in(std::move(status));
    }
    return absl::OkStatus();
  }

  /// Those of a control node, by element of its tuple.
  static std::vector<ValueId> projects(const Graph& graph, const Group& group) {
    std::vector<ValueId> list(graph.type(group.values[0]).tuple.size());
    for (ValueId member : group.values) {
      const Node& project = graph.node(member);
      if (project.op == Op::kProject) list[static_cast<size_t>(project.attrs.integer(AttrKey::kIndex))] = member;
    }
    return list;
  }

  absl::Status control(const Graph& graph, int region, const Group& group, Steps& out) {
    const ValueId id = group.values[0];
    const Node& node = graph.node(id);
    if (node.op == Op::kCall) {
      out.push_back({CallStep{{region, id},
                              static_cast<int>(node.attrs.integer(AttrKey::kSite)),
                              plan_.calls++,
                              {},
                              projects(graph, group),
                              {},
                              {}}});
      if (node.attrs.has(AttrKey::kSizes)) {
        const SymList& sizes = node.attrs.syms(AttrKey::kSizes);
        std::get<CallStep>(out.back().what).sizes.assign(sizes.begin(), sizes.end());
        plan_.bound.insert(sizes.begin(), sizes.end());
      }
      return absl::OkStatus();
    }
    if (node.op == Op::kDefine) {
      const SymId symbol = node.attrs.sym(AttrKey::kSymbol);
      plan_.bound.insert(symbol);
      ++plan_.definitions;
      DefineStep define{{region, id}, symbol, {}, node.attrs.sym(AttrKey::kLeast), node.attrs.sym(AttrKey::kMost)};
      const Node& number = graph.node(node.operands[0]);
      if (number.op == Op::kSym) define.of = number.attrs.sym(AttrKey::kExpr);
      out.push_back({define});
      return absl::OkStatus();
    }
    Step step;
    if (node.op == Op::kLoop) {
      LoopStep loop;
      if (node.attrs.has(AttrKey::kTrip)) loop.trip = node.attrs.sym(AttrKey::kTrip);
      if (node.attrs.has(AttrKey::kSymbol)) plan_.bound.insert(*(loop.index = node.attrs.sym(AttrKey::kSymbol)));
      step.what = std::move(loop);
    } else if (node.op == Op::kCond) {
      step.what = CondStep{};
    } else {
      BindStep bind;
      plan_.bound.insert(bind.symbol = node.attrs.sym(AttrKey::kSymbol));
      bind.least = node.attrs.sym(AttrKey::kLeast);
      bind.most = node.attrs.sym(AttrKey::kMost);
      step.what = std::move(bind);
    }
    ControlStep& what = *controlOf(step);
    what.node = {region, id};
    what.results = projects(graph, group);
    for (int i = 0; i < static_cast<int>(node.regions.size()); ++i) {
      const int number = static_cast<int>(plan_.regions.size());
      plan_.regions.push_back({what.node, i});
      what.bodies.push_back({number, {}});
      if (absl::Status s = steps(*node.regions[i], number, {}, what.bodies.back().steps); !s.ok()) return s;
    }
    out.push_back(std::move(step));
    return absl::OkStatus();
  }

  const Graph& graph_;
  Plan& plan_;
  const Target& target_;
  const bool plain_;
};

}  // namespace

absl::Status planCommits(PlanDraft& draft, const PassContext& context) {
  if (rewritesInputs(draft.graph)) {  // what is to be stored is, when the loop is done
    for (ValueId store : draft.graph.commits()) draft.kept.push_back(draft.graph.node(store).operands[1]);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<CommitDraft>> commits =
      draftCommits(draft.graph, context.target, context.isOff("commits"));
  if (!commits.ok()) return commits.status();
  for (CommitDraft& commit : *commits) {
    if (commit.readsWritten) return absl::InternalError("plan: a commit reads what it overwrites");
    draft.kept.insert(draft.kept.end(), commit.kept.begin(), commit.kept.end());
    draft.plan.commits.push_back(std::move(commit.group));
    if (!commit.checked) continue;
    draft.checks.push_back(draft.plan.commits.back());
    draft.checks.back().kind = Group::Kind::kCheck;
  }
  return absl::OkStatus();
}

absl::Status planSteps(PlanDraft& draft, const PassContext& context) {
  return Planner(draft, context).run(draft.kept, std::move(draft.checks));
}

absl::StatusOr<Plan> makePlan(Graph& graph, const PassContext& context) {
  if (absl::Status status = checkGraph(graph, context, "before planning"); !status.ok()) return status;
  graph.canonicalizeSyms();
  PlanDraft draft{graph, {}, {}, {}};
  draft.plan.target = context.target;
  for (const PlanStep& step : kPlanSteps) {
    if (absl::Status late = context.deadline.check(step.text); !late.ok()) return late;
    if (absl::Status status = step.run(draft, context); !status.ok()) return status;
    // Only the first step changes the graph; none but the last leaves a plan that can be printed.
    const bool prepares = step.run == prepareForPlan;
    if (absl::Status s = prepares ? checkGraph(graph, context, "after inserting copies") : absl::OkStatus(); !s.ok())
      return s;
    if (context.dump) context.dump(step.text, step.run == planMemory ? print(draft.plan, graph) : print(graph));
  }
  return std::move(draft.plan);
}

}  // namespace fw::graph
