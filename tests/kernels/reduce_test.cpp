// Reductions and whole kernels: orders of addition against graph/pairwise_order.h, layouts, empty arrays, the shape of
// the fused kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "graph/pairwise_order.h"
#include "harness.h"

namespace fw::kernels::testing {
namespace {

std::vector<double> randomNumbers(size_t n) {
  std::mt19937_64 rng(n);
  std::normal_distribution<double> normal;
  std::vector<double> x(n);
  for (double& v : x) v = normal(rng) * std::exp(normal(rng) * 4);
  return x;
}

std::vector<double> doubles(const std::vector<std::byte>& bytes) {
  std::vector<double> v(bytes.size() / 8);
  if (!bytes.empty()) std::memcpy(v.data(), bytes.data(), bytes.size());
  return v;
}

/// One input x of f64[s0, s1] and `body` from %1 on, which returns what it likes.
std::vector<double> runOn(const std::string& body, std::vector<double> x, std::vector<int64_t> symbols,
                          const std::string& layout = "", const std::string& moreSymbols = "", int64_t start = 0) {
  const std::string text = "graph(s0: [0, inf], s1: [0, inf]" + moreSymbols +
                           ") {\n  %0 = input() {index=0} : f64[s0, s1]" + layout + "\n" + body + "}\n";
  absl::StatusOr<BuiltGraph> built = build(text);
  EXPECT_TRUE(built.ok()) << text << built.status();
  if (!built.ok()) return {};
  x.resize(x.size() + 1);
  void* inputs[] = {x.data() + start};
  absl::StatusOr<Result> r = run(*built, inputs, symbols);
  EXPECT_TRUE(r.ok()) << r.status();
  return r.ok() ? doubles(r->outputs[0]) : std::vector<double>{};
}

const char kSumRows[] = "  %1 = sum(%0) {axes=[1], keepdims=0} : f64[s0]\n  return %1\n";
const char kSumColumns[] = "  %1 = sum(%0) {axes=[0], keepdims=0} : f64[s1]\n  return %1\n";
const char kSumAll[] = "  %1 = sum(%0) {axes=[0, 1], keepdims=0} : f64[]\n  return %1\n";

double tree(const std::vector<double>& x, int64_t first, int64_t n, int64_t step = 1) {
  return 0.0 + graph::pairwiseSum<double>(0, n, [&](int64_t i) { return x[first + i * step]; });
}

TEST(Reduce, RowSumsFollowTheTree) {
  for (int64_t n : {1, 7, 8, 9, 127, 128, 129, 1000, 5000}) {
    const std::vector<double> x = randomNumbers(3 * n), sums = runOn(kSumRows, x, {3, n});
    ASSERT_EQ(sums.size(), 3u);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(sums[i], tree(x, i * n, n)) << n;
  }
}

TEST(Reduce, PackedAxesAreOneStretch) {
  const std::vector<double> x = randomNumbers(37 * 41);
  const std::vector<double> sum = runOn(kSumAll, x, {37, 41});
  ASSERT_EQ(sum.size(), 1u);
  EXPECT_EQ(sum[0], tree(x, 0, 37 * 41));
}

TEST(Reduce, ColumnSumsAreSequential) {
  for (int64_t m : {1, 5, 5000}) {
    const std::vector<double> x = randomNumbers(30 * m), sums = runOn(kSumColumns, x, {30, m});
    ASSERT_EQ(sums.size(), static_cast<size_t>(m));
    for (int64_t j = 0; j < m; ++j) {
      double acc = 0;
      for (int64_t i = 0; i < 30; ++i) acc = acc + x[i * m + j];
      ASSERT_EQ(sums[j], acc);
    }
  }
}

TEST(Reduce, FOrderSwapsRowsAndColumns) {
  const std::vector<double> x = randomNumbers(30 * 200);  // element (i, j) at i + 30 * j
  const std::vector<double> rows = runOn(kSumRows, x, {30, 200}, " layout=f");
  ASSERT_EQ(rows.size(), 30u);
  for (int64_t i = 0; i < 30; ++i) {
    double acc = 0;
    for (int64_t j = 0; j < 200; ++j) acc = acc + x[i + 30 * j];
    ASSERT_EQ(rows[i], acc);
  }
  const std::vector<double> columns = runOn(kSumColumns, x, {30, 200}, " layout=f");
  for (int64_t j = 0; j < 200; ++j) ASSERT_EQ(columns[j], tree(x, 30 * j, 30));
}

TEST(Reduce, StridesMayBeNegative) {
  const std::vector<double> x = randomNumbers(10 * 40);
  const std::string strides = ", t0_0: [-inf, inf], t0_1: [-inf, inf]";
  const std::vector<double> rows = runOn(kSumRows, x, {10, 20, -320, 16}, " layout=c/strided", strides, 9 * 40);
  ASSERT_EQ(rows.size(), 10u);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(rows[i], tree(x, (9 - i) * 40, 20, 2));
}

TEST(Reduce, BufferedSumsRestartEvery8192) {
  const int64_t n = 20000;
  const std::vector<double> x = randomNumbers(2 * n);
  for (bool buffered : {false, true}) {
    const std::string rows = std::string("  %1 = cast(%0) : f32[s0, s1]\n  %2 = cast(%1) : f64[s0, s1]\n") +
                             "  %3 = sum(%2) {axes=[1], keepdims=0" + (buffered ? ", buffered=1" : "") +
                             "} : f64[s0]\n  return %3\n";
    const std::vector<double> sums = runOn(rows, x, {2, n});
    ASSERT_EQ(sums.size(), 2u);
    std::vector<double> rounded;
    for (double v : x) rounded.push_back(static_cast<float>(v));
    for (int64_t i = 0; i < 2; ++i) {
      double acc = 0;
      const int64_t length = buffered ? graph::kNumpyBufferElements : n;
      for (int64_t at = 0; at < n; at += length)
        acc = acc +
              graph::pairwiseSum<double>(i * n + at, std::min(length, n - at), [&](int64_t k) { return rounded[k]; });
      EXPECT_EQ(sums[i], acc) << buffered;
    }
  }
}

TEST(Reduce, StretchesOfAnInteriorCrossRows) {
  // Rows up to 4096 are joined in a buffer of 8192, as many as fit; longer ones stand alone.
  for (int64_t n : {12, 1000, 4099, 9002}) {
    const int64_t rows = 25;
    const std::vector<double> x = randomNumbers(rows * n);
    const std::vector<double> sum = runOn(
        "  %1 = slice(%0) {starts=[1, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2]\n"
        "  %2 = sum(%1) {axes=[0, 1], keepdims=0} : f64[]\n  return %2\n",
        x, {rows, n});
    ASSERT_EQ(sum.size(), 1u);
    std::vector<double> inside;
    for (int64_t i = 1; i + 1 < rows; ++i) inside.insert(inside.end(), &x[i * n + 1], &x[i * n + n - 1]);
    const int64_t all = static_cast<int64_t>(inside.size());
    const graph::ReductionChunk chunk = graph::chunkOf({n - 2, rows - 2}, false);
    double acc = 0;
    for (int64_t period = 0; period < all; period += chunk.period)
      for (int64_t at = period; at < period + chunk.period; at += chunk.length)
        acc = acc + graph::pairwiseSum<double>(at, std::min(chunk.length, period + chunk.period - at),
                                               [&](int64_t k) { return inside[k]; });
    EXPECT_EQ(sum[0], acc) << n;
  }
}

TEST(Reduce, DeclinesWhereASizeOf1ChangesTheOrder) {
  absl::StatusOr<BuiltGraph> built =
      build("graph(s0: [0, inf], s1: [0, inf]) {\n  %0 = input() {index=0} : f64[s0, s1]\n" + std::string(kSumColumns) +
            "}\n");
  ASSERT_TRUE(built.ok()) << built.status();
  std::vector<double> x = randomNumbers(40);
  void* inputs[] = {x.data()};
  EXPECT_EQ(run(*built, inputs, {20, 2})->status & kDecline, 0u);
  EXPECT_EQ(run(*built, inputs, {20, 1})->status & kDecline, kDecline);
}

TEST(Reduce, EmptySumsAreZero) {
  for (double v : runOn(kSumRows, {}, {3, 0})) EXPECT_EQ(v, 0);
  for (double v : runOn(kSumColumns, {}, {0, 3})) EXPECT_EQ(v, 0);
  EXPECT_EQ(runOn(kSumAll, {}, {0, 5}), std::vector<double>{0});
  EXPECT_TRUE(runOn(kSumRows, {}, {0, 5}).empty());
}

TEST(Reduce, ExtremesPropagateNan) {
  std::vector<double> x = randomNumbers(4 * 50);
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[2 * 50 + 49] = x[3];
  const std::vector<double> rows = runOn("  %1 = max(%0) {axes=[1], keepdims=0} : f64[s0]\n  return %1\n", x, {4, 50});
  ASSERT_EQ(rows.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    if (i % 2 == 0)
      EXPECT_TRUE(std::isnan(rows[i]));
    else
      EXPECT_EQ(rows[i], *std::max_element(x.begin() + 50 * i, x.begin() + 50 * (i + 1)));
  }
  const std::vector<double> columns =
      runOn("  %1 = min(%0) {axes=[0], keepdims=0} : f64[s1]\n  return %1\n", x, {4, 50});
  EXPECT_TRUE(std::isnan(columns[3]));
  EXPECT_TRUE(std::isnan(columns[49]));
  EXPECT_EQ(columns[0], std::min({x[0], x[50], x[100], x[150]}));
}

TEST(Reduce, ArgmaxTakesTheFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {1, 5, 5, 0, /**/ 2, nan, 9, nan, /**/ -1, -1, -2, -1};
  for (const char* axis : {"1", "0"}) {
    const std::string size = axis[0] == '1' ? "s0" : "s1";
    const std::string body =
        "  %1 = argmax(%0) {axes=[" + std::string(axis) + "], keepdims=0} : i64[" + size + "]\n  return %1\n";
    const std::vector<double> bits = runOn(body, x, {3, 4});
    std::vector<int64_t> got(bits.size());
    std::memcpy(got.data(), bits.data(), 8 * bits.size());
    const std::vector<int64_t> want = axis[0] == '1' ? std::vector<int64_t>{1, 1, 0} : std::vector<int64_t>{1, 1, 1, 1};
    EXPECT_EQ(got, want) << axis;
  }
}

int countStmts(const Kernel& k, StmtKind kind, bool vectorised) {
  int n = 0;
  for (const Stmt& s : k.stmts) n += s.kind == kind && s.vectorize == vectorised;
  return n;
}

TEST(Fusion, SoftmaxIsOneKernelOfThreeLoops) {
  absl::StatusOr<BuiltGraph> built = build(R"(graph(s0: [1, inf], s1: [1, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = max(%0) {axes=[1], keepdims=1} : f32[s0, 1]
  %2 = subtract(%0, %1) : f32[s0, s1]
  %3 = exp(%2) : f32[s0, s1]
  %4 = sum(%3) {axes=[1], keepdims=1} : f32[s0, 1]
  %5 = divide(%3, %4) : f32[s0, s1]
  return %5
}
)");
  ASSERT_TRUE(built.ok()) << built.status();
  ASSERT_EQ(built->kernels.size(), 1u);
  const Kernel& k = built->kernels[0];
  EXPECT_EQ(countStmts(k, StmtKind::kReduce, true), 2);
  EXPECT_EQ(countStmts(k, StmtKind::kLoop, true), 1);
  EXPECT_EQ(countStmts(k, StmtKind::kStore, false), 2);  // exp is kept in the output between the loops
  EXPECT_EQ(built->plan.buffers.size(), 2u);
}

TEST(Fusion, SubtractingTheColumnMeanVectorisesAcrossRows) {
  const std::string body = R"(  %1 = sum(%0) {axes=[0], keepdims=0} : f64[s1]
  %2 = sym() {expr=s0} : i64[]
  %3 = cast(%2) : f64[]
  %4 = divide(%1, %3) : f64[s1]
  %5 = subtract(%0, %4) : f64[s0, s1]
  return %5
)";
  const std::vector<double> x = randomNumbers(20 * 33), got = runOn(body, x, {20, 33});
  ASSERT_EQ(got.size(), x.size());
  for (int j = 0; j < 33; ++j) {
    double acc = 0;
    for (int i = 0; i < 20; ++i) acc = acc + x[i * 33 + j];
    for (int i = 0; i < 20; ++i) ASSERT_EQ(got[i * 33 + j], x[i * 33 + j] - acc / 20);
  }
}

/// The kernels of a device that adds in any order and reports nothing, computed here.
TEST(Targets, AnotherAddsAsItLikes) {
  const char text[] =
      "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0, 8]\n"
      "  %1 = slice(%0) {starts=[0, 1], steps=[1, 1]} : f64[s0, 6]\n  %2 = divide(%1, %1) : f64[s0, 6]\n"
      "  %3 = sum(%1) {axes=[0, 1], keepdims=0} : f64[]\n"
      "  %4 = sum(%2) {axes=[0, 1], keepdims=0} : f64[]\n  return %3, %4\n}\n";
  absl::StatusOr<BuiltGraph> numpy = build(text);
  absl::StatusOr<BuiltGraph> device =
      build(text, {.space = graph::MemorySpace::kDevice, .numpySums = false, .reportsFlags = false});
  ASSERT_TRUE(numpy.ok() && device.ok()) << numpy.status() << device.status();
  EXPECT_NE(numpy->text().find("= copy("), std::string::npos);
  EXPECT_NE(numpy->text().find("pairwise"), std::string::npos);
  EXPECT_EQ(device->text().find("= copy("), std::string::npos);
  EXPECT_EQ(device->text().find("pairwise"), std::string::npos);
  EXPECT_EQ(device->text().find("raise_if"), std::string::npos);
  EXPECT_EQ(device->kernels.size(), 1u) << device->text();
  std::vector<double> x(8 * 50);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i % 13) + 1;
    if (i % 8 >= 1 && i % 8 < 7) sum += x[i];
  }
  void* inputs[] = {x.data()};
  const int64_t symbols[] = {50};
  for (auto* built : {&*numpy, &*device}) {
    absl::StatusOr<Result> r = run(*built, inputs, symbols);
    ASSERT_TRUE(r.ok()) << r.status();
    EXPECT_EQ(doubles(r->outputs[0])[0], sum);
    EXPECT_EQ(doubles(r->outputs[1])[0], 300);
  }
}

}  // namespace
}  // namespace fw::kernels::testing
