// Vector mathematics: transcendental functions as straight-line scalar expressions that vectorise by themselves.
//
// Every function is within 1 ULP (f64) or 2 ULP (f32) of the true value, subnormal results included, has C's special
// values, no branches, no table, no calls. Methods and measured errors stand at the top of the .cpp files.
//
// Flags: arguments for which C raises no invalid, divide or overflow raise none here, and where C raises one, so does
// the expression (as an IEEE flag, or by RaiseIf with the same status bit). Two liberties: an infinite argument of
// exp, exp2, expm1, sinh or cosh, and an argument outside the domain of log, log2, log10, asin, acos or pow, may raise
// overflow on top. Underflow and inexact mean nothing. An argument of 0 in idle lanes raises nothing that RaiseIf does
// not guard.
//
// Declined (RaiseIf with kStatusDecline, the result of the region must be thrown away): sin, cos, tan of a finite
// |x| > 1e5 (f32) or 2^40 (f64).
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
/// x to a constant power that is a multiple of 1/2 of magnitude up to 16, but 0; in a tenth of the operations of pow.
bool isSmallPower(double y);
Val power(KernelBuilder& b, Val x, double y);

}  // namespace fw::kernels::math
