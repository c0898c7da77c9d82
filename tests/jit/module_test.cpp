// Executables of many kernels: code that alike ones share, and functions that are cut into parts, against the
// interpreter, which runs one kernel after the other.
#include <algorithm>

#include "jit/session.h"
#include "jit/shared_kernels.h"
#include "jit/target.h"
#include "kernel_case.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Module.h"

namespace fw::jit::testing {
namespace {

constexpr size_t kBuffers = 5;

/// to[i] = from[i] * a + b over `size` elements, both from an offset on.
kernels::Kernel scaled(SymContext& syms, SymId size, size_t from, size_t to, int64_t offset, double a, double b) {
  KernelBuilder builder(syms, "scaled");
  const SymId bytes = syms.constant(8), start = syms.constant(8 * offset);
  builder.declareStored(BufferId(to));
  builder.loop(builder.constantInt(DType::kI64, 0), builder.param(size), true, true, [&](AxisId axis) {
    const Val x = builder.load(Access{BufferId(from), start, {{axis, bytes}}}, DType::kF64);
    const Val product = builder.op(ScalarOp::kMul, x, builder.constant(DType::kF64, a));
    const Val sum = builder.op(ScalarOp::kAdd, product, builder.constant(DType::kF64, b));
    builder.store(Access{BufferId(to), start, {{axis, bytes}}}, sum);
  });
  return std::move(builder).take();
}

/// Declines if the size is `limit`.
kernels::Kernel declining(SymContext& syms, SymId size, int64_t limit) {
  KernelBuilder builder(syms, "declining");
  builder.raiseIf(builder.op(ScalarOp::kEq, builder.param(size), builder.constantInt(DType::kI64, limit)),
                  kernels::kDecline);
  return std::move(builder).take();
}

std::vector<kernels::Kernel> manyKernels(SymContext& syms, const std::vector<SymId>& sizes, size_t count) {
  std::vector<kernels::Kernel> list;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = i % kBuffers,
                 to = (i * 3 + 1) % kBuffers == from ? (from + 1) % kBuffers : (i * 3 + 1) % kBuffers;
    const double b = i % 7 == 0 ? 0.25 : static_cast<double>(i % 13);
    list.push_back(scaled(syms, sizes[i % sizes.size()], from, to, static_cast<int64_t>(i % 4), 0.5, b));
    if (i % 10 == 0) list.push_back(declining(syms, sizes[0], i % 20 ? 1 << 20 : 9));
  }
  return list;
}

TEST(Module, SharedAndCutAgreesWithTheInterpreter) {
  for (Isa isa : availableIsas()) {
    for (size_t count : {2, 40, 400}) {
      SymContext syms;
      const std::vector<SymId> sizes = {syms.symbol("s0", {0, 100}), syms.symbol("s1", {0, 100})};
      const std::vector<kernels::Kernel> list = manyKernels(syms, sizes, count);
      CompileOptions options;
      options.isa = isa;
      auto executable = compile({.kernels = list}, syms, planOf(kBuffers, syms), options);
      ASSERT_TRUE(executable.ok()) << executable.status();
      std::mt19937_64 rng(count);
      for (std::vector<int64_t> symbols : {std::vector<int64_t>{0, 1}, {9, 40}, {100, 33}}) {
        Memory memory;
        for (size_t b = 0; b < kBuffers; ++b) {
          memory.add(8 * 104);
          fill(DType::kF64, memory.bytes(b), 104, rng, false);
        }
        Memory reference = memory;
        memory.relink();
        reference.relink();
        uint64_t expected = 0;
        for (const kernels::Kernel& kernel : list) {
          auto status = kernels::interpret(kernel, syms, symbols, reference.data);
          ASSERT_TRUE(status.ok()) << status.status();
          expected |= *status;
        }
        Context context{.symbols = symbols.data(), .buffers = memory.data.data()};
        const int32_t status = (*executable)->compute(context);
        EXPECT_EQ(static_cast<uint64_t>(status) & kernels::kDecline, expected & kernels::kDecline);
        for (size_t b = 0; b < kBuffers; ++b) EXPECT_TRUE(memory.storage[b] == reference.storage[b]) << isaName(isa);
      }
    }
  }
}

TEST(Module, IsGivenUpBeyondItsDeadline) {
  SymContext syms;
  const std::vector<SymId> sizes = {syms.symbol("s0", {0, 100})};
  CompileOptions options;
  options.deadline = Deadline::after(-1);
  auto before = compile({.kernels = manyKernels(syms, sizes, 3)}, syms, planOf(kBuffers, syms), options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(before.status())) << before.status();

  // In the middle of code generation: the session is asked directly, because nothing in front of it may take the time.
  auto target = resolveTarget(Isa::kHost);
  ASSERT_TRUE(target.ok());
  const auto generate = [&](const Deadline& deadline) {
    llvm::LLVMContext context;
    llvm::Module module("fusewire", context);
    Session::instance().prepare(module, **target, 2);
    auto* type = llvm::FunctionType::get(llvm::Type::getInt64Ty(context), {llvm::Type::getInt64Ty(context)}, false);
    for (const char* name : {"deadline_a", "deadline_b"}) {
      auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
      llvm::IRBuilder<> ir(llvm::BasicBlock::Create(context, "", function));
      ir.CreateRet(ir.CreateAdd(function->getArg(0), ir.getInt64(1)));
    }
    return Session::instance().generate(module, **target, 2, {"deadline_a", "deadline_b"}, deadline);
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(generate(Deadline::after(-1)).status()));
  // Nothing is left of that: neither symbols nor the deadline.
  auto code = generate({});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(reinterpret_cast<int64_t (*)(int64_t)>(code->code->entry(1))(41), 42);
}

// LLVM's own handler of errors would end the process.
TEST(Module, WhatTheCodeGeneratorCannotDoIsAnError) {
  auto target = resolveTarget(Isa::kHost);
  ASSERT_TRUE(target.ok());
  const auto generate = [&](const char* constraint, bool assembly) {
    llvm::LLVMContext context;
    llvm::Module module("fusewire", context);
    Session::instance().prepare(module, **target, 2);
    llvm::IRBuilder<> ir(context);
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), false);
    auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "impossible", module);
    ir.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    ir.CreateRet(ir.CreateCall(type, llvm::InlineAsm::get(type, "", constraint, /*hasSideEffects=*/true)));
    return assembly ? Session::instance().assembly(module, **target, 2).status()
                    : Session::instance().generate(module, **target, 2, {"impossible"}).status();
  };
  for (bool assembly : {false, true}) {
    EXPECT_TRUE(absl::IsAborted(generate("={nosuch}", assembly)));
    EXPECT_TRUE(generate("=r", assembly).ok());  // nothing is left of the error
  }
}

TEST(Module, AlikeIsWhatDiffersInPlacesSizesAndNumbers) {
  SymContext syms;
  const SymId n = syms.symbol("s0", {0, 100}), m = syms.symbol("s1", {0, 100});
  const auto shared = [&](std::vector<kernels::Kernel> list) {
    std::vector<const kernels::Kernel*> pointers;
    for (const kernels::Kernel& kernel : list) pointers.push_back(&kernel);
    return findShared(pointers, syms);
  };
  const std::vector<SharedKernel> alike =
      shared({scaled(syms, n, 0, 1, 0, 2, 3), declining(syms, n, 5), scaled(syms, m, 1, 2, 3, 2, 4)});
  ASSERT_EQ(alike.size(), 1u);
  EXPECT_EQ(alike[0].users, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(alike[0].arguments[1].syms, std::vector<SymId>{m});
  EXPECT_EQ(alike[0].arguments[0].numbers.size(), 1u);  // 2 is the same for both
  // One place is not two, a constant size is not any size, and integers decide about code.
  EXPECT_TRUE(shared({scaled(syms, n, 0, 0, 0, 2, 3), scaled(syms, n, 0, 1, 0, 2, 3)}).empty());
  EXPECT_TRUE(shared({scaled(syms, n, 0, 1, 0, 2, 3), scaled(syms, syms.constant(8), 0, 1, 0, 2, 3)}).empty());
  EXPECT_TRUE(shared({declining(syms, n, 5), declining(syms, n, 6)}).empty());
}

TEST(Module, CodeGrowsWithWhatIsDifferent) {
  const auto codeSize = [](size_t count) {
    SymContext syms;
    const std::vector<SymId> sizes = {syms.symbol("s0", {0, 100})};
    std::vector<kernels::Kernel> list;
    for (size_t i = 0; i < count; ++i) list.push_back(scaled(syms, sizes[0], i % 4, 4, 0, 2, static_cast<double>(i)));
    auto executable = compile({.kernels = list}, syms, planOf(kBuffers, syms), {});
    return executable.ok() ? (*executable)->codeSize() : size_t{0};
  };
  const size_t few = codeSize(10), many = codeSize(100);
  EXPECT_GT(few, 0u);
  EXPECT_LT(many - few, 90 * (codeSize(1) / 4));
}

}  // namespace
}  // namespace fw::jit::testing
