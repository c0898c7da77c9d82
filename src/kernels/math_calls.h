// Calls of vector mathematics (math.h). A function of a few uses has its operations where it is used, which is fastest
// to run. The code generator takes milliseconds for each copy, though: a function of many uses in one program is code
// of its own, made once, and its uses are CallMath expressions.
#pragma once

#include <array>

#include "absl/types/span.h"
#include "kernels/builder.h"

namespace fw::kernels {

/// Which functions the kernels of one program call.
class MathCalls {
 public:
  /// Counts a use of a function of vector mathematics on numbers of type d (f32 or f64). Whether it is to be a call.
  bool use(Libm function, DType d);
  /// Functions of many uses, as counted, are called from now on. Whether there are any.
  bool settle();

 private:
  struct Count {
    uint32_t uses = 0;
    bool called = false;
  };
  std::array<std::array<Count, 2>, kLibmCount> counts_;
};

/// The operations of a function as a kernel without loops: loads operand i from buffer i and stores the result to the
/// buffer behind them.
struct MathFunction {
  graph::SymContext syms;
  Kernel kernel;
};

/// On operands of type d (f32 or f64). Made on first use and kept. May be asked by any thread.
const MathFunction& mathFunction(MathCall call, DType d);

namespace math {

/// A row of libm.def that is vector mathematics: its operations, or a call where the builder's MathCalls say so.
Val apply(KernelBuilder& b, Libm function, absl::Span<const Val> operands);

}  // namespace math
}  // namespace fw::kernels
