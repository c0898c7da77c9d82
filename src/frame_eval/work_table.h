// Dicts and sets whose keys array data decides: parents, visited, counts. Entries stand one behind the other in arrays,
// in the order in which they have come, as in CPython's dicts; beside them an index of places by hash, with double
// hashing. Nobody clears the index: what stands at a place of it counts if the entry that it names says that it is of
// that place (sparse sets of Briggs and Torczon, 1993). A call that needs more room is Python's, as is one that asks
// for a key that is not there.
//
// A kWorkTable: cls = dict, defaultdict, Counter or set; items = its length, a kDataInt, and lists that are full
// (work_list.h): keys, places, index, and what the keys of a dict stand for; base = the factory of a defaultdict;
// opened: a set that has got what another set holds, in an order that depends on how large its table has been. Keys are
// ints that fit into 62 bits, np.int64s, and tuples of those. Nothing is taken out of one.
#pragma once

#include <string>
#include <vector>

#include "frame_eval/contents.h"
#include "frame_eval/interpreter.h"

namespace fw::capture {

struct WorkTable {
  Interpreter& in;
  Trace& trace;
  Value* table;

  static bool is(const Value* value) { return value->kind == ValueKind::kWorkTable; }
  static bool isSet(const Value* table);
  bool isSet() const { return isSet(table); }

  /// Whether array data or the turn decides about a key of this form.
  static bool isLate(Trace& trace, Value* key);
  /// Has the trace made again with a dict or set as one of these, if it can be one: it gets the key, or is asked for
  /// it (no `item`). A dict in front of which nothing has been found is as it is.
  static void require(Trace& trace, const Value* container, Value* key, Value* item = nullptr);
  /// The same where a turn, or an arm of a branch, has left it longer or shorter.
  static void requireIfResized(Trace& trace, const Value* container, const Contents& was, const Contents& now);
  /// The same with what another one is like.
  static void requireLike(Trace& trace, const Value* container, const Value* table);
  /// One with another kind of keys or items: has the trace made again, with one that has room for both.
  [[noreturn]] static void widen(Trace& trace, const Value* table, size_t part, Value* item);

  Value* contains(Value* key) const;
  Value* item(Value* key) const;
  void setItem(Value* key, Value* item) const;  ///< set.add() without an item
  Value* length() const;
  /// As it is now, in arrays of its own; of the class, and without the factory of a defaultdict, if one is given.
  Value* copy(PyTypeObject* cls = nullptr) const;
  Value* method(const std::string& name, const CallArgs& args) const;
  /// Of the keys, or of what view it is.
  Value* iterator(const std::string& view) const;
  /// A list of what a view shows: "keys", "values" or "items".
  Value* listOf(const std::string& view) const;
  /// A list of what a set holds, for who does not ask for its order; others as they are.
  static Value* unordered(Interpreter& in, Trace& trace, Value* container);
  /// A set of ints.
  static bool holdsInts(const Value* container);

  static constexpr size_t kKeys = 1, kPlaces = 2, kIndex = 3, kItems = 4;  ///< in Value::items

 private:
  friend struct Collections;
  static void require(Trace& trace, const Value* container, const std::vector<Value*>& keys, std::vector<Value*> items);
  using Found = Branches::FoundKey;
  Found find(Value* key) const;
  std::optional<Found> knownFrom(const Found& wanted) const;
  void put(const Found& found, Value* key, Value* item) const;
  /// The keys as ints of Python's.
  Value* asInts() const;
  /// A list of the keys, or of what they stand for, as they are now; `live`: in the arrays that they stand in.
  Value* list(size_t part, bool live) const;
  void store(size_t part, Value* item, Value* at) const;
  Value* load(size_t part, Value* at) const;
  bool isWalked() const;
  Value *valueOr(const Found& found, Value* otherwise) const, *valueOrMade(const Found& found) const;
  bool holdsLists() const;
  /// Whether it is the list that stands for the key already.
  bool isOf(const Found& found, Value* list) const;
  /// Of a table of lists: that of the key, or the empty one; what a defaultdict(list) answers; what setdefault() does.
  /// Null for others.
  Value* listOrEmpty(const Found& found, Value* key, Value* empty) const;
  Value* madeList(const Found& found, Value* key) const;
  Value* listOrDefault(const Found& found, Value* key, Value* otherwise) const;
  Value* update(Value* with) const;
  Value* full(const LoopDecisions::WorkedList& as, graph::SymId room) const;
  int64_t room() const;
  [[noreturn]] void refuse(const std::string& what) const;
};

/// What turns hand on of one that is another one in each.
struct WorkTableForm {
  Trace& trace;
  Value* table;

  /// Whether both are such tables; has the trace made again if one of them is and the other one can be.
  static bool mayBecome(Trace& trace, const Value* begin, const Value* end);
  /// Its length, and the arrays of its lists; as it was `then`.
  std::vector<Value*> held(const Contents* then = nullptr) const;
  Value* with(const std::vector<Value*>& held) const;
  /// Another one of the same forms and with as much room. Has the trace made again if what they hold is of several
  /// kinds.
  bool isLike(Value* other) const;
};

}  // namespace fw::capture
