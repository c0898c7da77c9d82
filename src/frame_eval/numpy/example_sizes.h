// How sizes of results follow from sizes of arguments, told from a few examples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/symint.h"

namespace fw::capture::numpy {

/// A size as a function of sizes and ints of the arguments, told apart by number.
struct SizeRule {
  enum class Form : uint8_t {
    kConstant,
    kOne,
    kTwice,
    kHalf,
    kSum,
    kAround,
    kDistance,
    kProduct,
    kLeast,
    kMost,
    kDecided
  };
  Form form = Form::kDecided;
  size_t a = 0, b = 0;  ///< which arguments
  int64_t offset = 0;   ///< added; kConstant: the size

  int64_t evaluate(absl::Span<const int64_t> arguments) const;
  graph::SymId build(graph::SymContext& syms, absl::Span<const graph::SymId> arguments) const;
};

/// The simplest rule that gives size `sizes[i]` for the arguments `arguments[i]`, or kDecided. Forms of one argument
/// may be off by a constant, if there is more than one example.
SizeRule ruleOf(absl::Span<const std::vector<int64_t>> arguments, absl::Span<const int64_t> sizes);

}  // namespace fw::capture::numpy
