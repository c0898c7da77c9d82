// Lists and deques that are worked off: `while stack: v = stack.pop()`, queues, heaps. How long one is array data
// decides, in every turn anew. So it is a long list (long_list.h) that has room from the beginning, and stays one: an
// item comes behind the others and goes from there; where items are taken from in front as well, it has a head. A call
// that needs more room is Python's.
//
// Position LongList::kWorked; overlay = the head, if it has one, and how many items there are at most, if a deque has
// been told; cls = that of a deque.
#pragma once

#include <string>
#include <vector>

#include "frame_eval/interpreter.h"
#include "frame_eval/long_list.h"

namespace fw::capture {

struct WorkList {
  /// Items that one may begin with: each is stored by itself.
  static constexpr size_t kMostBegun = 64;

  Trace& trace;
  Value* list;

  static bool is(const Value* value) { return isLongList(value) && value->position == LongList::kWorked; }

  /// Notes that items are taken from it, one by one.
  static void notePop(Trace& trace, const Value* list);
  /// Has the trace made again with a list from which items are taken as one of these, if it can be one and is not.
  /// `first`: from in front.
  static void require(Trace& trace, const Value* list, bool first = false);
  /// The same where it is of another size in each turn, or behind each arm of a branch, if items are taken from it.
  static void requireIfPopped(Trace& trace, const Value* list);
  /// What it is made to hold was not known when the list was made empty.
  static void noteItem(Trace& trace, const Value* list, Value* item);

  /// Whether the argument is that number, and the only one.
  static bool isIndex(const CallArgs& args, int64_t place);
  /// list.pop(), deque.popleft() and the like; null if it is another method.
  static Value* method(Trace& trace, Value* list, const std::string& name, const CallArgs& args);

  Value* pop(bool first) const;
  void pushLeft(Value* item) const;
  /// Behind an item that has been put at one end: the one at the other goes if there are too many.
  void limit(bool last) const;
  void clear() const;
  Value* item(Value* index) const;
  void setItem(Value* index, Value* item) const;
  /// Where another item goes.
  Value* end() const;
  /// Where its first item stands; null where that is the beginning.
  Value* head() const;
  /// Items that may be of one form: numbers, constants of which data decides which one it is, and tuples of those. Of
  /// others nobody knows whether more of them are like that.
  static bool mayHold(const Value* form);
  // ---- what turns hand on of one that is another list in each
  /// Its length, where its first item stands, and its arrays; as it was `then`.
  std::vector<Value*> held(const Contents* then = nullptr) const;
  Value* with(const std::vector<Value*>& held) const;
  /// Another one of the same form and with as much room. Has the trace made again if their items are of several kinds.
  bool isLike(Value* other) const;

  /// A list with another kind of items: has the trace made again, with one that has room for both, or with none of
  /// these.
  [[noreturn]] void widen(Value* item) const;

 private:
  Value *lengthBelowRoom() const, *placeOf(Value* number) const, *inRing(Value* place) const,
      *loadAt(Value* place) const;
  Value* placeAt(Value* index) const;
  friend struct Collections;
  friend struct PooledList;
  friend struct WorkTable;
  friend struct WorkTableForm;
  static LoopDecisions::WorkedList describe(Trace& trace, const Value* form);
  static Value* formOf(Trace& trace, const LoopDecisions::WorkedList& known);
  void make(const LoopDecisions::WorkedList& as, graph::SymId room, std::optional<int64_t> most) const;
  static Value* wider(Trace& trace, Value* form, Value* item);
};

}  // namespace fw::capture
