#include "runtime/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace fw::runtime {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string folder = ::testing::TempDir() + "/cacheXXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder + "/of/its/own";
  }
  DiskCache open(int64_t limit = 1 << 20) const { return *DiskCache::open(folder_, limit); }
  /// The files there.
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }

  std::string folder_;
};

TEST_F(DiskCacheTest, KeepsByTheWholeKey) {
  const DiskCache cache = open();
  EXPECT_EQ(cache.find("key"), std::nullopt);
  cache.keep("key", std::string("a\0b", 3));
  cache.keep("other", "");
  EXPECT_EQ(cache.find("key"), std::string("a\0b", 3));
  EXPECT_EQ(open().find("other"), "");
  EXPECT_EQ(cache.find("ke"), std::nullopt);
  cache.keep("key", "new");
  EXPECT_EQ(cache.find("key"), "new");
  cache.forget("key");
  EXPECT_EQ(cache.find("key"), std::nullopt);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(DiskCacheTest, EveryDamageIsSeen) {
  const DiskCache cache = open();
  const std::string content = "some content that is longer than a word or two";
  cache.keep("a key", content);
  const fs::path file = files().at(0);
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto put = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    chmod(file.c_str(), 0600);
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] ^= 0x10;
    put(other);
    EXPECT_EQ(cache.find("a key"), std::nullopt) << at;
    put(whole.substr(0, at));
    EXPECT_EQ(cache.find("a key"), std::nullopt) << at;
    EXPECT_FALSE(fs::exists(file)) << at;
  }
  put(whole + "x");
  EXPECT_EQ(cache.find("a key"), std::nullopt);
  put(whole);
  EXPECT_EQ(cache.find("a key"), content);
}

TEST_F(DiskCacheTest, WhatOthersMayWriteIsNotTrusted) {
  const DiskCache cache = open();
  cache.keep("key", "content");
  const std::string file = files().at(0);
  chmod(file.c_str(), 0620);
  EXPECT_EQ(cache.find("key"), std::nullopt);
  chmod(file.c_str(), 0600);
  EXPECT_EQ(cache.find("key"), "content");
  fs::rename(file, folder_ + "/elsewhere");
  fs::create_symlink(folder_ + "/elsewhere", file);
  EXPECT_EQ(cache.find("key"), std::nullopt) << "a link";
  chmod(folder_.c_str(), 0770);
  EXPECT_EQ(DiskCache::open(folder_, 1).status().code(), absl::StatusCode::kFailedPrecondition);
  chmod(folder_.c_str(), 0700);
  EXPECT_TRUE(DiskCache::open(folder_, 1).ok());
  fs::create_directory_symlink(folder_, folder_ + "_link");
  EXPECT_FALSE(DiskCache::open(folder_ + "_link", 1).ok());
  std::ofstream(folder_ + "_file") << "x";
  EXPECT_FALSE(DiskCache::open(folder_ + "_file", 1).ok());
  EXPECT_FALSE(DiskCache::open(folder_ + "_file/below", 1).ok());
  EXPECT_FALSE(DiskCache::open("relative", 1).ok());
  if (geteuid() != 0) return;
  EXPECT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(DiskCache::open(folder_, 1).ok()) << "somebody else's";
}

TEST_F(DiskCacheTest, StaysBelowItsLimit) {
  const DiskCache cache = open(20000);
  for (int i = 0; i < 50; ++i) cache.keep("key " + std::to_string(i), std::string(1000, 'x'));
  int64_t total = 0;
  for (const fs::path& file : files()) total += static_cast<int64_t>(fs::file_size(file));
  EXPECT_LE(total, 20000);
  EXPECT_GE(total, 14000);
}

TEST_F(DiskCacheTest, ManyWriteAtOnce) {
  const DiskCache cache = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        cache.keep("key", std::string(5000, 'x'));
        const auto found = cache.find("key");
        EXPECT_TRUE(found && found->size() == 5000);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files().size(), 1u) << "nothing unfinished is left";
}

}  // namespace
}  // namespace fw::runtime
