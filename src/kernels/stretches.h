// The stretches of a float sum over a linear copy of its operand (graph/linear_sum.h), found out at run time.
#pragma once

#include "kernels/builder.h"
#include "kernels/reduction.h"

namespace fw::kernels {

/// i64 values: stretches hold `length` elements, are cut every `period`, and there are `count` of them in all.
struct Stretches {
  Val total, length, period, perPeriod, count;
};

/// graph::chunkOf() of the leading runs of `r`, whose axes have the sizes of `domain`.
absl::StatusOr<Stretches> stretchesOf(KernelBuilder& b, const graph::SymShape& domain, const Reduction& r);

/// Range of stretch number `index` on the linear axis.
struct StretchRange {
  Val lower, upper;
};
StretchRange rangeOf(KernelBuilder& b, const Stretches& s, Val index);

/// Declines at run time where an axis that NumPy would then leave out happens to have size 1.
void declineUnitAxes(KernelBuilder& b, const graph::SymShape& domain, const Reduction& r);

}  // namespace fw::kernels
