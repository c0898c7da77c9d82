// Reasons for graph breaks; a closed list.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace fw::capture {

enum class BreakReason : uint8_t {
#define FW_BREAK(Id, text, cls, message, advice, hint) k##Id,
#include "frame_eval/break_reasons.def"
};
enum class BreakClass : uint8_t { kUser, kUnsupported, kLimit, kBug };
enum class BreakAdvice : uint8_t { kFix, kFine };

struct BreakInfo {
  std::string_view text, message, hint;
  BreakClass cls;
  BreakAdvice advice;
};
const BreakInfo& info(BreakReason reason);

/// An instruction of which arms are traced: a branch whose arms end later, at `join`, or one that is traced for each
/// thing of a choice (-1). See late_joins.cpp.
struct Remedy {
  const void* code;  ///< Bytecode::identity()
  size_t at;
  int join;
};

/// Ends a trace. Thrown inside the room, caught by capture().
class CaptureBreak : public std::exception {
 public:
  CaptureBreak(BreakReason reason, std::string detail, int at = -1)
      : reason(reason),
        detail(std::move(detail)),
        at(at) {}
  /// What loops that are unrolled grow into: there would be no reason if they were loops of the graph.
  static CaptureBreak ofUnrolled(BreakReason reason, std::string detail) {
    CaptureBreak b(reason, std::move(detail));
    b.unrolls = true;
    return b;
  }
  const char* what() const noexcept override { return detail.c_str(); }
  /// As a part of the reason of another break: "in line 3: message (detail)".
  std::string inLine(int line) const;
  BreakReason reason;
  std::string detail;    ///< names the thing: "np.linalg.svd", "LOAD_BUILD_CLASS", "argument 'x' is a matrix"
  int at;                ///< instruction of the outermost frame that Python must run; -1: the one being executed
  bool unrolls = false;  ///< see ofUnrolled()
  bool splits = false;   ///< each thing of a choice by itself may be something else (choices.h)
  std::optional<Remedy> remedy{};  ///< what may help, if all else does not
  int handler = -1;                ///< an instruction where what an arm has raised is handled, outside of the arm
  PyObject* raised = nullptr;      ///< what an arm has raised, for a handler of another frame; borrowed
  bool warns = false;              ///< the instruction gives a warning: a way there is as one that raises
};

}  // namespace fw::capture
