// Code is known by what it computes: made once in a process, and the same bytes in every process.
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "jit/content_name.h"
#include "jit/session.h"
#include "kernel_case.h"
#include "kernels/math.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

struct Program {
  SymContext syms;
  kernels::KernelProgram kernels;
  graph::Plan plan;
};

/// out[i] = libm(in[i] * factor + i): a constant, a conversion, calls into the C library.
Program scaled(double factor, const char* symbol = "s0") {
  Program p;
  const SymId n = p.syms.symbol(symbol, {0, 1 << 20}), item = p.syms.constant(8), zero = p.syms.constant(0);
  KernelBuilder b(p.syms, symbol);
  b.declareStored(BufferId(1));
  b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
    const Val x =
        b.op(ScalarOp::kMul, b.load({BufferId(0), zero, {{i, item}}}, DType::kF64), b.constant(DType::kF64, factor));
    const Val sum = b.op(ScalarOp::kFma, x, x, b.cast(b.axisValue(i), DType::kF64));
    b.store({BufferId(1), zero, {{i, item}}}, b.libm(kernels::Libm::kCbrt, DType::kF64, {sum}));
  });
  p.kernels.kernels.push_back(std::move(b).take());
  p.plan = planOf(2, p.syms);
  return p;
}

std::unique_ptr<Executable> made(const Program& p, const CompileOptions& options = {}) {
  auto executable = compile(p.kernels, p.syms, p.plan, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return executable.ok() ? *std::move(executable) : nullptr;
}

std::string nameOf(const Program& p, const CompileOptions& options = {}) {
  return contentName(p.kernels, p.syms, p.plan, **resolveTarget(options.isa), options);
}

void expectWorks(Executable& executable, double factor) {
  std::vector<double> in, out(37, -1);
  for (int i = 0; i < 37; ++i) in.push_back(i * 0.5 - 3);
  void* buffers[] = {in.data(), out.data()};
  int64_t n = 37;
  Context context{.symbols = &n, .buffers = buffers};
  executable.compute(context);
  for (int i = 0; i < 37; ++i) EXPECT_EQ(out[i], std::cbrt(std::fma(in[i] * factor, in[i] * factor, i)));
}

TEST(Content, EqualProgramsAreMadeOnce) {
  auto first = made(scaled(1.25));
  EXPECT_GT(first->timings().codegenMs, 0);
  auto second = made(scaled(1.25, "another_name"));
  EXPECT_EQ(second->timings().codegenMs + second->timings().irMs + second->timings().linkMs, 0);
  first.reset();
  expectWorks(*second, 1.25);
  second.reset();
  auto third = made(scaled(1.25));  // its code is gone, its object is not
  EXPECT_EQ(third->timings().codegenMs + third->timings().irMs, 0);
  EXPECT_GT(third->timings().linkMs, 0);
  expectWorks(*third, 1.25);
}

TEST(Content, WhatIsDifferentHasAnotherName) {
  std::vector<std::string> names = {nameOf(scaled(2)), nameOf(scaled(3)), nameOf(scaled(2), {.optLevel = 0}),
                                    nameOf(scaled(2), {.checked = true})};
  EXPECT_EQ(names[0], nameOf(scaled(2, "another_name")));
  for (Isa isa : availableIsas())
    if (*resolveTarget(isa) != *resolveTarget(Isa::kHost)) names.push_back(nameOf(scaled(2), {.isa = isa}));
  Program p = scaled(2);
  std::swap(p.kernels.kernels[0].accesses[0].buffer, p.kernels.kernels[0].accesses[1].buffer);
  names.push_back(nameOf(p));
  p.plan.buffers[1].kind = graph::BufferKind::kTemp;
  names.push_back(nameOf(p));
  p.plan.buffers[1].offset = p.syms.constant(128);
  names.push_back(nameOf(p));
  p.kernels.reaches.push_back({BufferId(0), p.syms.constant(0), 8, {}, {}});
  names.push_back(nameOf(p));
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_NE(names[i], names[k]) << i << " " << k;
}

TEST(Content, ThreadsMakeOneProgramTogether) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 50; ++i) expectWorks(*made(scaled(100 + i % 3)), 100 + i % 3);
    });
  for (std::thread& thread : threads) thread.join();
}

/// Objects by name: of a kernel for every instruction set, and of a long graph with commits, whose code is cut and
/// shared.
std::map<std::string, std::string> objects() {
  std::map<std::string, std::string> result;
  const auto keep = [&](const std::string& name) { result[name] = Session::instance().object(name); };
  for (Isa isa : availableIsas()) {
    const Program p = scaled(7);
    made(p, {.isa = isa});
    keep(nameOf(p, {.isa = isa}));
  }
  std::string text = "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n";
  int last = 0;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "  %", last + 1, " = sum(%", last, ") {axes=[0], keepdims=1} : f64[1]\n  %", last + 2,
                    " = divide(%", last, ", %", last + 1, ") : f64[s0]\n");
    last += 2;
  }
  absl::StrAppend(&text, "  %", last + 1, " = store(%0, %", last, ") : f64[s0]\n  commit %", last + 1,
                  "\n  return\n}\n");
  absl::StatusOr<graph::Graph> graph = graph::parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, {});
  EXPECT_TRUE(plan.ok()) << plan.status();
  absl::StatusOr<kernels::KernelProgram> program = kernels::lowerPlan(*graph, *plan, {.deferChecks = true});
  EXPECT_TRUE(program.ok()) << program.status();
  const std::string name = contentName(*program, graph->syms(), *plan, **resolveTarget(Isa::kHost), {});
  EXPECT_TRUE(compile(*program, graph->syms(), *plan, {}).ok());
  keep(name);
  return result;
}

/// FNV-1a
uint64_t digestOf(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string listing() {
  std::string text;
  for (const auto& [name, object] : objects())
    absl::StrAppend(&text, "object ", name, " ", object.size(), " ", digestOf(object), "\n");
  return text;
}

/// Run by the test below in a process of its own.
TEST(Content, DISABLED_PrintObjects) { std::fputs(listing().c_str(), stdout); }

TEST(Content, ObjectsAreTheSameInEveryProcess) {
  const std::string mine = listing();
  EXPECT_GT(mine.size(), 100u);
  EXPECT_EQ(mine.find(" 0 "), std::string::npos) << mine;
  std::FILE* other =
      ::popen("/proc/$PPID/exe --gtest_filter=Content.DISABLED_PrintObjects --gtest_also_run_disabled_tests", "r");
  ASSERT_NE(other, nullptr);
  std::string theirs;
  for (char line[512]; std::fgets(line, sizeof line, other);)
    if (std::string_view(line).substr(0, 7) == "object ") theirs += line;
  EXPECT_EQ(::pclose(other), 0);
  EXPECT_EQ(theirs, mine);
}

}  // namespace
}  // namespace fw::jit::testing
