// Graphs through the whole pipeline to native code, and the same by the reference evaluator.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/evaluator.h"
#include "graph/graph.h"
#include "graph/plan.h"
#include "jit/compile.h"
#include "kernels/lower_plan.h"

namespace fw::jit::testing {

using graph::HostArray;

struct Answer {
  int32_t status = 0;
  std::vector<HostArray> outputs;
  std::vector<HostArray> inputs;  ///< after the commits
  bool ranOut = false;            ///< the allocation that was to fail has been asked for
};

class NativeGraph {
 public:
  /// Passes, plan, its text read back, and code for the text of a graph whose inputs are packed in C order.
  static absl::StatusOr<NativeGraph> build(std::string_view text, const CompileOptions& options = {});
  /// What its library calls are of.
  void setLibrary(graph::LibraryCall library) { library_ = std::move(library); }

  /// A schedule: the text of a graph as it is planned, and of its plan.
  static absl::StatusOr<NativeGraph> read(std::string_view graphText, std::string_view planText,
                                          const CompileOptions& options = {});

  /// Runs the code; commits are stored if nothing was declined. Allocation number `fails` on the way finds no memory.
  Answer run(const std::vector<HostArray>& inputs, std::vector<int64_t> symbols, int fails = 0) const;
  /// What the graph means. status: kStatusDecline if it fails.
  Answer evaluate(const std::vector<HostArray>& inputs, const std::vector<int64_t>& symbols) const;

  const graph::Plan& plan() const { return executable_->plan(); }
  const graph::Graph& planned() const { return graph_; }

 private:
  static absl::StatusOr<NativeGraph> compiled(graph::Graph source, graph::Graph graph, const graph::Plan& plan,
                                              const CompileOptions& options);
  graph::Graph source_, graph_;
  std::unique_ptr<Executable> executable_;
  graph::LibraryCall library_;
};

/// Kernels and code of a planned graph.
absl::StatusOr<std::unique_ptr<Executable>> compilePlan(const graph::Graph& graph, const graph::Plan& plan,
                                                        const CompileOptions& options = {},
                                                        const kernels::LoweringOptions& lowering = {});

/// Empty if both are the same, NaNs of any kind being equal.
std::string difference(const Answer& want, const Answer& got);

}  // namespace fw::jit::testing
