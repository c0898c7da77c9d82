// Random schedules as native code of every instruction set against the reference evaluator: equal bits, no byte
// outside of a buffer, and arguments as they were where the accept fails, a call raises or memory runs out.
// FUSEWIRE_SCHEDULES=20000 tries the first that many instead of a sample, FUSEWIRE_SCHEDULES=500-600 those seeds;
// FUSEWIRE_ISA=avx2 on one instruction set only. FUSEWIRE_SCHEDULES_FILE receives what the evaluator answers, one line
// of JSON for each, which numpy_schedules.py compares with NumPy.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "nlohmann/json.hpp"

#include "graph/parser.h"
#include "graph/support/check.h"
#include "native_graph.h"
#include "random_schedules.h"

namespace fw::jit::testing {
namespace {

using Isa = CompileOptions::Isa;

/// What the schedules have had, so that a generator that has run dry is seen.
struct Counts {
  std::map<std::string, int> steps;
  int compared = 0, refused = 0, declined = 0, ranOut = 0;

  void add(const graph::Plan& plan, const graph::Graph& graph, const graph::Steps& list) {
    for (const graph::Step& step : list) {
      std::visit([&](const auto& what) { ++steps[name(what)]; }, step.what);
      const graph::ControlStep* control = graph::controlOf(step);
      if (!control) continue;
      if (!std::holds_alternative<graph::LoopStep>(step.what)) steps["in place"] += isInPlace(plan, graph, *control);
      for (const graph::ControlStep::Body& body : control->bodies) add(plan, graph, body.steps);
    }
  }

 private:
  static const char* name(const graph::KernelStep&) { return "kernel"; }
  static const char* name(const graph::LoopStep&) { return "loop"; }
  static const char* name(const graph::CondStep&) { return "cond"; }
  static const char* name(const graph::BindStep&) { return "bind"; }
  static const char* name(const graph::DefineStep&) { return "define"; }
  static const char* name(const graph::CallStep&) { return "call"; }
  static const char* name(const graph::AllocStep&) { return "alloc"; }
  static const char* name(const graph::FreeStep&) { return "free"; }
  static const char* name(const graph::CopyStep&) { return "copy"; }
  static const char* name(const graph::AcceptStep&) { return "accept"; }
  static const char* name(const graph::CommitStep&) { return "commit"; }

  /// Whether a branch answers an array in the memory in which it was given it.
  static bool isInPlace(const graph::Plan& plan, const graph::Graph& graph, const graph::ControlStep& control) {
    const graph::Place& place = control.node;
    const graph::Node& node = graph::regionOf(plan, graph, place.region).node(place.value);
    for (graph::ValueId result : control.results) {
      if (!result.valid()) continue;
      const std::optional<graph::BufferId> own = plan.findBuffer(result, place.region);
      for (graph::ValueId operand : node.operands)
        if (own && plan.findBuffer(operand, place.region) == own) return true;
    }
    return false;
  }
};

nlohmann::json describe(const std::vector<HostArray>& arrays) {
  nlohmann::json list = nlohmann::json::array();
  for (const HostArray& array : arrays) {
    std::vector<uint64_t> bits;
    for (int64_t i = 0; i < array.elements(); ++i) bits.push_back(array.at(i).lo);
    list.push_back({{"dtype", graph::name(array.dtype)}, {"shape", array.shape}, {"bits", bits}});
  }
  return list;
}

/// One line with the evaluator's answer.
void write(std::ostream& to, const RandomSchedule& program, const std::string& text, uint64_t seed) {
  absl::StatusOr<graph::Graph> graph = graph::parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<HostArray> after = program.inputs;
  const graph::LibraryCall library = randomLibrary;
  const auto outputs = graph::evaluate(*graph, program.inputs, program.symbols, &after, &library);
  nlohmann::json line = {{"seed", seed},
                         {"text", text},
                         {"symbols", program.symbols},
                         {"inputs", describe(program.inputs)},
                         {"declined", !outputs.ok()}};
  if (outputs.ok()) {
    line["outputs"] = describe(*outputs);
    line["after"] = describe(after);
  }
  to << line << "\n";
}

/// Empty, or what is wrong with the program on this instruction set.
std::string problemOf(const RandomSchedule& program, const std::string& text, Isa isa, uint64_t seed, Counts& counts) {
  CompileOptions options;
  options.isa = isa;
  absl::StatusOr<NativeGraph> native = NativeGraph::build(text, options);
  if (absl::IsUnimplemented(native.status())) return ++counts.refused, "";
  if (!native.ok()) return native.status().ToString();
  native->setLibrary(randomLibrary);
  ++counts.compared;
  counts.add(native->plan(), native->planned(), native->plan().steps);
  const Answer want = native->evaluate(program.inputs, program.symbols);
  counts.declined += (want.status & kStatusDecline) != 0;
  std::string what = difference(want, native->run(program.inputs, program.symbols));
  const int fails = static_cast<int>(1 + seed % 3);  // an allocation on the way
  const Answer without = native->run(program.inputs, program.symbols, fails);
  if (what.empty() && without.ranOut) {
    Answer declined;
    declined.status = kStatusDecline;
    declined.inputs = program.inputs;
    what = difference(declined, without);
    if (!what.empty()) what += " where allocation " + std::to_string(fails) + " fails";
    ++counts.ranOut;
  }
  return what.empty() ? what : what + "\n" + print(native->plan(), native->planned());
}

/// The seeds [first, second).
std::pair<uint64_t, uint64_t> wantedSeeds() {
  const char* wanted = std::getenv("FUSEWIRE_SCHEDULES");
  if (!wanted) return {0, 100};
  char* end;
  const uint64_t number = std::strtoull(wanted, &end, 10);
  if (*end != '-') return {0, number};
  return {number, std::strtoull(end + 1, nullptr, 10)};
}

/// One program on every instruction set that is wanted.
void tryOne(uint64_t seed, std::ofstream& told, Counts& counts) {
  static constexpr std::pair<Isa, const char*> kIsas[] = {
      {Isa::kHost, "host"}, {Isa::kAvx2, "avx2"}, {Isa::kPortable, "portable"}};
  const char* only = std::getenv("FUSEWIRE_ISA");
  const RandomSchedule program(seed);
  const std::string text = program.text();
  if (told.is_open()) write(told, program, text, seed);
  for (const auto& [isa, name] : kIsas) {
    if (only && std::string_view(only) != name) continue;
    std::string what;
    try {
      what = problemOf(program, text, isa, seed, counts);
    } catch (const InternalError& error) {
      what = error.what();
    }
    if (what.empty()) continue;
    std::string values;
    for (int64_t v : program.symbols) values += std::to_string(v) + " ";
    ADD_FAILURE() << "seed " << seed << " on " << name << ", symbols " << values << "\n" << text << what;
    return;
  }
}

TEST(RandomSchedules, ThatHaveDifferedOnce) {
  std::ofstream untold;
  Counts counts;
  for (uint64_t seed : {15034, 18038, 18777}) tryOne(seed, untold, counts);
}

TEST(RandomSchedules, ComputeWhatTheEvaluatorComputes) {
  const char* only = std::getenv("FUSEWIRE_ISA");
  const char* file = std::getenv("FUSEWIRE_SCHEDULES_FILE");
  std::ofstream told;
  if (file) told.open(file);
  const auto [first, last] = wantedSeeds();
  Counts counts;
  for (uint64_t seed = first; seed < last && !HasFailure(); ++seed) tryOne(seed, told, counts);
  std::cout << counts.compared << " compared, " << counts.refused << " refused, " << counts.declined << " declined, "
            << counts.ranOut << " without memory; steps:";
  for (const auto& [name, count] : counts.steps) std::cout << " " << name << " " << count;
  std::cout << "\n";
  if (last - first < 100) return;
  EXPECT_GT(counts.compared, (only ? 1 : 3) * static_cast<int>(last - first) * 8 / 10);
  EXPECT_LT(counts.declined, counts.compared / 2);
  EXPECT_GT(counts.ranOut, 0);
  for (const char* name :
       {"kernel", "loop", "cond", "bind", "define", "call", "alloc", "free", "copy", "accept", "commit", "in place"})
    EXPECT_GT(counts.steps[name], 0) << name;
}

}  // namespace
}  // namespace fw::jit::testing
