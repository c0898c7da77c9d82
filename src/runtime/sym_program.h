// Several symbolic integers at once.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/symint.h"

namespace fw::runtime {

/// Evaluates several SymIds at once, quickly: a flat postfix program over int64 registers.
class SymProgram {
 public:
  SymProgram() = default;
  SymProgram(const graph::SymContext& syms, absl::Span<const graph::SymId> results);
  /// results[i] is the value of the i-th SymId given to the constructor. No overflow checks: dimensions of live arrays.
  void run(const int64_t* symbols, int64_t* results) const;
  size_t resultCount() const { return results_.size(); }
  /// Numbers of the symbols that results depend on.
  std::vector<int64_t> symbols() const;

 private:
  struct Step {
    graph::SymOp op;
    uint16_t a, b;  ///< registers
    int64_t value;  ///< kConst value, kSymbol index
  };
  std::vector<Step> steps_;
  std::vector<uint16_t> results_;
};

/// One that runs again and again, mostly on the same symbols: then the results are what they were. For one thread at a
/// time.
class RepeatedSymProgram {
 public:
  RepeatedSymProgram() = default;
  explicit RepeatedSymProgram(SymProgram program);
  void run(const int64_t* symbols, int64_t* results);
  size_t resultCount() const { return program_.resultCount(); }

 private:
  SymProgram program_;
  std::vector<int64_t> numbers_;  ///< of the symbols
  std::vector<int64_t> symbols_;  ///< what they were
  std::vector<int64_t> results_;  ///< what they gave; none yet: empty
};

}  // namespace fw::runtime
