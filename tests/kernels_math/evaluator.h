// Evaluates a straight-line kernel (loads, scalar expressions, one store, no loops) over many points: every expression
// becomes one pass over a block of lanes. It is written from scalar_ops.def, independently of the kernel interpreter
// and of the code generator, and it keeps the IEEE flags of every operation: comparisons of floats are quiet,
// MinSecond and MaxSecond on floats signal for NaNs, as the x86 instructions do.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace fw::kernels::testing {

class Evaluator {
 public:
  static constexpr int kBlock = 256;

  /// The kernel must outlive the evaluator. Input number i is buffer number i.
  explicit Evaluator(const Kernel& kernel);
  Evaluator(const Evaluator&) = delete;

  /// out[i] = f(in[0][i], in[1][i] ...) as raw bits of the element type; n <= kBlock.
  void run(const std::vector<const uint64_t*>& in, uint64_t* out, int n);

  /// Status bits set by RaiseIf since the last call of this function.
  uint64_t takeStatus() { return std::exchange(status_, 0); }
  /// Operations, not counting constants, loads and bit casts.
  int operationCount() const { return operationCount_; }

 private:
  using Pass = std::function<void(int n)>;
  void addPass(const Kernel& kernel, const Expr& e, int index);

  std::vector<std::vector<uint64_t>> slots_;
  std::vector<DType> types_;
  std::vector<Pass> passes_;
  std::vector<const uint64_t*> inputs_;
  int result_ = -1;
  int operationCount_ = 0;
  uint64_t status_ = 0;
};

}  // namespace fw::kernels::testing
