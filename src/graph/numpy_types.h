// NumPy's type resolution of ufunc calls: which loop runs, and the casts in front of it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"
#include "graph/graph.h"

namespace fw::graph {

struct UfuncSignature {
  absl::InlinedVector<DType, 3> inputs;  ///< every operand is cast to its entry first
  DType output;                          ///< what the op answers for such operands
};

/// The loop that NumPy 2 picks. kInvalidArgument with NumPy's reason where NumPy raises TypeError; kUnimplemented where
/// NumPy goes a way we do not follow.
absl::StatusOr<UfuncSignature> resolveUfunc(Op op, absl::Span<const OperandType> operands);

/// Type in which NumPy accumulates and answers a reduction of `input` without dtype=: sums and products of bool and
/// small integers are i64 or u64, mean/var/std of integers f64. `accumulate` may be wider than `output` (mean of f16:
/// f32).
struct ReductionTypes {
  DType accumulate;
  DType output;
};
absl::StatusOr<ReductionTypes> resolveReduction(Op op, DType input, std::optional<DType> requested);

/// Adds `op` with casts and broadcasting as NumPy would; operands given with their weakness.
struct UfuncOperand {
  ValueId value;
  Weak weak = Weak::kNo;
};
absl::StatusOr<ValueId> addUfunc(Graph& graph, Op op, absl::Span<const UfuncOperand> operands);

}  // namespace fw::graph
