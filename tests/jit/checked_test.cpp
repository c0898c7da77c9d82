// Checked code: planted accesses outside of a buffer are not made, by any instruction set, and everything else is
// computed as without the checks.
#include <utility>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "kernel_case.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

/// out[i + shift] = -in[i * step] for i < s0, over buffers of s0 elements each.
struct Copy {
  SymContext syms;
  SymId size = syms.symbol("s0", {0, INT64_MAX});
  graph::Plan plan;
  std::vector<kernels::Kernel> kernels;

  Copy(int64_t shift, int64_t step, bool vectorize) {
    for (int i = 0; i < 2; ++i) {
      graph::Buffer b{graph::BufferKind::kInput, i, DType::kF64, {size}, graph::Layout::c(1), {syms.constant(8)}, {}};
      plan.buffers.push_back(b);
    }
    plan.workspaceBytes = syms.constant(0);
    KernelBuilder b(syms, "copy");
    b.declareStored(BufferId(1));
    b.loop(b.constantInt(DType::kI64, 0), b.param(size), vectorize, false, [&](AxisId i) {
      const Val v = b.load(Access{BufferId(0), syms.constant(0), {{i, syms.constant(8 * step)}}}, DType::kF64);
      b.store(Access{BufferId(1), syms.constant(8 * shift), {{i, syms.constant(8)}}}, b.op(ScalarOp::kNeg, v));
    });
    kernels.push_back(std::move(b).take());
  }

  /// Status of a run over n elements; `out` has room behind them.
  int32_t run(int64_t n, Isa isa, std::vector<double>& out) {
    CompileOptions options;
    options.isa = isa;
    options.checked = true;
    auto executable = compile({.kernels = kernels}, syms, plan, options);
    EXPECT_TRUE(executable.ok()) << executable.status();
    std::vector<double> in(static_cast<size_t>(n) * 4 + 64);
    for (size_t i = 0; i < in.size(); ++i) in[i] = double(i) + 1;
    out.assign(in.size(), 0);
    double *from = in.data() + 32, *to = out.data() + 32;
    void* buffers[] = {from, to, from, from + n, to, to + n};
    Context context{.symbols = &n, .buffers = buffers};
    return (*executable)->compute(context);
  }
};

constexpr int64_t kLengths[] = {0, 1, 2, 7, 8, 31, 100};

TEST(Checked, InsideIsAsWithoutChecks) {
  for (Isa isa : availableIsas()) {
    for (bool vectorize : {false, true}) {
      for (int64_t n : kLengths) {
        std::vector<double> out;
        EXPECT_EQ(Copy(0, 1, vectorize).run(n, isa, out), 0);
        for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out[size_t(i) + 32], -(double(i) + 33));
      }
    }
  }
}

TEST(Checked, OutsideIsNotTouched) {
  for (Isa isa : availableIsas()) {
    for (bool vectorize : {false, true}) {
      for (int64_t shift : {-1, 1}) {
        for (int64_t n : kLengths) {
          std::vector<double> out;
          const int32_t status = Copy(shift, 1, vectorize).run(n, isa, out);
          EXPECT_EQ(status, n == 0 ? 0 : kStatusOutside | kStatusDecline) << isaName(isa) << " " << n;
          for (size_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 0);
          for (size_t i = 32 + size_t(n); i < out.size(); ++i) EXPECT_EQ(out[i], 0);
        }
      }
    }
  }
}

TEST(Checked, LoadsAreChecked) {
  for (Isa isa : availableIsas()) {
    for (bool vectorize : {false, true}) {
      for (int64_t step : {2, 3, -1}) {
        std::vector<double> out;
        EXPECT_EQ(Copy(0, step, vectorize).run(9, isa, out), kStatusOutside | kStatusDecline) << isaName(isa);
      }
    }
  }
}

TEST(Checked, CommitsAreProbedBeforeAnythingIsStored) {
  Copy wrong(1, 1, true);
  for (Isa isa : availableIsas()) {
    CompileOptions options;
    options.isa = isa;
    options.checked = true;
    graph::Plan plan = wrong.plan;
    plan.commits.emplace_back();
    auto executable = compile({.commits = wrong.kernels}, wrong.syms, plan, options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    double memory[16] = {};
    int64_t n = 5;
    void* buffers[] = {memory, memory + 8, memory, memory + 5, memory + 8, memory + 13};
    Context context{.symbols = &n, .buffers = buffers};
    EXPECT_EQ((*executable)->compute(context), kStatusOutside | kStatusDecline);
    for (double v : memory) EXPECT_EQ(v, 0);
  }
}

/// Status of negative(x[:i0]) for an array of s0 elements: nothing says that i0 is at most s0.
int32_t runUnproved(int64_t s0, int64_t i0, Isa isa, std::vector<double>& out) {
  absl::StatusOr<graph::Graph> graph = graph::parse(
      "graph(s0: [0, inf], i0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n"
      "  %1 = slice(%0) {starts=[0], steps=[1]} : f64[i0]\n  %2 = negative(%1) : f64[i0]\n  return %2\n}\n");
  EXPECT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  EXPECT_TRUE(plan.ok()) << plan.status();
  CompileOptions options;
  options.isa = isa;
  EXPECT_FALSE(compilePlan(*graph, *plan, options, {.refuseUnproved = true}).ok());
  auto executable = compilePlan(*graph, *plan, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  EXPECT_TRUE((*executable)->isChecked());
  std::vector<double> in(static_cast<size_t>(s0) + 64, 3);
  out.assign(static_cast<size_t>(i0) + 64, 0);
  int64_t symbols[] = {s0, i0};
  void* buffers[] = {in.data(), out.data(), in.data(), in.data() + s0, out.data(), out.data() + i0};
  Context context{.symbols = symbols, .buffers = buffers};
  return (*executable)->compute(context);
}

TEST(Checked, WhatIsNotProvedIsCheckedOnceACall) {
  std::vector<double> out;
  for (Isa isa : availableIsas()) {
    for (const auto& [s0, i0] : {std::pair{5, 5}, {5, 3}, {5, 0}, {0, 0}, {100, 99}}) {
      EXPECT_EQ(runUnproved(s0, i0, isa, out), 0) << s0 << " " << i0;
      for (int i = 0; i < i0; ++i) EXPECT_EQ(out[size_t(i)], -3);
    }
    for (const auto& [s0, i0] : {std::pair{5, 6}, {0, 1}, {99, 100}}) {
      EXPECT_EQ(runUnproved(s0, i0, isa, out), kStatusOutside | kStatusDecline) << s0 << " " << i0;
      for (double v : out) EXPECT_EQ(v, 0);
    }
  }
}

TEST(Checked, APlantedAccessOutsideIsFound) {
  absl::StatusOr<graph::Graph> graph = graph::parse(
      "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n  %1 = negative(%0) : f64[s0]\n"
      "  return %1\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto sound = compilePlan(*graph, *plan, {});
  ASSERT_TRUE(sound.ok());
  EXPECT_FALSE((*sound)->isChecked()) << "a proved access costs nothing";
  auto wrong = compilePlan(*graph, *plan, {}, {.plantOutside = true});
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  std::vector<double> in(40, 1), out(40, 0);
  int64_t n = 20;
  void* buffers[] = {in.data(), out.data(), in.data(), in.data() + n, out.data(), out.data() + n};
  Context context{.symbols = &n, .buffers = buffers};
  EXPECT_EQ((*wrong)->compute(context), kStatusOutside | kStatusDecline);
  for (double v : out) EXPECT_EQ(v, 0);
}

}  // namespace
}  // namespace fw::jit::testing
