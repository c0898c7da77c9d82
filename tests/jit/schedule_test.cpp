// Loops, branches and binds as native code, against the reference evaluator.
#include <gtest/gtest.h>

#include <random>

#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::DType;
using graph::Scalar;

HostArray numbers(std::vector<int64_t> shape, uint64_t seed = 1, DType dtype = DType::kF64) {
  std::mt19937_64 rng(seed);
  HostArray array = HostArray::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < array.elements(); ++i) {
    const auto v = static_cast<int64_t>(rng() % 2001) - 1000;
    array.set(i,
              graph::isFloat(dtype) ? Scalar::ofDouble(dtype, static_cast<double>(v) / 64) : Scalar::ofInt(dtype, v));
  }
  return array;
}

void expectSame(std::string_view text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) {
  for (CompileOptions::Isa isa : {CompileOptions::Isa::kHost, CompileOptions::Isa::kPortable}) {
    CompileOptions options;
    options.isa = isa;
    absl::StatusOr<NativeGraph> native = NativeGraph::build(text, options);
    ASSERT_TRUE(native.ok()) << native.status();
    const Answer want = native->evaluate(inputs, symbols);
    EXPECT_EQ(difference(want, native->run(inputs, symbols)), "") << print(native->plan(), native->planned());
  }
}

constexpr char kJacobi[] = R"(graph(s0: [3, inf], s1: [3, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = input() {index=1} : f64[s0, s1]
  %2 = loop(%0, %1) {trip=i0} : (f64[s0, s1], f64[s0, s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = input() {index=1} : f64[s0, s1]
    %2 = constant() {value=bool(true)} : bool
    %3 = slice(%0) {starts=[0, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %4 = slice(%0) {starts=[2, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %5 = slice(%0) {starts=[1, 0], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %6 = slice(%0) {starts=[1, 2], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %7 = add(%3, %4) : f64[s0 + -2, s1 + -2]
    %8 = add(%7, %5) : f64[s0 + -2, s1 + -2]
    %9 = add(%8, %6) : f64[s0 + -2, s1 + -2]
    %10 = constant() {value=f64(0.25)} : f64
    %11 = multiply(%9, %10) : f64[s0 + -2, s1 + -2]
    %12 = update(%1, %11) {starts=[1, 1], steps=[1, 1]} : f64[s0, s1]
    return %2, %12, %0
  }
  %3 = project(%2) {index=0} : f64[s0, s1]
  return %3
}
)";

TEST(Schedules, JacobiSwapsItsArrays) {
  for (int64_t trips : {0, 1, 2, 3, 10}) {
    SCOPED_TRACE(trips);
    expectSame(kJacobi, {numbers({7, 9}, 1), numbers({7, 9}, 2)}, {7, 9, trips});
  }
}

TEST(Schedules, JacobiMovesNoMemoryInTheLoop) {
  absl::StatusOr<NativeGraph> native = NativeGraph::build(kJacobi);
  ASSERT_TRUE(native.ok()) << native.status();
  for (const graph::Step& step : native->plan().steps) {
    const auto* loop = std::get_if<graph::LoopStep>(&step.what);
    if (loop == nullptr) continue;
    EXPECT_EQ(loop->bodies[0].steps.size(), 2u) << "the sum that is stored and the constant that goes on";
    EXPECT_EQ(loop->moves.size(), 2u);
  }
}

constexpr char kInPlace[] = R"(graph(s0: [3, inf], s1: [3, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = loop(%0) {trip=i0} : (f64[s0, s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = constant() {value=bool(true)} : bool
    %2 = slice(%0) {starts=[0, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %3 = slice(%0) {starts=[2, 2], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %4 = add(%2, %3) : f64[s0 + -2, s1 + -2]
    %5 = update(%0, %4) {starts=[1, 1], steps=[1, 1]} : f64[s0, s1]
    return %1, %5
  }
  %2 = project(%1) {index=0} : f64[s0, s1]
  return %2
}
)";

TEST(Schedules, AnArrayThatIsReadElsewhereHasTwoMemories) {
  absl::StatusOr<NativeGraph> native = NativeGraph::build(kInPlace);
  ASSERT_TRUE(native.ok()) << native.status();
  for (const graph::Step& step : native->plan().steps) {
    const auto* loop = std::get_if<graph::LoopStep>(&step.what);
    if (loop == nullptr) continue;
    EXPECT_EQ(loop->bodies[0].steps.size(), 2u);
    EXPECT_EQ(loop->moves.size(), 2u);
  }
  for (int64_t trips : {0, 1, 2, 3, 10}) {
    SCOPED_TRACE(trips);
    expectSame(kInPlace, {numbers({7, 9})}, {7, 9, trips});
  }
}

TEST(Schedules, RowsAreHeldBack) {
  for (const char* starts : {"[0, 1]", "[1, 0]", "[2, 2]", "[0, 0]", "[1, 1]", "[3, 0]"}) {
    SCOPED_TRACE(starts);
    const std::string text = std::string(R"(graph(s0: [4, inf], s1: [3, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = copy(%0) : f64[s0, s1]
  %2 = slice(%1) {starts=)") +
                             starts + R"(, steps=[1, 1]} : f64[s0 + -3, s1 + -2] layout=c/inner
  %3 = update(%1, %2) {starts=[2, 1], steps=[1, 1]} : f64[s0, s1]
  return %3
})";
    for (int64_t rows : {4, 5, 9, 11, 12, 13, 40}) {
      SCOPED_TRACE(rows);
      expectSame(text, {numbers({rows, 12})}, {rows, 12});
    }
  }
}

TEST(Schedules, ElementsAreHeldBack) {
  const char* text = R"(graph(s0: [4, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = copy(%0) : f64[s0]
  %2 = slice(%1) {starts=[0], steps=[1]} : f64[s0 + -3]
  %3 = slice(%1) {starts=[3], steps=[1]} : f64[s0 + -3]
  %4 = add(%2, %3) : f64[s0 + -3]
  %5 = update(%1, %4) {starts=[3], steps=[1]} : f64[s0]
  return %5
})";
  for (int64_t size : {4, 5, 100, 2047, 2048, 2050, 2051, 2052, 5000}) {
    SCOPED_TRACE(size);
    expectSame(text, {numbers({size})}, {size});
  }
}

TEST(Schedules, WhileDependsOnData) {
  const char* text = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0) : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=f64(0.5)} : f64
    %2 = multiply(%0, %1) : f64[s0]
    %3 = absolute(%2) : f64[s0]
    %4 = sum(%3) {axes=[0], keepdims=0} : f64
    %5 = constant() {value=f64(0.001)} : f64
    %6 = greater(%4, %5) : bool
    return %6, %2
  }
  %2 = project(%1) {index=0} : f64[s0]
  return %2
}
)";
  for (int64_t size : {0, 1, 2, 100}) expectSame(text, {numbers({size})}, {size});
}

TEST(Schedules, RowsByTheLoopsSymbol) {
  const char* text = R"(graph(s0: [0, inf], s1: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = input() {index=1} : f64[s1]
  %2 = copy(%0) : f64[s0, s1]
  %3 = loop(%2, %1) {trip=s0, symbol=k0} : (f64[s0, s1], f64[s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = input() {index=1} : f64[s1]
    %2 = constant() {value=bool(true)} : bool
    %3 = slice(%0) {starts=[k0, 0], steps=[1, 1]} : f64[1, s1]
    %4 = squeeze(%3) {axes=[0]} : f64[s1]
    %5 = add(%4, %1) : f64[s1]
    %6 = expand(%5) {axes=[0]} : f64[1, s1]
    %7 = update(%0, %6) {starts=[k0, 0], steps=[1, 1]} : f64[s0, s1]
    return %2, %7, %5
  }
  %4 = project(%3) {index=0} : f64[s0, s1]
  %5 = project(%3) {index=1} : f64[s1]
  return %4, %5
}
)";
  for (int64_t rows : {0, 1, 5}) expectSame(text, {numbers({rows, 6}), numbers({6}, 2)}, {rows, 6, 0});
}

TEST(Schedules, BranchesAnswerInOneMemory) {
  const char* text = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = sum(%0) {axes=[0], keepdims=0} : f64
  %2 = constant() {value=f64(0)} : f64
  %3 = less(%1, %2) : bool
  %4 = cond(%3, %0, %1) : (f64[s0], f64) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64
    %2 = add(%0, %1) : f64[s0]
    return %2, %1
  } {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=f64(7)} : f64
    return %0, %1
  }
  %5 = project(%4) {index=0} : f64[s0]
  %6 = project(%4) {index=1} : f64
  %7 = multiply(%5, %6) : f64[s0]
  return %7, %5
}
)";
  for (uint64_t seed = 1; seed < 6; ++seed) expectSame(text, {numbers({13}, seed)}, {13});
}

TEST(Schedules, BoundNumbersAreCheckedAndNothingIsStored) {
  const char* text = R"(graph(s0: [1, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = bind(%1, %0) {symbol=k0, least=0, most=s0 + -1} : (f64[1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = slice(%0) {starts=[k0], steps=[1]} : f64[1]
    %2 = negative(%1) : f64[1]
    return %2
  }
  %3 = project(%2) {index=0} : f64[1]
  %4 = broadcast(%3) : f64[s0] layout=c/bcast(0)
  %5 = add(%4, %0) : f64[s0]
  %6 = store(%0, %5) : f64[s0]
  commit %6
  return %3
}
)";
  for (int64_t at : {-1, 0, 3, 4, 5}) {
    HostArray number = HostArray::zeros(DType::kI64, {});
    number.set(0, Scalar::ofInt(DType::kI64, at));
    SCOPED_TRACE(at);
    expectSame(text, {numbers({5}), number}, {5, 0});
  }
}

TEST(Schedules, ResultsOfLoopsAreStored) {
  const char* text = R"(graph(s0: [0, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0, %0, %0) {trip=i0} : (f64[s0], f64[s0], f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s0]
    %2 = input() {index=2} : f64[s0]
    %3 = constant() {value=bool(true)} : bool
    %4 = add(%0, %1) : f64[s0]
    return %3, %1, %4, %2
  }
  %2 = project(%1) {index=0} : f64[s0]
  %3 = project(%1) {index=1} : f64[s0]
  %4 = project(%1) {index=2} : f64[s0]
  %5 = add(%3, %4) : f64[s0]
  %6 = store(%0, %3) : f64[s0]
  commit %6
  return %2, %5
}
)";
  for (int64_t trips : {0, 1, 4, 5}) expectSame(text, {numbers({9})}, {9, trips});
}

TEST(Schedules, MemoryMovesAmongEqualsOnly) {
  const char* text = R"(graph(s0: [1, inf], s1: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s1]
  %2 = loop(%0, %1, %0, %1) {trip=i0} : (f64[s0], f64[s1], f64[s0], f64[s1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s1]
    %2 = input() {index=2} : f64[s0]
    %3 = input() {index=3} : f64[s1]
    %4 = constant() {value=bool(true)} : bool
    %5 = add(%0, %2) : f64[s0]
    %6 = subtract(%3, %1) : f64[s1]
    return %4, %2, %6, %5, %1
  }
  %3 = project(%2) {index=0} : f64[s0]
  %4 = project(%2) {index=1} : f64[s1]
  %5 = project(%2) {index=2} : f64[s0]
  %6 = project(%2) {index=3} : f64[s1]
  return %3, %4, %5, %6
}
)";
  for (int64_t trips : {0, 1, 2, 3, 4, 7}) expectSame(text, {numbers({3}), numbers({50}, 2)}, {3, 50, trips});
}

void expectSchedule(std::string_view graph, std::string_view plan, const std::vector<HostArray>& inputs,
                    const std::vector<int64_t>& symbols) {
  absl::StatusOr<NativeGraph> native = NativeGraph::read(graph, plan);
  ASSERT_TRUE(native.ok()) << native.status();
  EXPECT_EQ(difference(native->evaluate(inputs, symbols), native->run(inputs, symbols)), "");
}

TEST(Schedules, WrittenAsTextWithAJacobiLoopOf100Steps) {
  const char* graph = R"(graph(s0: [3, inf], s1: [3, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = input() {index=1} : f64[s0, s1]
  %2 = copy(%0) {index=1} : f64[s0, s1]
  %3 = copy(%1) {index=2} : f64[s0, s1]
  %4 = loop(%2, %3) {trip=100} : (f64[s0, s1], f64[s0, s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = input() {index=1} : f64[s0, s1]
    %2 = slice(%0) {starts=[0, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %3 = slice(%0) {starts=[2, 1], steps=[1, 1]} : f64[s0 + -2, s1 + -2] layout=c/inner
    %4 = add(%2, %3) : f64[s0 + -2, s1 + -2]
    %5 = constant() {value=f64(0.5)} : f64
    %6 = multiply(%4, %5) : f64[s0 + -2, s1 + -2]
    %7 = update(%1, %6) {starts=[1, 1], steps=[1, 1]} : f64[s0, s1]
    %8 = constant() {value=bool(true)} : bool
    %9 = copy(%8) {index=-1} : bool
    return %9, %7, %0
  }
  %5 = project(%4) {index=0} : f64[s0, s1]
  return %5
}
)";
  const char* plan = R"(group 0: map [s0, s1] -> [%2]
  %2 = copy(%0) axes=[0, 1]
group 1: map [s0, s1] -> [%3]
  %3 = copy(%1) axes=[0, 1]
loop %4 -> [%5, _] while buffer 8 trip=[100] {  # region 1
  group 2: map [s0 + -2, s1 + -2] -> [%6]
    %4 = add(%2, %3) axes=[0, 1]
    %6 = multiply(%4, %5) axes=[0, 1]
  group 3: update [s0 + -2, s1 + -2] -> [%7]
    %7 = update(%1, %6) axes=[0, 1]
  group 4: map [] -> [%9]
    %9 = copy(%8) axes=[]
}
handles [5, 6]
moves [5 <- 6, 6 <- 5]
copy buffer 5 to buffer 2
buffer 0: input 0 f64[s0, s1] strides=[8*s1, 8] holds [%0]
buffer 1: input 1 f64[s0, s1] strides=[8*s1, 8] holds [%1]
buffer 2: output 0 f64[s0, s1] strides=[8*s1, 8] holds [%5]
buffer 3: temp 0 f64[s0, s1] strides=[8*s1, 8] at [0] holds [%2]
buffer 4: temp 1 f64[s0, s1] strides=[8*s1, 8] at [64*((s0*s1 + 7)//8)] holds [%3]
buffer 5: handle 0 f64[s0, s1] strides=[8*s1, 8] from 3 holds [1.%0]
buffer 6: handle 1 f64[s0, s1] strides=[8*s1, 8] from 4 holds [1.%1, 1.%7]
buffer 7: temp 2 f64[s0 + -2, s1 + -2] strides=[8*s1 + -16, 8] at [128*((s0*s1 + 7)//8)] holds [1.%6]
buffer 8: temp 3 bool[] strides=[] at [128*((s0*s1 + 7)//8) + 64*((s0*s1 + -2*s0 + -2*s1 + 3)//8) + 64] holds [1.%9]
workspace [128*((s0*s1 + 7)//8) + 64*((s0*s1 + -2*s0 + -2*s1 + 3)//8) + 128]
return buffer 2 [s0, s1] strides=[8*s1, 8]
)";
  for (int64_t size : {3, 17}) expectSchedule(graph, plan, {numbers({size, 9}, 1), numbers({size, 9}, 2)}, {size, 9});
}

TEST(Schedules, WrittenAsTextWithALoopOverWhatIsComputed) {
  const char* graph = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = copy(%0) {index=1} : f64[s0]
  %2 = loop(%1) : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=f64(0.5)} : f64
    %2 = multiply(%0, %1) : f64[s0]
    %3 = sum(%2) {axes=[0], keepdims=0} : f64
    %4 = constant() {value=f64(1)} : f64
    %5 = greater(%3, %4) : bool
    return %5, %2
  }
  %3 = project(%2) {index=0} : f64[s0]
  return %3
}
)";
  const char* plan = R"(group 0: map [s0] -> [%1]
  %1 = copy(%0) axes=[0]
loop %2 -> [%3] while buffer 6 {  # region 1
  group 1: reduce [s0] over [0] -> [%2, %5]
    %2 = multiply(%0, %1) axes=[0]
    %3 = sum(%2) axes=[]
    %5 = greater(%3, %4) axes=[]
}
handles [3, 5]
moves [3 <- 5, 5 <- 3]
copy buffer 3 to buffer 1
buffer 0: input 0 f64[s0] strides=[8] holds [%0]
buffer 1: output 0 f64[s0] strides=[8] holds [%3]
buffer 2: temp 0 f64[s0] strides=[8] at [0] holds [%1]
buffer 3: handle 0 f64[s0] strides=[8] from 2 holds [1.%0]
buffer 4: temp 1 f64[s0] strides=[8] at [64*((s0 + 7)//8)] holds []
buffer 5: handle 1 f64[s0] strides=[8] from 4 holds [1.%2]
buffer 6: temp 2 bool[] strides=[] at [128*((s0 + 7)//8)] holds [1.%5]
workspace [128*((s0 + 7)//8) + 64]
return buffer 1 [s0] strides=[8]
)";
  for (int64_t size : {0, 1, 100}) expectSchedule(graph, plan, {numbers({size})}, {size});
}

/// Site 0 doubles, 1 adds, 2 answers (sum, negative), 3 fails where the first element is negative and copies otherwise.
absl::StatusOr<std::vector<HostArray>> library(int64_t site, absl::Span<const HostArray> operands) {
  HostArray result = operands[0];
  const auto at = [](const HostArray& array, int64_t i) { return array.at(i).asDouble(); };
  if (site == 3 && at(operands[0], 0) < 0) return absl::InvalidArgumentError("negative");
  double sum = 0;
  for (int64_t i = 0; i < result.elements(); ++i) {
    const double x = at(operands[0], i);
    sum += x;
    const double y = site == 0 ? 2 * x : site == 1 ? x + at(operands[1], i) : site == 2 ? -x : x;
    result.set(i, Scalar::ofDouble(DType::kF64, y));
  }
  if (site != 2) return std::vector<HostArray>{std::move(result)};
  HostArray total = HostArray::zeros(DType::kF64, {});
  total.set(0, Scalar::ofDouble(DType::kF64, sum));
  return std::vector<HostArray>{std::move(total), std::move(result)};
}

void expectSameCalls(std::string_view text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) {
  absl::StatusOr<NativeGraph> native = NativeGraph::build(text);
  ASSERT_TRUE(native.ok()) << native.status();
  native->setLibrary(library);
  EXPECT_EQ(difference(native->evaluate(inputs, symbols), native->run(inputs, symbols)), "")
      << print(native->plan(), native->planned());
}

TEST(Calls, StandBetweenKernels) {
  const char* text = R"(graph(s0: [0, inf], s1: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = add(%0, %0) : f64[s0, s1]
  %2 = transpose(%1) {perm=[1, 0]} : f64[s1, s0] layout=f
  %3 = call(%2, %2) {site=1, callee="add"} : (f64[s1, s0])
  %4 = project(%3) {index=0} : f64[s1, s0]
  %5 = multiply(%4, %2) : f64[s1, s0]
  %6 = call(%0) {site=2, callee="split"} : (f64, f64[s0, s1])
  %7 = project(%6) {index=0} : f64
  %8 = project(%6) {index=1} : f64[s0, s1]
  %9 = multiply(%8, %7) : f64[s0, s1]
  return %5, %9, %7, %8
}
)";
  for (std::pair<int64_t, int64_t> shape : {std::pair{3, 4}, {1, 1}, {0, 2}, {5, 1}})
    expectSameCalls(text, {numbers({shape.first, shape.second}, 3)}, {shape.first, shape.second});
}

TEST(Calls, ResultsAreViewedAndChanged) {
  const char* text = R"(graph(s0: [3, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="double"} : (f64[s0])
  %2 = project(%1) {index=0} : f64[s0]
  %3 = constant() {value=f64(7)} : f64
  %4 = full(%3) : f64[2]
  %5 = update(%2, %4) {starts=[1], steps=[1]} : f64[s0]
  %6 = slice(%5) {starts=[1], steps=[1]} : f64[s0 + -1]
  %7 = call(%0) {site=0, callee="double"} : (f64[s0])
  %8 = project(%7) {index=0} : f64[s0]
  %9 = slice(%8) {starts=[s0 + -1], steps=[-1]} : f64[s0] layout=c/neg(0)
  return %6, %9
}
)";
  expectSameCalls(text, {numbers({6}, 3)}, {6});
}

TEST(Calls, NeedNoKernels) {
  expectSameCalls(R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="double"} : (f64[s0])
  %2 = project(%1) {index=0} : f64[s0]
  return %2
}
)",
                  {numbers({6}, 3)}, {6});
}

TEST(Calls, InLoopsAndBranches) {
  const char* text = R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s0]
  %2 = loop(%0, %1) {trip=i0} : (f64[s0], f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s0]
    %2 = constant() {value=bool(true)} : bool
    %3 = call(%0, %1) {site=1, callee="add"} : (f64[s0])
    %4 = project(%3) {index=0} : f64[s0]
    %5 = sum(%4) {axes=[0], keepdims=0} : f64
    %6 = constant() {value=f64(0)} : f64
    %7 = less(%5, %6) : bool
    %8 = cond(%7, %4, %0) : (f64[s0]) {
      %0 = input() {index=0} : f64[s0]
      %1 = call(%0) {site=0, callee="double"} : (f64[s0])
      %2 = project(%1) {index=0} : f64[s0]
      return %2
    } {
      %0 = input() {index=1} : f64[s0]
      return %0
    }
    %9 = project(%8) {index=0} : f64[s0]
    return %2, %9, %4
  }
  %3 = project(%2) {index=0} : f64[s0]
  %4 = project(%2) {index=1} : f64[s0]
  return %3, %4
}
)";
  for (int64_t trips : {0, 1, 2, 3, 7})
    for (uint64_t seed : {1, 2, 3, 4}) expectSameCalls(text, {numbers({9}, seed), numbers({9}, seed + 9)}, {9, trips});
}

TEST(Calls, ThatFailLeaveArgumentsAsTheyWere) {
  const char* text = R"(graph(s0: [1, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s0]
  %2 = call(%0) {site=3, callee="check"} : (f64[s0])
  %3 = project(%2) {index=0} : f64[s0]
  %4 = add(%1, %3) : f64[s0]
  %5 = call(%4) {site=3, callee="check"} : (f64[s0])
  %6 = store(%1, %4) : f64[s0]
  commit %6
  return
}
)";
  HostArray good = numbers({4}, 1), bad = numbers({4}, 1);
  good.set(0, Scalar::ofDouble(DType::kF64, 1));
  bad.set(0, Scalar::ofDouble(DType::kF64, -5));
  expectSameCalls(text, {good, good}, {4});
  expectSameCalls(text, {bad, good}, {4});
  expectSameCalls(text, {good, bad}, {4});
}

/// A turn that has stored into the memory of the loop, as those in front of it have, and then raises.
TEST(Calls, ThatFailInSomeTurnLeaveArgumentsAsTheyWere) {
  const char* text = R"(graph(s0: [1, inf], s1: [1, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0, s1]
  %1 = input() {index=1} : f64[s1]
  %2 = loop(%0, %1) {trip=s0, symbol=k0} : (f64[s0, s1], f64[s1]) {
    %0 = input() {index=0} : f64[s0, s1]
    %1 = input() {index=1} : f64[s1]
    %2 = constant() {value=bool(true)} : bool
    %3 = slice(%0) {starts=[k0, 0], steps=[1, 1]} : f64[1, s1]
    %4 = expand(%1) {axes=[0]} : f64[1, s1]
    %5 = add(%3, %4) : f64[1, s1]
    %6 = update(%0, %5) {starts=[k0, 0], steps=[1, 1]} : f64[s0, s1]
    %7 = slice(%6) {starts=[k0, 0], steps=[1, 1]} : f64[1, s1]
    %8 = squeeze(%7) {axes=[0]} : f64[s1]
    %9 = call(%8) {site=3, callee="check"} : (f64[s1])
    %10 = project(%9) {index=0} : f64[s1]
    return %2, %6, %10
  }
  %3 = project(%2) {index=0} : f64[s0, s1]
  %4 = project(%2) {index=1} : f64[s1]
  %5 = store(%0, %3) : f64[s0, s1]
  %6 = store(%1, %4) : f64[s1]
  commit %5, %6
  return %4
}
)";
  const int64_t rows = 5, columns = 3;
  for (int64_t bad = 0; bad <= rows; ++bad) {  // == rows: none
    HostArray matrix = HostArray::zeros(DType::kF64, {rows, columns}), row = numbers({columns}, 3);
    for (int64_t i = 0; i < matrix.elements(); ++i)
      matrix.set(i, Scalar::ofDouble(DType::kF64, i == bad * columns ? -1e6 : 20 + static_cast<double>(i)));
    for (CompileOptions::Isa isa :
         {CompileOptions::Isa::kHost, CompileOptions::Isa::kAvx2, CompileOptions::Isa::kPortable}) {
      CompileOptions options;
      options.isa = isa;
      absl::StatusOr<NativeGraph> native = NativeGraph::build(text, options);
      ASSERT_TRUE(native.ok()) << native.status();
      int64_t calls = 0;
      native->setLibrary([&](int64_t site, absl::Span<const HostArray> operands) {
        ++calls;
        return library(site, operands);
      });
      const Answer out = native->run({matrix, row}, {rows, columns, 0});
      EXPECT_EQ(calls, std::min(bad + 1, rows));  // the turn that fails is the last one
      EXPECT_EQ((out.status & kStatusDecline) != 0, bad < rows);
      EXPECT_EQ(difference(native->evaluate({matrix, row}, {rows, columns, 0}), out), "")
          << print(native->plan(), native->planned());
    }
  }
}

}  // namespace
}  // namespace fw::jit::testing
