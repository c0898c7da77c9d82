// Symbols replaced by values in expressions.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "graph/support/check.h"
#include "graph/symint_facts.h"

namespace fw::graph {
namespace {

class Substitution {
 public:
  Substitution(SymContext& context, SymId symbol, SymId value) : context_(context), symbol_(symbol), value_(value) {}

  std::optional<SymId> of(SymId id) {
    if (id == symbol_) return value_;
    if (auto it = done_.find(id); it != done_.end()) return it->second;
    const std::optional<SymId> result = make(id);
    done_[id] = result;
    return result;
  }

 private:
  std::optional<SymId> make(SymId id) {
    const SymNode node = context_.node(id);  // by value: expressions are added
    if (node.op == SymOp::kConst || node.op == SymOp::kSymbol) return id;
    std::vector<SymId> operands;
    for (SymId operand : node.operands) {
      const std::optional<SymId> now = of(operand);
      if (!now) return std::nullopt;
      operands.push_back(*now);
    }
    if (std::equal(operands.begin(), operands.end(), node.operands.begin(), node.operands.end())) return id;
    SymId result = operands[0];
    switch (node.op) {
      case SymOp::kConst:
      case SymOp::kSymbol: FW_UNREACHABLE();
      case SymOp::kFloorDiv:
      case SymOp::kMod:
        if (operands[1] != node.operands[1]) return std::nullopt;  // it may be 0 now
        return node.op == SymOp::kMod ? context_.mod(operands[0], operands[1])
                                      : context_.floorDiv(operands[0], operands[1]);
      case SymOp::kAdd:
      case SymOp::kMul:
      case SymOp::kMin:
      case SymOp::kMax: break;
    }
    for (size_t i = 1; i < operands.size(); ++i) {
      if (node.op == SymOp::kAdd) result = context_.add(result, operands[i]);
      if (node.op == SymOp::kMul) result = context_.mul(result, operands[i]);
      if (node.op == SymOp::kMin) result = context_.min(result, operands[i]);
      if (node.op == SymOp::kMax) result = context_.max(result, operands[i]);
    }
    return result;
  }

  SymContext& context_;
  SymId symbol_, value_;
  absl::flat_hash_map<SymId, std::optional<SymId>> done_;
};

}  // namespace

std::optional<SymId> withValue(SymContext& context, SymId id, SymId symbol, SymId value) {
  return Substitution(context, symbol, value).of(id);
}

std::optional<SymId> slopeOf(SymContext& context, SymId id, SymId symbol) {
  const std::optional<SymId> next = withValue(context, id, symbol, context.add(symbol, context.constant(1)));
  if (!next) return std::nullopt;
  const SymId slope = context.canonical(context.sub(*next, id));
  return mentions(context, slope, symbol) ? std::nullopt : std::optional(slope);
}

}  // namespace fw::graph
