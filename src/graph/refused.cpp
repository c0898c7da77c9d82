// The operation is a payload of the status: three numbers.
#include "graph/refused.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/op.h"

namespace fw::graph {
namespace {

constexpr char kPayload[] = "fusewire/refused";

}  // namespace

Refused Refused::of(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  const ValueType& type = node.operands.empty() ? node.type : graph.type(node.operands[0]);
  return {node.op, type.dtype, node.line};
}

absl::Status Refused::in(absl::Status status) const {
  if (!absl::IsUnimplemented(status) || status.GetPayload(kPayload)) return status;
  const std::string what = std::string(info(op).text) + " of " + std::string(name(operand));
  absl::Status named(status.code(), absl::StrCat(what, ": ", status.message()));
  named.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(op), " ", static_cast<int>(operand), " ", line)));
  return named;
}

std::optional<Refused> Refused::from(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return std::nullopt;
  const std::string text(*payload);
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  int op = 0, operand = 0;
  uint32_t line = 0;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &op) || !absl::SimpleAtoi(parts[1], &operand) ||
      !absl::SimpleAtoi(parts[2], &line))
    return std::nullopt;
  return Refused{static_cast<Op>(op), static_cast<DType>(operand), line};
}

}  // namespace fw::graph
