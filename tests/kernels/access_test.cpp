// Accesses of kernels: what is proved, planted wrong ones that are not, and what the interpreter makes of those.
#include <gtest/gtest.h>

#include "harness.h"
#include "kernels/access_proof.h"
#include "kernels/builder.h"
#include "kernels/interpreter.h"
#include "kernels/reach.h"

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

/// By numbers along each axis, along the first, along the last, of a view; of what the graph has computed.
constexpr const char* kGathers[] = {
    "graph(s0: [1, inf], s1: [1, inf], s2: [0, inf]) {\n  %0 = input() {index=0} : f32[s0, s1]\n"
    "  %1 = input() {index=1} : i64[s2]\n  %2 = gather(%0, %1, %1) {axes=[0, 1], axis=0} : f32[s2]\n  return %2\n}\n",
    "graph(s0: [1, inf], s1: [0, inf], s2: [0, inf]) {\n  %0 = input() {index=0} : f32[s0, s1]\n"
    "  %1 = input() {index=1} : i64[s2]\n  %2 = expand(%1) {axes=[1]} : i64[s2, 1]\n"
    "  %3 = gather(%0, %2) {axes=[0], axis=0} : f32[s2, s1]\n  return %3\n}\n",
    "graph(s0: [0, inf], s1: [1, inf], s2: [0, inf]) {\n  %0 = input() {index=0} : c64[s0, s1]\n"
    "  %1 = input() {index=1} : i64[s2]\n  %2 = expand(%1) {axes=[0]} : i64[1, s2]\n"
    "  %3 = gather(%0, %2) {axes=[1], axis=1} : c64[s0, s2]\n  return %3\n}\n",
    "graph(s0: [2, inf], s1: [2, inf], s2: [0, inf]) {\n  %0 = input() {index=0} : f32[s0, s1]\n"
    "  %1 = negative(%0) : f32[s0, s1]\n"
    "  %2 = slice(%1) {starts=[s0 + -1, 1], steps=[-1, 1]} : f32[s0, s1 + -1] layout=c/inner/neg(0)\n"
    "  %3 = input() {index=1} : i64[s2]\n  %4 = gather(%2, %3, %3) {axes=[0, 1], axis=0} : f32[s2]\n  return %4\n}\n",
};

TEST(Accesses, ByNumbersAreProvedWhereTheseAreWrapped) {
  for (const char* text : kGathers) {
    absl::StatusOr<BuiltGraph> built = build(text, {}, Numbers::kCuPy);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(unprovedCount(*built), 0) << text << built->text();
    graph::SymContext& syms = built->graph.syms();
    size_t gathers = 0;
    for (const Kernel& kernel : built->kernels) {
      for (size_t at = 0; at < kernel.exprs.size(); ++at) {
        if (kernel.exprs[at].op != ScalarOp::kLoadAt) continue;
        ++gathers;
        for (size_t operand : {1, 2}) {  // a longer axis, a wider stride
          Kernel wrong = kernel;
          Expr other = kernel.exprs[kernel.exprs[at].operands[operand].index];
          if (other.op == ScalarOp::kParam)
            other.sym = syms.add(syms.mul(other.sym, syms.constant(2)), syms.constant(1));
          else
            other.imm *= 2;
          // In the place of the one that is not shared with others.
          wrong.exprs.push_back(other);
          wrong.exprs[at].operands[operand] = ExprId(wrong.exprs.size() - 1);
          wrong.body.items.insert(wrong.body.items.begin(), Item{ExprId(wrong.exprs.size() - 1), {}});
          EXPECT_EQ(AccessProver(built->plan, syms).unproved(wrong), std::vector<uint32_t>{kernel.exprs[at].access})
              << text << operand;
        }
      }
    }
    EXPECT_GT(gathers, 0) << text;
  }
}

TEST(Accesses, NumPysBoundsAreNotWrapped) {
  absl::StatusOr<BuiltGraph> built = build(kGathers[0]);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(std::string(built.status().message()).find("bounds"), std::string::npos) << built.status();
}

/// Parts of arrays whose proof needs more than one axis at a time, or what loops and guards say.
constexpr const char* kParts[] = {
    // Behind a guard that leaves two rows at least; flat and reversed; every other one; broadcast along what is empty.
    "graph(s0: [2, inf], s1: [0, inf], s2: [0, inf]) {\n  %0 = input() {index=0} : f64[s0, s1, s2]\n"
    "  %1 = slice(%0) {starts=[1, 0, 0], steps=[1, 1, 1]} : f64[1, s1, s2]\n"
    "  %2 = negative(%1) : f64[1, s1, s2]\n  return %2\n}\n",
    "graph(s0: [0, inf], s1: [0, inf]) {\n  %0 = input() {index=0} : i64[s0, s1]\n"
    "  %1 = reshape(%0) {copy=0} : i64[s0*s1]\n"
    "  %2 = slice(%1) {starts=[s0*s1 + -1], steps=[-1]} : i64[s0*s1] layout=c/neg(0)\n"
    "  %3 = absolute(%2) : i64[s0*s1]\n  return %3\n}\n",
    "graph(s0: [0, inf], t0_0: [-inf, inf]) {\n  %0 = input() {index=0} : f32[s0] layout=c/strided\n"
    "  %1 = slice(%0) {starts=[0], steps=[2]} : f32[(s0 + 1)//2] layout=c/strided\n"
    "  %2 = negative(%1) : f32[(s0 + 1)//2]\n  return %2\n}\n",
    "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f32[s0] layout=c/strided/bcast(0)\n"
    "  %1 = input() {index=1} : f32[s0]\n  %2 = add(%0, %1) : f32[s0]\n  return %2\n}\n",
    // The third element of three, no fifth of four: there are two cases. A row of an axis that is new and cut to
    // nothing.
    "graph(s0: [3, 4]) {\n  %0 = input() {index=0} : f64[s0]\n"
    "  %1 = slice(%0) {starts=[2*(s0//2)], steps=[2]} : f64[-1*s0 + 4] layout=c/strided\n"
    "  %2 = negative(%1) : f64[-1*s0 + 4]\n  return %2\n}\n",
    "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[0]\n  %1 = expand(%0) {axes=[0]} : f64[1, 0]\n"
    "  %2 = slice(%1) {starts=[1, 0], steps=[1, 1]} : f64[0, 0]\n  %3 = reshape(%2) {copy=0} : f64[0]\n"
    "  %4 = add(%0, %3) : f64[0]\n  return %4\n}\n",
};

TEST(Accesses, OfPartsAreProved) {
  for (const char* text : kParts) {
    absl::StatusOr<BuiltGraph> built = build(text);
    ASSERT_TRUE(built.ok()) << built.status() << text;
    EXPECT_EQ(unprovedCount(*built), 0) << text << built->text();
  }
}

/// b0[first + i] = 0 for i < count, over a buffer of s0 numbers.
struct Fill {
  graph::SymContext syms;
  SymId size = syms.symbol("s0", {0, INT64_MAX});
  graph::Plan plan;
  Kernel kernel;

  void make(SymId first, SymId count) {
    plan.buffers = {{graph::BufferKind::kInput, 0, DType::kF64, {size}, graph::Layout::c(1), {syms.constant(8)}, {}}};
    plan.workspaceBytes = syms.constant(0);
    KernelBuilder b(syms, "fill");
    b.loop(b.constantInt(DType::kI64, 0), b.param(count), true, false, [&](AxisId i) {
      const SymId offset = syms.mul(first, syms.constant(8));
      b.store(Access{graph::BufferId(0), offset, {{i, syms.constant(8)}}}, b.constant(DType::kF64, 0));
    });
    kernel = std::move(b).take();
  }
  SymId minus(SymId a, SymId b, int64_t c = 0) { return syms.sub(syms.sub(a, b), syms.constant(c)); }
};

TEST(Accesses, SymbolsOfAScope) {
  // for i in range(s0): x[i:i + 1] = 0
  Fill fill;
  const SymId i = fill.syms.symbol("i", {INT64_MIN, INT64_MAX});
  fill.make(i, fill.syms.constant(1));
  AccessProver prover(fill.plan, fill.syms, {}, {i});
  EXPECT_EQ(prover.unproved(fill.kernel).size(), 1) << "outside of the loop";
  {
    const AccessProver::Scope loop(prover, {i}, {i, fill.minus(fill.size, i, 1)});
    EXPECT_TRUE(prover.unproved(fill.kernel).empty());
  }
  {
    const AccessProver::Scope longer(prover, {i}, {i, fill.minus(fill.size, i)});
    EXPECT_EQ(prover.unproved(fill.kernel).size(), 1) << "one iteration too many";
  }
  EXPECT_EQ(prover.unproved(fill.kernel).size(), 1) << "behind the loop";
}

TEST(Accesses, TurnsByAStepOfAnySign) {
  // for i in range(n): x[i * step:i * step + 1] = 0, where guards have looked at the first turn and at the last.
  Fill fill;
  const graph::SymRange any{-1 << 20, 1 << 20};
  const SymId i = fill.syms.symbol("i", {INT64_MIN, INT64_MAX}), n = fill.syms.symbol("n", any),
              step = fill.syms.symbol("step", any);
  const SymId one = fill.syms.constant(1), last = fill.syms.mul(fill.syms.sub(n, one), step);
  fill.make(fill.syms.mul(i, step), one);
  const SymId within = fill.minus(fill.size, last, 1);
  for (const bool above : {true, false}) {
    std::vector<SymId> guarded{fill.syms.sub(n, one), fill.syms.sub(fill.size, one), within};
    if (above) guarded.push_back(last);
    AccessProver prover(fill.plan, fill.syms, guarded, {i});
    const AccessProver::Scope loop(prover, {i}, {i, fill.minus(n, i, 1)});
    EXPECT_EQ(prover.unproved(fill.kernel).empty(), above) << "nothing keeps the last turn above 0";
  }
}

TEST(Accesses, SizesThatDependOnData) {
  // k of the s0 elements are selected; x[i:k] = 0 for i in range(k), in nested scopes.
  Fill fill;
  const SymId k = fill.syms.symbol("k", {INT64_MIN, INT64_MAX}), i = fill.syms.symbol("i", {INT64_MIN, INT64_MAX});
  fill.make(i, fill.minus(k, i));
  AccessProver prover(fill.plan, fill.syms, {}, {k, i});
  const AccessProver::Scope selected(prover, {k}, {k, fill.minus(fill.size, k)});
  EXPECT_EQ(prover.unproved(fill.kernel).size(), 1) << "i has no value";
  const AccessProver::Scope loop(prover, {i}, {i, fill.minus(k, i, 1)});
  EXPECT_TRUE(prover.unproved(fill.kernel).empty());
  Fill whole;
  const SymId unknown = whole.syms.symbol("k", {0, INT64_MAX});
  whole.make(whole.syms.constant(0), unknown);
  EXPECT_EQ(AccessProver(whole.plan, whole.syms).unproved(whole.kernel).size(), 1) << "nothing bounds k";
}

TEST(Accesses, ReachOfANest) {
  absl::StatusOr<BuiltGraph> built = build(kWhole[1]);
  ASSERT_TRUE(built.ok()) << built.status();
  graph::SymContext& syms = built->graph.syms();
  const Kernel& kernel = built->kernels[0];
  for (uint32_t i = 0; i < kernel.accesses.size(); ++i) {
    const std::optional<Reach> reach = reachOf(kernel, i, syms);
    ASSERT_TRUE(reach.has_value());
    EXPECT_EQ(reach->buffer, kernel.accesses[i].buffer);
    EXPECT_EQ(reach->terms.size(), kernel.accesses[i].terms.size());
    for (const Reach::Term& t : reach->terms) EXPECT_EQ(syms.print(t.first), "0");
  }
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
