// Lists in lists of which array data decides how long each one is: adj[a].append(b). What all lists that one
// instruction makes hold stands in one pool of arrays, each list's items in a block of its own; a list that is full
// moves behind all others, into a block twice as large. What remains of a list are three numbers: how many items it
// has, where its block begins, and how many fit in. Those of a list that is an item of another one stand in the arrays
// of that one (long_list.h), so that whoever asks for the item finds the same list. A call that needs more room than
// the pool has is Python's.
//
// A kPooledList: base = the form of its items (long_list.h), null while nobody knows it; items[0] = where it stands in
// the list that it is an item of, None if it is in none; behind it its numbers, or the arrays of the other list that
// they stand in; site = that of the pool.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frame_eval/contents.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

struct PooledList {
  using Site = std::pair<const void*, size_t>;  ///< of LoopDecisions::pooled
  enum Part : size_t { kPlace, kLength, kStart, kRoom, kParts };

  Trace& trace;
  Value* list;

  static bool is(const Value* value) { return value->kind == ValueKind::kPooledList; }

  // ---- found out
  /// Has the trace made again with what the list's instruction makes as one of these, if it can be one and is not.
  static void require(Trace& trace, const Value* list);
  /// Whether it is written out, [i, x], of items of different kinds.
  static bool mayBeRecord(Trace& trace, const Value* list);
  /// The same of all that are among the items, which stand in a list or a dict whose items come and go.
  static void requireIn(Trace& trace, const std::vector<Value*>& items);
  /// Whether the instruction makes them, and that whose pool they share then.
  static std::optional<Site> poolOf(const Trace& trace, Site site);
  /// Whether a list or dict of these holds lists that have been found to be none.
  static bool isRefused(const Trace& trace, const LoopDecisions::WorkedList& known);
  /// Where two meet of which one is, or may become, one of these: has the trace made again with both in one pool.
  static void makeAlike(Trace& trace, const Value* first, const Value* second);

  // ---- made
  /// The pools of all that have been found, in front of everything else. Each has room for so many items.
  static void makePools(Trace& trace, graph::SymId room);
  /// An empty one.
  static Value* make(Trace& trace, Site pool);
  /// What stands for all of that pool in a list that they are items of; three numbers are its leaves.
  static Value* formOf(Trace& trace, Site pool);
  static Value* formOf(Trace& trace, const Value* list) { return formOf(trace, list->site); }
  static std::vector<Value*> leavesOf(const Value* form);
  /// One that is no item.
  static bool isFree(const Value* value) { return is(value) && value->items[kLength]->kind == ValueKind::kDataInt; }
  static bool fits(const Value* form, const Value* item) { return is(item) && item->site == form->site; }
  /// Whether one is among what the form consists of.
  static bool isIn(const Value* form);

  // ---- as an item of another list
  /// The item whose numbers stand at that place of these arrays.
  static Value* itemAt(Trace& trace, const Value* form, Value* place, const std::vector<Value*>& arrays);
  /// Becomes the item that stands there.
  void standAt(Value* place, const std::vector<Value*>& arrays) const;
  bool isItem() const;
  /// Whether it is known to be the item that stands there.
  bool standsAt(const Value* place, const Value* lengths) const;
  bool isCurrent() const;  ///< no other list has taken its place
  bool isOutside() const;  ///< it is in a list of the caller's
  /// What is taken from there is none any longer, nor is what else may stand for it.
  static void takeOut(Trace& trace, Value* item);

  // ---- as a list
  Value* length() const;
  bool isNew() const { return isFree(list) && list->items[kLength]->range.hi == 0; }  ///< and nothing has been added
  std::optional<bool> knownEmpty() const;
  bool truth() const;
  void append(Interpreter& interpreter, Value* item) const;
  /// [i, x]: as many items, of kinds of their own, and no others. They stand in one row of the pool.
  bool isRecord() const;
  void fill(const std::vector<Value*>& items) const;  ///< a new one
  Value* item(Value* index) const;
  void setItem(Value* index, Value* item) const;
  Value* pop(bool first) const;
  void clear() const;
  Value* iterator(bool reversed = false) const;
  /// Its items, if there are as many; fails the call if not.
  std::vector<Value*> unpacked(size_t count) const;
  /// Its items as they are now, in a list that is full (long_list.h).
  Value* copy() const;
  /// What all lists of the pool hold, in arrays that are no longer than that.
  static std::vector<Value*> entries(Trace& trace, const ListPool& pool);
  /// Methods that are known; null for others.
  static Value* method(Interpreter& interpreter, Trace& trace, Value* list, const std::string& name,
                       const CallArgs& args);

  // ---- what turns hand on of one that is another list in each
  std::vector<Value*> held(const Contents* then = nullptr) const;
  Value* with(const std::vector<Value*>& held) const;
  /// Whether neither is an item, or both are of the same list.
  static bool areAlike(const std::vector<Value*>& items, const std::vector<Value*>& other);
  /// The same of what a turn finds, as it was `then`, and leaves.
  static bool mayBecome(Trace& trace, const Value* begin, Value* end, const Contents* then = nullptr);

 private:
  friend struct PooledItem;
  friend struct WorkTable;
  static unsigned replacedIn(const Trace& trace, const Value* array);
  const ListPool& pool() const;
  int64_t poolRoom() const;
  Value* number(Part part) const;
  void setNumber(Part part, Value* number) const;
  Value* placeOf(Value* number) const;
  Value* placeAt(Value* index) const;
  Value* load(Value* place) const;
  void store(Value* item, Value* place) const;
  static bool mayStandIn(const Value* form);
  static Value* recordOf(Trace& trace, const std::vector<Value*>& items);
  static LoopDecisions::WorkedList homogeneous(Trace& trace, const LoopDecisions::WorkedList& record);
  void requireList() const;
  size_t partOf(size_t column) const, columnOf(Value* index) const;
  Value* unpackedAt(size_t column) const;
  [[noreturn]] void refuse() const;
};

}  // namespace fw::capture
