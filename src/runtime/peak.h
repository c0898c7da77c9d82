// How fast this machine computes at most: what achieved rates are compared with.
#pragma once

namespace fw::runtime {

/// Floating-point operations per second of one thread: fused multiply-adds of float64 in the widest registers there
/// are, from registers to registers. Half a millisecond each for a few tries, the best of which counts.
double peakOperations();

}  // namespace fw::runtime
