// What a user has asked for this moment: the stance, which is one for the process, and whether breaks are errors, which
// is each thread's own. The call path reads one word.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cpython/current_frame.h"
#include "guards/guard_set.h"
#include "nlohmann/json_fwd.hpp"

namespace fw::bindings {

enum class Stance : uint8_t {
#define FW_STANCE(Id, text, help) k##Id,
#include "bindings/stances.def"
};
std::string_view stanceName(Stance stance);
std::optional<Stance> stanceFromName(std::string_view name);

namespace detail {
inline constexpr uint32_t kSkipGuardsBit = 1u << 8;  // above the stance
inline std::atomic<uint32_t> stanceWord{0};
}  // namespace detail

/// 0 while everything is at its default: the one test that a call pays for.
inline uint32_t stanceWord() { return detail::stanceWord.load(std::memory_order_relaxed); }
inline Stance stance() { return static_cast<Stance>(stanceWord() & 0xff); }
/// set_stance(skip_guard_eval_unsafe=True): where there is one variant, only its essential guards are evaluated.
inline bool skipGuards() { return (stanceWord() & detail::kSkipGuardsBit) != 0; }
/// Answers the word that was in force. Thread-safe.
uint32_t setStance(Stance stance, bool skipGuards);

/// Whether nothing compiled runs at this moment, neither whole functions nor regions: the stance says so, or a tracer,
/// profiler or monitoring tool wants to see every line. Asked once per call.
inline bool everythingRunsAsPython() {
  return cpython::isThreadTraced() || (stanceWord() != 0 && stance() == Stance::kForceEager);
}

enum class MissDecision : uint8_t {
  kCompile,
  kPython,  ///< this once: the kind of arguments is not to be remembered as one that runs as Python
  kFail,    ///< raiseRecompileError()
};
/// No variant fits: `variants` there are, `earlierMisses` came before.
MissDecision onMiss(size_t variants, uint64_t earlierMisses);

/// Guards that keep memory accesses legal, without those that only tell variants or values apart. A valid set; not for
/// variants with side effects, whose targets rely on all of theirs.
guards::GuardSet essentialGuards(const guards::GuardSet& set);

/// error_on_graph_break: whether a break met by this thread is an error. Answers what was in force.
bool errorOnGraphBreak();
bool setErrorOnGraphBreak(bool on);
/// Whether it is in force for any thread.
bool anyThreadRefusesBreaks();

/// Sets fusewire.GraphBreakError for `breaks`, a list as describeBreak() makes them.
void raiseGraphBreakError(const std::string& function, const nlohmann::json& breaks);
/// Sets fusewire.RecompileError; `misses` is a list of {variant, reason, advice}.
void raiseRecompileError(const std::string& function, const nlohmann::json& misses);

}  // namespace fw::bindings
