// A survey: what else would break in a call whose capture has broken. Nothing is executed.
//
// The call is traced again and again from its beginning, each time with one more instruction that is known to break.
// What such an instruction leaves behind is an unknown value, and whatever is done with an unknown value gives another
// one. A branch on one is followed to both sides, in one trace after the other.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "frame_eval/capture.h"
#include "frame_eval/splice/code_map.h"
#include "frame_eval/value.h"

namespace fw::capture {

class Trace;

/// Ends one trace of a survey. Thrown inside the room.
struct SurveyEnd {};

class Survey {
 public:
  explicit Survey(Break first) { add(std::move(first)); }

  /// False when there is nothing left to trace.
  bool next();
  /// How the trace that has just been run broke.
  void ended(Break what);
  /// In the order of the instructions; those that belong to none first.
  std::vector<Break> take();

  // For the interpreter, about instructions of the outermost frame.
  bool breaksAt(int instr) const { return broken_.contains(instr); }
  void add(Break what);
  /// Which way to go at a branch on an unknown value: true jumps.
  bool choose(int instr);
  /// A loop that is too long to unroll is followed once.
  void passLoop(int instr);
  /// Height of the value stack before an instruction of `code`, the outermost one; -1 if it is not reached.
  int depth(PyCodeObject* code, int instr);

 private:
  using Choice = std::pair<int, bool>;
  std::vector<Break> breaks_;
  absl::flat_hash_set<int> broken_;
  absl::flat_hash_set<Choice> seen_;              ///< taken, or waiting in todo_
  std::vector<std::vector<Choice>> todo_ = {{}};  ///< beginnings of paths to follow
  std::vector<Choice> given_, made_;              ///< of the trace being run: to be taken, and taken
  size_t taken_ = 0;                              ///< of given_
  absl::flat_hash_map<Choice, int> uses_;         ///< in this trace
  absl::flat_hash_set<int> passed_;               ///< loops, in this trace
  int runs_ = 0;
  std::optional<CodeMap> map_;  ///< made when it is first asked for
};

/// A value of which nothing is known.
Value* unknownValue(Trace& trace);
/// Whether the value is unknown or holds one that is.
bool holdsUnknown(const Value* value);

}  // namespace fw::capture
