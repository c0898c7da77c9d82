// Twelve sums that do not wait for each other: more than the latency of an operation times the units that do it.
#include "runtime/peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>

namespace fw::runtime {

namespace {

constexpr int kSums = 12, kTurns = 20'000, kTries = 8;

__attribute__((target("avx512f"))) double run512() {
  __m512d sums[kSums], factor = _mm512_set1_pd(0.999), term = _mm512_set1_pd(1e-3);
  for (__m512d& sum : sums) sum = _mm512_set1_pd(1.0);
  for (int i = 0; i < kTurns; ++i)
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm512_fmadd_pd(sums[k], factor, term);
  double result = 0;
  for (const __m512d& sum : sums) result += _mm512_cvtsd_f64(sum);
  return result;
}

__attribute__((target("avx2,fma"))) double run256() {
  __m256d sums[kSums], factor = _mm256_set1_pd(0.999), term = _mm256_set1_pd(1e-3);
  for (__m256d& sum : sums) sum = _mm256_set1_pd(1.0);
  for (int i = 0; i < kTurns; ++i)
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm256_fmadd_pd(sums[k], factor, term);
  double result = 0;
  for (const __m256d& sum : sums) result += _mm256_cvtsd_f64(sum);
  return result;
}

double run128() {
  __m128d sums[kSums], factor = _mm_set1_pd(0.999), term = _mm_set1_pd(1e-3);
  for (__m128d& sum : sums) sum = _mm_set1_pd(1.0);
  for (int i = 0; i < kTurns; ++i)
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm_add_pd(_mm_mul_pd(sums[k], factor), term);
  double result = 0;
  for (const __m128d& sum : sums) result += _mm_cvtsd_f64(sum);
  return result;
}

}  // namespace

double peakOperations() {
  const bool wide = __builtin_cpu_supports("avx512f"),
             middle = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const auto run = wide ? run512 : middle ? run256 : run128;
  const double lanes = wide ? 8 : middle ? 4 : 2;
  double best = 0;
  volatile double kept = 0;  // or nothing would be computed
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    kept = run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kSums * kTurns * lanes / seconds);
  }
  static_cast<void>(kept);
  return best;
}

}  // namespace fw::runtime
