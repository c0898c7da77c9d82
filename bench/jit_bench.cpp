// Speed of generated code and of compiling it, on kernels built by hand: ten operations with an exponential, tanh, row
// softmax, pairwise sum. Numbers: ns per element (items_per_second is its inverse), and ms per compile by phase.
#include <benchmark/benchmark.h>

#include <vector>

#include "graph/plan.h"
#include "jit/compile.h"
#include "kernels/builder.h"
#include "kernels/math.h"

namespace {

using namespace fw;
using namespace fw::jit;
using graph::BufferId;
using graph::DType;
using graph::SymContext;
using graph::SymId;
using kernels::AxisId;
using kernels::KernelBuilder;
using kernels::ReduceOrder;
using kernels::ScalarOp;
using kernels::Val;

graph::Plan planOf(size_t buffers) {
  graph::Plan plan;
  for (size_t i = 0; i < buffers; ++i) {
    graph::Buffer b{};
    b.kind = graph::BufferKind::kInput;
    plan.buffers.push_back(b);
  }
  return plan;
}

/// Three inputs, one output, all f32 and contiguous.
kernels::Kernel mapKernel(SymContext& syms, const std::function<Val(KernelBuilder&, Val, Val, Val)>& body) {
  const SymId n = syms.symbol("s0", {0, 1 << 30}), four = syms.constant(4), zero = syms.constant(0);
  KernelBuilder b(syms, "map");
  b.declareStored(BufferId(3));
  b.loop(b.constantInt(DType::kI64, 0), b.param(n), true, true, [&](AxisId i) {
    auto in = [&](int k) { return b.load({BufferId(k), zero, {{i, four}}}, DType::kF32); };
    Val x = in(0), y = in(1), z = in(2);
    b.store({BufferId(3), zero, {{i, four}}}, body(b, x, y, z));
  });
  return std::move(b).take();
}

Val add(KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kAdd, x, y); }
Val mul(KernelBuilder& b, Val x, Val y) { return b.op(ScalarOp::kMul, x, y); }

kernels::Kernel ten(SymContext& syms) {
  return mapKernel(syms, [](KernelBuilder& b, Val x, Val y, Val z) {
    Val a = add(b, mul(b, x, y), z), c = mul(b, add(b, a, x), b.constant(DType::kF32, 0.5));
    Val e = kernels::math::exp(b, b.op(ScalarOp::kSub, c, y));
    return add(b, mul(b, e, a), b.op(ScalarOp::kMaxSecond, mul(b, z, c), x));
  });
}
kernels::Kernel tanhChain(SymContext& syms) {
  return mapKernel(
      syms, [](KernelBuilder& b, Val x, Val y, Val z) { return kernels::math::tanh(b, add(b, mul(b, x, y), z)); });
}
kernels::Kernel axpy(SymContext& syms) {
  return mapKernel(syms, [](KernelBuilder& b, Val x, Val y, Val z) { return add(b, mul(b, x, y), z); });
}

kernels::Kernel softmax(SymContext& syms) {
  const SymId rows = syms.symbol("s0", {0, 1 << 20}), cols = syms.symbol("s1", {0, 1 << 20});
  const SymId four = syms.constant(4), zero = syms.constant(0), pitch = syms.mul(cols, four);
  KernelBuilder b(syms, "softmax");
  b.declareStored(BufferId(1));
  Val lower = b.constantInt(DType::kI64, 0), low = b.constant(DType::kF32, -3e38), none = b.constant(DType::kF32, 0);
  b.loop(lower, b.param(rows), false, true, [&](AxisId i) {
    auto at = [&](int buffer, AxisId j) { return kernels::Access{BufferId(buffer), zero, {{i, pitch}, {j, four}}}; };
    Val top = b.reduce(lower, b.param(cols), true, ReduceOrder::kAny, {{DType::kF32, ScalarOp::kMaxSecond, low}},
                       [&](AxisId j) -> std::vector<Val> { return {b.load(at(0, j), DType::kF32)}; })[0];
    Val sum = b.reduce(lower, b.param(cols), true, ReduceOrder::kPairwise, {{DType::kF32, ScalarOp::kAdd, none}},
                       [&](AxisId j) -> std::vector<Val> {
                         Val e = kernels::math::exp(b, b.op(ScalarOp::kSub, b.load(at(0, j), DType::kF32), top));
                         b.store(at(1, j), e);
                         return {e};
                       })[0];
    b.loop(lower, b.param(cols), true, false,
           [&](AxisId j) { b.store(at(1, j), b.op(ScalarOp::kDiv, b.load(at(1, j), DType::kF32), sum)); });
  });
  return std::move(b).take();
}

template <DType kType>
kernels::Kernel sum(SymContext& syms) {
  const SymId n = syms.symbol("s0", {0, 1 << 30}), zero = syms.constant(0);
  const SymId item = syms.constant(graph::itemSize(kType));
  KernelBuilder b(syms, "sum");
  b.declareStored(BufferId(1));
  Val r = b.reduce(b.constantInt(DType::kI64, 0), b.param(n), true, ReduceOrder::kPairwise,
                   {{kType, ScalarOp::kAdd, b.constant(kType, 0)}},
                   [&](AxisId i) -> std::vector<Val> { return {b.load({BufferId(0), zero, {{i, item}}}, kType)}; })[0];
  b.store({BufferId(1), zero, {}}, r);
  return std::move(b).take();
}

using Make = kernels::Kernel (*)(SymContext&);

void run(benchmark::State& state, Make make, CompileOptions::Isa isa, bool twoDimensions) {
  SymContext syms;
  std::vector<kernels::Kernel> kernels = {make(syms)};
  auto executable = compile({.kernels = kernels}, syms, planOf(4), {.isa = isa});
  if (!executable.ok()) return state.SkipWithError(executable.status().ToString().c_str());
  const int64_t n = state.range(0);
  std::vector<std::vector<float>> data(4, std::vector<float>(2 * n));
  for (int k = 0; k < 3; ++k) {
    for (int64_t i = 0; i < 2 * n; ++i) data[k][i] = float((i * (37 + k)) % 1001) / 500.f - 1;
  }
  void* buffers[] = {data[0].data(), data[1].data(), data[2].data(), data[3].data()};
  int64_t symbols[] = {twoDimensions ? n / 512 : n, 512};
  Context context{.symbols = symbols, .buffers = buffers};
  for (auto _ : state) benchmark::DoNotOptimize((*executable)->compute(context));
  state.SetItemsProcessed(state.iterations() * n);
  state.counters["ns/elem"] = benchmark::Counter(double(state.iterations()) * double(n) * 1e-9,
                                                 benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void compileTime(benchmark::State& state, Make make) {
  CompileTimings total;
  static int64_t serial = 0;
  for (auto _ : state) {
    SymContext syms;
    std::vector<kernels::Kernel> kernels = {make(syms)};
    graph::Plan plan = planOf(4);
    plan.buffers[3].shape = {syms.constant(++serial)};  // of another content each time, or it is made once
    auto executable = compile({.kernels = kernels}, syms, std::move(plan), {});
    if (!executable.ok()) return state.SkipWithError(executable.status().ToString().c_str());
    total.irMs += (*executable)->timings().irMs;
    total.codegenMs += (*executable)->timings().codegenMs;
    total.linkMs += (*executable)->timings().linkMs;
  }
  const double n = double(state.iterations());
  state.counters["ir_ms"] = total.irMs / n;
  state.counters["codegen_ms"] = total.codegenMs / n;
  state.counters["link_ms"] = total.linkMs / n;
}

constexpr auto kHost = CompileOptions::Isa::kHost;
BENCHMARK_CAPTURE(run, axpy, axpy, kHost, false)->Arg(2048)->Arg(1 << 22);
BENCHMARK_CAPTURE(run, ten_ops_exp, ten, kHost, false)->Arg(2048)->Arg(1 << 22);
BENCHMARK_CAPTURE(run, tanh, tanhChain, kHost, false)->Arg(2048)->Arg(1 << 22);
BENCHMARK_CAPTURE(run, softmax, softmax, kHost, true)->Arg(64 * 512);
BENCHMARK_CAPTURE(run, sum_f32, sum<DType::kF32>, kHost, false)->Arg(8192)->Arg(1 << 22);
BENCHMARK_CAPTURE(run, sum_f64, sum<DType::kF64>, kHost, false)->Arg(4096);
BENCHMARK_CAPTURE(compileTime, axpy, axpy)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compileTime, ten_ops_exp, ten)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compileTime, tanh, tanhChain)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compileTime, softmax, softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compileTime, sum, sum<DType::kF32>)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
