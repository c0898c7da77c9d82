// What sources compute, run on the host (fake_driver.h, emulate()), against the reference evaluator. Numbers are small
// integers, so that sums are the same in every order.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "absl/strings/str_replace.h"
#include "fake_driver.h"
#include "graph/evaluator.h"
#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "jit/cuda/compile.h"
#include "jit/cuda/target.h"
#include "runtime/cuda/host.h"
#include "runtime/sym_program.h"

namespace fw::testing {
namespace {

using graph::DType;
using graph::HostArray;

class HeapHost : public runtime::cuda::Host {
 public:
  void* allocate(int64_t bytes) override { return std::malloc(static_cast<size_t>(bytes)); }
  void release(void* data) override { std::free(data); }
  int32_t call(runtime::Context&, int) override { return runtime::kStatusDecline; }
  void* stream() override { return nullptr; }
};

HostArray numbers(std::vector<int64_t> shape, DType dtype = DType::kF64, uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  HostArray array = HostArray::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < array.elements(); ++i) {
    const auto v = static_cast<int64_t>(rng() % 201) - 100;
    array.set(i, graph::isFloat(dtype) ? graph::Scalar::ofDouble(dtype, static_cast<double>(v))
                                       : graph::Scalar::ofInt(dtype, v));
  }
  return array;
}

/// Numbers whose sum is another in every order.
HostArray fractions(std::vector<int64_t> shape, DType dtype) {
  std::mt19937_64 rng(7);
  HostArray array = HostArray::zeros(dtype, std::move(shape));
  const auto next = [&] {
    return std::ldexp(static_cast<double>(rng() % 2000001) - 1e6, static_cast<int>(rng() % 20) - 20);
  };
  for (int64_t i = 0; i < array.elements(); ++i)
    array.set(i, graph::isComplex(dtype) ? graph::Scalar::ofComplex(dtype, {next(), next()})
                                         : graph::Scalar::ofDouble(dtype, next()));
  return array;
}

class CudaValues : public ::testing::Test {
 protected:
  CudaValues()
      : device_(fakeDriver(),
                {[](const std::string& source, const std::string&) { return emulate(source, FW_GOLDEN_DIR); }, ""},
                {"sm_90", 2}) {}  // few, so that little is enough to be split

  void build(std::string_view text) {
    text_ = text;
    auto graph = graph::parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(graph::runPasses(*graph, {}).ok());
    auto plan = graph::makePlan(*graph, {.target = jit::cuda::planningTarget()});
    ASSERT_TRUE(plan.ok()) << plan.status();
    std::vector<graph::SymId> sizes{plan->workspaceBytes};
    for (const graph::Buffer& buffer : plan->buffers) sizes.push_back(graph->syms().product(buffer.shape));
    for (const graph::OutputBinding& output : plan->outputs)
      sizes.insert(sizes.end(), output.strides.begin(), output.strides.end());
    program_ = runtime::SymProgram(graph->syms(), sizes);
    auto lowered = kernels::cuda::lowerPlan(*graph, *plan);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    auto executable =
        jit::cuda::compile(device_, *std::move(graph), *std::move(plan), *std::move(lowered), {.wait = true});
    ASSERT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  /// Runs the executable and the evaluator on equal arrays, packed in C order; results are arrays of their own.
  void expectSame(const std::vector<HostArray>& inputs, std::vector<int64_t> symbols) {
    SCOPED_TRACE(::testing::PrintToString(symbols));
    const graph::Graph source = *graph::parse(text_);
    std::vector<HostArray> committed;
    auto want = graph::evaluate(source, inputs, symbols, &committed);
    ASSERT_TRUE(want.ok()) << want.status();
    const graph::Plan& plan = executable_->plan();
    std::vector<int64_t> sizes(program_.resultCount());
    program_.run(symbols.data(), sizes.data());
    std::vector<std::vector<uint64_t>> memory;
    std::vector<void*> buffers;
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const int64_t bytes = sizes[b + 1] * graph::itemSize(plan.buffers[b].dtype);
      memory.emplace_back(static_cast<size_t>(bytes) / 8 + 2);
      if (plan.buffers[b].kind == graph::BufferKind::kInput) {
        const HostArray& input = inputs[static_cast<size_t>(plan.buffers[b].index)];
        if (!input.data.empty()) std::memcpy(memory.back().data(), input.data.data(), input.data.size());
      }
      buffers.push_back(memory.back().data());
    }
    std::vector<uint64_t> workspace(static_cast<size_t>(sizes[0]) / 8 + 8);
    runtime::Context context{symbols.data(), buffers.data(), workspace.data(), nullptr, &host_};
    ASSERT_EQ(executable_->compute(context), 0);
    ASSERT_EQ(executable_->commit(context), 0);
    size_t next = plan.buffers.size() + 1;
    for (size_t i = 0; i < want->size(); ++i) {
      const HostArray& array = (*want)[i];
      const auto bytes = static_cast<size_t>(graph::itemSize(array.dtype));
      const auto* data = static_cast<const char*>(buffers[plan.outputs[i].buffer.index]);
      for (int64_t flat = 0; flat < array.elements(); ++flat) {
        int64_t rest = flat, at = 0;
        for (size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
          at += rest % array.shape[axis] * sizes[next + axis];
        HostArray got = HostArray::zeros(array.dtype, {});
        std::memcpy(got.data.data(), data + at, bytes);
        ASSERT_EQ(print(got.at(0)), print(array.at(flat))) << "result " << i << ", element " << flat;
      }
      next += plan.outputs[i].strides.size();
    }
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].kind != graph::BufferKind::kInput) continue;
      const HostArray& input = committed[static_cast<size_t>(plan.buffers[b].index)];
      if (!input.data.empty())
        EXPECT_EQ(std::memcmp(buffers[b], input.data.data(), input.data.size()), 0) << "input of buffer " << b;
    }
  }

  HeapHost host_;
  jit::cuda::Device device_;
  std::string text_;
  runtime::SymProgram program_;
  std::unique_ptr<runtime::Executable> executable_;
};

TEST_F(CudaValues, PacksAndTheirRests) {
  build(R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0]
  %1 = cast(%0) : f16[s0]
  %2 = multiply(%1, %1) : f16[s0]
  %3 = cast(%2) : f32[s0]
  %4 = subtract(%3, %0) : f32[s0]
  %5 = less(%4, %0) : bool[s0]
  return %4, %5
}
)");
  for (int64_t n : {0, 1, 3, 4, 5, 1023, 3000}) expectSame({numbers({n}, DType::kF32)}, {n});
}

TEST_F(CudaValues, RowsThatAreNoPacksAndTiles) {
  build(R"(graph(s0: [0, inf], s1: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = transpose(%0) {perm=[1, 0]} : f64[s1, s0] layout=f
  %2 = input() {index=1} : f64[s1, s0]
  %3 = input() {index=2} : f64[s0]
  %4 = subtract(%1, %2) : f64[s1, s0]
  %5 = multiply(%4, %3) : f64[s1, s0]
  return %5
}
)");
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 5}, {4, 1}, {33, 40}, {64, 70}, {0, 4}})
    expectSame({numbers({rows, columns}), numbers({columns, rows}, DType::kF64, 2), numbers({rows}, DType::kF64, 3)},
               {rows, columns});
}

TEST_F(CudaValues, RowsOfEveryLength) {
  build(R"(graph(s0: [0, inf], s1: [1, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = max(%0) {axes=[1], keepdims=1} : f64[s0, 1]
  %2 = subtract(%0, %1) : f64[s0, s1]
  %3 = sum(%2) {axes=[1], keepdims=1} : f64[s0, 1]
  %4 = add(%2, %3) : f64[s0, s1]
  return %4, %3
}
)");
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{9, 1}, {5, 3}, {3, 40}, {2, 300}, {1, 8192}, {4, 9000}, {2, 20000}})
    expectSame({numbers({rows, columns})}, {rows, columns});
}

TEST_F(CudaValues, ColumnsAndAxesApart) {
  build(R"(graph(s0: [0, inf], s1: [0, inf], s2: [0, inf]) {
  %0 = input() {index=0} : i64[s0, s1, s2]
  %1 = sum(%0) {axes=[0], keepdims=0} : i64[s1, s2]
  %2 = sum(%0) {axes=[0, 2], keepdims=0} : i64[s1]
  %3 = argmax(%0) {axes=[0, 1, 2], keepdims=0} : i64
  return %1, %2, %3
}
)");
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1, 1, 1}, {5, 4, 3}, {100, 3, 50}, {9000, 2, 3}})
    expectSame({numbers(shape, DType::kI64)}, shape);
}

/// NumPy's bits: sums of numbers whose order shows.
TEST_F(CudaValues, SumsOfRowsInNumPysOrder) {
  for (const std::string type : {"f32", "f64"}) {
    build(absl::StrReplaceAll(R"(graph(s0: [0, inf], s1: [2, inf]) {
  %0 = input() {index=0} : T[s0, s1]
  %1 = sum(%0) {axes=[1], keepdims=1} : T[s0, 1]
  %2 = multiply(%0, %1) : T[s0, s1]
  %3 = sum(%2) {axes=[1], keepdims=0} : T[s0]
  return %3, %1, %2
}
)",
                              {{"T", type}}));
    const DType dtype = type == "f32" ? DType::kF32 : DType::kF64;
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{9, 2},
                                 {5, 7},
                                 {3, 8},
                                 {3, 41},
                                 {7, 128},
                                 {2, 129},
                                 {2, 300},
                                 {3, 1023},
                                 {1, 1024},
                                 {1, 8192},
                                 {2, 8200},
                                 {2, 20001},
                                 {600, 33},
                                 {8, 40000},
                                 {1, 70003}})
      expectSame({fractions({rows, columns}, dtype)}, {rows, columns});
  }
}

TEST_F(CudaValues, SumsOfColumnsAndOfEverythingInNumPysOrder) {
  build(R"(graph(s0: [2, inf], s1: [2, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = sum(%0) {axes=[0], keepdims=0} : f32[s1]
  %2 = sum(%0) {axes=[0, 1], keepdims=0} : f32
  %3 = multiply(%0, %0) : f32[s0, s1]
  %4 = sum(%3) {axes=[0], keepdims=0} : f32[s1]
  return %1, %2, %4
}
)");
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{2, 2}, {3, 7}, {40, 33}, {1000, 3}, {129, 64}, {5, 3000}, {300, 300}, {2100, 33}})
    expectSame({fractions({rows, columns}, DType::kF32)}, {rows, columns});
}

/// Stretches: axes apart, views with gaps, casts inside of the sum, complex numbers.
TEST_F(CudaValues, SumsOfStretchesInNumPysOrder) {
  build(R"(graph(s0: [2, inf], s1: [2, inf], s2: [2, inf]) {
  %0 = input() {index=0} : f32[s0, s1, s2]
  %1 = sum(%0) {axes=[0, 2], keepdims=0} : f32[s1]
  %2 = slice(%0) {starts=[0, 0, 1], steps=[1, 1, 1]} : f32[s0, s1, s2 + -1]
  %3 = sum(%2) {axes=[0, 1, 2], keepdims=0} : f32
  %4 = sum(%2) {axes=[1, 2], keepdims=0} : f32[s0]
  %5 = cast(%0) : f64[s0, s1, s2]
  %6 = sum(%5) {axes=[0, 1, 2], keepdims=0, buffered=1} : f64
  return %1, %3, %4, %6
}
)");
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{2, 2, 2}, {3, 4, 5}, {40, 3, 9}, {3, 5, 1000}, {2, 70, 130}, {3, 2, 9000}, {2, 3, 20000}})
    expectSame({fractions(shape, DType::kF32)}, shape);
  build(R"(graph(s0: [2, inf], s1: [2, inf]) {
  %0 = input() {index=0} : c64[s0, s1]
  %1 = sum(%0) {axes=[1], keepdims=0} : c64[s0]
  %2 = sum(%0) {axes=[0], keepdims=0} : c64[s1]
  return %1, %2
}
)");
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 3}, {2, 65}, {3, 1000}, {2, 9000}, {300, 2}})
    expectSame({fractions({rows, columns}, DType::kC64)}, {rows, columns});
}

/// Numbers are out of bounds as a rule.
TEST_F(CudaValues, ElementsByNumbers) {
  build(R"(graph(s0: [1, inf], s1: [1, inf], s2: [1, inf]) {
  %0 = input() {index=0} : f32[s0, s1]
  %1 = input() {index=1} : i64[s2]
  %2 = expand(%1) {axes=[1]} : i64[s2, 1]
  %3 = gather(%0, %2) {axes=[0], axis=0} : f32[s2, s1]
  %4 = multiply(%3, %3) : f32[s2, s1]
  %5 = max(%4) {axes=[1], keepdims=1} : f32[s2, 1]
  %6 = subtract(%3, %5) : f32[s2, s1]
  %7 = gather(%0, %1, %1) {axes=[0, 1], axis=0} : f32[s2]
  %8 = expand(%1) {axes=[0]} : i64[1, s2]
  %9 = gather(%0, %8) {axes=[1], axis=1} : f32[s0, s2]
  %10 = negative(%9) : f32[s0, s2]
  %11 = gather(%4, %2) {axes=[0], axis=0} : f32[s2, s1]
  return %6, %7, %10, %11
}
)");
  for (auto [rows, columns, count] :
       {std::array<int64_t, 3>{1, 1, 1}, {3, 5, 2}, {7, 3, 40}, {5, 300, 9}, {33, 64, 1000}})
    expectSame({numbers({rows, columns}, DType::kF32), numbers({count}, DType::kI64, 2)}, {rows, columns, count});
  build(R"(graph(s0: [1, inf], s1: [1, inf]) {
  %0 = input() {index=0} : c64[s0]
  %1 = input() {index=1} : i32[s1]
  %2 = cast(%1) : i64[s1]
  %3 = gather(%0, %2) {axes=[0], axis=0} : c64[s1]
  %4 = gather(%2, %2) {axes=[0], axis=0} : i64[s1]
  %5 = conjugate(%3) : c64[s1]
  %6 = gather(%0, %4) {axes=[0], axis=0} : c64[s1]
  return %5, %6, %4
}
)");
  for (auto [from, to] : {std::pair<int64_t, int64_t>{4, 1}, {9, 9}, {1, 5000}})
    expectSame({fractions({from}, DType::kC64), numbers({to}, DType::kI32, 2)}, {from, to});
}

/// What is overwritten is read before, wherever that is.
TEST_F(CudaValues, ElementsByNumbersOfWhatIsOverwritten) {
  build(R"(graph(s0: [2, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64[s0]
  %2 = gather(%0, %1) {axes=[0], axis=0} : f64[s0]
  %3 = add(%2, %0) : f64[s0]
  %4 = slice(%3) {starts=[1], steps=[1]} : f64[s0 + -1]
  %5 = update(%3, %4) {starts=[0], steps=[1]} : f64[s0]
  %6 = gather(%3, %1) {axes=[0], axis=0} : f64[s0]
  %7 = slice(%6) {starts=[0], steps=[1]} : f64[s0 + -1]
  %8 = update(%5, %7) {starts=[1], steps=[1]} : f64[s0]
  %9 = gather(%8, %1) {axes=[0], axis=0} : f64[s0]
  %10 = store(%0, %9) : f64[s0]
  commit %10
  return %8, %6
}
)");
  for (int64_t n : {2, 3, 40, 3000}) expectSame({numbers({n}), numbers({n}, DType::kI64, 2)}, {n});
}

TEST_F(CudaValues, LoopsCommitsAndBoundNumbers) {
  build(R"(graph(s0: [1, inf], i0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = loop(%0, %0) {trip=i0} : (f64[s0], f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s0]
    %2 = constant() {value=bool(true)} : bool
    %3 = add(%0, %1) : f64[s0]
    return %2, %1, %3
  }
  %3 = project(%2) {index=1} : f64[s0]
  %4 = bind(%1, %3) {symbol=k0, least=0, most=s0 + -1} : (f64[1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = slice(%0) {starts=[k0], steps=[1]} : f64[1]
    %2 = negative(%1) : f64[1]
    return %2
  }
  %5 = project(%4) {index=0} : f64[1]
  %6 = broadcast(%5) : f64[s0] layout=c/bcast(0)
  %7 = add(%6, %0) : f64[s0]
  %8 = store(%0, %7) : f64[s0]
  commit %8
  return %5, %3
}
)");
  HostArray place = HostArray::zeros(DType::kI64, {});
  place.set(0, graph::Scalar::ofInt(DType::kI64, 3));
  for (int64_t trips : {0, 1, 6}) expectSame({numbers({9}), place}, {9, trips, 0});
}

}  // namespace
}  // namespace fw::testing
