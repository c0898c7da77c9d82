// Checked code: planted accesses outside of a buffer are not made, by any instruction set, and everything else is
// computed as without the checks.
#include "kernel_case.h"

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
    auto executable = compileKernels(kernels, {}, syms, plan, options);
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
    auto executable = compileKernels({}, wrong.kernels, wrong.syms, plan, options);
    ASSERT_TRUE(executable.ok()) << executable.status();
    double memory[16] = {};
    int64_t n = 5;
    void* buffers[] = {memory, memory + 8, memory, memory + 5, memory + 8, memory + 13};
    Context context{.symbols = &n, .buffers = buffers};
    EXPECT_EQ((*executable)->compute(context), kStatusOutside | kStatusDecline);
    for (double v : memory) EXPECT_EQ(v, 0);
  }
}

}  // namespace
}  // namespace fw::jit::testing
