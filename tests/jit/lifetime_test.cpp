// Many compiles, many threads, executables that outlive others.
#include <fstream>
#include <thread>

#include "kernel_case.h"

namespace fw::jit::testing {
namespace {

/// out[i] = in[i] * factor + i
std::unique_ptr<Executable> compileOne(double factor, Isa isa) {
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  const SymId item = syms.constant(8), zero = syms.constant(0);
  KernelBuilder b(syms, "scale");
  b.declareStored(BufferId(1));
  b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
    Val x = b.load({BufferId(0), zero, {{i, item}}}, DType::kF64);
    x = b.op(ScalarOp::kMul, x, b.constant(DType::kF64, factor));
    b.store({BufferId(1), zero, {{i, item}}}, b.op(ScalarOp::kAdd, x, b.cast(b.axisValue(i), DType::kF64)));
  });
  return mustCompile(std::move(b).take(), syms, 2, isa);
}

void expectWorks(Executable& executable, double factor) {
  std::vector<double> in, out(37, -1);
  for (int i = 0; i < 37; ++i) in.push_back(i * 0.5 - 3);
  void* buffers[] = {in.data(), out.data()};
  int64_t n = 37;
  Context context{.symbols = &n, .buffers = buffers};
  EXPECT_EQ(executable.compute(context), 0);
  for (int i = 0; i < 37; ++i) ASSERT_EQ(out[i], in[i] * factor + i);
}

int64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  int64_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

TEST(Lifetime, CodeIsFreed) {
  for (int i = 0; i < 20; ++i) compileOne(i, Isa::kHost);
  const int64_t before = mappings();
  for (int i = 0; i < 200; ++i) expectWorks(*compileOne(i, Isa::kHost), i);
  EXPECT_LE(mappings(), before + 10);
}

TEST(Lifetime, OutlivesOthers) {
  std::vector<std::unique_ptr<Executable>> kept;
  for (int i = 0; i < 30; ++i) kept.push_back(compileOne(i + 0.25, availableIsas()[i % availableIsas().size()]));
  for (int i = 0; i < 30; i += 2) kept[i].reset();
  for (int i = 1; i < 30; i += 2) expectWorks(*kept[i], i + 0.25);
  EXPECT_GT(kept[1]->codeSize(), 20u);
  EXPECT_GT(kept[1]->timings().codegenMs, 0);
}

TEST(Lifetime, Threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const auto isas = availableIsas();
      for (int i = 100 * t; i < 100 * t + 15; ++i) expectWorks(*compileOne(i, isas[i % isas.size()]), i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// out[i] = in[i] * 1 + 1 * 2 + 2 ..., and so on: more than is predicted to be quick.
absl::StatusOr<std::unique_ptr<Executable>> compileLong(double first, int64_t limitNs) {
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  const SymId item = syms.constant(8), zero = syms.constant(0);
  KernelBuilder b(syms, "long");
  b.declareStored(BufferId(1));
  b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
    Val x = b.load({BufferId(0), zero, {{i, item}}}, DType::kF64);
    for (int k = 0; k < 1500; ++k) {
      const Val c = b.constant(DType::kF64, first + k);
      x = b.op(ScalarOp::kSub, b.op(ScalarOp::kMul, x, b.constant(DType::kF64, 0.5)), c);
    }
    b.store({BufferId(1), zero, {{i, item}}}, x);
  });
  std::vector<kernels::Kernel> kernels;
  kernels.push_back(std::move(b).take());
  CompileOptions options;
  options.background = true;
  options.limitNs = limitNs;
  return compile({.kernels = kernels}, syms, planOf(2, syms), options);
}

TEST(Background, TheCodeComesLater) {
  auto executable = compileLong(1000, 0);
  ASSERT_TRUE(executable.ok()) << executable.status();
  double in = 3, out = -1, expected = in;
  for (int k = 0; k < 1500; ++k) expected = expected * 0.5 - (1000.0 + k);
  void* buffers[] = {&in, &out};
  int64_t n = 1;
  Context context{.symbols = &n, .buffers = buffers};
  EXPECT_EQ((*executable)->codeSize(), 0u);
  EXPECT_EQ((*executable)->compute(context), kStatusNotYet);  // nobody has asked whether it is ready
  EXPECT_EQ(out, -1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { EXPECT_TRUE((*executable)->wait().ok()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE((*executable)->ready().ok());
  EXPECT_EQ((*executable)->compute(context), 0);
  EXPECT_EQ(out, expected);
  EXPECT_GT((*executable)->timings().codegenMs, 0);
  auto again = compileLong(1000, 0);  // there is code of this name
  ASSERT_TRUE(again.ok());
  EXPECT_GT((*again)->codeSize(), 0u);
}

TEST(Background, TooLong) {
  auto executable = compileLong(5000, 1);
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded((*executable)->wait())) << (*executable)->wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded((*executable)->ready()));
}

TEST(Lifetime, TextForLogs) {
  SymContext syms;
  KernelBuilder b(syms, "text");
  b.store({BufferId(0), syms.constant(0), {}}, b.constant(DType::kF64, 3));
  std::vector<kernels::Kernel> kernels;
  kernels.push_back(std::move(b).take());
  CompileOptions options;
  options.keepText = true;
  CompiledText text;
  auto executable = compile({.kernels = kernels}, syms, planOf(1, syms), options, &text);
  ASSERT_TRUE(executable.ok());
  EXPECT_NE(text.llvm.find("store double"), std::string::npos);
  EXPECT_NE(text.assembly.find("ret"), std::string::npos);
}

}  // namespace
}  // namespace fw::jit::testing
