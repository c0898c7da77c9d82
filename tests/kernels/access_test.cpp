// Accesses of kernels: what is proved, planted wrong ones that are not, and what the interpreter makes of those.
#include <gtest/gtest.h>

#include "harness.h"
#include "kernels/access_proof.h"
#include "kernels/interpreter.h"

namespace fw::kernels::testing {
namespace {

constexpr const char* kWhole[] = {
    // Every access of these runs over all of its buffer, first to last byte.
    "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n  %1 = negative(%0) : f64[s0]\n  return %1\n}\n",
    "graph(s0: [0, inf], s1: [0, inf], t0_0: [-inf, inf], t0_1: [-inf, inf]) {\n"
    "  %0 = input() {index=0} : f32[s0, s1] layout=c/strided/neg(1)\n  %1 = add(%0, %0) : f32[s0, s1]\n"
    "  return %1\n}\n",
    "graph(s0: [0, inf], s1: [0, inf]) {\n  %0 = input() {index=0} : f64[s0, s1]\n"
    "  %1 = transpose(%0) {perm=[1, 0]} : f64[s1, s0] layout=f\n"
    "  %2 = sum(%1) {axes=[0], keepdims=0} : f64[s0]\n  return %2\n}\n",
    "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : i32[s0]\n"
    "  %1 = slice(%0) {starts=[s0 + -1], steps=[-1]} : i32[s0] layout=c/neg(0)\n"
    "  %2 = negative(%1) : i32[s0]\n  return %2\n}\n",
    "graph(s0: [0, inf], s1: [0, inf]) {\n  %0 = input() {index=0} : f64[s0, s1]\n"
    "  %1 = sum(%0) {axes=[0], keepdims=0} : f64[s1]\n  return %1\n}\n",
};

size_t unprovedCount(const BuiltGraph& built) {
  AccessProver prover(built.plan, built.graph.syms());
  size_t count = prover.unprovedResults().size();
  for (const Kernel& kernel : built.kernels) count += prover.unproved(kernel).size();
  return count;
}

TEST(Accesses, AreProved) {
  for (const char* text : kWhole) {
    absl::StatusOr<BuiltGraph> built = build(text);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(unprovedCount(*built), 0) << text;
  }
}

TEST(Accesses, OneByteFurtherIsNotProved) {
  for (const char* text : kWhole) {
    absl::StatusOr<BuiltGraph> built = build(text);
    ASSERT_TRUE(built.ok()) << built.status();
    graph::SymContext& syms = built->graph.syms();
    for (Kernel kernel : built->kernels) {
      ASSERT_FALSE(kernel.accesses.empty());
      for (uint32_t i = 0; i < kernel.accesses.size(); ++i) {
        for (int64_t by : {-1, 1}) {
          Kernel moved = kernel;
          moved.accesses[i].offset = syms.add(kernel.accesses[i].offset, syms.constant(by));
          EXPECT_EQ(AccessProver(built->plan, syms).unproved(moved), std::vector<uint32_t>{i}) << text;
        }
      }
    }
  }
}

TEST(Accesses, AStrideTooLongIsNotProved) {
  for (const char* text : kWhole) {
    absl::StatusOr<BuiltGraph> built = build(text);
    ASSERT_TRUE(built.ok()) << built.status();
    graph::SymContext& syms = built->graph.syms();
    for (Kernel kernel : built->kernels) {
      for (uint32_t i = 0; i < kernel.accesses.size(); ++i) {
        for (size_t k = 0; k < kernel.accesses[i].terms.size(); ++k) {
          Kernel longer = kernel;
          SymId& stride = longer.accesses[i].terms[k].stride;
          stride = syms.mul(stride, syms.constant(2));
          EXPECT_EQ(AccessProver(built->plan, syms).unproved(longer), std::vector<uint32_t>{i}) << text;
        }
      }
    }
  }
}

TEST(Accesses, OneIterationMoreIsNotProved) {
  for (const char* text : kWhole) {
    absl::StatusOr<BuiltGraph> built = build(text);
    ASSERT_TRUE(built.ok()) << built.status();
    graph::SymContext& syms = built->graph.syms();
    for (Kernel kernel : built->kernels) {
      for (Expr& e : kernel.exprs)
        if (e.op == ScalarOp::kParam) e.sym = syms.add(e.sym, syms.constant(1));
      EXPECT_FALSE(AccessProver(built->plan, syms).unproved(kernel).empty()) << text;
    }
  }
}

TEST(Accesses, ASizeNeedsItsGuard) {
  // x[:n] of an array that is not known to have n elements.
  const std::string text =
      "graph(s0: [0, inf], i0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n"
      "  %1 = slice(%0) {starts=[0], steps=[1]} : f64[i0]\n  %2 = negative(%1) : f64[i0]\n  return %2\n}\n";
  absl::StatusOr<BuiltGraph> built = build(text);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(unprovedCount(*built), 1);
}

TEST(Accesses, TheInterpreterMakesNoneOutside) {
  absl::StatusOr<BuiltGraph> built = build(kWhole[0]);
  ASSERT_TRUE(built.ok());
  graph::SymContext& syms = built->graph.syms();
  double in[4] = {1, 2, 3, 4}, out[4] = {};
  void* buffers[] = {in, out};
  const int64_t symbols[] = {3};
  Kernel kernel = built->kernels[0];
  EXPECT_TRUE(interpret(kernel, syms, symbols, buffers, &built->plan).ok());
  for (Access& access : kernel.accesses) {
    if (access.buffer.index != 1) continue;
    access.offset = syms.constant(8);
  }
  EXPECT_EQ(interpret(kernel, syms, symbols, buffers, &built->plan).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(out[3], 0);
}

}  // namespace
}  // namespace fw::kernels::testing
