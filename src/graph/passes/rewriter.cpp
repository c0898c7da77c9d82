// See rewriter.h. Sources go through their typed constructors, everything else through addTyped with the type it had: a
// pass that changes types adds its nodes itself.
#include "graph/passes/rewriter.h"

#include "graph/raising.h"
#include "graph/refused.h"
#include "graph/support/check.h"

namespace fw::graph {

Rewriter::Rewriter(Graph& graph) : in_(graph), out_(graph.another()), to_(graph.size()) {}

ValueId Rewriter::map(ValueId old) const {
  FW_CHECK_MSG(to_[old.index].valid(), "operand %" + std::to_string(old.index) + " is not rewritten yet");
  return to_[old.index];
}

ValueId Rewriter::copyNode(ValueId old) {
  absl::InlinedVector<ValueId, 4> operands;
  for (ValueId operand : in_.node(old).operands) operands.push_back(map(operand));
  return copyNode(old, operands);
}

ValueId Rewriter::copyNode(ValueId old, absl::Span<const ValueId> operands) {
  Node& node = in_.mutableNode(old);
  out_.setLine(node.line);
  out_.setErrors(rulesOf(node.attrs));
  ValueId now;
  if (node.op == Op::kInput) {
    now = out_.input(static_cast<int>(node.attrs.integer(AttrKey::kIndex)), node.type);
    out_.mutableNode(now).attrs = node.attrs;
  } else if (node.op == Op::kConstant) {
    now = out_.constant(node.attrs.scalar(AttrKey::kValue));
  } else if (node.op == Op::kSym) {
    now = out_.sym(node.attrs.sym(AttrKey::kExpr));
  } else {
    now = out_.addTyped(node.op, operands, node.type, node.attrs, std::move(node.regions));
  }
  set(old, now);
  return now;
}

void Rewriter::finish() {
  for (ValueId output : in_.outputs()) out_.outputs().push_back(map(output));
  out_.outputs().insert(out_.outputs().end(), raising_.begin(), raising_.end());
  for (ValueId commit : in_.commits())
    if (out_.node(map(commit)).op == Op::kStore) out_.commits().push_back(map(commit));
  Graph done = std::move(out_);
  in_ = std::move(done);
}

/// Later ones first: what they read is then needed, too.
void Rewriter::keepRaising() {
  std::vector<bool> wanted(out_.size()), live(out_.size());
  for (ValueId now : to_)
    if (now.valid()) wanted[now.index] = true;
  for (const auto* roots : {&in_.outputs(), &in_.commits()})
    for (ValueId root : *roots) live[map(root).index] = true;
  for (size_t i = out_.size(); i-- > 0;) {
    if (!live[i] && wanted[i] && mayRaise(out_, ValueId(i))) {
      live[i] = true;
      raising_.push_back(ValueId(i));
    }
    const Op op = out_.node(ValueId(i)).op;
    live[i] = live[i] || (wanted[i] && (op == Op::kCall || op == Op::kDefine));
    if (!live[i]) continue;
    for (ValueId operand : out_.node(ValueId(i)).operands) live[operand.index] = true;
  }
}

std::vector<bool> liveValues(const Graph& graph) {
  std::vector<ValueId> roots = graph.outputs();
  roots.insert(roots.end(), graph.commits().begin(), graph.commits().end());
  return liveValues(graph, roots);
}

namespace {

/// A bind or a definition fails what is out of its range, and a library call may raise, whether anybody needs its
/// results or not.
bool mayFail(const Node& node) {
  if (node.op == Op::kBind || node.op == Op::kDefine || node.op == Op::kCall) return true;
  for (const std::unique_ptr<Graph>& region : node.regions)
    for (size_t i = 0; i < region->size(); ++i)
      if (mayFail(region->node(ValueId(i)))) return true;
  return false;
}

}  // namespace

std::vector<bool> liveValues(const Graph& graph, absl::Span<const ValueId> roots) {
  std::vector<bool> live(graph.size(), false);
  for (ValueId root : roots) live[root.index] = true;
  for (size_t i = graph.size(); i-- > 0;) {
    const Node& node = graph.node(ValueId(i));
    if (node.op == Op::kInput || mayFail(node)) live[i] = true;
    if (!live[i]) continue;
    for (ValueId operand : node.operands) live[operand.index] = true;
  }
  return live;
}

absl::Status rewrite(Graph& graph, absl::FunctionRef<absl::Status(Rewriter&, ValueId)> visit, Unneeded unneeded) {
  const std::vector<bool> live = liveValues(graph);
  Rewriter rewriter(graph);
  for (size_t i = 0; i < live.size(); ++i) {
    if (!live[i]) continue;
    rewriter.out().setLine(graph.node(ValueId(i)).line);
    rewriter.out().setErrors(rulesOf(graph.node(ValueId(i)).attrs));
    if (absl::Status status = visit(rewriter, ValueId(i)); !status.ok())
      return Refused::of(graph, ValueId(i)).in(std::move(status));
    FW_CHECK(rewriter.mapped(ValueId(i)));
  }
  if (unneeded == Unneeded::kKeepRaising) rewriter.keepRaising();
  rewriter.finish();
  return absl::OkStatus();
}

absl::Status forEachRegion(Graph& graph, absl::FunctionRef<absl::Status(Graph&)> pass) {
  for (size_t i = 0; i < graph.size(); ++i)
    for (std::unique_ptr<Graph>& region : graph.mutableNode(ValueId(i)).regions)
      if (absl::Status status = pass(*region); !status.ok()) return status;
  return absl::OkStatus();
}

}  // namespace fw::graph
