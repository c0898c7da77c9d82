// Special values and flags: the result of every function at the ends of its domain is C's, and so are the invalid,
// divide and overflow flags. Also: the kernel interpreter agrees with the evaluator of these tests.
#include <gtest/gtest.h>

#include <cfenv>
#include <cfloat>
#include <cmath>

#include "kernels/interpreter.h"
#include "measure.h"

namespace fw::kernels::testing {
namespace {

const std::vector<double>& arguments() {
  static const std::vector<double> all = [] {
    std::vector<double> v = {0,
                             1,
                             2,
                             3,
                             0.5,
                             0.25,
                             1.5,
                             10,
                             100,
                             1000,
                             1e-3,
                             1e-8,
                             1e-20,
                             7,
                             0.99,
                             1.01,
                             0x1p-24,
                             0x1p-53,
                             DBL_MIN,
                             DBL_MAX,
                             DBL_TRUE_MIN,
                             FLT_MIN,
                             FLT_MAX,
                             FLT_TRUE_MIN,
                             1e-310,
                             1e-40,
                             1e300,
                             1e30,
                             INFINITY,
                             88.7,
                             88.8,
                             89.5,
                             709.7,
                             709.9,
                             710.5,
                             103.9,
                             104.1,
                             745.1,
                             745.2,
                             128,
                             127.9,
                             1024,
                             1023.9,
                             150,
                             1075,
                             0x1p31,
                             0x1p52 + 1,
                             0x1p53,
                             0x1p60,
                             4503599627370495.5,
                             8388607.5,
                             16777215,
                             M_PI,
                             M_PI_2,
                             M_PI_4,
                             0x1.921fb6p0,
                             0x1.fffffep-1,
                             0x1.fffffffffffffp-1,
                             0x1.000002p0};
    const size_t n = v.size();
    for (size_t i = 0; i < n; ++i) v.push_back(-v[i]);
    v.push_back(NAN);
    return v;
  }();
  return all;
}

struct Expected {
  double value;
  uint64_t status;
};

Expected reference(const Subject& s, DType t, double x, double y) {
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile double vx = x, vy = y;
  const bool f32 = t == DType::kF32;
  volatile double r = f32 ? double{s.libm32(static_cast<float>(vx), static_cast<float>(vy))} : s.libm64(vx, vy);
  const int flags = std::fetestexcept(FE_ALL_EXCEPT);
  return {r, (flags & FE_INVALID ? 1u : 0u) | (flags & FE_DIVBYZERO ? 2u : 0u) | (flags & FE_OVERFLOW ? 4u : 0u)};
}

/// Where C's libraries agree about the result, but not about the flags, or where reduction would be too long.
bool declined(const Subject& s, DType t, double x, double y) {
  if (s.name == "pow" && std::isinf(y)) return y < 0 ? x == 0 : std::isfinite(x) && std::fabs(x) > 1;
  const bool trig = s.name == "sin" || s.name == "cos" || s.name == "tan";
  return trig && std::isfinite(x) && std::fabs(x) > (t == DType::kF32 ? 1e5 : 0x1p40);
}

double distance(DType t, double got, double want) {
  const double smallest = t == DType::kF32 ? FLT_TRUE_MIN : DBL_TRUE_MIN;
  if (std::signbit(got) == std::signbit(want) && std::fabs(got) <= smallest && std::fabs(want) <= smallest) {
    // A result of half the smallest subnormal is a tie: either neighbour is within 1 ULP. Exact zeros have their own
    // test.
    return 1;
  }
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : 1e30;
  if (std::isinf(got) || std::isinf(want) || want == 0) {
    return got == want && std::signbit(got) == std::signbit(want) ? 0 : 1e30;
  }
  const double a = std::fabs(want);
  const double next = t == DType::kF32 ? std::nextafterf(static_cast<float>(a), INFINITY) : std::nextafter(a, INFINITY);
  return std::fabs(got - want) / (next - a);
}

class MathSpecial : public ::testing::TestWithParam<std::string> {};

void checkAll(const std::string& name, DType t) {
  const Subject& s = subject(name);
  Compiled f(s, t);
  const std::vector<double> one = {0};
  for (double x : arguments()) {
    for (double y : s.arity == 2 ? arguments() : one) {
      const double larger = std::fmax(std::fabs(x), std::fabs(y));
      if (t == DType::kF32 && larger > FLT_MAX && std::isfinite(larger)) continue;
      const uint64_t bx = pack(t, x), by = pack(t, y);
      const double dx = unpack(t, bx), dy = unpack(t, by);
      uint64_t out;
      const uint64_t status = f.runWithStatus(&bx, &by, &out, 1);
      if (declined(s, t, dx, dy)) {
        EXPECT_TRUE(status & 16) << name << " " << dx << " " << dy;
        continue;
      }
      const Expected want = reference(s, t, dx, dy);
      const double got = unpack(t, out);
      EXPECT_LE(distance(t, got, want.value), t == DType::kF32 ? 3 : 2)
          << name << "(" << dx << ", " << dy << ") = " << got << ", C gives " << want.value;
      // Overflow may come on top where the result is invalid or the argument infinite.
      const bool extra = (want.status & 1) || std::isinf(dx) || std::isinf(dy);
      const uint64_t mask = extra ? ~uint64_t{4} : ~uint64_t{0};
      EXPECT_EQ(status & mask, want.status & mask) << name << "(" << dx << ", " << dy << ") = " << got;
    }
  }
}

TEST_P(MathSpecial, F64) { checkAll(GetParam(), DType::kF64); }
TEST_P(MathSpecial, F32) { checkAll(GetParam(), DType::kF32); }

// Results that programs rely on to the last bit.
TEST(MathExact, Values) {
  struct Case {
    const char* function;
    double x, y, want;
  };
  const Case cases[] = {
      {"exp", 0, 0, 1},          {"exp", -0.0, 0, 1},      {"exp2", 10, 0, 1024},   {"exp2", -3, 0, 0.125},
      {"expm1", 0, 0, 0},        {"expm1", -0.0, 0, -0.0}, {"log", 1, 0, 0},        {"log2", 8, 0, 3},
      {"log2", 0x1p-20, 0, -20}, {"log10", 1000, 0, 3},    {"log10", 1e10, 0, 10},  {"log1p", -0.0, 0, -0.0},
      {"sin", 0, 0, 0},          {"sin", -0.0, 0, -0.0},   {"cos", 0, 0, 1},        {"tan", -0.0, 0, -0.0},
      {"asin", -0.0, 0, -0.0},   {"acos", 1, 0, 0},        {"atan", -0.0, 0, -0.0}, {"atan2", 0, 1, 0},
      {"atan2", -0.0, 1, -0.0},  {"sinh", -0.0, 0, -0.0},  {"cosh", 0, 0, 1},       {"tanh", -0.0, 0, -0.0},
      {"tanh", 30, 0, 1},        {"cbrt", 27, 0, 3},       {"cbrt", -8, 0, -2},     {"cbrt", 0.125, 0, 0.5},
      {"hypot", 3, 4, 5},        {"hypot", 5, 12, 13},     {"hypot", -0.0, 0, 0},   {"pow", 3, 4, 81},
      {"pow", -2, 3, -8},        {"pow", 4, 0.5, 2},       {"pow", 10, 3, 1000},    {"pow", 2, -3, 0.125},
      {"pow", -0.0, 3, -0.0},    {"pow", 0, 1e-300, 0},    {"pow", 7, 1, 7},        {"pow", 1.5, 2, 2.25}};
  for (DType t : {DType::kF32, DType::kF64}) {
    for (const Case& c : cases) {
      if (t == DType::kF32 && c.y == 1e-300) continue;
      Compiled f(subject(c.function), t);
      const uint64_t x = pack(t, c.x), y = pack(t, c.y);
      uint64_t out;
      EXPECT_EQ(f.runWithStatus(&x, &y, &out, 1), 0u) << c.function;
      EXPECT_EQ(out, pack(t, c.want)) << c.function << "(" << c.x << ", " << c.y << ") = " << unpack(t, out);
    }
  }
}

TEST_P(MathSpecial, InterpreterAgrees) {
  for (DType t : {DType::kF32, DType::kF64}) {
    Compiled f(subject(GetParam()), t);
    for (double x : {0.0, -0.0, 0.3, -0.9, 2.5, 40.0, 1e-310, double{INFINITY}, double{NAN}, 1e4}) {
      uint64_t bx = pack(t, x), by = pack(t, 1.7), out = 0, interpreted = 0;
      const uint64_t status = f.runWithStatus(&bx, &by, &out, 1);
      void* const buffers[] = {&bx, &by, &interpreted};
      const auto r = interpret(f.kernel(), f.syms(), {}, buffers);
      ASSERT_TRUE(r.ok()) << r.status();
      EXPECT_TRUE(interpreted == out || (std::isnan(unpack(t, out)) && std::isnan(unpack(t, interpreted))))
          << GetParam() << "(" << x << ")";
      EXPECT_EQ(*r & ~uint64_t{8}, status) << GetParam() << "(" << x << ")";
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> r;
  for (const Subject& s : subjects()) r.push_back(s.name);
  return r;
}
INSTANTIATE_TEST_SUITE_P(All, MathSpecial, ::testing::ValuesIn(names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace fw::kernels::testing
