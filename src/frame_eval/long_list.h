// Lists that loops append to: out = [], and in each turn out.append(x). A turn is traced without knowing how many items
// there are: they are of one form - numbers, arrays of one shape, lists of as many numbers, tuples of those - and stand
// one behind the other in arrays of the graph. What leaves the trace is a list of them.
//
// A kLongList: base = the form, a Value like an item; items[0] = its length, items[1] = how many it has room for, both
// ints, and behind them an array for each leaf of the form; position = Mode; keys = what it held before, as long as it
// is counted; joined = it is an item of a list of lists, one of several, and its arrays are views of that list's.
#pragma once

#include <optional>

#include "frame_eval/contents.h"
#include "frame_eval/interpreter.h"
#include "frame_eval/mixed_numbers.h"

namespace fw::capture {

inline bool isLongList(const Value* value) { return value->kind == ValueKind::kLongList; }

struct LongList {
  /// kOpen: there is room for what the loop at hand appends. kWorked: always (work_list.h). kCounted: nothing is
  /// stored; items[1] says how many there are at most, so that a loop finds out how much room it takes, and is traced
  /// again with that. kJoined: the same of a list of which no loop knows yet.
  enum Mode : size_t { kClosed, kOpen, kWorked, kCounted, kJoined };

  static constexpr size_t kFirstPart = 2;

  using Site = std::pair<const void*, size_t>;  ///< of LoopDecisions::lists

  Trace& trace;
  Value* list;

  void append(Value* item) const;
  Value* length() const;
  Value* lengthBehind(Value* others) const;  ///< of a list that has so many other items in front
  /// Whether it is empty; none: array data decides.
  std::optional<bool> knownEmpty() const;
  bool truth() const;
  /// Whether there are so many items, which the call holds fast; false where the turn or array data decides.
  bool isOf(size_t count) const;
  std::vector<Value*> unpacked(size_t count) const;
  /// All of them, where the call knows how many there are; none if they are many.
  std::optional<std::vector<Value*>> few() const;
  /// list[index], which may be a slice
  Value* item(Value* index) const;
  /// The place that an index names among so many items, from 0 on; fails the call where it names none.
  Value* placeWithin(Value* index, Value* length) const;
  /// list[index] = item
  void setItem(Value* index, Value* item) const;
  Value* iterator(bool reversed = false) const;
  /// np.array(list)
  graph::ValueId array() const;
  /// One of the arrays that its items stand in, as far as there are items; in the order of the form.
  graph::ValueId part(size_t number) const;
  /// The first ones of what stands in its arrays, in arrays of their own.
  std::vector<Value*> entries(Value* length) const;
  bool holdsArrays() const;
  bool isCounted() const { return list->position >= kCounted; }
  /// The caller has it, or the list that it is an item of.
  bool isOutside() const;
  /// The array whose view one is that items stand in: of the list that this one is an item of, if it is one.
  static Value* ownerOf(Value* array);
  /// What has been set in lists of the caller's becomes effects.
  static void finishWrites(Trace& trace);

  // ---- growing ----------------------------------------------------------------------------------------------------
  /// What an item is like that stands for all that are appended; null if there is no such form.
  static Value* formOf(Trace& trace, Value* item);
  static Value* formOf(Trace& trace, const std::vector<Value*>& items);
  static bool areAlike(Trace& trace, Value* form, Value* other) {
    const LongList any{trace, nullptr};
    return form == other || (any.fits(form, other) && any.fits(other, form));
  }
  /// How it has grown from there, of which more is to be known: what is appended. None: it has not, or it is known.
  static Value* grownBy(Trace& trace, const Contents& was, const Contents& now);
  /// What the arms of a branch have left of it, which is counted from there on: the greater room. Null if that is
  /// not so. `length`: what it is behind the branch.
  static bool mayJoin(const Contents& was, const Contents& first, const Contents& second);
  bool join(const Contents& was, const Contents& first, const Contents& second, Value* length) const;
  /// The arrays that items stand in, which are known.
  absl::Span<Value* const> arrays() const;
  /// Another list, full of items of the same form and as many. Has the trace made again if their sites can see to that.
  bool isLike(Value* other) const;
  /// A list like that in other arrays.
  Value* with(const std::vector<Value*>& arrays) const;
  /// The arrays are the same ones.
  static bool shareParts(const Contents& first, const Contents& second);
  static Value* lengthIn(Trace& trace, const Contents& contents);
  static graph::SymId roomIn(Trace& trace, const Contents& contents);
  /// One with room for so many that holds the items. Null if they are not of the form.
  static Value* make(Trace& trace, Value* form, graph::SymId room, const std::vector<Value*>& items);
  /// [item] * count, for a number and a count above 0; null if it is not that.
  static Value* filled(Trace& trace, Value* item, graph::SymId count, Site site);
  /// One that exists outside of the trace, and has been found to be indexed; null for others.
  static Value* ofOutside(Trace& trace, const Value* list);
  /// Has the trace made again with a list that exists outside as one of these, if it can be one and is not.
  static void standOutside(Trace& trace, const Value* list);
  /// The same if the index is another in each turn.
  static void findOutside(Trace& trace, const Value* list, const Value* index);
  static bool standsOutside(const Trace& trace, const Value* list) {
    return trace.loops && trace.loops->outside.contains(list->object.get());
  }
  /// [a, b, c] that has been found to stand in arrays; null for others.
  static Value* ofItems(Trace& trace, const Value* list);
  /// array.tolist(), for one axis or two of Python's floats, ints of 62 bits, or bools; null for others.
  static Value* ofArray(Trace& trace, graph::ValueId array);
  /// list(range), for a range with numbers in it that array data does not decide; null for others.
  static Value* ofRange(Trace& trace, Value* range, Site site);
  /// left + right, of which one at least is a long list or the result has been found to be indexed; null if they are
  /// not of one form.
  static Value* joined(Trace& trace, Value* left, Value* right, Site site);
  /// A list with the same numbers; null if it is no such list, or one of which nobody knows how many there are.
  static Value* copied(Trace& trace, Value* list, Site site);
  /// Whether an item of a list of numbers is asked for by an index that is another in each turn, so that the list has
  /// to be one of these: has the trace made again if its site says so.
  static void findIndexed(Trace& trace, const Value* list, const Value* index);
  /// It has to be one of these, if it is a list of numbers and its site can see to that; [a, b, c] `written` out as
  /// well.
  static void standInArrays(Trace& trace, const Value* list, bool written = true);
  /// What a list of such items has to be one of that gets another one; none: it cannot.
  static std::optional<LoopDecisions::NumberList> widened(Trace& trace, Value* form, Value* item);
  /// Notes that with the list's site. False if that is no news, or cannot help.
  static bool widen(Trace& trace, const Value* list, LoopDecisions::NumberList wider);
  /// The form that it has to have, where other items than of this one have been found to be set.
  static Value* formFor(Trace& trace, const Value* list, Value* form);
  /// Whether it is one that has been found to be indexed like that.
  static bool isIndexed(const Trace& trace, const Value* list) {
    return list->site.first && trace.loops && trace.loops->lists.contains(list->site);
  }
  /// Of numbers of that type and of that class or a greater one (mixed_numbers.h).
  static Value* mixedForm(Trace& trace, graph::DType dtype, MixedNumbers::Class least);
  static bool isNumber(const Value* form) {
    const bool thing = form->kind == ValueKind::kArray || form->kind == ValueKind::kChosen;
    return form->kind != ValueKind::kTuple && form->kind != ValueKind::kPooledList && !thing && !isLongList(form);
  }
  /// Where two lists cannot be of one form because of their numbers' classes: has the trace made again with both wide
  /// enough, if their sites can see to that.
  static void makeAlike(Trace& trace, const Value* list, const Value* other);
  /// From here on it is counted.
  void count(Value* form) const;
  /// From here on it has room for so many; it was counted.
  void makeRoom(graph::SymId room) const;

 private:
  friend struct WorkList;
  friend struct WorkTable;
  friend struct WorkTableForm;
  static Value* closed(Trace& trace, Value* form, const std::vector<Value*>& items);
  static Value* full(Trace& trace, Value* form, Value* length, const std::vector<Value*>& arrays, Site site);
  static Value* of(Trace& trace, Value* form, const std::vector<graph::ValueId>& nodes, graph::SymId count, Site site);
  static std::vector<Value*> leavesOf(Value* form);
  static graph::DType typeOf(Trace& trace, const Value* leaf);
  static bool isLate(Trace& trace, graph::SymId size);
  Value* rowForm() const;
  /// What has been asked for of lists in it is not to be looked at any longer: others may stand in their places.
  void noteReplaced() const;
  Value* pooledRow(Value* form, Value* index, graph::SymId size, size_t& part) const;
  bool fits(Value* form, Value* item) const;
  static bool isPlace(Trace& trace, const Value* index);
  static bool isOfTheTurn(Trace& trace, const Value* index);
  static bool mayStand(const Value* form) {
    return form && (isNumber(form) || isLongList(form) || form->kind == ValueKind::kPooledList);
  }
  Value* place(Value* index) const;
  bool isKnown() const, isFull() const;
  Value* slice(Value* slice) const;
  Value* copy(Site site) const;
  graph::ValueId partOf(size_t number, const Value* form) const;
  graph::SymId room() const;
  void requireWorth(graph::SymId bytes) const;
  graph::SymId size() const;
  void store(Value* form, Value* item, Value* place, size_t& part) const;
  void hold(Value* item, Value* place, size_t& part) const;
  void holdTuples(Value* item) const;
  Value* row(Value* form, Value* index, graph::SymId size, size_t& part) const;
  Value* load(Value* form, Value* index, graph::SymId size, size_t& part) const;
  graph::ValueId firstOf(graph::ValueId array, graph::SymId size) const;
  graph::ValueId someOf(const Value* leaf) const;
  graph::ValueId at(const Value* form, Value* index, graph::SymId size, size_t part) const;
  [[noreturn]] void refuse(const std::string& why) const;
  friend struct PooledList;
  friend struct PooledItem;
  friend struct OutsideList;
};

}  // namespace fw::capture
