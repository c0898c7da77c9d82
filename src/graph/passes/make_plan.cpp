// makePlan: the tree of steps. Memory is placed in plan_memory.cpp, the text form is in plan_text.cpp.
#include "graph/passes/pass_manager.h"
#include "graph/passes/planning.h"
#include "graph/refused.h"
#include "graph/verifier.h"

namespace fw::graph {
namespace {

absl::Status checkGraph(const Graph& graph, const PassContext& context, std::string_view when) {
  if (!context.verifyEach) return absl::OkStatus();
  const std::vector<std::string> problems = verify(graph, Stage::kDecomposed);
  if (problems.empty()) return absl::OkStatus();
  std::string text = "plan: unsound graph " + std::string(when);
  for (const std::string& problem : problems) text += "\n  " + problem;
  return absl::InternalError(text + "\n" + print(graph));
}

}  // namespace

namespace {

/// Groups and steps of a graph and its regions.
class Planner {
 public:
  Planner(const Graph& graph, Plan& plan) : graph_(graph), plan_(plan) {}

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
    absl::StatusOr<std::vector<Group>> groups = fuse(graph, kept);
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
                              {}}});
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
};

}  // namespace

absl::StatusOr<Plan> makePlan(Graph& graph, const PassContext& context) {
  if (absl::Status status = checkGraph(graph, context, "before planning"); !status.ok()) return status;
  graph.canonicalizeSyms();
  if (absl::Status status = prepareForPlan(graph); !status.ok()) return status;
  if (absl::Status status = checkGraph(graph, context, "after inserting copies"); !status.ok()) return status;
  if (absl::Status late = context.deadline.check("commits"); !late.ok()) return late;
  Plan plan;
  std::vector<ValueId> kept;
  std::vector<Group> checks;  // after all that computes, because they may read any of it
  absl::StatusOr<std::vector<CommitDraft>> drafts = draftCommits(graph);
  if (!drafts.ok()) return drafts.status();
  for (CommitDraft& draft : *drafts) {
    if (draft.readsWritten) return absl::InternalError("plan: a commit reads what it overwrites");
    kept.insert(kept.end(), draft.kept.begin(), draft.kept.end());
    plan.commits.push_back(std::move(draft.group));
    if (!draft.checked) continue;
    checks.push_back(plan.commits.back());
    checks.back().kind = Group::Kind::kCheck;
  }
  if (absl::Status late = context.deadline.check("fusion"); !late.ok()) return late;
  if (absl::Status status = Planner(graph, plan).run(kept, std::move(checks)); !status.ok()) return status;
  if (absl::Status late = context.deadline.check("memory"); !late.ok()) return late;
  if (absl::Status status = planMemory(graph, plan); !status.ok()) return status;
  if (context.dump) context.dump("plan", graph);
  return plan;
}

}  // namespace fw::graph
