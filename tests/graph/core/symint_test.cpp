// Symbolic integers: simplifications by example, everything else by comparing random expressions with plain arithmetic.
#include "graph/symint.h"
#include "graph/symint_bounds.h"

#include <functional>
#include <random>

#include "graph/symint_facts.h"
#include "gtest/gtest.h"

namespace fw::graph {
namespace {

class Symbols : public testing::Test {
 protected:
  SymId dim(const char* name, int64_t lo = 1, int64_t hi = INT64_MAX) { return c.symbol(name, {lo, hi}); }
  SymId k(int64_t v) { return c.constant(v); }
  std::string simplified(std::string_view text) {
    absl::StatusOr<SymId> id = c.parse(text);
    return id.ok() ? c.print(*id) : std::string(id.status().message());
  }
  SymId of(std::string_view text) {
    absl::StatusOr<SymId> id = c.parse(text);
    EXPECT_TRUE(id.ok()) << text << ": " << id.status();
    return *id;
  }

  SymContext c;
};

TEST_F(Symbols, EqualPolynomialsAreOneNode) {
  SymId x = dim("x"), y = dim("y");
  EXPECT_EQ(c.add(x, y), c.add(y, x));
  EXPECT_EQ(c.mul(c.add(x, k(1)), c.sub(x, k(1))), of("x*x - 1"));
  EXPECT_EQ(c.sub(c.mul(x, y), c.mul(y, x)), k(0));
  EXPECT_EQ(c.product({}), k(1));
  EXPECT_EQ(c.print(of("3 + y + x*y*2 - x")), "2*x*y + -1*x + y + 3");
}

TEST_F(Symbols, Division) {
  dim("x");
  dim("y");
  dim("z", 0, 9);
  dim("i", INT64_MIN);
  const char* cases[][2] = {
      {"x//1", "x"},
      {"(4*x)//4", "x"},
      {"(4*x + 3)//4", "x"},
      {"(4*x + 7)//4", "x + 1"},
      {"(2*x)//4", "x//2"},
      {"(2*x + 1)//2", "x"},
      {"(6*x + 5)//4", "x + x//2 + 1"},
      {"(x*y)//y", "x"},
      {"(x*y + y)//y", "x + 1"},
      {"(x*y)//(y*y)", "x//y"},
      {"(x + y)//(x + y)", "1"},
      {"(x*x + 2*x*y + y*y)//(x + y)", "x + y"},
      {"z//10", "0"},
      {"(z + 10)//10", "1"},
      {"(x//2)//3", "x//6"},
      {"(x//2 + 1)//3", "(x + 2)//6"},
      {"i//-1", "-1*i"},
      {"(2*i)//-4", "(-1*i)//2"},
      {"-7//2", "-4"},
      {"7//-2", "-4"},
      {"x%1", "0"},
      {"(4*x)%4", "0"},
      {"(4*x + 3)%4", "3"},
      {"(2*x)%4", "2*(x%2)"},
      {"(2*x + 1)%4", "2*(x%2) + 1"},
      {"z%10", "z"},
      {"(x*y)%x", "0"},
      {"i%-3", "-1*((-1*i)%3)"},
      {"-7%3", "2"},
      {"7%-3", "-2"},
      {"(5*x)%4", "x%4"},
  };
  for (auto& [input, expected] : cases) EXPECT_EQ(simplified(input), expected) << input;
}

TEST_F(Symbols, MinAndMaxDropDominatedOperands) {
  dim("x");
  dim("y");
  dim("z", 0, 9);
  const char* cases[][2] = {
      {"min(x, x + 1)", "x"},     {"max(x, x + 1)", "x + 1"},
      {"min(x, 0)", "0"},         {"max(x, 1)", "x"},
      {"min(z, 20)", "z"},        {"max(min(x, y), 0)", "min(x, y)"},
      {"min(x, max(x, y))", "x"}, {"min(x, min(y, x))", "min(x, y)"},
      {"min(x*y, x)", "x"},       {"max(3, 5)", "5"},
      {"min(x, x*y + z)", "x"},
  };
  for (auto& [input, expected] : cases) EXPECT_EQ(simplified(input), expected) << input;
}

TEST_F(Symbols, Overflow) {
  SymId x = dim("x");
  SymId top = k(INT64_MAX);
  EXPECT_EQ(c.evaluate(c.add(top, k(1)), {}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(*c.evaluate(c.sub(c.add(top, k(1)), k(1)), {}), INT64_MAX);
  SymId big = c.mul(c.mul(top, x), k(2));
  EXPECT_EQ(c.evaluate(big, {{1}}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(*c.evaluate(c.floorDiv(big, k(4)), {{1}}), INT64_MAX / 2);
  EXPECT_EQ(c.evaluate(c.floorDiv(k(INT64_MIN), k(-1)), {}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(c.evaluate(c.mul(x, x), {{int64_t{1} << 40}}).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(c.provablyLess(c.add(top, x), k(0)), false);
}

TEST_F(Symbols, Proofs) {
  dim("x");
  dim("y");
  dim("i", 0);
  auto less = [&](const char* a, const char* b) { return c.provablyLess(of(a), of(b)); };
  auto equal = [&](const char* a, const char* b) { return c.provablyEqual(of(a), of(b)); };
  EXPECT_EQ(less("x", "x + 1"), true);
  EXPECT_EQ(less("x*y", "x"), false);
  EXPECT_EQ(less("x", "y"), std::nullopt);
  EXPECT_EQ(less("i", "x"), std::nullopt);
  EXPECT_EQ(less("x - 1", "x*y"), true);
  EXPECT_EQ(less("min(x, y)", "x + 1"), true);
  EXPECT_EQ(less("max(x, y)", "x"), false);
  EXPECT_EQ(less("4*(x//4)", "x + 1"), true);
  EXPECT_EQ(less("x", "4*(x//4) + 4"), true);
  EXPECT_EQ(less("x%4", "4"), true);
  EXPECT_EQ(equal("2*x", "2*y + 1"), false);
  EXPECT_EQ(equal("x%4", "x - 4*(x//4)"), true);
  EXPECT_EQ(equal("x", "y"), std::nullopt);
  EXPECT_EQ(equal("x", "x + y"), false);
  EXPECT_EQ(equal("x*y + i", "i"), false);
  EXPECT_TRUE(c.provablyLessEqual(of("x"), of("x*y")));
  EXPECT_FALSE(c.provablyLessEqual(of("x"), of("y")));
}

TEST_F(Symbols, Assumptions) {
  SymId s0 = dim("s0"), s1 = dim("s1", 5), s2 = dim("s2"), s3 = dim("s3", 0);
  c.assumeEqual(s1, s0);
  EXPECT_EQ(c.canonical(s1), s0);
  EXPECT_EQ(c.provablyEqual(s0, s1), true);
  EXPECT_EQ(c.range(s0).lo, 5) << "what was known about s1";
  c.assumeEqual(c.add(s2, k(1)), c.mul(s0, k(2)));
  EXPECT_EQ(c.print(c.canonical(s2)), "2*s0 + -1");
  c.assumeEqual(s0, k(8));
  EXPECT_EQ(c.print(c.canonical(s2)), "15");
  EXPECT_EQ(c.print(c.canonical(of("s1*s3 + s2"))), "8*s3 + 15");
  c.assumeEqual(s0, k(9));  // contradiction: learns nothing
  EXPECT_EQ(c.canonical(s0), k(8));
  c.assumeEqual(of("2*s3"), k(6));
  EXPECT_EQ(c.canonical(s3), k(3));
}

TEST_F(Symbols, RangesLearntLater) {
  SymId x = dim("x", 0), y = dim("y", 0), n = dim("n", -100, 100);
  SymId twice = c.mul(k(2), x);
  c.assumeWithin(c.add(n, k(-5)), {0, INT64_MAX});  // n >= 5
  EXPECT_EQ(c.range(n).lo, 5);
  EXPECT_EQ(c.range(n).hi, 100);
  EXPECT_EQ(c.range(twice).lo, 0);
  c.assumeWithin(c.mul(twice, y), {1, INT64_MAX});  // a product of sizes that is not 0
  EXPECT_EQ(c.range(x).lo, 1);
  EXPECT_EQ(c.range(y).lo, 1);
  EXPECT_EQ(refinedRange(c, twice).lo, 2);
  EXPECT_EQ(c.range(twice).lo, 2);
  EXPECT_EQ(c.print(c.floorDiv(c.mul(twice, y), twice)), "y");
  SymId z = dim("z", -3, 3), product = c.mul(z, x);
  c.assumeWithin(product, {1, INT64_MAX});  // says nothing about the sign of each
  EXPECT_EQ(c.range(z).lo, -3);
}

TEST_F(Symbols, AssumptionsThatCannotBeSolved) {
  for (const char* name : {"a", "b", "d", "e"}) dim(name);
  c.assumeEqual(of("a*b"), of("d*e"));
  EXPECT_EQ(c.provablyEqual(of("a*b"), of("d*e")), true);
  EXPECT_EQ(c.provablyEqual(of("2*a*b + a"), of("2*d*e + a")), true);
  c.assumeEqual(of("a"), of("a//2 + b"));
  EXPECT_EQ(c.provablyEqual(of("a - a//2"), of("b")), true);
  c.assumeEqual(of("2*a*a"), of("3*b*b"));
  EXPECT_EQ(c.provablyEqual(of("2*a*a + e"), of("3*b*b + e")), true);
  c.assumeEqual(of("a"), of("a*a"));
  EXPECT_EQ(c.provablyEqual(of("a*a"), of("a")), true);
}

TEST_F(Symbols, ParseErrors) {
  dim("x", 0);
  const char* cases[][2] = {
      {"", "1: expression expected"},
      {"x +", "4: expression expected"},
      {"y", "1: unknown symbol y"},
      {"(x", "3: ')' expected"},
      {"x x", "3: unexpected text"},
      {"x//(1 - 1)", "11: division by 0"},
      {"99999999999999999999", "1: integer out of range"},
      {"min x", "5: '(' expected"},
  };
  for (auto& [input, expected] : cases) EXPECT_EQ(simplified(input), expected) << input;
  EXPECT_NE(simplified(std::string(5000, '(')).find("nested too deeply"), std::string::npos);
}

// ---- random expressions

using Values = std::vector<int64_t>;
using Function = std::function<__int128(const Values&)>;

struct Expression {
  SymId id;
  Function f;
};

struct Random {
  explicit Random(uint32_t seed) : engine(seed) {}
  int64_t between(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(engine); }
  std::mt19937 engine;
};

__int128 floorDivide(__int128 a, __int128 b) {
  __int128 q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

constexpr SymRange kRanges[] = {{1, INT64_MAX}, {0, INT64_MAX},         {1, INT64_MAX}, {0, 7},
                                {-5, 5},        {INT64_MIN, INT64_MAX}, {INT64_MIN, -2}};

class Fuzz {
 public:
  explicit Fuzz(uint32_t seed) : random(seed) {
    for (size_t i = 0; i < std::size(kRanges); ++i) context.symbol("s" + std::to_string(i), kRanges[i]);
  }

  Values sample() {
    Values v;
    for (SymRange r : kRanges) v.push_back(random.between(std::max<int64_t>(r.lo, -12), std::min<int64_t>(r.hi, 12)));
    return v;
  }

  Expression make(int depth) {
    if (depth == 0 || random.between(0, 6) == 0) {
      if (random.between(0, 2) == 0) {
        int64_t v = random.between(-6, 12);
        return {context.constant(v), [v](const Values&) { return v; }};
      }
      auto i = static_cast<size_t>(random.between(0, std::size(kRanges) - 1));
      return {context.symbolId(static_cast<int>(i)), [i](const Values& v) { return v[i]; }};
    }
    Expression a = make(depth - 1), b = make(depth - 1);
    Function f = a.f, g = b.f;
    switch (random.between(0, 9)) {
      case 0:
      case 1: return {context.add(a.id, b.id), [f, g](const Values& v) { return f(v) + g(v); }};
      case 2: return {context.sub(a.id, b.id), [f, g](const Values& v) { return f(v) - g(v); }};
      case 3:
      case 4: return {context.mul(a.id, b.id), [f, g](const Values& v) { return f(v) * g(v); }};
      case 5: return {context.min(a.id, b.id), [f, g](const Values& v) { return std::min(f(v), g(v)); }};
      case 6: return {context.max(a.id, b.id), [f, g](const Values& v) { return std::max(f(v), g(v)); }};
      default: break;
    }
    if (context.range(b.id).lo <= 0 && context.range(b.id).hi >= 0) {
      int64_t d = random.between(1, 6) * (random.between(0, 3) == 0 ? -1 : 1);
      b = {context.constant(d), [d](const Values&) { return d; }};
      g = b.f;
    }
    if (random.between(0, 1))
      return {context.floorDiv(a.id, b.id), [f, g](const Values& v) { return floorDivide(f(v), g(v)); }};
    return {context.mod(a.id, b.id), [f, g](const Values& v) { return f(v) - g(v) * floorDivide(f(v), g(v)); }};
  }

  Random random;
  SymContext context;
};

TEST(SymFuzz, ValuesRangesAndText) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Fuzz fuzz(seed);
    SymContext& c = fuzz.context;
    Expression e = fuzz.make(4);
    std::string text = c.print(e.id);
    absl::StatusOr<SymId> again = c.parse(text);
    ASSERT_TRUE(again.ok()) << text << ": " << again.status();
    EXPECT_EQ(c.print(*again), text);
    Fuzz fresh(seed);
    absl::StatusOr<SymId> elsewhere = fresh.context.parse(text);
    ASSERT_TRUE(elsewhere.ok()) << text;
    EXPECT_EQ(fresh.context.print(*elsewhere), text);
    for (int i = 0; i < 10; ++i) {
      Values v = fuzz.sample();
      __int128 expected = e.f(v);
      absl::StatusOr<int64_t> got = c.evaluate(e.id, v);
      if (expected < INT64_MIN || expected > INT64_MAX) {
        EXPECT_FALSE(got.ok());
        continue;
      }
      ASSERT_TRUE(got.ok()) << text << ": " << got.status();
      ASSERT_EQ(*got, static_cast<int64_t>(expected)) << text << " seed " << seed;
      EXPECT_GE(*got, c.range(e.id).lo) << text << " seed " << seed;
      EXPECT_LE(*got, c.range(e.id).hi) << text << " seed " << seed;
    }
  }
}

TEST(SymFuzz, ProofsAreNeverWrong) {
  int decided = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    Fuzz fuzz(seed);
    SymContext& c = fuzz.context;
    Expression a = fuzz.make(3), b = fuzz.make(3);
    if (fuzz.random.between(0, 2) == 0) {  // unrelated expressions are seldom comparable
      Function f = a.f, g = b.f;
      b = {c.max(a.id, b.id), [f, g](const Values& v) { return std::max(f(v), g(v)); }};
    }
    std::optional<bool> equal = c.provablyEqual(a.id, b.id), less = c.provablyLess(a.id, b.id);
    bool lessEqual = c.provablyLessEqual(a.id, b.id);
    decided += equal.has_value() + less.has_value() + lessEqual;
    for (int i = 0; i < 30; ++i) {
      Values v = fuzz.sample();
      __int128 x = a.f(v), y = b.f(v);
      std::string what = c.print(a.id) + " and " + c.print(b.id) + " seed " + std::to_string(seed);
      if (equal) ASSERT_EQ(*equal, x == y) << what;
      if (less) ASSERT_EQ(*less, x < y) << what;
      if (lessEqual) ASSERT_LE(x, y) << what;
    }
  }
  EXPECT_GT(decided, 2000);
}

TEST(SymFuzz, AssumptionsKeepValues) {
  // Equalities that the chosen values satisfy: whatever is rewritten must have the same value for them.
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Fuzz fuzz(seed);
    SymContext& c = fuzz.context;
    Values v = fuzz.sample();
    std::vector<Expression> probes;
    for (int i = 0; i < 4; ++i) probes.push_back(fuzz.make(3));
    for (int i = 0; i < 4; ++i) {
      Expression a = fuzz.make(2), b = fuzz.make(2);
      auto difference = static_cast<int64_t>(a.f(v) - b.f(v));
      SymId shifted = c.add(b.id, c.constant(difference));
      c.assumeEqual(a.id, shifted);
      for (int k = 0; k < 4; ++k) probes.push_back(fuzz.make(3));
    }
    for (const Expression& p : probes) {
      SymId id = c.canonical(p.id);
      absl::StatusOr<int64_t> got = c.evaluate(id, v);
      ASSERT_TRUE(got.ok()) << got.status() << " " << c.print(p.id) << " became " << c.print(id) << " seed " << seed;
      ASSERT_EQ(*got, static_cast<int64_t>(p.f(v))) << c.print(p.id) << " became " << c.print(id) << " seed " << seed;
      EXPECT_EQ(c.canonical(id), id) << c.print(id) << " seed " << seed;
    }
    for (size_t i = 0; i < probes.size(); i += 3) {
      for (size_t k = 0; k < probes.size(); k += 4) {
        const Expression &p = probes[i], &q = probes[k];
        if (std::optional<bool> equal = c.provablyEqual(p.id, q.id))
          ASSERT_EQ(*equal, p.f(v) == q.f(v)) << "seed " << seed;
      }
    }
  }
}

TEST(SymFuzz, BoundsAreNeverWrong) {
  // What guards say holds for the chosen values: nothing that is -1 for them is proved not to be negative.
  int proved = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Fuzz fuzz(seed);
    SymContext& c = fuzz.context;
    const Values v = fuzz.sample();
    const auto shifted = [&](const Expression& e, int64_t value) {
      return c.add(e.id, c.constant(value - static_cast<int64_t>(e.f(v))));
    };
    std::vector<SymId> guarded;
    for (int i = 0; i < 3; ++i) {
      const SymId atLeastZero = shifted(fuzz.make(2), fuzz.random.between(0, 2));
      if (fuzz.random.between(0, 1)) c.assumeWithin(atLeastZero, {0, INT64_MAX});
      guarded.push_back(atLeastZero);
    }
    for (int i = 0; i < 2; ++i) c.assumeEqual(shifted(fuzz.make(2), 0), c.constant(0));
    std::vector<std::pair<SymId, SymId>> claims;
    for (int i = 0; i < 6; ++i) {
      // Parts of what is known are what proofs begin with; half of the claims are sums of them.
      Expression claim = fuzz.make(2);
      SymId id = claim.id;
      const SymId more = guarded[static_cast<size_t>(i) % guarded.size()];
      if (i % 2 == 0) id = c.add(c.mul(more, c.constant(fuzz.random.between(1, 3))), c.sub(id, id));
      const absl::StatusOr<int64_t> value = c.evaluate(id, v);
      ASSERT_TRUE(value.ok());
      claims.emplace_back(c.sub(id, c.constant(*value + 1)), c.add(id, c.constant(-*value + 3)));
    }
    BoundProver prover(c, guarded);
    for (const auto& [wrong, possible] : claims) {
      ASSERT_FALSE(prover.nonNegative(wrong)) << c.print(wrong) << " seed " << seed;
      proved += prover.nonNegative(possible);
    }
  }
  EXPECT_GT(proved, 100);
}

}  // namespace
}  // namespace fw::graph
