// Sources of CUDA: goldens, and every row of the op table through NVRTC where it is to be found (FUSEWIRE_NVRTC names
// its folder).
//
//   === name
//   --- ir             a graph
//   --- symbols 1 2    values of its symbols
//   --- expect         how the device is divided, and the sources without the prelude
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "graph/op.h"
#include "jit/cuda/nvrtc.h"
#include "kernels/cuda/text.h"
#include "kernels_of.h"

namespace fw::testing {
namespace {

struct Case {
  std::string name, ir, symbols, expect;
};

std::vector<Case> readCases(const std::string& path) {
  std::vector<Case> cases;
  std::ifstream in(path);
  std::string line, none;
  std::string* into = &none;
  while (std::getline(in, line)) {
    if (line.rfind("=== ", 0) == 0)
      cases.push_back({line.substr(4), "", "", ""});
    else if (line == "--- ir")
      into = &cases.back().ir;
    else if (line.rfind("--- symbols", 0) == 0)
      cases.back().symbols = line.substr(11);
    else if (line == "--- expect")
      into = &cases.back().expect;
    else if (!line.empty())
      *into += line + "\n";
  }
  return cases;
}

std::string outcome(const Case& c, bool comments = true) {
  std::istringstream numbers(c.symbols);
  std::vector<int64_t> symbols;
  for (int64_t n = 0; numbers >> n;) symbols.push_back(n);
  auto emitted = emitAll(c.ir, symbols);
  if (!emitted.ok()) return absl::StrCat("error: ", std::string(emitted.status().message()), "\n");
  std::string text;
  for (const Emitted& e : *emitted) {
    if (comments)
      absl::StrAppend(&text, "# grid ", e.launch.gridX, " x ", e.launch.gridY, ", block ", e.launch.blockX, " x ",
                      e.launch.blockY, "\n");
    text += e.source.text;
  }
  return text;
}

TEST(CudaSources, Goldens) {
  const std::string path = std::string(FW_GOLDEN_DIR) + "/emission.golden";
  std::vector<Case> cases = readCases(path);
  ASSERT_FALSE(cases.empty());
  const char* update = std::getenv("FUSEWIRE_UPDATE_GOLDENS");
  const bool updates = update && *update == '1';
  for (Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string got = outcome(c);
    if (updates) c.expect = got;
    EXPECT_EQ(c.expect, got);
  }
  if (!updates) return;
  std::ofstream out(path);
  for (size_t i = 0; i < cases.size(); ++i)
    out << (i ? "\n" : "") << "=== " << cases[i].name << "\n--- ir\n"
        << cases[i].ir << "--- symbols" << cases[i].symbols << "\n--- expect\n"
        << cases[i].expect;
}

constexpr char kOneRow[] = "graph(s0: [0, inf]) {\n";

/// Graphs of one elementwise operation on each type that it has a loop for.
std::vector<std::string> oneOperation(graph::Op op) {
  const graph::OpInfo& info = graph::info(op);
  std::vector<std::string> graphs;
  for (const graph::DTypeInfo& type : graph::kDTypes) {
    for (const std::string result :
         {std::string(type.text), std::string("bool"), std::string(graph::name(graph::realOf(type.dtype)))}) {
      std::string text = kOneRow, operands;
      for (int i = 0; i < info.arity; ++i) {
        absl::StrAppend(&text, "  %", i, " = input() {index=", i, "} : ", std::string(type.text), "[s0]\n");
        absl::StrAppend(&operands, i ? ", %" : "%", i);
      }
      absl::StrAppend(&text, "  %", info.arity, " = ", std::string(info.text), "(", operands, ") : ", result,
                      "[s0]\n  return %", info.arity, "\n}\n");
      graphs.push_back(text);
    }
  }
  return graphs;
}

constexpr const char* kArchitectures[] = {"sm_80", "sm_90"};

absl::StatusOr<jit::cuda::Nvrtc> nvrtc() {
  std::vector<std::string> places;
  if (const char* place = std::getenv("FUSEWIRE_NVRTC")) places.push_back(place);
  return jit::cuda::Nvrtc::open(places);
}

TEST(CudaSources, EveryOperationCompiles) {
  std::string source(kernels::cuda::prelude());
  int kernels = 0, operations = 0;
  std::vector<std::string> seen;
  for (const graph::OpInfo& info : graph::opTable()) {
    if (info.cls != graph::OpClass::kElementwise || info.arity < 1) continue;
    int own = 0;
    for (const std::string& text : oneOperation(info.op)) {
      auto emitted = emitAll(text, {1000}, /*simple=*/true);
      if (!emitted.ok()) continue;
      for (const Emitted& e : *emitted) {
        if (std::find(seen.begin(), seen.end(), e.source.name) != seen.end()) continue;
        seen.push_back(e.source.name);
        source += e.source.text;
        ++kernels;
      }
      ++own;
    }
    operations += own > 0;
  }
  EXPECT_GT(operations, 60) << "elementwise rows that have a form on CUDA";
  auto compiler = nvrtc();
  if (!compiler.ok()) GTEST_SKIP() << "NOT COMPILED: " << compiler.status();
  for (const char* architecture : kArchitectures) {
    auto image = compiler->compile(source, architecture);
    EXPECT_TRUE(image.ok()) << architecture << ": " << image.status().message();
  }
}

TEST(CudaSources, EveryFormCompiles) {
  auto compiler = nvrtc();
  if (!compiler.ok()) GTEST_SKIP() << "NOT COMPILED: " << compiler.status();
  for (const Case& c : readCases(std::string(FW_GOLDEN_DIR) + "/emission.golden")) {
    const std::string source = std::string(kernels::cuda::prelude()) + outcome(c, /*comments=*/false);
    for (const char* architecture : kArchitectures) {
      auto image = compiler->compile(source, architecture);
      EXPECT_TRUE(image.ok()) << c.name << " for " << architecture << ": " << image.status().message();
    }
  }
}

TEST(CudaSources, ErrorsOfTheCompilerAreTold) {
  auto compiler = nvrtc();
  if (!compiler.ok()) {
    EXPECT_NE(std::string(compiler.status().message()).find("libnvrtc"), std::string::npos);
    GTEST_SKIP() << "NOT COMPILED: " << compiler.status();
  }
  auto image = compiler->compile("this is no program", "sm_90");
  ASSERT_FALSE(image.ok());
  EXPECT_NE(std::string(image.status().message()).find("fusewire.cu"), std::string::npos);
  EXPECT_FALSE(compiler->compile("extern \"C\" __global__ void f() {}", "sm_1").ok());
}

TEST(CudaSources, DivisorsDivide) {
  std::vector<int64_t> divisors, numbers;
  for (int64_t base : {1, 2, 3, 5, 7, 10, 31, 32, 33, 1000, 65535, 65536, 65537})
    for (int64_t factor : {1, 3, 32749}) divisors.push_back(base * factor);
  divisors.insert(divisors.end(), {INT32_MAX, INT32_MAX - 1, 1 << 30, (1 << 30) + 1});
  for (int64_t d : divisors) {
    const uint64_t packed = kernels::cuda::divisorOf(d);
    const auto factor = static_cast<uint32_t>(packed);
    const auto divide = [&](int64_t n) {  // the prelude's fw_divide
      const auto high = static_cast<uint32_t>((static_cast<uint64_t>(n) * factor) >> 32);
      return factor == 0 ? n : int64_t{high >> static_cast<uint32_t>(packed >> 32)};
    };
    numbers = {0, 1, INT32_MAX, INT32_MAX - 1};
    for (int64_t k : {int64_t{1}, int64_t{2}, int64_t{1000}, INT32_MAX / d})
      for (int64_t by : {-1, 0, 1})
        if (k * d + by >= 0 && k * d + by <= INT32_MAX) numbers.push_back(k * d + by);
    for (int64_t n : numbers) ASSERT_EQ(divide(n), n / d) << n << " / " << d;
  }
}

}  // namespace
}  // namespace fw::testing
