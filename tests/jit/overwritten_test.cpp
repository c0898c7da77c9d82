// What a loop, branch or bind leaves in the memory of its operands is read before, whoever takes its results.
#include <gtest/gtest.h>

#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::DType;
using graph::Scalar;

constexpr int64_t kSize = 9;

HostArray numbers() {
  HostArray array = HostArray::zeros(DType::kF64, {kSize});
  for (int64_t i = 0; i < kSize; ++i) array.set(i, Scalar::ofDouble(DType::kF64, static_cast<double>(i) + 1));
  return array;
}

HostArray integer(int64_t value) {
  HostArray array = HostArray::zeros(DType::kI64, {});
  array.set(0, Scalar::ofInt(DType::kI64, value));
  return array;
}

void expectSame(std::string_view text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) {
  absl::StatusOr<NativeGraph> native = NativeGraph::build(text);
  ASSERT_TRUE(native.ok()) << native.status();
  EXPECT_EQ(difference(native->evaluate(inputs, symbols), native->run(inputs, symbols)), "")
      << print(native->plan(), native->planned());
}

TEST(Overwritten, ANumberWhoseMemoryALoopTurnsOver) {
  const char* text = R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = max(%0) {axes=[0], keepdims=0} : f64
  %2 = constant() {value=bool(true)} : bool
  %3 = cond(%2, %1) : (f64) {
    %0 = input() {index=0} : f64
    %1 = add(%0, %0) : f64
    return %1
  } {
    %0 = input() {index=0} : f64
    return %0
  }
  %4 = project(%3) {index=0} : f64
  %5 = add(%4, %4) : f64
  %6 = constant() {value=f64(0.5)} : f64
  %7 = loop(%4, %6) {trip=i0} : (f64, f64) {
    %0 = input() {index=0} : f64
    %1 = input() {index=1} : f64
    %2 = constant() {value=bool(true)} : bool
    %3 = constant() {value=f64(3)} : f64
    return %2, %3, %0
  }
  %8 = project(%7) {index=1} : f64
  %9 = add(%5, %8) : f64
  return %9
}
)";
  for (int64_t trips : {0, 1, 2, 5}) expectSame(text, {numbers()}, {kSize, trips});
}

TEST(Overwritten, AnArrayThatIsReadForAResultBehindTheLoop) {
  const char* text = R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0) {trip=2} : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=bool(true)} : bool
    %2 = add(%0, %0) : f64[s0]
    return %1, %2
  }
  %2 = project(%1) {index=0} : f64[s0]
  %3 = multiply(%2, %2) : f64[s0]
  %4 = loop(%2, %0) {trip=i0} : (f64[s0], f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s0]
    %2 = constant() {value=bool(true)} : bool
    %3 = add(%0, %0) : f64[s0]
    %4 = add(%0, %1) : f64[s0]
    return %2, %3, %4
  }
  %5 = project(%4) {index=1} : f64[s0]
  %6 = add(%3, %5) : f64[s0]
  return %6
}
)";
  for (int64_t trips : {0, 1, 2, 5}) expectSame(text, {numbers()}, {kSize, trips});
}

TEST(Overwritten, AnElementThatIsStoredWhenTheLoopIsOver) {
  const char* text = R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = constant() {value=f64(0.5)} : f64
  %2 = multiply(%0, %1) : f64[s0]
  %3 = slice(%2) {starts=[0], steps=[1]} : f64[1]
  %4 = squeeze(%3) {axes=[0]} : f64
  %5 = broadcast(%4) : f64[s0] layout=c/bcast(0)
  %6 = constant() {value=bool(false)} : bool
  %7 = loop(%2, %6) {trip=i0} : (f64[s0], bool) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : bool
    %2 = constant() {value=bool(true)} : bool
    %3 = constant() {value=f64(7)} : f64
    %4 = full(%3) : f64[1]
    %5 = update(%0, %4) {starts=[0], steps=[1]} : f64[s0]
    return %2, %5, %2
  }
  %8 = project(%7) {index=1} : bool
  %9 = store(%0, %5) : f64[s0]
  commit %9
  return %8
}
)";
  for (int64_t trips : {0, 1, 2}) expectSame(text, {numbers()}, {kSize, trips});
}

TEST(Overwritten, AnElementThatIsStoredWhenABranchIsOver) {
  const char* text = R"(graph(s0: [1, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = constant() {value=f64(0.5)} : f64
  %3 = multiply(%0, %2) : f64[s0]
  %4 = slice(%3) {starts=[0], steps=[1]} : f64[1]
  %5 = squeeze(%4) {axes=[0]} : f64
  %6 = broadcast(%5) : f64[s0] layout=c/bcast(0)
  %7 = constant() {value=i64(3)} : i64
  %8 = less(%1, %7) : bool
  %9 = cond(%8, %3, %1) : (f64[s0], i64) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : i64
    %2 = constant() {value=f64(7)} : f64
    %3 = full(%2) : f64[1]
    %4 = update(%0, %3) {starts=[0], steps=[1]} : f64[s0]
    return %4, %1
  } {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : i64
    %2 = add(%1, %1) : i64
    return %0, %2
  }
  %10 = project(%9) {index=1} : i64
  %11 = store(%0, %6) : f64[s0]
  commit %11
  return %10
}
)";
  for (int64_t number : {2, 5}) expectSame(text, {numbers(), integer(number)}, {kSize});
}

}  // namespace
}  // namespace fw::jit::testing
