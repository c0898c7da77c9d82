// Inequalities that follow from guards, from what atoms are, and from facts that hold for a while - and such that do
// not.
#include <gtest/gtest.h>

#include <vector>

#include "graph/symint_bounds.h"

namespace fw::graph {
namespace {

constexpr int64_t kMax = INT64_MAX;

class Bounds : public ::testing::Test {
 protected:
  SymContext c;
  SymId s0 = c.symbol("s0", {0, kMax}), s1 = c.symbol("s1", {0, kMax}), a = c.symbol("a", {0, kMax}),
        b = c.symbol("b", {0, kMax}), t = c.symbol("t", {0, kMax}), u = c.symbol("u", {INT64_MIN, 0});

  SymId of(const char* text) { return *c.parse(text); }
  std::vector<SymId> guarded;
  void assume(const char* atLeastZero) { guarded.push_back(of(atLeastZero)); }
  bool holds(const char* text) {
    const SymId id = of(text);  // before the prover copies the context
    return BoundProver(c, guarded).nonNegative(id);
  }
};

TEST_F(Bounds, OfGuards) {
  EXPECT_FALSE(holds("s0 + -1*b"));
  assume("s0 + -1*b");
  assume("b + -1*a");
  EXPECT_TRUE(holds("s0 + -1*b"));
  EXPECT_TRUE(holds("s0 + -1*a"));
  EXPECT_TRUE(holds("3*s0 + -3*a + 5"));
  EXPECT_FALSE(holds("s0 + -1*a + -1"));
  EXPECT_FALSE(holds("a + -1*b"));
}

TEST_F(Bounds, OfProducts) {
  assume("s0 + -1*b");
  EXPECT_TRUE(holds("s0*s1 + -1*b*s1"));
  EXPECT_TRUE(holds("8*s0*t + -8*b*t + s1"));
  EXPECT_TRUE(holds("b*u + -1*s0*u"));  // u <= 0
  EXPECT_FALSE(holds("s0*u + -1*b*u"));
  EXPECT_FALSE(holds("s0*s1 + -1*b*s0"));
}

TEST_F(Bounds, OfRowsInsideOfRows) {
  assume("s0 + -1*b");
  assume("s1 + -1*a");
  // The last element of x[:b, :a] against that of x[s0, s1].
  EXPECT_TRUE(holds("s0*s1 + -1*b*s1 + s1 + -1*a"));
  EXPECT_FALSE(holds("s0*s1 + -1*b*s1 + s1 + -1*a + -1"));
}

TEST_F(Bounds, OfAtoms) {
  EXPECT_TRUE(holds("s0 + 1 + -2*((s0 + 1)//2)"));
  EXPECT_FALSE(holds("s0 + -2*((s0 + 1)//2)"));
  EXPECT_TRUE(holds("t*s0 + t + -2*t*((s0 + 1)//2)"));
  EXPECT_TRUE(holds("6 + -1*(a % 7)"));
  EXPECT_TRUE(holds("t*s0 + -1*t*min(s0, s1)"));
  EXPECT_TRUE(holds("t*max(s0, s1) + -1*t*s1"));
  EXPECT_TRUE(holds("t*min(s0 + 1, s1 + 2) + -1*t"));  // either is at least 1
  EXPECT_FALSE(holds("t*min(s0 + 1, s1) + -1*t"));
}

TEST_F(Bounds, OfProductsOfDifferences) {
  EXPECT_FALSE(holds("s0*s1 + -1*s0 + -1*s1*min(b, s0 + -1*a) + min(b, s0 + -1*a)"));  // s1 may be 0
  assume("s1 + -1");
  EXPECT_TRUE(holds("s0*s1 + -1*s0 + -1*s1*min(b, s0 + -1*a) + min(b, s0 + -1*a)"));
  EXPECT_TRUE(holds("s0*s1 + -1*s0 + -1*s1*min(b, s0 + -1*a*t) + min(b, s0 + -1*a*t)"));
  EXPECT_FALSE(holds("s0*s1 + -1*s0 + -1*s1*min(b, s0 + -1*a) + min(b, s0 + -1*a) + -1"));
  assume("t + -1*a");
  EXPECT_TRUE(holds("s0*t + -1*s0*a + -1*t*min(s0, b) + a*min(s0, b)"));  // (s0 - min) * (t - a)
  EXPECT_TRUE(holds("a*s0 + -1*t*s0 + t*max(s0, b) + -1*a*max(s0, b)"));  // (a - t) * (s0 - max)
  EXPECT_FALSE(holds("a*s0 + -1*t*s0 + t*max(s0, b) + -1*a*max(s0, b) + -1"));
}

TEST_F(Bounds, OfFactorsOfProducts) {
  EXPECT_FALSE(holds("s0 + -1"));
  assume("s0*s1 + -1");
  assume("s0*t + -1*s0*a");
  assume("b*s1*t + -1*a*b*s1 + -3");
  EXPECT_TRUE(holds("s0 + -1"));
  EXPECT_TRUE(holds("t + -1*a"));
  EXPECT_TRUE(holds("t + -1*a + -1"));
  EXPECT_FALSE(holds("t + -1*a + -2"));
  EXPECT_FALSE(holds("s0 + -2"));
}

TEST_F(Bounds, OfKnownProducts) {
  EXPECT_FALSE(holds("9 + s1 + -1*a + -1*b*s1"));
  c.assumeEqual(of("s0*s1"), of("9"));
  assume("s1 + -1*a");
  assume("s0 + -1*b");
  EXPECT_TRUE(holds("9 + s1 + -1*a + -1*b*s1"));  // the last element of x[:b, :a].T in nine numbers
  EXPECT_FALSE(holds("8 + s1 + -1*a + -1*b*s1"));
  assume("s0 + -2");
  EXPECT_TRUE(holds("9 + -2*s1"));  // x[-2]
  EXPECT_TRUE(holds("9 + -2*s1 + t"));
  EXPECT_FALSE(holds("8 + -2*s1"));
}

TEST_F(Bounds, OfProductsThatAreNothing) {
  c.assumeEqual(of("s0*s1*t"), of("0"));
  EXPECT_EQ(c.provablyEqual(of("s0*s1*t"), of("0")), true);
  c.assumeWithin(t, {1, 100});
  EXPECT_EQ(c.provablyEqual(of("s0*s1"), of("0")), true);
  EXPECT_EQ(c.provablyEqual(of("s0*s1*t"), of("0")), true);
  c.assumeWithin(s1, {2, 100});
  EXPECT_EQ(c.provablyEqual(s0, of("0")), true);
  EXPECT_EQ(c.provablyEqual(of("s0*s1*t"), of("0")), true);
}

TEST_F(Bounds, OfTheFactorsOfANumber) {
  c.assumeEqual(of("s0*s1 + -1*s1"), of("12"));
  EXPECT_EQ(c.range(s0).lo, 2);
  EXPECT_EQ(c.range(s0).hi, 13);
  EXPECT_EQ(c.range(s1).lo, 1);
  EXPECT_TRUE(holds("s0 + -2"));
  EXPECT_FALSE(holds("s0 + -3"));
}

TEST_F(Bounds, OfAProductThatIsLessThanAnother) {
  c.assumeEqual(of("s1*t"), of("12"));
  assume("s0 + -1*t + -1");
  EXPECT_TRUE(holds("s0*s1 + -1*s1 + -12"));
  EXPECT_FALSE(holds("s0*s1 + -1*s1 + -13"));
}

TEST_F(Bounds, OfTwoQuotientsThatAreEqual) {
  c.assumeEqual(of("(s0 + 3)//4"), of("(s0 + 1)//2"));
  EXPECT_EQ(c.range(s0).hi, 3);
}

TEST_F(Bounds, OfTwoFactsAboutTwoSymbols) {
  assume("(s0 + 2)//3 + -1*s1 + 1");
  assume("2*s1 + -1*s0 + -1");
  EXPECT_TRUE(holds("4 + -1*s1"));
  EXPECT_FALSE(holds("3 + -1*s1"));
}

TEST_F(Bounds, OfWhatStandsForASymbol) {
  const SymId x = c.symbol("x", {2, 5});
  c.assumeEqual(x, of("s0 + -1*s1*t"));
  EXPECT_TRUE(holds("s0 + -1*s1*t + -2"));
  EXPECT_TRUE(holds("5 + -1*s0 + s1*t"));
  EXPECT_FALSE(holds("4 + -1*s0 + s1*t"));
}

TEST_F(Bounds, ProductsThatAreAFactorOfTheirs) {
  c.assumeEqual(of("s0*s1"), s0);
  EXPECT_FALSE(c.asConst(c.canonical(s1)));  // s0 may be 0
  c.assumeWithin(s0, {1, kMax});
  EXPECT_EQ(c.asConst(c.canonical(s1)), 1);
  c.assumeWithin(of("a*b"), {1, kMax});
  c.assumeWithin(of("-1*a*b"), {-1, kMax});
  EXPECT_EQ(c.asConst(c.canonical(a)), 1);
  EXPECT_EQ(c.asConst(c.canonical(b)), 1);
}

TEST_F(Bounds, QuotientsThatBecomeNumbers) {
  const SymId x = c.symbol("x", {0, kMax});
  c.assumeEqual(of("(x + 1)//2"), of("x//2 + -1*x + 4"));
  c.assumeWithin(x, {3, kMax});
  c.assumeWithin(of("-1*x"), {-4, kMax});
  EXPECT_EQ(c.provablyEqual(of("2 + -1*(x//2)"), of("4 + -1*x")), true);
  SymContext alone;
  const SymId y = alone.symbol("y", {0, kMax});
  alone.assumeEqual(alone.floorDiv(y, alone.constant(2)), alone.constant(2));
  EXPECT_EQ(alone.asConst(alone.canonical(*alone.parse("y//2"))), 2);
}

TEST_F(Bounds, SumsThatMeetTheirBound) {
  const SymId x = c.symbol("x", {0, 1}), i = c.symbol("i", {INT64_MIN, -1});
  c.assumeWithin(of("x + i"), {0, kMax});
  EXPECT_EQ(c.asConst(c.canonical(of("x + i"))), 0);
  EXPECT_EQ(c.asConst(c.canonical(x)), 1);
  EXPECT_EQ(c.asConst(c.canonical(i)), -1);
}

TEST_F(Bounds, OfEqualitiesOfQuotients) {
  EXPECT_FALSE(holds("s0 + -2"));
  c.assumeEqual(of("(s0 + -1*a)//2"), of("1"));  // x[a:][1::2] has one element
  EXPECT_TRUE(holds("s0 + -1*a + -2"));
  EXPECT_TRUE(holds("-1*s0 + a + 3"));
  EXPECT_FALSE(holds("s0 + -1*a + -3"));
  c.assumeEqual(of("(s1*t + 1)//2"), of("t + 1"));
  EXPECT_TRUE(holds("s1*t + -2*t + -1"));
  EXPECT_FALSE(holds("s1*t + -2*t + -2"));
}

TEST_F(Bounds, OfStepsOverSteps) {
  // The last element of x[::2][::-2], and of x[::3][::-2]: of an even number that is at least -1.
  EXPECT_TRUE(holds("2*((s0 + 1)//2) + -4*((s0 + 3)//4) + 2"));
  EXPECT_TRUE(holds("3*((s0 + 2)//3) + -6*((s0 + 5)//6) + 3"));
  EXPECT_FALSE(holds("3*((s0 + 2)//3) + -6*((s0 + 5)//6) + 2"));
}

TEST_F(Bounds, OfQuotients) {
  EXPECT_TRUE(holds("s0//2 + 1 + -2*((s0 + 2)//4)"));  // 2 * this >= -1
  EXPECT_FALSE(holds("s0//2 + -2*((s0 + 2)//4)"));
  assume("(s1 + 1)//2 + -1*s1");
  EXPECT_TRUE(holds("1 + -1*s1"));
  EXPECT_FALSE(holds("-1*s1"));
  assume("-1*t*(a//3) + b");
  EXPECT_TRUE(holds("3*b + 2*t + -1*a*t"));
  EXPECT_FALSE(holds("3*b + t + -1*a*t"));
}

TEST_F(Bounds, OfFactsThatHoldForAWhile) {
  const SymId fact = of("s0 + -1*a + -1"), goal = of("s0*t + -1*a*t + -1*t");
  BoundProver prover(c);
  const size_t mark = prover.mark();
  prover.addFact(fact);
  EXPECT_TRUE(prover.nonNegative(goal));
  prover.release(mark);
  EXPECT_FALSE(prover.nonNegative(goal));
}

TEST_F(Bounds, FailuresAreQuick) {
  for (int i = 0; i < 40; ++i) {
    SymId x = c.symbol("x" + std::to_string(i), {0, kMax});
    guarded.push_back(c.sub(c.mul(x, s0), c.mul(a, b)));
    guarded.push_back(c.sub(c.mul(a, s1), c.mul(x, b)));
  }
  EXPECT_FALSE(holds("s0*s1*t + -1*a*b*t + -1*s0*b*t"));
}

TEST_F(Bounds, OneValueIsAConstant) {
  SymId size = of("s0 + -2"), half = of("s1//2"), both = of("s0*s1 + s0");
  c.assumeWithin(s0, {3, kMax});
  c.assumeWithin(of("-1*s0"), {-3, kMax});
  EXPECT_EQ(c.asConst(s0), 3);
  EXPECT_EQ(c.asConst(c.canonical(size)), 1);
  EXPECT_EQ(c.print(c.canonical(both)), "3*s1 + 3");
  c.assumeWithin(s1, {2, 3});
  EXPECT_EQ(c.asConst(c.canonical(half)), 1);  // made before what it is made of was narrowed
}

TEST_F(Bounds, QuotientsThatEqualWhatTheyAreOf) {
  SymContext one, two;
  const SymId x = one.symbol("x", {0, kMax}), y = two.symbol("y", {2, kMax});
  one.assumeEqual(*one.parse("(x + 2)//3"), x);
  EXPECT_EQ(one.range(x).hi, 1);
  two.assumeWithin(*two.parse("-3*y + 17"), {-5, 8});
  EXPECT_EQ(two.range(y).lo, 3);
  EXPECT_EQ(two.range(y).hi, 7);
}

TEST_F(Bounds, DivisorsThatGuardsKeepFromZero) {
  SymId below = of("s1 + -1");
  c.assumeWithin(s1, {2, kMax});
  EXPECT_EQ(c.print(c.mod(s0, below)), "s0%(s1 + -1)");
}

}  // namespace
}  // namespace fw::graph
