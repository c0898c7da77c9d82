// Vector mathematics: transcendental functions as straight-line scalar expressions that vectorise by themselves.
// Every function: within 1 ULP (f64) or 2 ULP (f32) of the true value, IEEE special values as in C, no spurious
// invalid, divide or overflow flags, no branches. Sources of methods and measured errors stand in the .cpp files.
#pragma once

#include "kernels/builder.h"

namespace fw::kernels::math {

// x (and y) are f32 or f64; the result has the same type.
Val exp(KernelBuilder& b, Val x);
Val exp2(KernelBuilder& b, Val x);
Val expm1(KernelBuilder& b, Val x);
Val log(KernelBuilder& b, Val x);
Val log2(KernelBuilder& b, Val x);
Val log10(KernelBuilder& b, Val x);
Val log1p(KernelBuilder& b, Val x);
Val sin(KernelBuilder& b, Val x);
Val cos(KernelBuilder& b, Val x);
Val tan(KernelBuilder& b, Val x);
Val asin(KernelBuilder& b, Val x);
Val acos(KernelBuilder& b, Val x);
Val atan(KernelBuilder& b, Val x);
Val atan2(KernelBuilder& b, Val y, Val x);
Val sinh(KernelBuilder& b, Val x);
Val cosh(KernelBuilder& b, Val x);
Val tanh(KernelBuilder& b, Val x);
Val cbrt(KernelBuilder& b, Val x);
Val hypot(KernelBuilder& b, Val x, Val y);
Val pow(KernelBuilder& b, Val x, Val y);

}  // namespace fw::kernels::math
