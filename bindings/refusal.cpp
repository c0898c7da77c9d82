// A whole call is refused before anything of it has run, so that its other breaks are found by a survey. A region of a
// function that runs already is refused at its first break.
#include "bindings/refusal.h"

#include "bindings/describe.h"
#include "bindings/stance.h"
#include "bindings/variant_set.h"
#include "cpython/ref.h"
#include "nlohmann/json.hpp"

namespace fw::bindings {

using capture::Break;
using capture::BreakReason;

bool isGraphBreak(const Break& what) {
  const bool captured = what.reason == BreakReason::kDisabled && what.at < 0;  // backend=capture asks for no more
  return !captured && what.reason != BreakReason::kNothingToCompile && what.reason != BreakReason::kPythonException &&
         what.reason != BreakReason::kCacheMiss && what.reason != BreakReason::kRecompileLimit;
}

bool refusesBreaks(const Config& config) { return errorOnGraphBreak() || config.flag(Setting::kFullgraph); }

bool isRefused(const Break& what, const Config& config) {
  if (!isGraphBreak(what)) return false;
  // error_on_graph_break(False) inside a function is a break, and what is disabled is so on purpose.
  const bool wanted = what.reason == BreakReason::kControl || what.reason == BreakReason::kDisabled;
  return config.flag(Setting::kFullgraph) || (errorOnGraphBreak() && !wanted);
}

std::vector<Break> refusedBreaks(const Break& first, const capture::CallView& call, const Config& config) {
  std::vector<Break> refused;
  for (Break& what : capture::survey(call, captureOptions(config), first)) {
    if (!config.flag(Setting::kFullgraph) && what.reason == BreakReason::kControl) break;  // may switch errors off
    if (isRefused(what, config)) refused.push_back(std::move(what));
  }
  if (refused.empty()) refused.push_back(first);
  return refused;
}

void refuse(const std::string& function, const std::vector<Break>& breaks) {
  nlohmann::json facts = nlohmann::json::array();
  for (const Break& what : breaks) facts.push_back(describeBreak(what));
  raiseGraphBreakError(function, facts);
  throw cpython::PythonError();
}

}  // namespace fw::bindings
