// The table of break reasons.
#include "frame_eval/break_reason.h"

#include <algorithm>
#include <iterator>

namespace fw::capture {

const BreakInfo& info(BreakReason reason) {
  static constexpr BreakInfo kInfos[] = {
#define FW_BREAK(Id, text, cls, message, advice, hint) \
  {text, message, hint, BreakClass::k##cls, BreakAdvice::k##advice},
#include "frame_eval/break_reasons.def"
  };
  static_assert(std::all_of(std::begin(kInfos), std::end(kInfos), [](const BreakInfo& row) {
    return !row.message.empty() && !row.hint.empty();  // every break tells what to do about it
  }));
  return kInfos[static_cast<int>(reason)];
}

std::string CaptureBreak::inLine(int line) const {
  std::string why = "in line " + std::to_string(line) + ": " + std::string(info(reason).message);
  return detail.empty() ? why : why + " (" + detail + ")";
}

}  // namespace fw::capture
