// Goldens of the passes and of plans: every *.golden of this folder, one test per section.
//
//   === name
//   --- ir                what goes in
//   --- passes a b plan   names from passes.def; `plan` last also prints the plan
//   --- expect            the graph that comes out (then the plan), or "error: " and the status
//
// FUSEWIRE_UPDATE_GOLDENS=1 rewrites the expectations in place.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan_text.h"

namespace fw::graph {
namespace {

struct Case {
  std::string name, ir, passes, expect;
};

struct GoldenFile {
  std::filesystem::path path;
  std::string preamble;
  std::vector<Case> cases;
};

GoldenFile readGoldens(const std::filesystem::path& path) {
  GoldenFile file{path, "", {}};
  std::ifstream in(path);
  std::string line;
  std::string* into = &file.preamble;
  while (std::getline(in, line)) {
    if (line.rfind("=== ", 0) == 0) {
      file.cases.push_back({line.substr(4), "", "", ""});
      into = &file.preamble;
    } else if (line.rfind("--- passes ", 0) == 0) {
      file.cases.back().passes = line.substr(11);
    } else if (line == "--- ir") {
      into = &file.cases.back().ir;
    } else if (line == "--- expect") {
      into = &file.cases.back().expect;
    } else if (!line.empty()) {
      *into += line + "\n";
    }
  }
  return file;
}

void writeGoldens(const GoldenFile& file) {
  std::ofstream out(file.path);
  out << file.preamble;
  for (const Case& c : file.cases)
    out << "\n=== " << c.name << "\n--- ir\n" << c.ir << "--- passes " << c.passes << "\n--- expect\n" << c.expect;
}

std::string errorText(const absl::Status& status) {
  std::string text = "error: " + std::string(status.message());
  while (text.back() == '\n') text.pop_back();  // one at the end, as the file has it
  return text + "\n";
}

std::string outcome(const Case& c) {
  absl::StatusOr<Graph> graph = parse(c.ir);
  if (!graph.ok()) return "parse " + errorText(graph.status());
  std::istringstream names(c.passes);
  std::vector<std::string> list;
  for (std::string pass; names >> pass;) list.push_back(pass);
  PassContext context;
  context.target.rewritesInputs = !list.empty() && list.back() == "rewriting-plan";
  const bool plans = context.target.rewritesInputs || (!list.empty() && list.back() == "plan");
  if (plans) list.pop_back();
  const std::vector<std::string_view> views(list.begin(), list.end());
  if (absl::Status status = runPasses(*graph, views, PassContext{}); !status.ok()) return errorText(status);
  if (!plans) return print(*graph);
  absl::StatusOr<Plan> plan = makePlan(*graph, context);
  if (!plan.ok()) return errorText(plan.status());
  for (const std::string& problem : verify(*plan, *graph)) return "unsound plan: " + problem + "\n";
  const std::string text = printWhole(*plan, *graph);
  absl::StatusOr<Plan> again = parsePlan(text, *graph);
  if (!again.ok()) return text + "does not read back: " + again.status().ToString() + "\n";
  if (printWhole(*again, *graph) != text) return text + "reads back as\n" + printWhole(*again, *graph);
  return print(*graph) + print(*plan, *graph);
}

std::vector<std::filesystem::path> goldenFiles() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(FW_GOLDEN_DIR))
    if (entry.path().extension() == ".golden") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Goldens : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Goldens, Match) {
  GoldenFile file = readGoldens(GetParam());
  ASSERT_FALSE(file.cases.empty());
  const char* update = std::getenv("FUSEWIRE_UPDATE_GOLDENS");
  for (Case& c : file.cases) {
    SCOPED_TRACE(c.name);
    std::string got;
    try {
      got = outcome(c);
    } catch (const std::exception& e) {
      got = std::string("exception: ") + e.what() + "\n";
    }
    if (update && *update == '1') c.expect = got;
    EXPECT_EQ(c.expect, got);
  }
  if (update && *update == '1') writeGoldens(file);
}

INSTANTIATE_TEST_SUITE_P(Files, Goldens, testing::ValuesIn(goldenFiles()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace fw::graph
