// The stance word, and the two errors that a user can ask for in place of a silent fallback.
#include "bindings/stance.h"

#include "bindings/plain_calls.h"
#include "bindings/to_python.h"
#include "cpython/ref.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using cpython::checked;
using cpython::Ref;

namespace {

struct StanceInfo {
  Stance stance;
  std::string_view text;
};
constexpr StanceInfo kStances[] = {
#define FW_STANCE(Id, text, help) {Stance::k##Id, text},
#include "bindings/stances.def"
};

thread_local bool breaksAreErrors = false;
std::atomic<int> refusingThreads{0};

/// Errors are Python classes with fields of their own, made by functions of the package.
void raiseThrough(const char* maker, const std::string& function, const nlohmann::json& facts) {
  Ref module = checked(PyImport_ImportModule("fusewire._errors"));
  Ref list = checked(toPython(facts));
  Ref error = checked(PyObject_CallMethod(module.get(), maker, "sO", function.c_str(), list.get()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

/// Guards without which compiled code would read what is not there: kept whatever the user vouches for.
bool tellsOnlyValuesApart(guards::GuardKind kind) {
  using guards::GuardKind;
  for (GuardKind dispensable : {GuardKind::kIdentity,         GuardKind::kWeakIdentity, GuardKind::kEquals,
                                GuardKind::kItemsAre,         GuardKind::kDictKeys,     GuardKind::kDictContains,
                                GuardKind::kDictNotContains,  GuardKind::kDictVersion,  GuardKind::kSetContains,
                                GuardKind::kSetNotContains,   GuardKind::kHasAttr,      GuardKind::kNoHasAttr,
                                GuardKind::kNoInstanceAttr,   GuardKind::kTypeVersion,  GuardKind::kFunctionCode,
                                GuardKind::kWeakFunctionCode, GuardKind::kClosure,      GuardKind::kDefaults,
                                GuardKind::kKwDefaults,       GuardKind::kSameObject,   GuardKind::kNotSameObject,
                                GuardKind::kNoOverlap,        GuardKind::kDisjoint,     GuardKind::kGlobalState,
                                GuardKind::kNumpyErrors})
    if (kind == dispensable) return true;
  return false;
}

}  // namespace

std::string_view stanceName(Stance stance) { return kStances[static_cast<int>(stance)].text; }

std::optional<Stance> stanceFromName(std::string_view name) {
  for (const StanceInfo& row : kStances)
    if (row.text == name) return row.stance;
  return std::nullopt;
}

uint32_t setStance(Stance stance, bool skipGuards) {
  return detail::stanceWord.exchange(static_cast<uint32_t>(stance) | (skipGuards ? detail::kSkipGuardsBit : 0),
                                     std::memory_order_relaxed);
}

MissDecision onMiss(size_t variants, uint64_t earlierMisses) {
  switch (stance()) {
    case Stance::kDefault: return MissDecision::kCompile;
    case Stance::kForceEager:
    case Stance::kEagerOnRecompile: return MissDecision::kPython;
    case Stance::kFailOnRecompile: return variants > 0 ? MissDecision::kFail : MissDecision::kCompile;
    case Stance::kEagerThenCompile:
      return variants == 0 && earlierMisses == 0 ? MissDecision::kPython : MissDecision::kCompile;
  }
  return MissDecision::kCompile;
}

guards::GuardSet essentialGuards(const guards::GuardSet& set) {
  guards::GuardSet essential = set;
  std::erase_if(essential.guards, [](const guards::Guard& guard) { return tellsOnlyValuesApart(guard.kind); });
  return essential;
}

bool errorOnGraphBreak() { return breaksAreErrors; }
bool setErrorOnGraphBreak(bool on) {
  if (on != breaksAreErrors) refusingThreads += on ? 1 : -1;
  if (on) ++plainEpoch;
  return std::exchange(breaksAreErrors, on);
}
bool anyThreadRefusesBreaks() { return refusingThreads > 0; }

void raiseGraphBreakError(const std::string& function, const nlohmann::json& breaks) {
  raiseThrough("graph_break_error", function, breaks);
}
void raiseRecompileError(const std::string& function, const nlohmann::json& misses) {
  raiseThrough("recompile_error", function, misses);
}

}  // namespace fw::bindings
