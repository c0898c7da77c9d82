// Lists that exist outside the trace and are used as logs and stacks: appended to, read and popped at the end, asked
// whether they are empty. None of this reads the whole list, so that one variant serves every length. Whatever else is
// done with such a list opens it (Trace::open), which guards its length and reads it item by item.
//
// An unseen list is an unopened kObject: items = what the trace has appended, position = how many of its own items the
// trace has popped, sym = its own length, once somebody has asked.
#pragma once

#include <optional>

#include "frame_eval/interpreter.h"

namespace fw::capture {

bool isUnseenList(const Value* value);

struct UnseenList {
  Trace& trace;
  Value* list;

  /// list[index] for a constant index that the seen list has; null if the list must be opened.
  Value* item(Value* index) const;
  /// list.pop(), list.pop(-1); null for a list without items.
  Value* pop() const;
  Value* length() const;
  bool truth() const;

 private:
  graph::SymId symbol() const;
  Value* fromEnd(int64_t back) const;
};

}  // namespace fw::capture
