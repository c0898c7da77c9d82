// The order in which NumPy (2.3 and later) adds, and where its result follows from it.
// tests/python/test_pairwise_rule.py checks this text against NumPy; the evaluator and the kernels follow it.
//
// Sizes are those at run time: a symbolic axis that happens to be 1 does not count, which may turn case 4 into case 5.
//
// 1. Iteration order. Axes of size 1 do not count. The others are sorted from the smallest to the largest |stride| by
// an
//    insertion sort that starts from C order (last axis innermost), moves an axis inwards only past strictly larger
//    strides and looks past axes with stride 0 (broadcast), which have no say. Strides are never negated: a reduced
//    axis is always walked by increasing index. This is Layout::order reversed.
// 2. Runs. Two neighbouring *reduced* axes are one run when stride(inner) * size(inner) == stride(outer), signs
// included;
//    so packed neighbours are one run.
// 3. Start. sum starts from +0 (so the sum of -0.0 alone is +0.0), prod from 1; max and min from the first element.
//    Nothing else is special: an empty sum is +0, a sum over axes of size 1 is 0 + x.
// 4. Innermost axis kept: plain sequential addition, acc = acc + x, in iteration order of the reduced axes (outermost
//    slowest), each step rounded to the dtype.
// 5. Innermost axis reduced: one *call* adds a stretch of elements: acc = acc + pairwise(stretch). Stretches follow one
//    another in iteration order of the reduced axes. Their lengths are chunkOf() of the sizes n0, n1, ... of
//    the leading runs (innermost first) up to the first kept axis, which does not join:
//    - One run, no cast: the whole run, whatever its length.
//    - One run, casting reduction: at most 8192 elements (NumPy's buffer).
//    - Several runs, no cast, n0 > 4096: stretches of n0. Otherwise the operand goes through the buffer: runs are
//      joined innermost to outermost while the joined size is below 8192; a stretch is the joined core
//      repeated as often as fits into 8192 elements; stretches restart after each period. Exactly: chunkOf().
// 6. pairwise(x[0..n)) of f32 and f64: n < 8: -0.0 + x[0] + x[1] ... sequentially. n <= 128: eight accumulators r[j] =
//    x[j], then r[j] += x[i + j] for whole groups of eight; ((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7)); then the rest one by
//    one. Larger: h = n/2 rounded down to a multiple of 8; pairwise(x[0..h)) + pairwise(x[h..n)).
// 7. f16: the elements are widened to f32, pairwise runs in f32, and each call's f32(acc) + pairwise is rounded to f16.
// In
//    case 4 every single step is rounded to f16.
// 8. Complex: real and imaginary parts are added separately by the same tree, where n counts real numbers: n = 2 *
// count.
//    count < 4: sequential from -0.0; count <= 64: four accumulators per part, (r0+r1)+(r2+r3), rest one by one;
//    larger: h = n/2 rounded down to a multiple of 8, which is h/2 complex elements. So four accumulators, not eight.
// 9. prod is sequential in iteration order everywhere (no tree). f16 prod runs in f32 within a call (stretch as in 5)
// and is
//    rounded to f16 at the end of each call; case 4 rounds every step. Complex prod in case 4 uses the product of
//    NumPy's array loops on machines with FMA, re = fma(ar, br, -(ai*bi)), im = fma(ar, bi, ai*br); in case 5 the plain
//    one with four rounded products.
// 10. A casting reduction is one where NumPy converts inside the reduction: sum(x, dtype=...), and the sums in mean and
//    var of bool, integers and f16. In the graph it is sum {buffered=1}(cast(x)), and 1, 2 and 5 use the layout of x
//    (which cast keeps). x.astype(t).sum() has no such attribute.
//    Sums of integers and bool, logic, and max/min of integers are exact in any order.
// 11. max and min of floats propagate NaN (the quiet NaN of the result may carry any payload and sign). Of equal zeros
//    with different signs the one NumPy answers depends on its vector width and on chunks: not reproducible; any.
//    fmax.reduce and fmin.reduce: the same.
// 12. Which axes are one run (rule 2) may be known at run time only, from strides: kernels decide then
// (graph/linear_sum.h,
//    kernels/stretches.h), and decline where a size of 1 would change the order.
// 13. Not covered, capture must refuse: arrays that are unaligned or not in native byte order, reductions with out=,
//    where= or a reduction after np.setbufsize(); NumPy older than 2.3; layouts whose order is unknown.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace fw::graph {

inline constexpr int64_t kNumpyBufferElements = 8192;
inline constexpr int64_t kPairwiseBlock = 128;

/// Stretches: `length` elements per call; a new period starts every `period` elements and cuts the stretch.
struct ReductionChunk {
  int64_t length = 0;
  int64_t period = 0;
};

/// Rule 5. `runs` are the sizes of the leading reduced runs, innermost first, at least one, all of them above 1.
/// `casting` as in rule 10.
inline ReductionChunk chunkOf(absl::Span<const int64_t> runs, bool casting) {
  // NumPy's iterator weighs (1 + number of buffered operands) / (elements per call): joining more axes means buffering.
  int bestCost = casting ? 2 : 1;
  int64_t size = runs[0], best = runs[0], core = 1;
  bool joined = false;
  for (size_t i = 1; i < runs.size(); ++i) {
    int cost = i == 1 ? bestCost : 2;
    if (size >= kNumpyBufferElements && cost > 1) break;
    cost = 2;
    const int64_t inner = size;
    size *= runs[i];
    const int64_t fits = size < kNumpyBufferElements ? size : kNumpyBufferElements;
    if (cost * best <= bestCost * fits) {
      bestCost = cost;
      core = inner;
      best = size;
      joined = true;
    }
  }
  ReductionChunk chunk{best, best};
  if ((casting || joined) && best > kNumpyBufferElements) chunk.length = core * (kNumpyBufferElements / core);
  return chunk;
}

/// Rule 2, and chunkOf() of what it gives: of the leading reduced axes, innermost first, with their sizes at run time
/// and the strides of NumPy's array. Lengths are at least 1.
inline ReductionChunk chunkOfAxes(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides, bool casting) {
  absl::InlinedVector<int64_t, 8> runs;
  int64_t next = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!runs.empty() && strides[i] == next)
      runs.back() *= sizes[i];
    else
      runs.push_back(sizes[i]);
    next = strides[i] * sizes[i];
  }
  if (runs.empty()) runs.push_back(1);
  const ReductionChunk chunk = chunkOf(runs, casting);
  return {std::max<int64_t>(chunk.length, 1), std::max<int64_t>(chunk.period, 1)};
}

/// Rules 6 to 8. `get(i)` answers element i; T is float or double (for f16 use float).
template <class T, class Get>
T pairwiseSum(int64_t first, int64_t n, const Get& get) {
  if (n < 8) {
    T sum = static_cast<T>(-0.0);
    for (int64_t i = 0; i < n; ++i) sum = sum + get(first + i);
    return sum;
  }
  if (n <= kPairwiseBlock) {
    T r[8];
    for (int j = 0; j < 8; ++j) r[j] = get(first + j);
    int64_t i = 8;
    for (; i + 8 <= n; i += 8)
      for (int j = 0; j < 8; ++j) r[j] = r[j] + get(first + i + j);
    T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; ++i) sum = sum + get(first + i);
    return sum;
  }
  int64_t half = n / 2;
  half -= half % 8;
  return pairwiseSum<T>(first, half, get) + pairwiseSum<T>(first + half, n - half, get);
}

/// The same tree for one part of `count` complex elements (rule 8).
template <class T, class Get>
T pairwiseSumOfPart(int64_t first, int64_t count, const Get& get) {
  if (count < 4) {
    T sum = static_cast<T>(-0.0);
    for (int64_t i = 0; i < count; ++i) sum = sum + get(first + i);
    return sum;
  }
  if (count <= kPairwiseBlock / 2) {
    T r[4];
    for (int j = 0; j < 4; ++j) r[j] = get(first + j);
    int64_t i = 4;
    for (; i + 4 <= count; i += 4)
      for (int j = 0; j < 4; ++j) r[j] = r[j] + get(first + i + j);
    T sum = (r[0] + r[1]) + (r[2] + r[3]);
    for (; i < count; ++i) sum = sum + get(first + i);
    return sum;
  }
  int64_t half = count;  // n/2 where n = 2 * count counts reals
  half = (half - half % 8) / 2;
  return pairwiseSumOfPart<T>(first, half, get) + pairwiseSumOfPart<T>(first + half, count - half, get);
}

}  // namespace fw::graph
