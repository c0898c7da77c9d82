// moves[k] of a few numbers, or tuples of numbers, where array data or the turn of a loop decides about k.
#pragma once

#include <optional>
#include <vector>

#include "frame_eval/trace.h"

namespace fw::capture {

/// Items of a plain tuple; nullopt for anything else.
std::optional<std::vector<Value*>> tupleItems(Trace& trace, Value* value);
/// Whether it is known while the code runs only which item `index` names.
bool isLateIndex(Trace& trace, const Value* index);
/// Whether chosenItem() can choose one of them: there are a few, all of them numbers that are known, or tuples of
/// those.
bool mayBeChosen(Trace& trace, const std::vector<Value*>& items);
/// The item, as one value that stands for any of them; an index that is none of theirs fails the call. Null if there
/// are too many for this, or things that cannot be one value.
Value* chosenItem(Trace& trace, const std::vector<Value*>& items, Value* index);

/// One of the values, as the i64 node is one of the numbers: a number, a bool, a tuple of those, the value that all of
/// them are, or a choice (choices.h). Null if there is no such value.
Value* chosenAmong(Trace& trace, graph::ValueId index, const std::vector<int64_t>& numbers,
                   const std::vector<Value*>& values);

}  // namespace fw::capture
