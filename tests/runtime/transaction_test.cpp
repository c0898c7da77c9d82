// Every way that a transaction takes, with an executable and surroundings that play their parts.
#include "runtime/transaction.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <functional>
#include <string>

#include "graph/parser.h"
#include "graph/passes/pass_manager.h"
#include "graph/plan.h"
#include "runtime/host.h"
#include "runtime/memory.h"

namespace fw::runtime {
namespace {

constexpr int64_t kSize = 8192;  // beyond what is computed twice

/// What happened, in order.
using Log = std::vector<std::string>;

class FakePolicy : public Policy {
 public:
  explicit FakePolicy(Log& log) : log_(log) {}
  bool mustReport(int32_t status) override {
    EXPECT_FALSE(unlocked);
    log_.push_back("ask " + std::to_string(status));
    return (status & reported) != 0;
  }
  std::optional<int32_t> reportable() override {
    EXPECT_FALSE(unlocked);
    log_.push_back("reportable");
    return answer;
  }
  bool report(std::vector<RaisedFlags> raised, int32_t watched) override {
    EXPECT_FALSE(unlocked);
    for (const RaisedFlags& flags : raised)
      log_.push_back("report " + std::string(flags.ufunc) + " " + std::to_string(flags.status & watched));
    return reportSucceeds;
  }
  void unlock() override { log_.push_back("unlock"), unlocked = true; }
  void lock() override { log_.push_back("lock"), unlocked = false; }

  int32_t reported = kStatusInvalid | kStatusDivide | kStatusOverflow | kStatusDecline;
  std::optional<int32_t> answer = kStatusInvalid | kStatusDivide | kStatusOverflow;
  bool reportSucceeds = true;
  bool unlocked = false;

 private:
  Log& log_;
};

/// x *= f; x -= f, in one commit or as two operations of their own, over an array of doubles.
struct Program {
  graph::Graph graph;
  graph::Plan plan;
};

Program program(bool whole) {
  const std::string store = whole ? "  %3 = store(%0, %2) : f64[s0]\n  commit %3\n"
                                  : "  %3 = subtract(%2, %1) : f64[s0]\n  %4 = store(%0, %3) : f64[s0]\n  commit %4\n";
  auto graph = graph::parse(
      "graph(s0: [0, inf]) {\n  %0 = input() {index=0} : f64[s0]\n  %1 = input() {index=1} : f64\n"
      "  %2 = multiply(%0, %1) : f64[s0]\n" +
      store + "  return\n}\n");
  FW_CHECK_MSG(graph.ok(), std::string(graph.status().message()));
  auto plan = graph::makePlan(*graph, graph::PassContext{});
  FW_CHECK_MSG(plan.ok(), std::string(plan.status().message()));
  return {*std::move(graph), *std::move(plan)};
}

/// Does what native code would, part by part.
class FakeExecutable : public Executable {
 public:
  FakeExecutable(const graph::Plan& plan, Log& log, bool defers, bool whole) : plan_(plan), log_(log), whole_(whole) {
    if (defers) deferred_.push_back({.commit = 0, .order = {0}, .outer = 1, .whole = whole});
  }
  const graph::Plan& plan() const override { return plan_; }
  int32_t compute(Context& context) const override {
    EXPECT_EQ(context.workspace != nullptr, expectsWorkspace);
    log_.push_back("compute");
    return computed;
  }
  int32_t check(Context&) const override {
    log_.push_back("check");
    return checked;
  }
  int32_t commit(Context& context) const override {
    log_.push_back("commit");
    CommitProgress& progress = *context.progress;
    auto* x = static_cast<double*>(context.buffers[0]);
    const double f = *static_cast<const double*>(context.buffers[1]);
    const bool watched = !deferred_.empty() && !whole_ && progress.watched != 0 && progress.unwatched != 0;
    for (int64_t from = progress.position; from < context.symbols[0]; from += kPartElements) {
      const int64_t to = std::min(from + kPartElements, context.symbols[0]);
      bool raised = false;
      for (int64_t i = from; i < to; ++i) {
        if (watched) static_cast<double*>(progress.saved)[i - from] = x[i];
        x[i] = whole_ ? x[i] * f : x[i] * f - f;
        raised |= std::isinf(x[i]);
      }
      if (raised && whole_) progress.raised[0] = kStatusOverflow;
      if (!raised || !watched) continue;
      progress = {.commit = 0,
                  .position = from,
                  .unwatched = progress.unwatched,
                  .watched = progress.watched,
                  .saved = progress.saved,
                  .end = to,
                  .raised = progress.raised};
      return kStatusDecline;
    }
    return 0;
  }
  absl::Span<const DeferredCommit> deferred() const override { return deferred_; }
  const Executable* exact(int32_t status) const override {
    log_.push_back("exact " + std::to_string(status));
    return twin;
  }

  int32_t computed = 0, checked = 0;
  bool expectsWorkspace = false;
  const Executable* twin = nullptr;

 private:
  const graph::Plan& plan_;
  Log& log_;
  bool whole_;
  std::vector<DeferredCommit> deferred_;
};

struct Case {
  explicit Case(bool defers = true, bool whole = false)
      : written(program(whole)),
        transaction(defers ? Transaction(written.graph, written.plan) : Transaction()),
        executable(written.plan, log, defers, whole),
        policy(log) {
    EXPECT_EQ(transaction.mayDefer(), defers);
  }

  Outcome run() {
    log.clear();
    void* buffers[] = {x.data(), &factor};
    int64_t size = static_cast<int64_t>(x.size());
    Context context{.symbols = &size, .buffers = buffers, .host = host};
    executable.expectsWorkspace = work.workspaceBytes != 0;
    return transaction.run(executable, context, work, policy);
  }
  bool untouched() const { return x == std::vector<double>(x.size(), 1.5); }
  void expectStored(double value) const {
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], i == bad ? HUGE_VAL : value) << i;
  }
  /// An element that overflows.
  void spoil(size_t at) { x[bad = at] = DBL_MAX; }

  Log log;
  Program written;
  Transaction transaction;
  FakeExecutable executable;
  FakePolicy policy;
  Host* host = nullptr;
  std::vector<double> x = std::vector<double>(kSize, 1.5);
  double factor = 2;
  size_t bad = SIZE_MAX;
  Transaction::Work work{.workspaceBytes = 0, .resultBytes = kSize * 8, .mayUnlock = false};
};

TEST(Transaction, StoresWhatIsAccepted) {
  Case c(/*defers=*/false);
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "commit"}));
  c.expectStored(1);
}

TEST(Transaction, DeclinesWhatMustBeReported) {
  Case c(/*defers=*/false);
  c.executable.computed = kStatusOverflow;
  EXPECT_EQ(c.run(), Outcome::kDeclined);
  EXPECT_EQ(c.log, (Log{"compute", "ask 4", "exact 4"}));
  EXPECT_TRUE(c.untouched());
  c.policy.reported = kStatusDecline;
  EXPECT_EQ(c.run(), Outcome::kDone);
  c.expectStored(1);
}

/// Once more from the beginning, and what it has drawn is put back before.
class FakeHost : public Host {
 public:
  explicit FakeHost(Log& log) : log_(log) {}
  void* allocate(int64_t) override { return nullptr; }
  void release(void*) override {}
  int32_t call(Context&, int) override { return 0; }
  void beginAgain() override { log_.push_back("begin again"); }

 private:
  Log& log_;
};

TEST(Transaction, ResolvesDoubtsByTheExactTwin) {
  Case c(/*defers=*/false);
  FakeHost host(c.log);
  c.host = &host;
  FakeExecutable twin(c.written.plan, c.log, /*defers=*/false, /*whole=*/false);
  c.executable.twin = &twin;
  c.executable.computed = kStatusOverflow;
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "ask 4", "exact 4", "begin again", "compute", "commit"}));
  c.expectStored(1);
  // A doubt is none of the surroundings' business.
  c.executable.computed = kStatusDoubt | kStatusOverflow;
  twin.computed = kStatusUnderflow;
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "exact 132", "begin again", "compute", "ask 8", "commit"}));
}

TEST(Transaction, DeclinesWhatTheExactTwinRaisesToo) {
  Case c(/*defers=*/false);
  FakeExecutable twin(c.written.plan, c.log, /*defers=*/false, /*whole=*/false);
  c.executable.twin = &twin;
  c.executable.computed = kStatusDoubt;
  twin.computed = kStatusInvalid;
  EXPECT_EQ(c.run(), Outcome::kDeclined);
  EXPECT_EQ(c.log, (Log{"compute", "exact 128", "compute", "ask 1"}));
  twin.computed = kStatusOutside | kStatusDecline;
  EXPECT_EQ(c.run(), Outcome::kOutside);
  c.executable.twin = nullptr;  // nobody who could tell
  EXPECT_EQ(c.run(), Outcome::kDeclined);
  EXPECT_TRUE(c.untouched());
}

TEST(Transaction, UnlocksWhileTheExactTwinIsMade) {
  Case c(/*defers=*/false);
  FakeExecutable twin(c.written.plan, c.log, /*defers=*/false, /*whole=*/false);
  c.executable.twin = &twin;
  c.executable.computed = kStatusInvalid;
  c.work.mayUnlock = true;
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "ask 1", "unlock", "exact 1", "lock", "compute", "commit"}));
}

TEST(Transaction, TellsOfAccessesOutside) {
  Case c;
  c.executable.computed = kStatusOutside | kStatusDecline;
  EXPECT_EQ(c.run(), Outcome::kOutside);
  c.executable.computed = 0;
  c.executable.checked = kStatusOutside | kStatusDecline;
  c.work.resultBytes = 0;
  EXPECT_EQ(c.run(), Outcome::kOutside);
  EXPECT_TRUE(c.untouched());
}

TEST(Transaction, ChecksSmallCommitsFirst) {
  Case c;
  c.work.resultBytes = 100;
  c.executable.checked = kStatusOverflow;
  EXPECT_EQ(c.run(), Outcome::kDeclined);
  EXPECT_EQ(c.log, (Log{"compute", "check", "ask 4"}));
  EXPECT_TRUE(c.untouched());
  c.executable.checked = 0;
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "check", "commit"}));
  c.expectStored(1);
}

TEST(Transaction, ChecksFirstWhatMayRaise) {
  Case c;
  c.policy.answer = std::nullopt;
  c.executable.checked = kStatusInvalid;
  EXPECT_EQ(c.run(), Outcome::kDeclined);
  EXPECT_EQ(c.log, (Log{"compute", "reportable", "check", "ask 1"}));
  EXPECT_TRUE(c.untouched());
}

TEST(Transaction, WatchesNothingThatNobodyHearsOf) {
  Case c;
  c.policy.answer = 0;
  c.spoil(5000);
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "reportable", "commit"}));
  c.expectStored(1);
}

TEST(Transaction, RestoresThePartOfAFlagAndGoesOn) {
  for (const size_t at : {size_t{0}, size_t{1023}, size_t{1024}, size_t{5000}, size_t{kSize - 1}}) {
    Case c;
    c.spoil(at);
    EXPECT_EQ(c.run(), Outcome::kDone);
    // Once, by the product: the difference of an infinity raises nothing. Computed twice, elements would be smaller.
    EXPECT_EQ(c.log, (Log{"compute", "reportable", "commit", "commit", "report multiply 4"})) << at;
    c.expectStored(1);
  }
}

TEST(Transaction, ReportsFlagsOfWholeCommits) {
  Case c(/*defers=*/true, /*whole=*/true);
  c.spoil(77);
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"compute", "reportable", "commit", "report multiply 4"}));
  c.expectStored(3);
}

TEST(Transaction, SaysWhenAReportFails) {
  Case c;
  c.spoil(3);
  c.policy.reportSucceeds = false;
  EXPECT_EQ(c.run(), Outcome::kFailed);
  c.expectStored(1);
}

TEST(Transaction, UnlocksAroundLongWork) {
  Case c;
  c.work = {.workspaceBytes = 0, .resultBytes = 1 << 20, .mayUnlock = true};
  c.spoil(9);
  EXPECT_EQ(c.run(), Outcome::kDone);
  EXPECT_EQ(c.log, (Log{"unlock", "compute", "lock", "reportable", "unlock", "commit", "commit", "lock",
                        "report multiply 4"}));
}

/// The workspace, what parts save, and the columns of the report.
TEST(Transaction, SurvivesEveryAllocationThatFails) {
  int outOfMemory = 0;
  for (int64_t number = 1; number <= 4; ++number) {
    Case c;
    c.work.workspaceBytes = 10'000;  // more than stands on the stack
    plantAllocationFailure(number);
    const Outcome outcome = c.run();
    EXPECT_EQ(plantAllocationFailure(0), number < 4 ? 0 : 1);
    outOfMemory += outcome == Outcome::kOutOfMemory;
    if (outcome == Outcome::kOutOfMemory) {
      EXPECT_TRUE(c.untouched());
      EXPECT_EQ(c.log, Log{});
    } else {
      EXPECT_EQ(outcome, Outcome::kDone);
      const Log checked = {"compute", "reportable", "check", "commit"}, watched = {"compute", "reportable", "commit"};
      EXPECT_EQ(c.log, number < 4 ? checked : watched) << number;
      c.expectStored(1);
    }
  }
  EXPECT_EQ(outOfMemory, 1);
}

}  // namespace
}  // namespace fw::runtime
