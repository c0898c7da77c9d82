// Sizes that library calls decide: graphs and schedules from text to native code, against the evaluator.
#include <gtest/gtest.h>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan_text.h"
#include "graph/verifier.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::DType;
using graph::Scalar;

HostArray numbers(std::vector<int64_t> shape, uint64_t seed) {
  HostArray array = HostArray::zeros(DType::kF64, std::move(shape));
  for (int64_t i = 0; i < array.elements(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    array.set(i, Scalar::ofDouble(DType::kF64, static_cast<double>(seed >> 40) / 1024 - 8192));
  }
  return array;
}

/// Site 0 answers the positive elements, 1 the first half, 2 those and how many there are of each sign.
absl::StatusOr<std::vector<HostArray>> library(int64_t site, absl::Span<const HostArray> operands) {
  const HostArray& from = operands[0];
  std::vector<double> chosen;
  for (int64_t i = 0; i < from.elements(); ++i) {
    const double x = from.at(i).asDouble();
    if (site == 1 ? i < from.elements() / 2 : x > 0) chosen.push_back(x);
  }
  const auto count = static_cast<int64_t>(chosen.size());
  HostArray result = HostArray::zeros(DType::kF64, {count});
  for (int64_t i = 0; i < count; ++i) result.set(i, Scalar::ofDouble(DType::kF64, chosen[static_cast<size_t>(i)]));
  if (site != 2) return std::vector<HostArray>{std::move(result)};
  HostArray twice = HostArray::zeros(DType::kF64, {count, 2});
  for (int64_t i = 0; i < 2 * count; ++i) twice.set(i, result.at(i / 2));
  return std::vector<HostArray>{std::move(result), std::move(twice)};
}

/// The same from native code and the evaluator; where an allocation on the way fails, the arguments are as they were.
void expectSame(std::string_view text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) {
  absl::StatusOr<NativeGraph> native = NativeGraph::build(text);
  ASSERT_TRUE(native.ok()) << native.status();
  native->setLibrary(library);
  EXPECT_EQ(difference(native->evaluate(inputs, symbols), native->run(inputs, symbols)), "")
      << print(native->plan(), native->planned());
  Answer declined;
  declined.status = kStatusDecline;
  declined.inputs = inputs;
  for (int fails = 1;; ++fails) {
    const Answer out = native->run(inputs, symbols, fails);
    if (!out.ranOut) break;
    EXPECT_EQ(difference(declined, out), "") << "allocation " << fails;
  }
}

constexpr const char* kChosen = R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %2 = project(%1) {index=0} : f64[k0]
  %3 = multiply(%2, %2) : f64[k0]
  %4 = sum(%3) {axes=[0], keepdims=0} : f64
  %5 = subtract(%3, %4) : f64[k0]
  %6 = sym() {expr=k0} : i64
  return %5, %4, %6, %2
}
)";

TEST(DataSizes, AreBoundByCalls) {
  for (int64_t size : {0, 1, 2, 7, 100, 1000})
    for (uint64_t seed : {1, 2, 3}) expectSame(kChosen, {numbers({size}, seed)}, {size, -1});
}

TEST(DataSizes, TemporariesAreAllocatedAndFreed) {
  const char* text = R"(graph(s0: [0, inf], k0: [0, inf], k1: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=2, callee="both", sizes=[k0]} : (f64[k0], f64[k0, 2])
  %2 = project(%1) {index=0} : f64[k0]
  %3 = project(%1) {index=1} : f64[k0, 2]
  %4 = expand(%2) {axes=[1]} : f64[k0, 1]
  %5 = multiply(%3, %4) : f64[k0, 2]
  %6 = call(%5) {site=0, callee="positive", sizes=[k1]} : (f64[k1])
  %7 = project(%6) {index=0} : f64[k1]
  %8 = add(%7, %7) : f64[k1]
  %9 = call(%8) {site=1, callee="half"} : (f64[k0])
  %10 = project(%9) {index=0} : f64[k0]
  %11 = add(%10, %2) : f64[k0]
  %12 = sum(%11) {axes=[0], keepdims=0} : f64
  return %12
}
)";
  absl::StatusOr<NativeGraph> native = NativeGraph::build(text);
  ASSERT_TRUE(native.ok()) << native.status();
  const std::string plan = print(native->plan(), native->planned());
  EXPECT_NE(plan.find("alloc buffer"), std::string::npos) << plan;
  EXPECT_NE(plan.find("free buffer"), std::string::npos) << plan;
  for (int64_t size : {0, 1, 2, 9, 300}) expectSame(text, {numbers({size}, 5)}, {size, -1, -1});
}

TEST(DataSizes, OutsideOfTheirRangeDecline) {
  const char* text = R"(graph(s0: [0, inf], k0: [2, 5]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s0]
  %2 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %3 = project(%2) {index=0} : f64[k0]
  %4 = slice(%3) {starts=[1], steps=[1]} : f64[k0 + -1]
  %5 = sum(%4) {axes=[0], keepdims=0} : f64
  %6 = add(%1, %5) : f64[s0]
  %7 = store(%1, %6) : f64[s0]
  commit %7
  return %4
}
)";
  for (int64_t size : {0, 1, 2, 3, 5, 8, 12, 40})
    expectSame(text, {numbers({size}, 1), numbers({size}, 2)}, {size, -1});
}

/// The second call is to answer as many as the first one.
TEST(DataSizes, ThatDifferDecline) {
  const char* text = R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s0]
  %2 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %3 = project(%2) {index=0} : f64[k0]
  %4 = call(%1) {site=0, callee="positive"} : (f64[k0])
  %5 = project(%4) {index=0} : f64[k0]
  %6 = add(%3, %5) : f64[k0]
  return %6
}
)";
  expectSame(text, {numbers({20}, 1), numbers({20}, 1)}, {20, -1});
  int declined = 0;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    absl::StatusOr<NativeGraph> native = NativeGraph::build(text);
    ASSERT_TRUE(native.ok()) << native.status();
    native->setLibrary(library);
    declined += (native->run({numbers({20}, seed), numbers({20}, seed + 50)}, {20, -1}).status & kStatusDecline) != 0;
    expectSame(text, {numbers({20}, seed), numbers({20}, seed + 50)}, {20, -1});
  }
  EXPECT_GT(declined, 0);
}

/// What reads no result of the call comes behind it all the same.
TEST(DataSizes, AreKnownBehindTheCallOnly) {
  expectSame(R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %2 = constant() {value=f64(3)} : f64
  %3 = full(%2) : f64[k0]
  %4 = sum(%3) {axes=[0], keepdims=0} : f64
  %5 = iota() : i64[k0 + 2]
  return %5, %4
}
)",
             {numbers({33}, 4)}, {33, -1});
}

TEST(DataSizes, InLoopsAndBranches) {
  const char* text = R"(graph(s0: [1, inf], i0: [0, inf], k0: [0, inf], k1: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %2 = project(%1) {index=0} : f64[k0]
  %3 = add(%2, %2) : f64[k0]
  %4 = loop(%3, %0) {trip=i0} : (f64[k0], f64[s0]) {
    %0 = input() {index=0} : f64[k0]
    %1 = input() {index=1} : f64[s0]
    %2 = constant() {value=bool(true)} : bool
    %3 = call(%1) {site=0, callee="positive", sizes=[k1]} : (f64[k1])
    %4 = project(%3) {index=0} : f64[k1]
    %5 = add(%4, %4) : f64[k1]
    %6 = call(%5) {site=1, callee="half"} : (f64[k1//2])
    %7 = project(%6) {index=0} : f64[k1//2]
    %8 = sum(%7) {axes=[0], keepdims=0} : f64
    %9 = constant() {value=f64(5)} : f64
    %10 = less(%8, %9) : bool
    %11 = cond(%10, %0) : (f64[k0]) {
      %0 = input() {index=0} : f64[k0]
      %1 = add(%0, %0) : f64[k0]
      return %1
    } {
      %0 = input() {index=0} : f64[k0]
      return %0
    }
    %12 = project(%11) {index=0} : f64[k0]
    %13 = add(%12, %8) : f64[k0]
    %14 = negative(%1) : f64[s0]
    return %2, %13, %14
  }
  %5 = project(%4) {index=0} : f64[k0]
  return %5
}
)";
  for (int64_t trips : {0, 1, 2, 5})
    for (int64_t size : {1, 2, 31}) expectSame(text, {numbers({size}, 9)}, {size, trips, -1, -1});
}

std::string problemOf(std::string_view text) {
  absl::StatusOr<graph::Graph> graph = graph::parse(text);
  if (!graph.ok()) return std::string(graph.status().message());
  const std::vector<std::string> problems = graph::verify(*graph, graph::Stage::kDecomposed);
  return problems.empty() ? "" : problems[0];
}

TEST(DataSizes, AreVerified) {
  EXPECT_EQ(problemOf(kChosen), "");
  EXPECT_NE(problemOf(R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = sym() {expr=k0 + 1} : i64
  %2 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  return %1
}
)")
                .find("which %1 knows"),
            std::string::npos);
  EXPECT_NE(problemOf(R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[s0])
  return %0
}
)")
                .find("no size of its results"),
            std::string::npos);
}

/// Plans whose memory is not there when it is wanted.
TEST(DataSizes, PlansAreVerified) {
  absl::StatusOr<graph::Graph> graph = graph::parse(R"(graph(s0: [0, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = call(%0) {site=0, callee="positive", sizes=[k0]} : (f64[k0])
  %2 = project(%1) {index=0} : f64[k0]
  %3 = add(%2, %2) : f64[k0]
  %4 = call(%3) {site=1, callee="half"} : (f64[k0//2])
  %5 = project(%4) {index=0} : f64[k0//2]
  return %5
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string whole = graph::printWhole(*plan, *graph);
  EXPECT_TRUE(graph::parsePlan(whole, *graph).ok());
  for (std::string_view line : {"alloc buffer", " sizes [k0]"}) {
    std::string broken = whole;
    const size_t at = broken.find(line);
    ASSERT_NE(at, std::string::npos) << whole;
    broken.erase(at, broken.find('\n', at) - at);
    EXPECT_FALSE(graph::parsePlan(broken, *graph).ok()) << broken;
  }
}

}  // namespace
}  // namespace fw::jit::testing
