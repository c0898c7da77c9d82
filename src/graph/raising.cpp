// The op table's column `raises`, and the types of the operands where it leaves the answer to them.
#include "graph/raising.h"

#include "graph/op.h"
#include "graph/support/check.h"

namespace fw::graph {
namespace {

int partSize(DType d) { return itemSize(d) / (isComplex(d) ? 2 : 1); }

bool isQuietCast(DType from, DType to) {
  if (to == DType::kBool) return true;
  if (to == DType::kF16) return from == DType::kF16 || from == DType::kBool;
  return !isInexact(from) || (isInexact(to) && partSize(to) >= partSize(from));
}

bool isResultOfCall(const Graph& graph, const Node& node) {
  return node.op == Op::kProject && graph.node(node.operands[0]).op == Op::kCall;
}

}  // namespace

bool mayRaiseFlags(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  const auto operandType = [&] { return graph.type(node.operands[0]).dtype; };
  switch (info(node.op).raises) {
    case Raises::kNothing: return false;
    case Raises::kFloats: return isInexact(operandType()) || isInexact(node.type.dtype);
    case Raises::kComplex: return isComplex(operandType());
    case Raises::kByTypes: return !isQuietCast(operandType(), node.type.dtype);
    case Raises::kNumbers: return true;
    // A library call and a definition stay whether anybody needs them or not (liveValues): they raise nothing else.
    case Raises::kAnything: return node.op != Op::kCall && node.op != Op::kDefine && !isResultOfCall(graph, node);
  }
  FW_UNREACHABLE();
}

bool mayRaise(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  const bool ignored = rulesOf(node.attrs).ignored == ErrorRules::kAll && info(node.op).raises != Raises::kAnything;
  return !ignored && mayRaiseFlags(graph, id);
}

std::optional<ErrorRules> commonRules(const Graph& graph, absl::Span<const ValueId> values) {
  std::optional<ErrorRules> common;
  for (ValueId id : values) {
    if (!mayRaiseFlags(graph, id)) continue;
    const ErrorRules rules = rulesOf(graph.node(id).attrs);
    FW_CHECK_MSG(!common || *common == rules, "values of several error states in one group");
    common = rules;
  }
  return common;
}

}  // namespace fw::graph
