// Commits against the reference evaluator: the native functions of a planned graph write into inputs in memory, for
// every element type, through contiguous, strided and reversed targets, and nothing else in that memory changes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <regex>

#include "graph/evaluator.h"
#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "jit/target.h"
#include "native_graph.h"

namespace fw::jit::testing {
namespace {

using graph::DType;
using graph::HostArray;

/// DT is the element type.
struct Case {
  const char* name;
  const char* ir;
  bool arithmetic = false;  ///< not for bool
};

constexpr char kHeader[] =
    "graph(s0: [0, inf], s1: [0, inf], t0_0: [-inf, inf], t0_1: [-inf, inf]) {\n"
    "  %0 = input() {index=0} : DT[s0, s1] layout=c/strided\n"
    "  %1 = input() {index=1} : DT[s0, s1]\n"
    "  %2 = input() {index=2} : DT[s1, s0]\n"
    "  %3 = input() {index=3} : DT\n";

const Case kCases[] = {
    {"whole", "  %4 = store(%0, %1) : DT[s0, s1]\n  commit %4\n  return\n"},
    {"scalar",
     "  %4 = broadcast(%3) : DT[s0, s1] layout=c/bcast(0,1)\n  %5 = store(%0, %4) : DT[s0, s1]\n"
     "  commit %5\n  return\n"},
    {"transposed",
     "  %4 = transpose(%0) {perm=[1, 0]} : DT[s1, s0] layout=f/strided\n  %5 = store(%4, %2) : DT[s1, s0]\n"
     "  commit %5\n  return\n"},
    {"reversed",
     "  %4 = slice(%0) {starts=[s0 + -1, s1 + -1], steps=[-1, -1]} : DT[s0, s1] layout=c/strided/neg(0,1)\n"
     "  %5 = store(%4, %1) : DT[s0, s1]\n  commit %5\n  return\n"},
    {"reversed itself",
     "  %4 = slice(%0) {starts=[s0 + -1, s1 + -1], steps=[-1, -1]} : DT[s0, s1] layout=c/strided/neg(0,1)\n"
     "  %5 = store(%0, %4) : DT[s0, s1]\n  commit %5\n  return\n"},
    {"masked",
     "  %4 = equal(%0, %1) : bool[s0, s1]\n  %5 = where(%4, %3, %0) : DT[s0, s1]\n"
     "  %6 = store(%0, %5) : DT[s0, s1]\n  commit %6\n  return\n"},
    {"every other column, then a row",
     "  %4 = slice(%0) {starts=[0, 0], steps=[1, 2]} : DT[s0, (s1 + 1)//2] layout=c/strided\n"
     "  %5 = slice(%1) {starts=[0, 0], steps=[1, 2]} : DT[s0, (s1 + 1)//2] layout=c/strided\n"
     "  %6 = store(%4, %5) : DT[s0, (s1 + 1)//2]\n"
     "  %7 = slice(%0) {starts=[0, 0], steps=[2, 1]} : DT[(s0 + 1)//2, s1] layout=c/strided\n"
     "  %8 = broadcast(%3) : DT[(s0 + 1)//2, s1] layout=c/bcast(0,1)\n"
     "  %9 = store(%7, %8) : DT[(s0 + 1)//2, s1]\n  commit %6, %9\n  return\n"},
    {"two inputs swapped",
     "  %4 = store(%0, %1) : DT[s0, s1]\n  %5 = store(%1, %0) : DT[s0, s1]\n  commit %4, %5\n  return\n"},
    {"sum of both and its negative",
     "  %4 = add(%0, %1) : DT[s0, s1]\n  %5 = store(%0, %4) : DT[s0, s1]\n"
     "  %6 = subtract(%0, %1) : DT[s0, s1]\n  %7 = store(%1, %6) : DT[s0, s1]\n  commit %5, %7\n  return %4\n",
     true},
    {"scaled and shifted",
     "  %4 = multiply(%0, %1) : DT[s0, s1]\n  %5 = add(%4, %3) : DT[s0, s1]\n"
     "  %6 = store(%0, %5) : DT[s0, s1]\n  commit %6\n  return\n",
     true},
};

constexpr DType kTypes[] = {
#define FW_DTYPE(Id, ...) DType::k##Id,
#include "graph/dtypes.def"
};

struct Strided {
  std::vector<std::byte> storage;
  size_t origin = 0;
  std::vector<int64_t> shape, strides;

  std::byte* at(int64_t flat) {
    size_t offset = origin;
    for (size_t d = shape.size(); d-- > 0; flat /= shape[d])
      offset += static_cast<size_t>(flat % shape[d] * strides[d]);
    return storage.data() + offset;
  }
};

HostArray randomArray(DType dtype, std::vector<int64_t> shape, std::mt19937_64& rng) {
  HostArray array = HostArray::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < array.elements(); ++i) {
    const auto v = static_cast<int64_t>(rng() % 7);
    array.set(i, graph::isComplex(dtype) ? graph::Scalar::ofComplex(dtype, {double(v), 1})
                 : graph::isFloat(dtype) ? graph::Scalar::ofDouble(dtype, double(v))
                                         : graph::Scalar::ofInt(dtype, v));
  }
  return array;
}

Strided place(const HostArray& array, std::vector<int64_t> strides) {
  Strided memory;
  memory.shape = array.shape;
  memory.strides = std::move(strides);
  int64_t low = 0, high = graph::itemSize(array.dtype);
  for (size_t d = 0; d < memory.shape.size(); ++d) {
    const int64_t span = memory.shape[d] > 0 ? (memory.shape[d] - 1) * memory.strides[d] : 0;
    (span < 0 ? low : high) += span;
  }
  memory.origin = static_cast<size_t>(64 - low);
  memory.storage.assign(static_cast<size_t>(high - low) + 128, std::byte{0xa5});
  const auto size = static_cast<size_t>(graph::itemSize(array.dtype));
  for (int64_t i = 0; i < array.elements(); ++i) std::memcpy(memory.at(i), array.data.data() + i * size, size);
  return memory;
}

/// A case for one element type: as written, and compiled.
struct Compiled {
  graph::Graph source, graph;
  graph::Plan plan;
  std::unique_ptr<Executable> executable;
};

Compiled compiled(const Case& c, DType dtype, CompileOptions::Isa isa, const graph::PassContext& context = {}) {
  const std::string ir =
      std::regex_replace(kHeader + std::string(c.ir) + "}\n", std::regex("DT"), std::string(graph::name(dtype)));
  absl::StatusOr<graph::Graph> source = graph::parse(ir), graph = graph::parse(ir);
  EXPECT_TRUE(source.ok()) << source.status() << "\n" << ir;
  EXPECT_TRUE(graph::runPasses(*graph, context).ok());
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, context);
  EXPECT_TRUE(plan.ok()) << plan.status();
  CompileOptions options;
  options.isa = isa;
  auto executable = compilePlan(*graph, *plan, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return {*std::move(source), *std::move(graph), *std::move(plan), *std::move(executable)};
}

void run(Compiled& c, DType dtype, std::vector<int64_t> shape, std::vector<int64_t> steps) {
  std::mt19937_64 rng(7);
  const int64_t size = graph::itemSize(dtype);
  std::vector<int64_t> symbols = {shape[0], shape[1], steps[0] * size, steps[1] * size};
  const std::vector<HostArray> inputs = {randomArray(dtype, shape, rng), randomArray(dtype, shape, rng),
                                         randomArray(dtype, {shape[1], shape[0]}, rng), randomArray(dtype, {}, rng)};
  std::vector<HostArray> expected;
  ASSERT_TRUE(graph::evaluate(c.source, inputs, symbols, &expected).ok());

  std::vector<Strided> memory = {place(inputs[0], {symbols[2], symbols[3]}), place(inputs[1], {shape[1] * size, size}),
                                 place(inputs[2], {shape[0] * size, size}), place(inputs[3], {})};
  std::vector<Strided> wanted = {place(expected[0], {symbols[2], symbols[3]}),
                                 place(expected[1], {shape[1] * size, size}), memory[2], memory[3]};
  std::vector<Strided> before = memory;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<void*> buffers;
  for (const graph::Buffer& buffer : c.plan.buffers) {
    if (buffer.kind == graph::BufferKind::kInput) {
      buffers.push_back(memory[static_cast<size_t>(buffer.index)].storage.data() +
                        memory[static_cast<size_t>(buffer.index)].origin);
    } else {
      outputs.emplace_back(static_cast<size_t>(shape[0] * shape[1] * size + 1));
      buffers.push_back(outputs.back().data());
    }
  }
  absl::StatusOr<int64_t> bytes = c.graph.syms().evaluate(c.plan.workspaceBytes, symbols);
  ASSERT_TRUE(bytes.ok());
  auto* workspace = static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(*bytes) + 64));
  CommitProgress progress;
  Context context{symbols.data(), buffers.data(), workspace, &progress};
  EXPECT_EQ(c.executable->compute(context), 0);
  for (size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(memory[i].storage, before[i].storage) << "written too early: " << i;
  EXPECT_EQ(c.executable->commit(context), 0);
  std::free(workspace);
  for (size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory[i].storage, wanted[i].storage) << "input " << i;
}

class Commits : public ::testing::TestWithParam<DType> {};

TEST_P(Commits, AgreeWithTheEvaluator) {
  const std::vector<std::vector<int64_t>> shapes = {{5, 37}, {1, 1}, {0, 3}, {3, 0}, {16, 2}};
  for (const Case& c : kCases) {
    if (c.arithmetic && GetParam() == DType::kBool) continue;
    Compiled code = compiled(c, GetParam(), CompileOptions::Isa::kHost);
    for (const auto& shape : shapes) {
      // Rows with gaps, every third element, rows and elements backwards, columns as rows.
      for (const auto& steps : std::vector<std::vector<int64_t>>{{shape[1] + 5, 1},
                                                                 {shape[1] * 3 + 3, 3},
                                                                 {-shape[1] - 1, 1},
                                                                 {shape[1] * 2 + 2, -2},
                                                                 {1, shape[0] + 2}}) {
        SCOPED_TRACE(std::string(c.name) + " shape " + std::to_string(shape[0]) + "x" + std::to_string(shape[1]) +
                     " steps " + std::to_string(steps[0]) + "," + std::to_string(steps[1]));
        run(code, GetParam(), shape, steps);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Commits, OnEveryInstructionSet) {
  for (auto isa : {CompileOptions::Isa::kAvx512, CompileOptions::Isa::kAvx2, CompileOptions::Isa::kPortable}) {
    if (!resolveTarget(isa).ok()) continue;
    for (const Case& c : kCases) {
      SCOPED_TRACE(c.name);
      Compiled code = compiled(c, DType::kF32, isa);
      run(code, DType::kF32, {9, 41}, {50, 1});
    }
  }
}

TEST(Commits, FromMemoryWhereTheStepIsSwitchedOff) {
  constexpr std::string_view kOff[] = {"commits"};
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Compiled code = compiled(c, DType::kF64, CompileOptions::Isa::kHost, {.disabled = kOff});
    for (const graph::Group& commit : code.plan.commits) EXPECT_EQ(commit.values.size(), 1u);
    run(code, DType::kF64, {9, 41}, {50, 1});
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Commits, ::testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(graph::name(type.param)); });

TEST(Commits, StopAtWatchedFlagsAndGoOn) {
  absl::StatusOr<graph::Graph> graph = graph::parse(
      "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n  %1 = input() {index=1} : f64\n"
      "  %2 = multiply(%0, %1) : f64[s0]\n  %3 = subtract(%2, %1) : f64[s0]\n  %4 = store(%0, %3) : f64[s0]\n"
      "  commit %4\n  return\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto executable = compilePlan(*graph, *plan, {}, {.deferChecks = true});
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ((*executable)->deferred().size(), 1u);
  int64_t size = 5000;
  const int64_t bad = 3000;
  std::vector<double> array(size, 1.5), saved(static_cast<size_t>(runtime::partElements(1)));
  array[bad] = std::numeric_limits<double>::max();
  double factor = 2;
  void* buffers[] = {array.data(), &factor};
  CommitProgress progress{.watched = kStatusOverflow | kStatusInvalid, .saved = saved.data()};
  Context context{.symbols = &size, .buffers = buffers, .progress = &progress};
  EXPECT_EQ((*executable)->compute(context), 0);
  EXPECT_EQ((*executable)->check(context), kStatusOverflow);
  EXPECT_EQ(array[0], 1.5);

  EXPECT_NE((*executable)->commit(context), 0);
  ASSERT_EQ(progress.commit, 0);
  ASSERT_TRUE(progress.position <= bad && bad < progress.end &&
              progress.end - progress.position <= runtime::partElements(1));
  for (int64_t i = 0; i < progress.position; ++i) ASSERT_EQ(array[static_cast<size_t>(i)], 1.0) << i;
  for (int64_t i = progress.end; i < size; ++i) ASSERT_EQ(array[static_cast<size_t>(i)], 1.5) << i;
  for (int64_t i = progress.position; i < progress.end; ++i)
    array[static_cast<size_t>(i)] = saved[static_cast<size_t>(i - progress.position)];
  EXPECT_EQ(array[bad], std::numeric_limits<double>::max());
  progress.unwatched = 0;
  EXPECT_EQ((*executable)->commit(context), 0);
  for (int64_t i = 0; i < size; ++i) ASSERT_EQ(array[static_cast<size_t>(i)], i == bad ? HUGE_VAL : 1.0) << i;
}

TEST(Commits, OfOneOperationAnswerTheirFlags) {
  absl::StatusOr<graph::Graph> graph = graph::parse(
      "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n  %1 = input() {index=1} : f64[s0]\n"
      "  %2 = multiply(%0, %0) : f64[s0]\n  %3 = store(%0, %2) : f64[s0]\n"
      "  %4 = add(%1, %1) : f64[s0]\n  %5 = store(%1, %4) : f64[s0]\n  commit %3, %5\n  return\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto executable = compilePlan(*graph, *plan, {}, {.deferChecks = true});
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ((*executable)->deferred().size(), 2u);
  for (const DeferredCommit& d : (*executable)->deferred()) EXPECT_TRUE(d.whole);
  int64_t size = 3000;
  for (int bad : {0, 1, 2}) {
    std::vector<double> arrays[2] = {std::vector<double>(size, 2.0), std::vector<double>(size, 2.0)};
    if (bad < 2) arrays[bad][1234] = std::numeric_limits<double>::max();
    void* buffers[] = {arrays[0].data(), arrays[1].data()};
    int32_t raised[2] = {-1, -1};
    CommitProgress progress{.watched = kStatusOverflow | kStatusInvalid, .raised = raised};
    Context context{.symbols = &size, .buffers = buffers, .progress = &progress};
    EXPECT_EQ((*executable)->commit(context), 0);
    for (int k : {0, 1}) {
      EXPECT_EQ(raised[k], k == bad ? kStatusOverflow : 0);
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(arrays[k][static_cast<size_t>(i)], k == bad && i == 1234 ? HUGE_VAL : 4.0) << k << " " << i;
    }
  }
}

TEST(Commits, PlansWithoutAnyStoreNothing) {
  absl::StatusOr<graph::Graph> graph = graph::parse(
      "graph() {\n  %0 = input() {index=0} : f64\n  %1 = negative(%0) : f64\n"
      "  return %1\n}\n");
  ASSERT_TRUE(graph.ok());
  absl::StatusOr<graph::Plan> plan = graph::makePlan(*graph, graph::PassContext{});
  ASSERT_TRUE(plan.ok());
  auto executable = compilePlan(*graph, *plan);
  ASSERT_TRUE(executable.ok());
  Context nothing;
  EXPECT_EQ((*executable)->commit(nothing), 0);
  EXPECT_EQ((*executable)->check(nothing), 0);
}

}  // namespace
}  // namespace fw::jit::testing
