// Sinks of the event stream: lines for people on stderr, JSON lines in a trace file. What is wanted is one atomic bit
// set, so that a disabled channel costs one load; everything else happens under one mutex, which makes lines atomic.
#include "graph/support/event.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>

#include <pthread.h>
#include <unistd.h>

#include "graph/support/deadline.h"
#include "nlohmann/json.hpp"

namespace fw {
namespace {

constexpr int kTraceSchema = 1;

struct ChannelInfo {
  Channel channel;
  std::string_view text;
};
constexpr ChannelInfo kChannels[] = {
#define FW_CHANNEL(Id, text, help) {Channel::k##Id, text},
#include "graph/support/channels.def"
};
constexpr uint32_t kAllChannels = (1u << std::size(kChannels)) - 1;

uint32_t bitOf(Channel c) { return 1u << static_cast<int>(c); }

class Sinks;
Sinks& sinks();

class Sinks {
 public:
  friend Sinks& sinks();
  bool wants(Channel c) const { return (wanted_.load(std::memory_order_relaxed) & bitOf(c)) != 0; }

  bool isTracing() const { return tracing_.load(std::memory_order_relaxed); }

  std::string path() {
    std::lock_guard lock(mutex_);
    return tracePath_;
  }

  void setLogs(uint32_t channels) {
    std::lock_guard lock(mutex_);
    logs_ = channels;
    updateLocked();
  }

  uint32_t logs() {
    std::lock_guard lock(mutex_);
    return logs_;
  }

  std::string open(const std::string& directory) {
    std::error_code problem;
    std::filesystem::create_directories(directory, problem);
    if (problem) return "cannot create " + directory + ": " + problem.message();
    std::lock_guard lock(mutex_);
    const std::string path = pathOf(directory, 0);
    FILE* file = std::fopen(path.c_str(), "ae");
    if (file == nullptr) return "cannot open " + path + ": " + std::strerror(errno);
    if (trace_ != nullptr) std::fclose(trace_);
    trace_ = file;
    tracePath_ = path;
    tracePid_ = getpid();
    traceDirectory_ = directory;
    part_ = 0;
    std::fseek(trace_, 0, SEEK_END);
    written_ = std::ftell(trace_);
    limit_ = traceLimit();
    writeLocked(record("trace", "start", "trace opened", {{"versions", versions_}}));
    updateLocked();
    return "";
  }

  void setVersions(nlohmann::json versions) {
    std::lock_guard lock(mutex_);
    versions_ = std::move(versions);
  }

  void emit(Channel channel, std::string_view kind, std::string_view text, const nlohmann::json& data, bool always) {
    std::string_view name = kChannels[static_cast<int>(channel)].text;
    std::string log;
    if (always || (logs() & bitOf(channel))) log = logLines(name, text);
    write(record(name, kind, text, data), log);
  }

  void recordOnly(std::string_view kind, const nlohmann::json& data) {
    // What is told at the end stays together, and beside everything else.
    const bool last = kind == "function" || kind == "source" || kind == "process";
    write(record("trace", kind, "", data), "", /*mayTurn=*/!last);
  }

 private:
  void write(const std::string& line, const std::string& log, bool mayTurn = true) {
    followFork();
    std::lock_guard lock(mutex_);
    if (!log.empty()) std::fwrite(log.data(), 1, log.size(), stderr);
    if (trace_ == nullptr) return;
    // Half of the limit is for the beginning, which tells of most compiles and stays; a quarter each for the last and
    // the last but one of the files that follow.
    if (mayTurn && written_ > (part_ == 0 ? limit_ / 2 : limit_ / 4)) turnLocked();
    if (trace_ != nullptr) writeLocked(line);
  }

  void writeLocked(const std::string& line) {
    std::fwrite(line.data(), 1, line.size(), trace_);
    std::fflush(trace_);
    written_ += static_cast<int64_t>(line.size());
  }

  /// Goes on in a new file; of those behind the first, only the last one stays.
  void turnLocked() {
    FILE* file = std::fopen(pathOf(traceDirectory_, part_ + 1).c_str(), "we");
    if (file == nullptr) {  // then the trace grows
      written_ = 0;
      return;
    }
    ++part_;
    std::fclose(trace_);
    trace_ = file;
    written_ = 0;
    if (part_ > 2) std::remove(pathOf(traceDirectory_, part_ - 2).c_str());
    writeLocked(record("trace", "start", "trace goes on", {{"versions", versions_}, {"part", part_}}));
  }

  static std::string pathOf(const std::string& directory, int part) {
    return directory + "/fusewire-" + std::to_string(getpid()) + (part ? "." + std::to_string(part) : "") + ".jsonl";
  }

  /// Bytes: FUSEWIRE_TRACE_LIMIT says how many MB.
  static int64_t traceLimit() {
    constexpr double kFallback = 1024;
    const char* text = std::getenv("FUSEWIRE_TRACE_LIMIT");
    const double wanted = text ? std::strtod(text, nullptr) : 0;
    return static_cast<int64_t>((wanted > 0 && wanted < 1e9 ? wanted : kFallback) * 1e6);
  }

  static std::string record(std::string_view channel, std::string_view kind, std::string_view text,
                            const nlohmann::json& data) {
    nlohmann::json record = {{"schema", kTraceSchema},
                             {"pid", getpid()},
                             {"time_ns", std::chrono::steady_clock::now().time_since_epoch().count()},
                             {"channel", channel},
                             {"kind", kind},
                             {"text", text},
                             {"data", data}};
    // Text may hold user strings of any encoding; a trace must not fail for them.
    return record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  static std::string logLines(std::string_view channel, std::string_view text) {
    std::string prefix = "[fusewire:" + std::string(channel) + "] ", out;
    while (true) {
      size_t end = std::min(text.find('\n'), text.size());
      out += prefix + std::string(text.substr(0, end)) + "\n";
      if (end + 1 >= text.size()) return out;  // a newline at the very end makes no empty line
      text.remove_prefix(end + 1);
    }
  }

  /// A forked child writes a file of its own.
  void followFork() {
    std::string directory;
    {
      std::lock_guard lock(mutex_);
      if (trace_ == nullptr || tracePid_ == getpid()) return;
      directory = traceDirectory_;
    }
    open(directory);
  }

  void updateLocked() {
    tracing_.store(trace_ != nullptr, std::memory_order_relaxed);
    wanted_.store(trace_ != nullptr ? kAllChannels : logs_, std::memory_order_relaxed);
  }

  std::atomic<bool> tracing_{false};
  std::atomic<uint32_t> wanted_{0};
  std::mutex mutex_;  // guards everything below, and the order of lines
  uint32_t logs_ = 0;
  FILE* trace_ = nullptr;
  pid_t tracePid_ = 0;
  std::string traceDirectory_, tracePath_;  // the path is that of the first file
  int part_ = 0;                            // number of the file that is written
  int64_t written_ = 0, limit_ = 0;         // bytes, of that file and of all
  nlohmann::json versions_ = nlohmann::json::object();
};

/// The only process-wide state of the room: where events go is a property of the process, as stderr is. Never
/// destroyed, because events may come from threads that outlive static destruction.
Sinks& sinks() {
  static Sinks* instance = [] {
    auto* s = new Sinks;
    // A child must not inherit a mutex that some other thread held.
    pthread_atfork([] { sinks().mutex_.lock(); }, [] { sinks().mutex_.unlock(); }, [] { sinks().mutex_.unlock(); });
    return s;
  }();
  return *instance;
}

}  // namespace

namespace {

thread_local int64_t told = 0, toldCpu = 0;
thread_local int tellings = 0;

int64_t clockNs() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Telling::Telling() : start_(clockNs()), cpuStart_(threadCpuNs()) { ++tellings; }
Telling::~Telling() {
  if (--tellings > 0) return;  // part of another
  told += clockNs() - start_;
  toldCpu += threadCpuNs() - cpuStart_;
}
int64_t toldNs() { return told; }
int64_t toldCpuNs() { return toldCpu; }

bool channelEnabled(Channel channel) { return sinks().wants(channel); }

void emit(Channel channel, std::string_view kind, std::string_view text, const nlohmann::json& data) {
  if (!sinks().wants(channel)) return;
  const Telling telling;
  sinks().emit(channel, kind, text, data, false);
}

void report(Channel channel, std::string_view kind, std::string_view text, const nlohmann::json& data) {
  sinks().emit(channel, kind, text, data, true);
}

bool isTracing() { return sinks().isTracing(); }

void recordEvent(std::string_view kind, const nlohmann::json& data) {
  if (isTracing()) sinks().recordOnly(kind, data);
}

std::string tracePath() { return sinks().path(); }

void setTraceVersions(nlohmann::json versions) { sinks().setVersions(std::move(versions)); }

std::string configureLogs(std::string_view spec) {
  uint32_t channels = 0;
  auto trim = [](std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
  };
  while (!spec.empty()) {
    size_t comma = std::min(spec.find(','), spec.size());
    std::string_view item = trim(spec.substr(0, comma));
    spec.remove_prefix(std::min(comma + 1, spec.size()));
    if (item.empty()) continue;
    bool remove = item.front() == '-';
    if (remove || item.front() == '+') item = trim(item.substr(1));
    uint32_t bits = item == "all" ? kAllChannels : 0;
    for (const ChannelInfo& row : kChannels) {
      if (row.text == item) bits = bitOf(row.channel);
    }
    if (bits == 0) {
      std::string known;
      for (const ChannelInfo& row : kChannels) known += ", " + std::string(row.text);
      return "unknown log channel '" + std::string(item) + "'; known are all" + known;
    }
    channels = remove ? channels & ~bits : channels | bits;
  }
  sinks().setLogs(channels);
  return "";
}

std::string openTrace(std::string_view directory) { return sinks().open(std::string(directory)); }

}  // namespace fw
