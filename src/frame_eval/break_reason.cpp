// The table of break reasons.
#include "frame_eval/break_reason.h"

namespace fw::capture {

const BreakInfo& info(BreakReason reason) {
  static constexpr BreakInfo kInfos[] = {
#define FW_BREAK(Id, text, cls, message, hint) {text, message, hint, BreakClass::k##cls},
#include "frame_eval/break_reasons.def"
  };
  return kInfos[static_cast<int>(reason)];
}

}  // namespace fw::capture
