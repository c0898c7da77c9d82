// One stream of events behind logs, traces and explain. A room emits, sinks decide what becomes of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace fw {

enum class Channel : uint8_t {
#define FW_CHANNEL(Id, text, help) k##Id,
#include "graph/support/channels.def"
};

/// True if any sink wants this channel: build expensive payloads only then.
bool channelEnabled(Channel channel);
/// Emits one event: `kind` names it ("graph_break"), `text` is the line for people, `data` the JSON payload.
void emit(Channel channel, std::string_view kind, std::string_view text, const nlohmann::json& data);

/// The same for what a user must see without asking (failures of ours, limits): always a line on stderr.
void report(Channel channel, std::string_view kind, std::string_view text, const nlohmann::json& data);

/// Whether a trace is written. Answered fast.
bool isTracing();
/// Writes an event of channel "trace" that is for programs alone; nothing if no trace is written.
void recordEvent(std::string_view kind, const nlohmann::json& data);

/// While one lives, this thread makes texts for events. What that takes is no part of what compiling takes.
class Telling {
 public:
  Telling();
  ~Telling();
  Telling(const Telling&) = delete;

 private:
  int64_t start_, cpuStart_;
};
/// Time that this thread has spent on texts for events so far, as it has passed and by the thread's own clock.
int64_t toldNs();
int64_t toldCpuNs();

/// Sets channels from a FUSEWIRE_LOGS specification ("graph_breaks,+guards,-perf"); answers an error message naming the
/// unknown channel, or "".
std::string configureLogs(std::string_view spec);
/// Versions that the first line of every trace file tells. Set before openTrace().
void setTraceVersions(nlohmann::json versions);
/// Opens a JSON-lines file in `directory` (created if missing); error message or "". docs/trace.schema.json describes a
/// line.
std::string openTrace(std::string_view directory);
/// The file that is written, "" if none is.
std::string tracePath();

}  // namespace fw
