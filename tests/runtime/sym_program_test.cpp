#include <gtest/gtest.h>

#include <random>

#include "runtime/sym_program.h"

namespace fw::runtime {
namespace {

using graph::SymContext;
using graph::SymId;

// Random expressions against SymContext::evaluate.
TEST(SymProgram, AgreesWithEvaluate) {
  std::mt19937 rng(7);
  auto pick = [&](size_t n) { return rng() % n; };
  for (int round = 0; round < 50; ++round) {
    SymContext syms;
    std::vector<SymId> pool;
    for (int i = 0; i < 4; ++i) pool.push_back(syms.symbol("s" + std::to_string(i), {1, 1000}));
    for (int64_t c : {-3, 0, 1, 7}) pool.push_back(syms.constant(c));
    for (int i = 0; i < 30; ++i) {
      const SymId a = pool[pick(pool.size())], b = pool[pick(pool.size())];
      const SymId positive = pool[pick(4)];
      switch (pick(6)) {
        case 0: pool.push_back(syms.add(a, b)); break;
        case 1: pool.push_back(syms.mul(a, syms.constant(int64_t(pick(5)) - 2))); break;
        case 2: pool.push_back(syms.floorDiv(a, positive)); break;
        case 3: pool.push_back(syms.mod(a, positive)); break;
        case 4: pool.push_back(syms.min(a, b)); break;
        default: pool.push_back(syms.max(a, b)); break;
      }
    }
    const SymProgram program(syms, pool);
    ASSERT_EQ(program.resultCount(), pool.size());
    for (int trial = 0; trial < 5; ++trial) {
      std::vector<int64_t> symbols, results(pool.size());
      for (int i = 0; i < 4; ++i) symbols.push_back(1 + int64_t(pick(1000)));
      program.run(symbols.data(), results.data());
      for (size_t i = 0; i < pool.size(); ++i) {
        auto expected = syms.evaluate(pool[i], symbols);
        ASSERT_TRUE(expected.ok());
        EXPECT_EQ(results[i], *expected) << syms.print(pool[i]);
      }
    }
  }
}

// As a tree this expression has 2^60 leaves.
TEST(SymProgram, SharesSubexpressions) {
  SymContext syms;
  SymId e = syms.symbol("s0", {1, 1 << 20});
  int64_t expected = 123456;
  for (int i = 0; i < 60; ++i) {
    e = syms.add(syms.mod(e, syms.constant(97)), syms.floorDiv(e, syms.constant(3)));
    expected = expected % 97 + expected / 3;
  }
  const SymProgram program(syms, {e});
  const int64_t symbol = 123456;
  int64_t out = 0;
  program.run(&symbol, &out);
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace fw::runtime
