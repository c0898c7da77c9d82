// Scalar operations, types and constants as CUDA C++.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"

namespace fw::kernels::cuda {

/// Name of the type in registers, which the prelude defines where the language has another: "f32", "i64", "bool". f16
/// is its bits, "f16".
std::string_view registerType(DType d);
/// The same in memory: bool is "u8".
std::string_view memoryType(DType d);
/// A literal of exactly these bits; in parentheses where an operator in front could be misread.
std::string literal(DType d, uint64_t bits);

/// `e` on operands that are written as `operands`, of type `operand`: one expression. kUnimplemented if the table has
/// no text for the type. Not for leaves, loads and results of reductions.
absl::StatusOr<std::string> operation(const Expr& e, DType operand, absl::Span<const std::string> operands);
/// The combining step of a reduction.
absl::StatusOr<std::string> combining(ScalarOp op, DType d, const std::string& a, const std::string& b);

/// What every source begins with: types, conversions of f16, division by a number that the host prepared, combination
/// of threads. Needs no headers.
std::string_view prelude();

}  // namespace fw::kernels::cuda
