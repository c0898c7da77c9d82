// Lists of the caller's that loops append to: logs, histories. What is appended stands in a list of the trace's own, as
// any list that a loop fills, and is appended to the caller's at the end.
//
// A loop has to find that list where it begins. So an append in a turn has the trace made again
// (LoopDecisions::logs), with a list for each from the beginning on.
#pragma once

#include "frame_eval/trace.h"

namespace fw::capture {

struct Logs {
  Trace& trace;

  /// Once, before anything is traced.
  void begin();
  /// The list that stands for what is appended to an unseen list (unseen_list.h) of the caller's. Null: nobody has
  /// asked for one; in a turn of a loop, somebody does then.
  Value* of(Value* list) const;
  /// The same, if something has been appended.
  Value* filled(const Value* list) const;
  /// The caller's list is read: what has been appended so far is, before that. Breaks where its items are not known.
  void settle(Value* list);
  /// Once, at the end.
  void finish();
};

}  // namespace fw::capture
