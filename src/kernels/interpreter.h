// Runs a kernel one element at a time: the meaning of the kernel IR, and the oracle of the code generators.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/kernel.h"

namespace fw::kernels {

/// Executes `kernel` on real memory. symbols[i] is the value of symbol i of `syms`; buffers[b] is the data of buffer b.
/// Answers the StatusBits that RaiseIf set, joined with the IEEE flags raised on the way (invalid, divide, overflow,
/// underflow). Fails if a SymId cannot be evaluated. Sequential, in the order of the text. With a plan, every access is
/// compared with the extent of its buffer first: one outside is not made, and kOutOfRange.
absl::StatusOr<uint64_t> interpret(const Kernel& kernel, const graph::SymContext& syms,
                                   absl::Span<const int64_t> symbols, absl::Span<void* const> buffers,
                                   const graph::Plan* checked = nullptr);

}  // namespace fw::kernels
