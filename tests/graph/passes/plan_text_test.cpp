// Reading plans: what is wrong is told with its place, and nothing that can be written crashes the reader.
#include <gtest/gtest.h>

#include <random>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan_text.h"

namespace fw::graph {
namespace {

constexpr char kGraph[] = R"(graph(s0: [1, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = negative(%0) : f64[s0]
  %3 = max(%2) {axes=[0], keepdims=0} : f64
  %4 = constant() {value=f64(0)} : f64
  %5 = less(%3, %4) : bool
  %6 = bind(%1, %0) {symbol=k0, least=0, most=s0 + -1} : (f64[1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = slice(%0) {starts=[k0], steps=[1]} : f64[1]
    %2 = negative(%1) : f64[1]
    return %2
  }
  %7 = project(%6) {index=0} : f64[1]
  %8 = cond(%5, %7) : (f64[1]) {
    %0 = input() {index=0} : f64[1]
    %1 = loop(%0) {trip=3} : (f64[1]) {
      %0 = input() {index=0} : f64[1]
      %1 = negative(%0) : f64[1]
      %2 = constant() {value=bool(true)} : bool
      return %2, %1
    }
    %2 = project(%1) {index=0} : f64[1]
    return %2
  } {
    %0 = input() {index=0} : f64[1]
    return %0
  }
  %9 = project(%8) {index=0} : f64[1]
  %10 = store(%0, %2) : f64[s0]
  commit %10
  return %9
}
)";

class PlanText : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Graph> graph = parse(kGraph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = *std::move(graph);
    absl::StatusOr<Plan> plan = makePlan(graph_, {});
    ASSERT_TRUE(plan.ok()) << plan.status();
    text_ = printWhole(*plan, graph_);
  }

  /// What is said of the plan with the first `from` being `to`.
  std::string with(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    text.replace(at, from.size(), to);
    return std::string(parsePlan(text, graph_).status().message());
  }

  Graph graph_;
  std::string text_;
};

TEST_F(PlanText, ReadsBack) {
  absl::StatusOr<Plan> plan = parsePlan(text_, graph_);
  ASSERT_TRUE(plan.ok()) << plan.status() << text_;
  EXPECT_EQ(printWhole(*plan, graph_), text_);
  EXPECT_EQ(plan->regions.size(), 5u);
}

TEST_F(PlanText, SaysWhatIsWrong) {
  EXPECT_NE(with("group 0", "group 1").find("1:1: groups come in order"), std::string::npos);
  EXPECT_NE(with(": map", ": heap").find("unknown kind of group"), std::string::npos);
  EXPECT_NE(with("= negative(", "= absolute(").find("the graph says something else"), std::string::npos);
  EXPECT_NE(with("accept", "except").find("expected"), std::string::npos);
  EXPECT_NE(with("workspace", "buffer 99: temp 0 f64[] strides=[] at [0] holds []\nworkspace").find("come in order"),
            std::string::npos);
  EXPECT_NE(with("return buffer 2", "return buffer 77").find("memory of a result"), std::string::npos);
  EXPECT_NE(with("accept\n", "").find("a commit in front of accept"), std::string::npos);
  EXPECT_NE(with("if buffer 3", "if 3").find("expected"), std::string::npos);
  EXPECT_NE(with(" [k0]", " [k9]").find("k9"), std::string::npos);
}

TEST_F(PlanText, NothingCrashesTheReader) {
  std::mt19937_64 rng(1);
  const std::string alphabet = "0123456789%[](){},.=_-> abcdefglmnoprstuw\n";
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = text_;
    for (uint64_t edits = 1 + rng() % 3; edits-- > 0;) {
      const size_t at = rng() % text.size(), length = std::min<size_t>(rng() % 12, text.size() - at);
      switch (rng() % 3) {
        case 0: text[at] = alphabet[rng() % alphabet.size()]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(rng() % text.size(), length)); break;
      }
    }
    absl::StatusOr<Plan> plan = parsePlan(text, graph_);
    if (!plan.ok()) continue;
    ++read;
    EXPECT_TRUE(verify(*plan, graph_).empty());
    EXPECT_TRUE(parsePlan(printWhole(*plan, graph_), graph_).ok()) << text;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace fw::graph
