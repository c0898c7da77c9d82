// Runs passes in order, with the verifier behind each. A pass is a row of passes.def and one function in
// passes/<text>.cpp; it sees a whole graph and visits nested regions itself (forEachRegion).
#include "graph/passes/pass_manager.h"

#include <algorithm>

#include "graph/verifier.h"

namespace fw::graph {

#define FW_PASS(Id, text, function) absl::Status function(Graph&, const PassContext&);
#include "graph/passes/passes.def"

namespace {

constexpr PassInfo kPasses[] = {
#define FW_PASS(Id, text, function) {text, function},
#include "graph/passes/passes.def"
};

absl::Status failed(std::string_view pass, std::string_view what, const std::string& before, const Graph& after) {
  return absl::InternalError("pass " + std::string(pass) + ": " + std::string(what) + "\nbefore:\n" + before +
                             "after:\n" + print(after));
}

absl::Status runOne(const PassInfo& pass, Graph& graph, const PassContext& context) {
  if (context.isOff(pass.text)) return absl::OkStatus();
  if (absl::Status late = context.deadline.check(pass.text); !late.ok()) return late;
  const std::string before = context.verifyEach ? print(graph) : std::string();
  if (absl::Status status = pass.run(graph, context); !status.ok()) {
    if (absl::IsUnimplemented(status) || absl::IsDeadlineExceeded(status)) return status;  // a limit, not a defect
    return failed(pass.text, std::string(status.message()), before, graph);
  }
  if (context.verifyEach) {
    const std::vector<std::string> problems = verify(graph);
    if (!problems.empty()) {
      std::string text = "unsound result";
      for (const std::string& problem : problems) text += "\n  " + problem;
      return failed(pass.text, text, before, graph);
    }
  }
  if (context.dump) context.dump(pass.text, print(graph));
  return absl::OkStatus();
}

}  // namespace

absl::Status runPasses(Graph& graph, const PassContext& context) {
  for (const PassInfo& pass : kPasses)
    if (absl::Status status = runOne(pass, graph, context); !status.ok()) return status;
  return absl::OkStatus();
}

absl::Status runPasses(Graph& graph, absl::Span<const std::string_view> names, const PassContext& context) {
  for (std::string_view name : names) {
    const PassInfo* pass =
        std::find_if(std::begin(kPasses), std::end(kPasses), [&](const PassInfo& p) { return p.text == name; });
    if (pass == std::end(kPasses)) return absl::InvalidArgumentError("no pass named " + std::string(name));
    if (absl::Status status = runOne(*pass, graph, context); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace fw::graph
