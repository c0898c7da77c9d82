// Log lines and trace files.
#include "graph/support/event.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace fw {
namespace {

TEST(Events, ChannelsFollowTheSpecification) {
  EXPECT_EQ(configureLogs("graph_breaks,+guards,-perf"), "");
  EXPECT_TRUE(channelEnabled(Channel::kGraphBreaks));
  EXPECT_TRUE(channelEnabled(Channel::kGuards));
  EXPECT_FALSE(channelEnabled(Channel::kPerf));
  EXPECT_EQ(configureLogs("all, -guards"), "");
  EXPECT_TRUE(channelEnabled(Channel::kPerf));
  EXPECT_FALSE(channelEnabled(Channel::kGuards));
  std::string error = configureLogs("graph,guard");
  EXPECT_NE(error.find("'guard'"), std::string::npos) << error;
  EXPECT_NE(error.find("guards"), std::string::npos) << "the known channels are listed: " << error;
  EXPECT_TRUE(channelEnabled(Channel::kPerf)) << "an error changes nothing";
  EXPECT_EQ(configureLogs(""), "");
  EXPECT_FALSE(channelEnabled(Channel::kPerf));
}

TEST(Events, LinesHaveThePrefixOfTheirChannel) {
  ASSERT_EQ(configureLogs("recompiles"), "");
  testing::internal::CaptureStderr();
  emit(Channel::kRecompiles, "recompile", "first\nsecond\n", {});
  emit(Channel::kGuards, "guard", "unwanted", {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[fusewire:recompiles] first\n[fusewire:recompiles] second\n");
  configureLogs("");
}

TEST(Events, TraceIsWholeLinesOfJson) {
  std::string directory = testing::TempDir() + "/fw_event_test_" + std::to_string(getpid()) + "/sub";
  setTraceVersions({{"fusewire", "1.2"}});
  ASSERT_EQ(openTrace(directory), "");
  EXPECT_TRUE(channelEnabled(Channel::kCache)) << "a trace wants every channel";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) emit(Channel::kCache, "hit", "bytes \xff", {{"thread", t}, {"i", i}});
    });
  }
  for (std::thread& t : threads) t.join();
  std::ifstream file(directory + "/fusewire-" + std::to_string(getpid()) + ".jsonl");
  int lines = 0;
  int64_t sum = 0;
  std::string first;
  std::getline(file, first);
  nlohmann::json start = nlohmann::json::parse(first);
  EXPECT_EQ(start["schema"], 1);
  EXPECT_EQ(start["kind"], "start");
  EXPECT_EQ(start["data"]["versions"]["fusewire"], "1.2");
  for (std::string line; std::getline(file, line); ++lines) {
    nlohmann::json j = nlohmann::json::parse(line);
    EXPECT_EQ(j["schema"], 1);
    EXPECT_EQ(j["pid"], getpid());
    EXPECT_EQ(j["channel"], "cache");
    EXPECT_EQ(j["kind"], "hit");
    EXPECT_GT(j["time_ns"].get<int64_t>(), 0);
    sum += j["data"]["i"].get<int64_t>();
  }
  EXPECT_EQ(lines, 400);
  EXPECT_EQ(sum, 4 * 4950);
  std::filesystem::remove_all(std::filesystem::path(directory).parent_path());
}

TEST(Events, ReportsAreSeenWithoutAsking) {
  configureLogs("");
  testing::internal::CaptureStderr();
  report(Channel::kGraphBreaks, "graph_break", "ours", {});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[fusewire:graph_breaks] ours\n");
}

TEST(Events, ImpossibleTraceDirectoryIsAnError) {
  EXPECT_NE(openTrace("/dev/null/x").find("/dev/null/x"), std::string::npos);
}

}  // namespace
}  // namespace fw
