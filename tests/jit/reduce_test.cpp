// Reductions: every order, alone and inside other loops, against the interpreter.
#include <cfenv>

#include "graph/pairwise_order.h"
#include "kernel_case.h"

namespace fw::jit::testing {
namespace {

struct Case {
  DType dtype;
  ScalarOp combine;
  double init;
  ReduceOrder order;
  bool vectorize = true;
  int64_t strideItems = 1;
};

/// out[0] = reduce over i of element(in[i]).
void checkReduce(const std::string& what, const Case& c, bool special, std::vector<int64_t> sizes = lengths()) {
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  const int64_t item = graph::itemSize(c.dtype);
  KernelBuilder b(syms, "reduce");
  b.declareStored(BufferId(1));
  Val init = graph::isFloat(c.dtype) ? b.constant(c.dtype, c.init) : b.constantInt(c.dtype, int64_t(c.init));
  std::vector<Val> r = b.reduce(b.constantInt(DType::kI64, 0), b.param(n), c.vectorize, c.order,
                                {{c.dtype, c.combine, init}}, [&](AxisId i) -> std::vector<Val> {
                                  const SymId stride = syms.constant(item * c.strideItems);
                                  return {b.load({BufferId(0), syms.constant(0), {{i, stride}}}, c.dtype)};
                                });
  b.store({BufferId(1), syms.constant(0), {}}, r[0]);
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    auto executable = mustCompile(kernel, syms, 2, isa);
    ASSERT_TRUE(executable);
    std::mt19937_64 rng(3);
    for (int64_t size : sizes) {
      Memory memory;
      const size_t items = size == 0 ? 0 : size_t((size - 1) * c.strideItems + 1);
      memory.add(items * item);
      memory.add(item);
      fill(c.dtype, memory.bytes(0), items, rng, special);
      runBoth(kernel, syms, *executable, {size}, memory, {c.dtype, c.dtype},
              what + " " + isaName(isa) + " n=" + std::to_string(size));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Reduce, AnyOrder) {
  for (DType d : {DType::kI8, DType::kU16, DType::kI32, DType::kI64, DType::kU64}) {
    checkReduce("add", {d, ScalarOp::kAdd, 5, ReduceOrder::kAny}, false);
    checkReduce("mul", {d, ScalarOp::kMul, 3, ReduceOrder::kAny}, false);
    checkReduce("max", {d, ScalarOp::kMaxSecond, 0, ReduceOrder::kAny}, false);
    checkReduce("xor", {d, ScalarOp::kXor, 9, ReduceOrder::kAny}, false);
  }
  for (DType d : {DType::kF32, DType::kF64}) {
    checkReduce("fmax", {d, ScalarOp::kMaxSecond, -1e30, ReduceOrder::kAny}, false);
    checkReduce("fmin", {d, ScalarOp::kMinSecond, 1e30, ReduceOrder::kAny}, false);
  }
  checkReduce("any", {DType::kBool, ScalarOp::kOr, 0, ReduceOrder::kAny}, false);
  checkReduce("all", {DType::kBool, ScalarOp::kAnd, 1, ReduceOrder::kAny}, false);
}

TEST(Reduce, Sequential) {
  for (DType d : {DType::kF32, DType::kF64}) {
    checkReduce("seq sum", {d, ScalarOp::kAdd, 0, ReduceOrder::kSequential}, false);
    checkReduce("seq prod", {d, ScalarOp::kMul, 1, ReduceOrder::kSequential}, true);
  }
}

std::vector<int64_t> manyLengths() {
  std::vector<int64_t> out = lengths();
  std::mt19937 rng(5);
  for (int i = 0; i < 60; ++i) out.push_back(rng() % 40000);
  for (int64_t n : {8191, 8192, 8193, 65536}) out.push_back(n);
  return out;
}

TEST(Reduce, Pairwise) {
  for (DType d : {DType::kF32, DType::kF64}) {
    for (ReduceOrder order : {ReduceOrder::kPairwise, ReduceOrder::kPairwisePart}) {
      for (int64_t stride : {1, 2, 3}) {
        checkReduce("pairwise", {d, ScalarOp::kAdd, 0, order, true, stride}, false, manyLengths());
        checkReduce("pairwise", {d, ScalarOp::kAdd, -0.0, order, true, stride}, true);
      }
      checkReduce("pairwise scalar", {d, ScalarOp::kAdd, 1, order, false}, false, manyLengths());
    }
  }
}

// A body with mixed types: sum of f64(f32) * u8, two accumulators.
TEST(Reduce, PairwiseTwoAccumulatorsMixedTypes) {
  SymContext syms;
  SymId n = syms.symbol("s0", {0, 1 << 20});
  KernelBuilder b(syms, "two");
  b.declareStored(BufferId(2));
  Val zero = b.constant(DType::kF64, 0), one = b.constant(DType::kF32, 1);
  auto r = b.reduce(b.constantInt(DType::kI64, 0), b.param(n), true, ReduceOrder::kPairwise,
                    {{DType::kF64, ScalarOp::kAdd, zero}, {DType::kF32, ScalarOp::kAdd, one}},
                    [&](AxisId i) -> std::vector<Val> {
                      Val x = b.load({BufferId(0), syms.constant(0), {{i, syms.constant(4)}}}, DType::kF32);
                      Val y = b.load({BufferId(1), syms.constant(0), {{i, syms.constant(1)}}}, DType::kU8);
                      return {b.op(ScalarOp::kMul, b.cast(x, DType::kF64), b.cast(y, DType::kF64)), x};
                    });
  b.store({BufferId(2), syms.constant(0), {}}, r[0]);
  b.store({BufferId(2), syms.constant(8), {}}, b.cast(r[1], DType::kF64));
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    auto executable = mustCompile(kernel, syms, 3, isa);
    std::mt19937_64 rng(3);
    for (int64_t size : manyLengths()) {
      Memory memory;
      memory.add(size * 4);
      memory.add(size);
      memory.add(16);
      fill(DType::kF32, memory.bytes(0), size, rng, false);
      fill(DType::kU8, memory.bytes(1), size, rng, false);
      runBoth(kernel, syms, *executable, {size}, memory, {DType::kF32, DType::kU8, DType::kF64},
              isaName(isa) + " n=" + std::to_string(size));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// out[i] = sum over j of in[i, j]; the sum inside a loop over rows, `vectorOuter` as for a reduction over axis 0.
void checkNested(bool vectorOuter, ReduceOrder order, DType d) {
  SymContext syms;
  SymId rows = syms.symbol("s0", {0, 1 << 20}), cols = syms.symbol("s1", {0, 1 << 20});
  const SymId item = syms.constant(graph::itemSize(d)), zero = syms.constant(0);
  KernelBuilder b(syms, "nested");
  b.declareStored(BufferId(1));
  Val lower = b.constantInt(DType::kI64, 0);
  b.loop(lower, b.param(rows), vectorOuter, true, [&](AxisId i) {
    // Rows are contiguous in the outer axis when that is the vector axis.
    const SymId strideI = vectorOuter ? item : syms.mul(cols, item);
    const SymId strideJ = vectorOuter ? syms.mul(rows, item) : item;
    auto sum = b.reduce(
        lower, b.param(cols), !vectorOuter, order, {{d, ScalarOp::kAdd, b.constant(d, 0)}},
        [&](AxisId j) -> std::vector<Val> { return {b.load({BufferId(0), zero, {{i, strideI}, {j, strideJ}}}, d)}; });
    // A second stage over the same row uses the result.
    b.store({BufferId(1), zero, {{i, item}}}, b.op(ScalarOp::kDiv, sum[0], b.constant(d, 3)));
  });
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    // The emitters take statements inside a vector body, which the verifier does not let kernels have yet.
    auto executable = mustCompile(kernel, syms, 2, isa, 2, /*checked=*/!vectorOuter);
    std::mt19937_64 rng(3);
    for (int64_t r : {0, 1, 3, 15, 16, 17, 40}) {
      for (int64_t c : {0, 1, 7, 8, 9, 130, 300}) {
        Memory memory;
        memory.add(r * c * graph::itemSize(d));
        memory.add(r * graph::itemSize(d));
        fill(d, memory.bytes(0), r * c, rng, false);
        runBoth(kernel, syms, *executable, {r, c}, memory, {d, d},
                isaName(isa) + " " + std::to_string(r) + "x" + std::to_string(c));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Reduce, InsideLoops) {
  for (DType d : {DType::kF32, DType::kF64}) {
    for (ReduceOrder order : {ReduceOrder::kSequential, ReduceOrder::kPairwise, ReduceOrder::kPairwisePart}) {
      checkNested(false, order, d);
      checkNested(true, order, d);
    }
  }
}

// Row softmax with three stages: max, sum of exponentials (here squares), scaled store.
TEST(Reduce, ThreeStagesPerRow) {
  SymContext syms;
  SymId rows = syms.symbol("s0", {0, 1 << 20}), cols = syms.symbol("s1", {0, 1 << 20});
  const SymId four = syms.constant(4), zero = syms.constant(0), pitch = syms.mul(cols, four);
  KernelBuilder b(syms, "softmax");
  b.declareStored(BufferId(1));
  Val lower = b.constantInt(DType::kI64, 0), minus = b.constant(DType::kF32, -1e30), none = b.constant(DType::kF32, 0);
  b.loop(lower, b.param(rows), false, true, [&](AxisId i) {
    auto at = [&](uint32_t buffer, AxisId j) { return Access{BufferId(buffer), zero, {{i, pitch}, {j, four}}}; };
    Val top = b.reduce(lower, b.param(cols), true, ReduceOrder::kAny, {{DType::kF32, ScalarOp::kMaxSecond, minus}},
                       [&](AxisId j) -> std::vector<Val> { return {b.load(at(0, j), DType::kF32)}; })[0];
    auto shifted = [&](AxisId j) {
      Val x = b.op(ScalarOp::kSub, b.load(at(0, j), DType::kF32), top);
      return b.op(ScalarOp::kMul, x, x);
    };
    Val sum = b.reduce(lower, b.param(cols), true, ReduceOrder::kPairwise, {{DType::kF32, ScalarOp::kAdd, none}},
                       [&](AxisId j) -> std::vector<Val> { return {shifted(j)}; })[0];
    b.loop(lower, b.param(cols), true, false,
           [&](AxisId j) { b.store(at(1, j), b.op(ScalarOp::kDiv, shifted(j), sum)); });
  });
  kernels::Kernel kernel = std::move(b).take();
  for (Isa isa : availableIsas()) {
    auto executable = mustCompile(kernel, syms, 2, isa);
    std::mt19937_64 rng(3);
    for (int64_t c : lengths()) {
      Memory memory;
      memory.add(5 * c * 4);
      memory.add(5 * c * 4);
      fill(DType::kF32, memory.bytes(0), 5 * c, rng, false);
      runBoth(kernel, syms, *executable, {5, c}, memory, {DType::kF32, DType::kF32},
              isaName(isa) + " cols=" + std::to_string(c));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace fw::jit::testing
