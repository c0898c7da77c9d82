// SymProgram: an expression DAG over symbols flattened to straight-line code for a small register machine.
//
// Every reachable node becomes one step that writes the register of its own number; n-ary sums and products become
// chains. Shared subexpressions are shared steps. Arithmetic wraps (in unsigned), because sizes and strides of live
// arrays cannot overflow and a check would cost more than the step.
#include "runtime/sym_program.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "graph/support/check.h"

namespace fw::runtime {

using graph::SymId;
using graph::SymNode;
using graph::SymOp;

namespace {

// Python's integer division, total: a zero divisor or an overflow answers 0 (a guard has excluded them).

int64_t floorDiv(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return 0;
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

}  // namespace

SymProgram::SymProgram(const graph::SymContext& syms, absl::Span<const SymId> results) {
  absl::flat_hash_map<SymId, uint16_t> registers;
  auto append = [&](Step step) {
    FW_CHECK_MSG(steps_.size() < 0xffff, "symbolic program too long");
    steps_.push_back(step);
    return static_cast<uint16_t>(steps_.size() - 1);
  };
  // Depth first with an explicit stack: expressions of long unrolled regions can be deep.
  std::vector<SymId> pending;
  auto lower = [&](SymId root) {
    pending.push_back(root);
    while (!pending.empty()) {
      const SymId id = pending.back();
      if (registers.contains(id)) {
        pending.pop_back();
        continue;
      }
      const SymNode& node = syms.node(id);
      const size_t before = pending.size();
      for (SymId operand : node.operands) {
        if (!registers.contains(operand)) pending.push_back(operand);
      }
      if (pending.size() != before) continue;
      pending.pop_back();
      if (node.operands.empty()) {
        registers[id] = append({node.op, 0, 0, node.value});
        continue;
      }
      uint16_t acc = registers[node.operands[0]];
      for (size_t i = 1; i < node.operands.size(); ++i) acc = append({node.op, acc, registers[node.operands[i]], 0});
      registers[id] = acc;
    }
    return registers[root];
  };
  for (SymId result : results) results_.push_back(lower(result));
}

void SymProgram::run(const int64_t* symbols, int64_t* results) const {
  absl::InlinedVector<int64_t, 64> regs(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    switch (s.op) {
      case SymOp::kConst: regs[i] = s.value; break;
      case SymOp::kSymbol: regs[i] = symbols[s.value]; break;
      case SymOp::kAdd: regs[i] = static_cast<int64_t>(uint64_t(regs[s.a]) + uint64_t(regs[s.b])); break;
      case SymOp::kMul: regs[i] = static_cast<int64_t>(uint64_t(regs[s.a]) * uint64_t(regs[s.b])); break;
      case SymOp::kFloorDiv: regs[i] = floorDiv(regs[s.a], regs[s.b]); break;
      case SymOp::kMod: regs[i] = floorMod(regs[s.a], regs[s.b]); break;
      case SymOp::kMin: regs[i] = std::min(regs[s.a], regs[s.b]); break;
      case SymOp::kMax: regs[i] = std::max(regs[s.a], regs[s.b]); break;
    }
  }
  for (size_t i = 0; i < results_.size(); ++i) results[i] = regs[results_[i]];
}

std::vector<int64_t> SymProgram::symbols() const {
  std::vector<int64_t> numbers;
  for (const Step& step : steps_)
    if (step.op == SymOp::kSymbol) numbers.push_back(step.value);
  return numbers;
}

RepeatedSymProgram::RepeatedSymProgram(SymProgram program)
    : program_(std::move(program)),
      numbers_(program_.symbols()),
      symbols_(numbers_.size()) {
  results_.reserve(program_.resultCount());
}

void RepeatedSymProgram::run(const int64_t* symbols, int64_t* results) {
  bool known = !results_.empty();
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const int64_t now = symbols[numbers_[i]];
    known &= symbols_[i] == now;
    symbols_[i] = now;
  }
  if (known) {
    std::copy(results_.begin(), results_.end(), results);
    return;
  }
  results_.clear();  // running may throw
  program_.run(symbols, results);
  results_.assign(results, results + resultCount());
}

}  // namespace fw::runtime
