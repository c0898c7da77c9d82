// Executables on a driver that does nothing but note what is asked of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fake_driver.h"
#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "jit/cuda/compile.h"
#include "jit/cuda/target.h"
#include "runtime/cuda/host.h"

namespace fw::testing {
namespace {

/// Answers memory of the host and counts.
class CountingHost : public runtime::cuda::Host {
 public:
  void* allocate(int64_t bytes) override {
    ++allocated;
    ++held;
    return full ? (--held, nullptr) : std::malloc(static_cast<size_t>(bytes));
  }
  void release(void* data) override {
    --held;
    std::free(data);
  }
  int32_t call(runtime::Context&, int) override { return runtime::kStatusDecline; }
  void* stream() override { return this; }
  int32_t look(runtime::Context&, bool) override {
    return looksUntilEnd > 0 && --looksUntilEnd == 0 ? runtime::kStatusDecline : 0;
  }

  int looksUntilEnd = 0;  ///< 0: nobody wants the run to end
  int allocated = 0, held = 0;
  bool full = false;
};

class CudaLaunches : public ::testing::Test {
 protected:
  CudaLaunches() : device_(fakeDriver(), compiler(), {"sm_90", 132}) { fakeEvents() = {}; }

  jit::cuda::Compiler compiler() {
    return {[this](const std::string&, const std::string&) -> absl::StatusOr<std::string> {
              ++compiled_;
              const absl::MutexLock lock(&works_);
              if (refuses_) return absl::InternalError("planted");
              return std::string(
                  "\x7f"
                  "ELF",
                  4);
            },
            "a compiler"};
  }

  void build(std::string_view text, jit::cuda::Device* device = nullptr, bool wait = true) {
    auto graph = graph::parse(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(graph::runPasses(*graph, {}).ok());
    auto plan = graph::makePlan(*graph, {.target = jit::cuda::planningTarget()});
    ASSERT_TRUE(plan.ok()) << plan.status();
    auto lowered = kernels::cuda::lowerPlan(*graph, *plan);
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    auto executable = jit::cuda::compile(device ? *device : device_, *std::move(graph), *std::move(plan),
                                         *std::move(lowered), {.wait = wait});
    ASSERT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  /// Every buffer at the start of the same memory: nothing is computed.
  int32_t run(std::vector<int64_t> symbols) {
    std::vector<void*> buffers(executable_->plan().buffers.size(), memory_);
    runtime::Context context{symbols.data(), buffers.data(), memory_, nullptr, &host_};
    const int32_t status = executable_->compute(context);
    return status != 0 ? status : executable_->commit(context);
  }
  size_t launches() const { return fakeEvents().launches.size(); }

  std::atomic<int> compiled_ = 0;
  absl::Mutex works_;  ///< the compiler is at work as long as somebody holds it
  bool refuses_ = false;
  alignas(512) char memory_[1 << 18] = {};  ///< temporaries, too
  CountingHost host_;
  jit::cuda::Device device_;
  std::unique_ptr<runtime::Executable> executable_;
};

constexpr char kAdd[] = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0]
  %1 = add(%0, %0) : f32[s0]
  return %1
}
)";
constexpr char kSum[] = R"(graph(s0: [0, inf]) {
  %0 = input() {index=0} : f32[s0]
  %1 = sum(%0) {axes=[0], keepdims=0} : f32
  return %1
}
)";

constexpr char kTwo[] = R"(graph(s0: [0, inf], s1: [0, inf]) {
  %0 = input() {index=0} : f32[s0]
  %1 = input() {index=1} : f64[s1]
  %2 = add(%0, %0) : f32[s0]
  %3 = negative(%1) : f64[s1]
  return %2, %3
}
)";

TEST_F(CudaLaunches, SizesCompileOnce) {
  build(kAdd);
  for (int64_t n : {1, 7, 1000, 1001, 1 << 20, 100 << 20}) EXPECT_EQ(run({n}), 0);
  EXPECT_EQ(compiled_, 1);
  ASSERT_EQ(launches(), 6u);
  EXPECT_EQ(fakeEvents().launches[3].gridX, 1u);
  EXPECT_EQ(fakeEvents().launches[4].gridX, 1024u);
  EXPECT_EQ(fakeEvents().launches[4].stream, &host_);
  EXPECT_EQ(run({int64_t{3} << 30}), 0);
  EXPECT_EQ(compiled_, 2) << "indices of 64 bits";
}

TEST_F(CudaLaunches, NothingIsLaunchedForNothing) {
  build(kAdd);
  EXPECT_EQ(run({0}), 0);
  EXPECT_EQ(launches(), 0u);
  build(kSum);
  EXPECT_EQ(run({0}), 0);
  EXPECT_EQ(launches(), 1u) << "the sum of nothing is 0";
}

TEST_F(CudaLaunches, LongSumsAreSpreadOverTheDevice) {
  build(kSum);
  EXPECT_EQ(run({1000}), 0);
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(host_.allocated, 0);
  EXPECT_EQ(run({100 << 20}), 0);
  ASSERT_EQ(launches(), 3u);
  EXPECT_EQ(fakeEvents().launches[1].gridY, 16384u) << "a block for each part of at most 8192 elements";
  EXPECT_EQ(fakeEvents().launches[2].gridY, 1u);
  EXPECT_EQ(host_.allocated, 1);
  EXPECT_EQ(host_.held, 0);
}

TEST_F(CudaLaunches, FailuresDecline) {
  build(kSum);
  host_.full = true;
  EXPECT_EQ(run({100 << 20}), runtime::kStatusDecline);
  host_.full = false;
  fakeEvents().failAt = 1;
  EXPECT_EQ(run({100 << 20}), runtime::kStatusDecline);
  EXPECT_EQ(host_.held, 0);
  fakeEvents().failAt = -1;
  EXPECT_EQ(run({100 << 20}), 0) << "and the next call is done";
  build(kAdd);
  refuses_ = true;
  EXPECT_EQ(run({10}), runtime::kStatusDecline);
  refuses_ = false;
  const int compiled = compiled_;
  EXPECT_EQ(run({10}), runtime::kStatusDecline) << "what was refused is not tried again";
  EXPECT_EQ(compiled_, compiled);
}

TEST_F(CudaLaunches, NobodyWaitsForTheCompiler) {
  build(kTwo, nullptr, /*wait=*/false);
  const auto runUntilDone = [&](const std::vector<int64_t>& sizes) {
    int status = runtime::kStatusNotYet;
    while (status == runtime::kStatusNotYet) status = run(sizes);
    return status;
  };
  {
    const absl::MutexLock lock(&works_);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run({1000, 100}), runtime::kStatusNotYet);
    EXPECT_EQ(launches(), 0u);
  }
  EXPECT_EQ(runUntilDone({1000, 100}), 0);
  EXPECT_EQ(launches(), 2u);
  EXPECT_EQ(compiled_, 2);
  {  // sizes of other forms, when everything has run already
    const absl::MutexLock lock(&works_);
    EXPECT_EQ(run({1000, int64_t{3} << 30}), runtime::kStatusNotYet);
    EXPECT_EQ(run({1000, 100}), 0);
  }
  EXPECT_EQ(runUntilDone({1000, int64_t{3} << 30}), 0);
  EXPECT_EQ(compiled_, 3);
}

TEST_F(CudaLaunches, TheCompilerRefusesInTheBackground) {
  refuses_ = true;
  build(kAdd, nullptr, /*wait=*/false);
  int status = runtime::kStatusNotYet;
  while (status == runtime::kStatusNotYet) status = run({1000});
  EXPECT_EQ(status, runtime::kStatusDecline);
  EXPECT_EQ(run({1000}), runtime::kStatusDecline);
  EXPECT_EQ(compiled_, 1);
}

TEST_F(CudaLaunches, CodeIsKeptOnTheDisk) {
  std::string folder = ::testing::TempDir() + "/imagesXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto disk = [&] { return *runtime::DiskCache::open(folder, 1 << 20); };
  const auto device = [&] {
    return std::make_unique<jit::cuda::Device>(fakeDriver(), compiler(), runtime::cuda::DeviceFacts{"sm_90", 132},
                                               disk());
  };
  auto first = device();
  build(kAdd, first.get());
  EXPECT_EQ(run({10}), 0);
  EXPECT_EQ(compiled_, 1);
  auto second = device();
  build(kAdd, second.get(), /*wait=*/false);
  EXPECT_EQ(run({10}), 0) << "at once";
  EXPECT_EQ(compiled_, 1);
  EXPECT_EQ(second->compiled().kept, 1);
  // Of another architecture, and of another compiler.
  jit::cuda::Device other(fakeDriver(), compiler(), {"sm_80", 132}, disk());
  build(kAdd, &other);
  EXPECT_EQ(run({10}), 0);
  EXPECT_EQ(compiled_, 2);
  jit::cuda::Compiler newer = compiler();
  newer.identity = "a newer one";
  jit::cuda::Device updated(fakeDriver(), newer, {"sm_90", 132}, disk());
  build(kAdd, &updated);
  EXPECT_EQ(run({10}), 0);
  EXPECT_EQ(compiled_, 3);
  // What the driver does not take is compiled anew, and replaced.
  jit::cuda::Compiler broken = compiler();
  broken.compile = [](const std::string&, const std::string&) { return std::string("nothing that loads"); };
  broken.identity = "broken";
  jit::cuda::Device breaks(fakeDriver(), broken, {"sm_90", 132}, disk());
  build(kAdd, &breaks);
  EXPECT_EQ(run({10}), runtime::kStatusDecline);
  broken.compile = compiler().compile;
  jit::cuda::Device mended(fakeDriver(), broken, {"sm_90", 132}, disk());
  build(kAdd, &mended);
  EXPECT_EQ(run({10}), 0);
  EXPECT_EQ(compiled_, 4);
}

TEST_F(CudaLaunches, LaunchesOfOneKindAreOneGraph) {
  build(kAdd);
  const auto instantiated = [] {
    return std::count(fakeEvents().calls.begin(), fakeEvents().calls.end(), "instantiate");
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run({1000}), 0);
  EXPECT_EQ(launches(), 10u);
  EXPECT_EQ(fakeEvents().graphLaunches, 9) << "all but the first";
  EXPECT_EQ(instantiated(), 1);
  EXPECT_EQ(fakeEvents().launches[9].gridX, 1u);
  // Other grids: a few are kept, then graphs change their grid.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run({10000 * (i % 5 + 1)}), 0);
  EXPECT_EQ(launches(), 30u);
  EXPECT_LE(instantiated(), 3);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(fakeEvents().launches[10 + static_cast<size_t>(i)].gridX, (10000u * (i % 5 + 1) + 1023) / 1024);
  // A stream that is being captured takes plain launches.
  const int before = fakeEvents().graphLaunches;
  fakeEvents().capturing = 1;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run({1000}), 0);
  EXPECT_EQ(fakeEvents().graphLaunches, before);
  EXPECT_EQ(launches(), 33u);
}

TEST_F(CudaLaunches, DriversWithoutGraphs) {
  build(kSum);  // not kAdd, whose function knows graphs by now
  fakeEvents().refusesGraphs = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run({1000}), 0);
  EXPECT_EQ(fakeEvents().graphLaunches, 0);
  EXPECT_EQ(launches(), 3u);
}

TEST_F(CudaLaunches, CountedLoopsDoNotWait) {
  build(R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0) {trip=i0} : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=bool(true)} : bool
    %2 = add(%0, %0) : f64[s0]
    return %1, %2
  }
  %2 = project(%1) {index=0} : f64[s0]
  return %2
}
)");
  EXPECT_EQ(run({100, 10}), 0);
  EXPECT_GE(launches(), 10u);
  for (const std::string& call : fakeEvents().calls) EXPECT_NE(call, "synchronize");
}

/// Two arrays that change places; `again` is a constant, and the body does not look at the number of the turn.
constexpr char kPingPong[] = R"(graph(s0: [1, inf], i0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : f64[s0]
  %2 = negative(%0) : f64[s0]
  %3 = negative(%1) : f64[s0]
  %4 = loop(%2, %3) {trip=i0} : (f64[s0], f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = input() {index=1} : f64[s0]
    %2 = constant() {value=bool(true)} : bool
    %3 = add(%0, %1) : f64[s0]
    return %2, %1, %3
  }
  %5 = project(%4) {index=0} : f64[s0]
  %6 = project(%4) {index=1} : f64[s0]
  return %5, %6
}
)";

TEST_F(CudaLaunches, TurnsThatAreAlikeAreOneGraph) {
  build(kPingPong);
  const auto count = [](const char* what) {
    return std::count(fakeEvents().calls.begin(), fakeEvents().calls.end(), what);
  };
  ASSERT_EQ(run({100, 5}), 0);  // too few
  EXPECT_EQ(fakeEvents().chainLaunches, 0);
  const size_t others = launches() - 5;  // in front of the loop and behind it
  const auto launchesOf = [&](int64_t size, int64_t turns) {
    const size_t before = launches();
    EXPECT_EQ(run({size, turns}), 0);
    return launches() - before - others;
  };
  EXPECT_EQ(launchesOf(100, 100), 100u) << "what is known of the loop is not stored";
  const int first = fakeEvents().chainLaunches;
  EXPECT_GE(first, 4);
  const auto replaced = count("replace"), made = count("instantiate");
  EXPECT_EQ(launchesOf(100, 100), 100u);
  EXPECT_EQ(fakeEvents().chainLaunches, 2 * first);
  EXPECT_EQ(count("instantiate"), made) << "the same graph";
  EXPECT_LE(count("replace"), replaced + static_cast<ptrdiff_t>(others) + 20) << "nothing in it has changed";
  EXPECT_EQ(launchesOf(3000, 47), 47u) << "other sizes: the graph gets other grids";
  EXPECT_EQ(fakeEvents().launches.back().stream, &host_);
  for (const std::string& call : fakeEvents().calls) EXPECT_NE(call, "synchronize");
  // A stream that is being captured, and a driver that takes none.
  fakeEvents().capturing = 1;
  const int chains = fakeEvents().chainLaunches;
  EXPECT_EQ(launchesOf(100, 60), 60u);
  fakeEvents().capturing = 0;
  EXPECT_EQ(fakeEvents().chainLaunches, chains);
  // What fails in the middle declines, and the next call is done.
  fakeEvents().failAt = static_cast<int>(launches()) + 50;
  EXPECT_EQ(run({100, 100}), runtime::kStatusDecline);
  fakeEvents().failAt = -1;
  EXPECT_EQ(launchesOf(100, 100), 100u);
  executable_.reset();
  EXPECT_EQ(count("destroy"), 1);
}

TEST_F(CudaLaunches, SomebodyLooksBetweenGraphs) {
  build(kPingPong);
  host_.looksUntilEnd = 3;
  EXPECT_EQ(run({100, int64_t{1} << 40}), runtime::kStatusDecline);
  EXPECT_LT(launches(), 200u);
}

TEST_F(CudaLaunches, TurnsThatDifferAreLaunchedOneByOne) {
  build(R"(graph(s0: [100, inf], i0: [0, 100], k0: [0, 99]) {
  %0 = input() {index=0} : f64[s0]
  %1 = loop(%0) {trip=i0, symbol=k0} : (f64[s0]) {
    %0 = input() {index=0} : f64[s0]
    %1 = constant() {value=bool(true)} : bool
    %2 = sym() {expr=k0} : i64
    %3 = cast(%2) : f64
    %4 = add(%0, %3) : f64[s0]
    return %1, %4
  }
  %2 = project(%1) {index=0} : f64[s0]
  return %2
}
)");
  EXPECT_EQ(run({1000, 60, 0}), 0);
  EXPECT_EQ(fakeEvents().chainLaunches, 0);
  EXPECT_GE(launches(), 60u);
}

TEST_F(CudaLaunches, BoundNumbersOutOfRangeDecline) {
  build(R"(graph(s0: [1, inf], k0: [0, inf]) {
  %0 = input() {index=0} : f64[s0]
  %1 = input() {index=1} : i64
  %2 = bind(%1, %0) {symbol=k0, least=0, most=s0 + -1} : (f64[1]) {
    %0 = input() {index=0} : f64[s0]
    %1 = slice(%0) {starts=[k0], steps=[1]} : f64[1]
    %2 = negative(%1) : f64[1]
    return %2
  }
  %3 = project(%2) {index=0} : f64[1]
  return %3
}
)");
  const auto put = [&](int64_t n) { std::memcpy(memory_, &n, sizeof n); };
  put(9);
  EXPECT_EQ(run({10, 0}), 0);
  put(10);
  EXPECT_EQ(run({10, 0}), runtime::kStatusDecline);
  put(-1);
  EXPECT_EQ(run({10, 0}), runtime::kStatusDecline);
}

TEST(CudaDriver, SaysWhyItIsMissing) {
  auto driver = runtime::cuda::openDriver();
  if (driver.ok()) GTEST_SKIP() << "there is one";
  EXPECT_EQ(driver.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(std::string(driver.status().message()).find("CUDA driver"), std::string::npos);
}

}  // namespace
}  // namespace fw::testing
