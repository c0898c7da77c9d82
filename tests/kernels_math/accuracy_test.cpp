// Every function against its true value: at most 1 ULP in f64 and 2 ULP in f32, no flag for ordinary arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ostream>
#include <random>

#include "measure.h"

namespace fw::kernels::testing {
namespace {

struct Domain {
  const char* function;
  std::vector<std::pair<Range, Range>> ranges;              ///< ordinary arguments: no flags expected
  double skipBeyond32 = INFINITY, skipBeyond64 = INFINITY;  ///< declined by the contract
};

const std::vector<Domain> kDomains = {
    {"exp", {{{-1, 1}, {}}, {{-80, 80}, {}}, {{1e-12, 1}, {}}, {{-1e-12, -1}, {}}}},
    {"exp2", {{{-1, 1}, {}}, {{-120, 120}, {}}, {{1e-12, 1}, {}}}},
    {"expm1",
     {{{-0.3, 0.3}, {}},
      {{-1, 1}, {}},
      {{-40, 80}, {}},
      {{1e-30, 1}, {}},
      {{-1e-30, -1}, {}},
      {{0.3, 0.5}, {}},
      {{36, 39}, {}},
      {{16, 18}, {}}}},
    {"log", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{1e-37, 1e37}, {}}}},
    {"log2", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{1e-37, 1e37}, {}}}},
    {"log10", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{1e-37, 1e37}, {}}}},
    {"log1p", {{{-0.5, 1}, {}}, {{-1e-3, 1e-3}, {}}, {{1e-37, 1e37}, {}}, {{-1e-37, -0.9999}, {}}}},
    {"sin", {{{-1, 1}, {}}, {{-10, 10}, {}}, {{-9e4, 9e4}, {}}, {{1e-30, 1}, {}}}, 1e5, 0x1p40},
    {"cos", {{{-1, 1}, {}}, {{-10, 10}, {}}, {{-9e4, 9e4}, {}}, {{1e-30, 1}, {}}}, 1e5, 0x1p40},
    {"tan", {{{-1, 1}, {}}, {{-10, 10}, {}}, {{-9e4, 9e4}, {}}, {{1e-30, 1}, {}}}, 1e5, 0x1p40},
    {"asin", {{{-1, 1}, {}}, {{1e-30, 1}, {}}, {{0.45, 0.55}, {}}, {{0.99, 1}, {}}}},
    {"acos", {{{-1, 1}, {}}, {{1e-30, 1}, {}}, {{0.45, 0.55}, {}}, {{0.99, 1}, {}}}},
    {"atan", {{{-1, 1}, {}}, {{-20, 20}, {}}, {{1e-30, 1e30}, {}}, {{0.3, 3}, {}}}},
    {"atan2", {{{-1, 1}, {-1, 1}}, {{1, 8}, {-1, -8}}, {{1e-30, 1e30}, {1e-5, 1e5}}, {{-1e-30, -1e30}, {-1e-5, -1e5}}}},
    {"sinh", {{{-1, 1}, {}}, {{-80, 80}, {}}, {{1e-30, 1}, {}}, {{-3, 3}, {}}, {{36, 39}, {}}, {{16, 18}, {}}}},
    {"cosh", {{{-1, 1}, {}}, {{-80, 80}, {}}, {{1e-30, 1}, {}}, {{-3, 3}, {}}, {{36, 39}, {}}, {{16, 18}, {}}}},
    {"tanh", {{{-1, 1}, {}}, {{-20, 20}, {}}, {{1e-30, 1}, {}}, {{1e-3, 1e-1}, {}}}},
    {"cbrt", {{{-8, 8}, {}}, {{1e-37, 1e37}, {}}}},
    {"hypot", {{{-1, 1}, {-1, 1}}, {{1, 8}, {1, 8}}, {{1e-37, 1e37}, {1e-37, 1e37}}}},
    {"power2", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power3", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power4", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power7", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power12", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power16", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_minus1", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_minus2", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_minus3", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_minus6", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_minus13", {{{0.5, 2}, {}}, {{-2, -0.5}, {}}, {{0.01, 100}, {}}}},
    {"power_half", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"power1_5", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"power2_5", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"power_minus_half", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"power_minus1_5", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"power_minus8_5", {{{0.5, 2}, {}}, {{0.97, 1.03}, {}}, {{0.01, 100}, {}}}},
    {"pow", {{{0.5, 2}, {-30, 30}}, {{0.01, 100}, {-10, 10}}, {{0.99, 1.01}, {-3000, 3000}}, {{1e-30, 1e30}, {-1, 1}}}},
};

void PrintTo(const Domain& d, std::ostream* out) { *out << d.function; }

class MathAccuracy : public ::testing::TestWithParam<Domain> {};

void check(const Accuracy& a, double bound, const char* what) {
  EXPECT_LE(a.maxUlp, bound) << what << " at " << a.worstX << ", " << a.worstY;
}

TEST_P(MathAccuracy, F64) {
  const Domain& d = GetParam();
  Compiled f(subject(d.function), DType::kF64);
  Accuracy all;
  for (const auto& [x, y] : d.ranges) {
    const Accuracy a = measure(f, x, y, 30000);
    check(a, 1.0, "range");
    EXPECT_EQ(a.status, 0u) << x.lo << " .. " << x.hi;
    if (a.maxUlp > all.maxUlp) all = a;
  }
  // Every exponent.
  std::mt19937_64 rng(7);
  auto draw = [&](double limit) {
    const double v = std::bit_cast<double>(rng());
    return std::isfinite(v) && std::fabs(v) <= limit ? v : 1.0;
  };
  const Accuracy a = measurePoints(f, 30000, [&](int) { return Point{draw(d.skipBeyond64), draw(INFINITY)}; });
  check(a, 1.0, "all exponents");
  EXPECT_EQ(a.status & 16, 0u);
  if (a.maxUlp > all.maxUlp) all = a;
  std::printf("%-6s f64: %3d operations, %.3f ULP\n", d.function, f.operationCount(), all.maxUlp);
}

TEST_P(MathAccuracy, F32) {
  const Domain& d = GetParam();
  Compiled f(subject(d.function), DType::kF32);
  Accuracy all;
  for (const auto& [x, y] : d.ranges) {
    const Accuracy a = measure(f, x, y, 100000);
    check(a, 2.0, "range");
    EXPECT_EQ(a.status, 0u) << x.lo << " .. " << x.hi;
    if (a.maxUlp > all.maxUlp) all = a;
  }
  // Evenly over all bit patterns.
  std::mt19937 rng(7);
  auto limited = [&](uint32_t bits, double limit) {
    const float v = std::bit_cast<float>(bits);
    return std::isfinite(v) && std::fabs(v) <= limit ? double{v} : 1.0;
  };
  const Accuracy a = measurePoints(f, 1 << 20, [&](int i) {
    return Point{limited(static_cast<uint32_t>(i) * 4096u + rng() % 4096u, d.skipBeyond32), limited(rng(), INFINITY)};
  });
  check(a, 2.0, "all patterns");
  EXPECT_EQ(a.status & 16, 0u);
  if (a.maxUlp > all.maxUlp) all = a;
  std::printf("%-6s f32: %3d operations, %.3f ULP\n", d.function, f.operationCount(), all.maxUlp);
}

INSTANTIATE_TEST_SUITE_P(All, MathAccuracy, ::testing::ValuesIn(kDomains),
                         [](const auto& info) { return std::string(info.param.function); });

}  // namespace
}  // namespace fw::kernels::testing
