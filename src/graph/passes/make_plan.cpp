// makePlan and the text form of a plan, which goldens and the log channel "kernels" show.
#include <algorithm>

#include "graph/passes/pass_manager.h"
#include "graph/passes/planning.h"
#include "graph/support/check.h"
#include "graph/verifier.h"

namespace fw::graph {
namespace {

std::string valueName(ValueId id) { return "%" + std::to_string(id.index); }

template <class List, class Text>
std::string listOf(const List& list, const Text& text) {
  std::string result = "[";
  for (const auto& item : list) result += (result.size() > 1 ? ", " : "") + text(item);
  return result + "]";
}

std::string kindName(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::kMap: return "map";
    case Group::Kind::kReduce: return "reduce";
    case Group::Kind::kJoin: return "join";
    case Group::Kind::kUpdate: return "update";
    case Group::Kind::kCommit: return "commit";
    case Group::Kind::kCheck: return "check";
  }
  FW_UNREACHABLE();
}

std::string kindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput: return "input";
    case BufferKind::kOutput: return "output";
    case BufferKind::kTemp: return "temp";
  }
  FW_UNREACHABLE();
}

absl::Status checkGraph(const Graph& graph, const PassContext& context, std::string_view when) {
  if (!context.verifyEach) return absl::OkStatus();
  const std::vector<std::string> problems = verify(graph, Stage::kDecomposed);
  if (problems.empty()) return absl::OkStatus();
  std::string text = "plan: unsound graph " + std::string(when);
  for (const std::string& problem : problems) text += "\n  " + problem;
  return absl::InternalError(text + "\n" + print(graph));
}

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
  absl::StatusOr<std::vector<Group>> groups = fuse(graph, kept);
  if (!groups.ok()) return groups.status();
  plan.groups = *std::move(groups);
  plan.groups.insert(plan.groups.end(), checks.begin(), checks.end());
  if (absl::Status late = context.deadline.check("memory"); !late.ok()) return late;
  if (absl::Status status = planMemory(graph, plan); !status.ok()) return status;
  if (context.dump) context.dump("plan", graph);
  return plan;
}

std::string print(const Plan& plan, const Graph& graph) {
  const SymContext& syms = graph.syms();
  // Offsets are sums over all that lies in front: written out, they would be longer than everything else.
  constexpr size_t kMaxOperands = 16;
  auto sym = [&](SymId id) {
    const size_t count = syms.node(id).operands.size();
    return count <= kMaxOperands ? syms.print(id) : "<" + std::to_string(count) + " terms>";
  };
  auto number = [](int64_t n) { return std::to_string(n); };
  std::string text;
  const auto add = [&](const Group& group, const std::string& title) {
    text += title + ": " + kindName(group.kind) + " " + listOf(group.domain, sym);
    if (!group.reducedAxes.empty()) text += " over " + listOf(group.reducedAxes, number);
    text += " -> " + listOf(group.outputs, valueName) + "\n";
    for (ValueId id : group.values) {
      const Node& node = graph.node(id);
      text += "  " + valueName(id) + " = " + std::string(info(node.op).text) + "(";
      for (size_t k = 0; k < node.operands.size(); ++k) text += (k ? ", " : "") + valueName(node.operands[k]);
      text += ") axes=" + listOf(group.axisMap.at(id), number) + "\n";
    }
  };
  for (size_t i = 0; i < plan.groups.size(); ++i) add(plan.groups[i], "group " + std::to_string(i));
  for (size_t i = 0; i < plan.commits.size(); ++i) add(plan.commits[i], "then " + std::to_string(i));
  std::vector<std::vector<ValueId>> held(plan.buffers.size());
  for (const auto& [value, id] : plan.bufferOf) held[id.index].push_back(value);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    text += "buffer " + std::to_string(i) + ": " + kindName(buffer.kind) + " " + std::to_string(buffer.index) + " " +
            std::string(name(buffer.dtype)) + listOf(buffer.shape, sym) + " strides=" + listOf(buffer.strides, sym);
    if (buffer.kind == BufferKind::kTemp) text += " at " + sym(buffer.offset);
    std::sort(held[i].begin(), held[i].end());
    text += " holds " + listOf(held[i], valueName) + "\n";
  }
  text += "workspace " + sym(plan.workspaceBytes) + "\n";
  for (const OutputBinding& output : plan.outputs) {
    text += "return buffer " + std::to_string(output.buffer.index);
    if (output.isView) text += " view offset=" + sym(output.offset);
    text += " " + listOf(output.shape, sym) + " strides=" + listOf(output.strides, sym) + "\n";
  }
  return text;
}

}  // namespace fw::graph
