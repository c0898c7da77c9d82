// Passes and planning are given up between steps when their time is over, and that is no defect of a pass.
#include <gtest/gtest.h>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"

namespace fw::graph {
namespace {

constexpr char kText[] = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = multiply(%0, %0) : f64[s0]
  return %1
}
)";

TEST(Deadline, EndsPassesAndPlanning) {
  PassContext context;
  context.deadline = Deadline::after(-1);
  absl::StatusOr<Graph> graph = parse(kText);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status passes = runPasses(*graph, context);
  EXPECT_TRUE(absl::IsDeadlineExceeded(passes)) << passes;
  EXPECT_EQ(print(*graph), kText);
  const absl::StatusOr<Plan> plan = makePlan(*graph, context);
  EXPECT_TRUE(absl::IsDeadlineExceeded(plan.status())) << plan.status();
}

TEST(Deadline, IsNotOverBefore) {
  EXPECT_FALSE(Deadline().isOver());
  EXPECT_FALSE(Deadline::after(int64_t{1} << 40).isOver());
  EXPECT_TRUE(Deadline::after(-1).isOver());
  PassContext context;
  context.deadline = Deadline::after(int64_t{1} << 40);
  absl::StatusOr<Graph> graph = parse(kText);
  ASSERT_TRUE(graph.ok() && runPasses(*graph, context).ok());
  EXPECT_TRUE(makePlan(*graph, context).ok());
}

}  // namespace
}  // namespace fw::graph
